//! Decodes bytes to the IR.
//!
//! Payloads are slices of the input. Everything that the format defines is represented in the IR, including field presence;
//! unknown fields are reported. Invalid models are read like others; checking is not done here.

mod attr;
mod data;
mod deferred;
mod fields;
mod graph;
mod lists;
mod node;
mod opset;
mod part;
mod read_pass;
mod tensor;
mod types;

pub use data::read_data;
pub use opset::read_operator_set;
pub use part::{read_function, read_graph, read_part};

use crate::wire::{
    self, Anomaly, AnomalyKind, FUNCTION_PROTO, MODEL_PROTO, Malformed, Reason, TRAINING_INFO_PROTO,
};
use crate::{FileKind, pb};
use bytes::Bytes;
use graph::GraphReader;
use onnx_ir::diag::{Diagnostic, Parsed, Place, Span, code, counted};
use onnx_ir::{
    BodyBuilder, BodyId, DeviceConfiguration, Entry, Function, Model, Name, Names, OpsetImport, Port,
    TrainingInfo,
};
use read_pass::ReadPass;

/// The most unknown fields that are reported individually.
const MAX_REPORTED: usize = 50;

/// Decodes the bytes of a `ModelProto`; returns findings about the bytes.
///
/// An error means that the bytes are not a model, or that a part could not be decoded and is missing. A warning names an unknown
/// field, which is dropped.
pub fn read(bytes: Bytes) -> Parsed<Model> {
    let (mut model, mut pass) = (Model::new(), ReadPass::fast());
    read_model(&bytes, &mut model, &mut pass);
    if pass.is_unusual {
        model = Model::new();
        let mut diagnostics = Vec::new();
        let bytes = readable(bytes, FileKind::Model, &mut diagnostics);
        pass = ReadPass::validated(diagnostics);
        if let Some(bytes) = bytes {
            read_model(&bytes, &mut model, &mut pass);
        }
    }
    Parsed::new(model, pass.diagnostics)
}

/// The bytes of a message in an encoding that the structs decode correctly, usually unchanged; `None` if they are not such a
/// message. Reports what the structs drop.
fn readable(bytes: Bytes, kind: FileKind, diagnostics: &mut Vec<Diagnostic>) -> Option<Bytes> {
    let mut misread = false;
    let mut unknown = 0;
    let walked = wire::walk(&bytes, kind.message(), wire::ScanDepth::Structure, &mut |finding| {
        misread |= wire::is_misread(finding.kind);
        if matches!(finding.kind, AnomalyKind::Unknown | AnomalyKind::WrongType) {
            unknown += 1;
            if unknown <= MAX_REPORTED {
                diagnostics.push(unknown_field(&finding, kind));
            }
        }
    });
    if let Err(malformed) = walked {
        diagnostics.push(truncated(&bytes, &malformed).unwrap_or_else(|| undecodable(&malformed, kind)));
        return None;
    }
    if unknown > MAX_REPORTED {
        let message = format!("{} more unknown fields", unknown - MAX_REPORTED);
        diagnostics.push(Diagnostic::new(&code::UNKNOWN_FIELD, Place::Nowhere, message));
    }
    if misread {
        // The walk did not read the numbers in lists.
        return wire::canonical(&bytes, kind.message())
            .map_err(|reason| {
                diagnostics.push(undecodable(&Malformed { path: String::new(), offset: 0, reason }, kind));
            })
            .ok()
            .map(Bytes::from);
    }
    Some(bytes)
}

/// The finding for a truncated file; `None` for one that is damaged inside.
fn truncated(bytes: &[u8], malformed: &Malformed) -> Option<Diagnostic> {
    let announced = wire::announced(bytes).filter(|_| malformed.reason == Reason::Truncated)?;
    let message = format!(
        "the file is truncated or corrupt: {} announced, {} present",
        size(announced as u64),
        size(bytes.len() as u64)
    );
    Some(Diagnostic::new(&code::MODEL_UNDECODABLE, place(bytes.len(), bytes.len()), message))
}

/// `10.6 MB`; one that is smaller with all its digits.
fn size(bytes: u64) -> String {
    let (unit, per) = match bytes {
        0..10_000 => return counted(bytes, "byte"),
        10_000..10_000_000 => ("kB", 1_000),
        10_000_000..10_000_000_000 => ("MB", 1_000_000),
        _ => ("GB", 1_000_000_000),
    };
    format!("{}.{} {unit}", bytes / per, bytes % per * 10 / per)
}

fn undecodable(malformed: &Malformed, kind: FileKind) -> Diagnostic {
    let inside = if malformed.path.is_empty() { kind.name() } else { &malformed.path };
    let message = format!("`{inside}` cannot be decoded: {}", malformed.reason);
    Diagnostic::new(&code::MODEL_UNDECODABLE, place(malformed.offset, malformed.offset), message)
}

fn unknown_field(finding: &Anomaly<'_>, kind: FileKind) -> Diagnostic {
    let path = if finding.path.is_root() { kind.name().to_owned() } else { finding.path.to_string() };
    let message = match finding.field {
        Some(field) => format!("field `{field}` of `{path}` is stored as {}", finding.wire.name()),
        None => format!("unknown field {} of `{path}`", finding.number),
    };
    Diagnostic::new(&code::UNKNOWN_FIELD, place(finding.range.start, finding.range.end), message)
        .label("this field is dropped")
        .maybe_help(reserved(&path, finding.number).map(|text| {
            format!("earlier versions of the format had {text} under this number; no reader uses it today")
        }))
}

/// The former meaning of a number that the format reserves today, in the message at the end of a path.
fn reserved(path: &str, number: u32) -> Option<&'static str> {
    let last = path.rsplit('.').next()?;
    let field = last.split('[').next()?;
    Some(match (field, number) {
        // IR version 8 made functions a part of models.
        ("functions" | "FunctionProto", 2) => "`since_version` (until IR version 8)",
        ("functions" | "FunctionProto", 3) => "`status` (until IR version 8)",
        ("graph" | "g" | "graphs" | "initialization" | "algorithm" | "GraphProto", 3 | 4 | 6..=9) => {
            "a field such as `ir_version`, `producer_version`, `producer_tag` or `domain`"
        }
        ("attribute" | "attribute_proto" | "AttributeProto", 12 | 16..=19) => "a field such as `v`",
        ("opaque_type", 3) => "`parameters`",
        _ => return None,
    })
}

/// A range of the file; positions beyond 4 GiB have no place.
fn place(start: usize, end: usize) -> Place {
    match (u32::try_from(start), u32::try_from(end)) {
        (Ok(start), Ok(end)) => Place::Source(Span::new(start, end)),
        _ => Place::Nowhere,
    }
}

const MODEL_GRAPH: u32 = 7;
const MODEL_TRAINING_INFO: u32 = 20;
const MODEL_FUNCTIONS: u32 = 25;
const TRAINING_INITIALIZATION: u32 = 1;
const TRAINING_ALGORITHM: u32 = 2;
const FUNCTION_NODE: u32 = 7;
const FUNCTION_ATTRIBUTE_PROTO: u32 = 11;
const FUNCTION_VALUE_INFO: u32 = 12;

fn read_model(bytes: &Bytes, model: &mut Model, pass: &mut ReadPass) {
    let (rest, deferred) = pass.split(bytes, &[MODEL_GRAPH, MODEL_TRAINING_INFO, MODEL_FUNCTIONS]);
    let pb::ModelProto {
        ir_version,
        producer_name,
        producer_version,
        domain,
        model_version,
        doc_string,
        graph: _,
        opset_import,
        metadata_props,
        training_info: _,
        functions: _,
        configuration,
    } = pass.decode(rest, &MODEL_PROTO);

    let names = &mut model.names;
    model.header.ir_version = ir_version;
    model.header.opset_imports = opset_imports(opset_import, names);
    model.header.producer_name = name(producer_name, names);
    model.header.producer_version = name(producer_version, names);
    model.header.domain = name(domain, names);
    model.header.model_version = model_version;
    model.header.doc = name(doc_string, names);
    model.header.metadata = entries(metadata_props, names);
    model.configurations = configuration
        .into_iter()
        .map(|message| DeviceConfiguration {
            name: name(message.name, names),
            num_devices: message.num_devices,
            devices: message.device.iter().map(|device| names.intern_bytes(device)).collect(),
        })
        .collect();

    model.main = deferred.value(MODEL_GRAPH).map(|graph| graph_body(&graph, model, pass));
    for function in deferred.values(MODEL_FUNCTIONS) {
        let function = self::function(&function, model, pass);
        model.functions.push(function);
    }
    for info in deferred.values(MODEL_TRAINING_INFO) {
        let (rest, deferred) = pass.split(&info, &[TRAINING_INITIALIZATION, TRAINING_ALGORITHM]);
        let message: pb::TrainingInfoProto = pass.decode(rest, &TRAINING_INFO_PROTO);
        let mut graph = |number| Some(graph_body(&deferred.value(number)?, model, pass));
        let (initialization, algorithm) = (graph(TRAINING_INITIALIZATION), graph(TRAINING_ALGORITHM));
        model.training.push(TrainingInfo {
            initialization,
            algorithm,
            initialization_bindings: entries(message.initialization_binding, &mut model.names),
            update_bindings: entries(message.update_binding, &mut model.names),
        });
    }
}

fn graph_body(encoded: &Bytes, model: &mut Model, pass: &mut ReadPass) -> BodyId {
    let mut reader = GraphReader { b: BodyBuilder::new(model), pass };
    reader.graph(encoded, None);
    reader.b.finish()
}

fn function(bytes: &Bytes, model: &mut Model, pass: &mut ReadPass) -> Function {
    let deferred = [FUNCTION_NODE, FUNCTION_ATTRIBUTE_PROTO, FUNCTION_VALUE_INFO];
    let (rest, deferred) = pass.split(bytes, &deferred);
    let pb::FunctionProto {
        name: function_name,
        input,
        output,
        attribute,
        node: _,
        doc_string,
        opset_import,
        domain,
        attribute_proto: _,
        value_info: _,
        overload,
        metadata_props,
    } = pass.decode(rest, &FUNCTION_PROTO);

    let mut reader = GraphReader { b: BodyBuilder::new(model), pass };
    reader.b.begin_graph(None, None);
    for input in input {
        let name = reader.b.names.intern_bytes(&input);
        reader.b.input(name, None);
    }
    for node in deferred.slices(FUNCTION_NODE) {
        reader.node(node, &deferred.bytes);
    }
    for output in output {
        let name = reader.b.names.intern_bytes(&output);
        reader.b.output_port(Port { name: Some(name), ..Port::default() });
    }
    for info in deferred.slices(FUNCTION_VALUE_INFO) {
        let port = reader.types().port(info);
        reader.b.value_info(port);
    }
    let attribute_defaults = deferred
        .slices(FUNCTION_ATTRIBUTE_PROTO)
        .map(|attr| reader.attr(attr, &deferred.bytes, None))
        .collect();
    reader.b.end_graph();
    let body = reader.b.finish();

    let names = &mut model.names;
    Function {
        name: name(function_name, names),
        domain: name(domain, names),
        overload: name(overload, names),
        attributes: attribute.iter().map(|attribute| names.intern_bytes(attribute)).collect(),
        attribute_defaults,
        opset_imports: opset_imports(opset_import, names),
        doc: name(doc_string, names),
        metadata: entries(metadata_props, names),
        body,
    }
}

fn opset_imports(messages: Vec<pb::OperatorSetIdProto>, names: &mut Names) -> Vec<OpsetImport> {
    messages
        .into_iter()
        .map(|message| OpsetImport { domain: name(message.domain, names), version: message.version })
        .collect()
}

fn name(bytes: Option<Bytes>, names: &mut Names) -> Option<Name> {
    bytes.map(|bytes| names.intern_bytes(&bytes))
}

fn entries(messages: Vec<pb::StringStringEntryProto>, names: &mut Names) -> Vec<Entry> {
    messages
        .into_iter()
        .map(|message| Entry { key: name(message.key, names), value: name(message.value, names) })
        .collect()
}
