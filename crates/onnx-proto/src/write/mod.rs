//! From the IR to bytes: the inverse of `read`, byte for byte on what standard encoders write.

mod data;
mod fields;
mod graph;
mod node;
mod opset;
mod part;
mod tensor;
mod types;

pub use data::write_data;
pub use opset::write_operator_set;
pub(crate) use part::wrapped;
pub use part::{write_function, write_graph, write_part};

use crate::pb;
use bytes::Bytes;
use fields::{Open, message};
use graph::GraphWriter;
use onnx_ir::diag::counted;
use onnx_ir::{EntityId as _, Entry, Function, Model, Name, Names, OpsetImport, TrainingInfo};
use prost::Message as _;

/// A message of more bytes than protobuf readers accept: 2 GiB - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// The size it would have, in bytes.
    pub size: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the file would have {}, but protobuf is limited to 2147483647", counted(self.size, "byte"))
    }
}

impl std::error::Error for TooLarge {}

/// The model as an encoded `ModelProto`, whatever state it is in.
///
/// # Errors
///
/// The message would not fit into what protobuf can read: keep the weights in files of their own.
pub fn write(model: &Model) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&model.names);
    // A message is the sum of its pieces: each is written where the one before it ended.
    let mut out = header(model, strings).encode_to_vec();
    if let Some(main) = model.main {
        main_graph(&GraphWriter { model, body: &model.bodies[main], strings }, &mut out)?;
    }
    imports(model, strings).encode_raw(&mut out);
    for info in &model.training {
        message(TRAINING_INFO, &mut out, |out| training_info(info, model, strings, out));
    }
    for function in model.functions.values() {
        message(FUNCTIONS, &mut out, |out| function_fields(function, model, strings, out));
    }
    configurations(model, strings).encode_raw(&mut out);
    check_size(out.len())?;
    Ok(out)
}

const GRAPH: u32 = 7;
const TRAINING_INFO: u32 = 20;
const FUNCTIONS: u32 = 25;
/// About what a node takes, with names as exporters make them.
const NODE_SIZE: usize = 160;

/// Writes `graph` of a model. Its weights are written to their place, once.
fn main_graph(writer: &GraphWriter<'_>, out: &mut Vec<u8>) -> Result<(), TooLarge> {
    let Some(root) = writer.body.root().map(|root| &writer.body.graphs[root]) else {
        message(GRAPH, out, |_| ());
        return Ok(());
    };
    let rest = writer.without_nodes(root);
    let rest_len = rest.encoded_len();
    let expected = rest_len + root.nodes.len() * NODE_SIZE;
    check_size(out.len() + rest_len)?;
    out.reserve(expected);
    let graph = Open::begin(GRAPH, expected, out);
    writer.nodes(root, graph::NODE, out);
    check_size(out.len() + rest_len)?;
    graph.close(rest_len, out);
    out.reserve(rest_len);
    rest.encode_raw(out);
    Ok(())
}

fn encode(message: &impl prost::Message) -> Result<Vec<u8>, TooLarge> {
    check_size(message.encoded_len())?;
    Ok(message.encode_to_vec())
}

fn check_size(size: usize) -> Result<(), TooLarge> {
    i32::try_from(size).map(|_| ()).map_err(|_| TooLarge { size })
}

fn header(model: &Model, strings: &Strings) -> pb::ModelProto {
    let header = &model.header;
    pb::ModelProto {
        ir_version: header.ir_version,
        producer_name: strings.get(header.producer_name),
        producer_version: strings.get(header.producer_version),
        domain: strings.get(header.domain),
        model_version: header.model_version,
        doc_string: strings.get(header.doc),
        ..pb::ModelProto::default()
    }
}

fn imports(model: &Model, strings: &Strings) -> pb::ModelProto {
    pb::ModelProto {
        opset_import: opset_imports(&model.header.opset_imports, strings),
        metadata_props: entries(&model.header.metadata, strings),
        ..pb::ModelProto::default()
    }
}

fn configurations(model: &Model, strings: &Strings) -> pb::ModelProto {
    pb::ModelProto {
        configuration: model
            .configurations
            .iter()
            .map(|configuration| pb::DeviceConfigurationProto {
                name: strings.get(configuration.name),
                num_devices: configuration.num_devices,
                device: configuration.devices.iter().map(|&device| strings.of(device)).collect(),
            })
            .collect(),
        ..pb::ModelProto::default()
    }
}

/// Writes the fields of a `TrainingInfoProto`.
fn training_info(info: &TrainingInfo, model: &Model, strings: &Strings, out: &mut Vec<u8>) {
    for (number, body) in [(1, info.initialization), (2, info.algorithm)] {
        if let Some(body) = body.map(|body| &model.bodies[body]) {
            message(number, out, |out| GraphWriter { model, body, strings }.root(out));
        }
    }
    let bindings = pb::TrainingInfoProto {
        initialization_binding: entries(&info.initialization_bindings, strings),
        update_binding: entries(&info.update_bindings, strings),
        ..pb::TrainingInfoProto::default()
    };
    bindings.encode_raw(out);
}

/// Writes the fields of a `FunctionProto`, in pieces like those of a model.
fn function_fields(function: &Function, model: &Model, strings: &Strings, out: &mut Vec<u8>) {
    let writer = GraphWriter { model, body: &model.bodies[function.body], strings };
    let root = writer.body.root().map(|root| &writer.body.graphs[root]);
    let names = |ports: Option<&Vec<onnx_ir::Port>>| {
        let ports = ports.map(Vec::as_slice).unwrap_or_default();
        ports.iter().map(|port| strings.of(port.name.unwrap_or(Name::empty()))).collect()
    };
    let before_nodes = pb::FunctionProto {
        name: strings.get(function.name),
        input: names(root.map(|root| &root.inputs)),
        output: names(root.map(|root| &root.outputs)),
        attribute: function.attributes.iter().map(|&name| strings.of(name)).collect(),
        ..pb::FunctionProto::default()
    };
    let after_nodes = pb::FunctionProto {
        doc_string: strings.get(function.doc),
        opset_import: opset_imports(&function.opset_imports, strings),
        domain: strings.get(function.domain),
        ..pb::FunctionProto::default()
    };
    let after_defaults = pb::FunctionProto {
        value_info: root.map(|root| writer.ports(&root.value_info)).unwrap_or_default(),
        overload: strings.get(function.overload),
        metadata_props: entries(&function.metadata, strings),
        ..pb::FunctionProto::default()
    };
    before_nodes.encode_raw(out);
    if let Some(root) = root {
        writer.nodes(root, FUNCTION_NODE, out);
    }
    after_nodes.encode_raw(out);
    for attr in &function.attribute_defaults {
        message(FUNCTION_ATTRIBUTE_PROTO, out, |out| writer.attr(attr, out));
    }
    after_defaults.encode_raw(out);
}

const FUNCTION_NODE: u32 = 7;
const FUNCTION_ATTRIBUTE_PROTO: u32 = 11;

fn opset_imports(imports: &[OpsetImport], strings: &Strings) -> Vec<pb::OperatorSetIdProto> {
    imports
        .iter()
        .map(|import| pb::OperatorSetIdProto { domain: strings.get(import.domain), version: import.version })
        .collect()
}

fn entries(entries: &[Entry], strings: &Strings) -> Vec<pb::StringStringEntryProto> {
    entries
        .iter()
        .map(|entry| pb::StringStringEntryProto {
            key: strings.get(entry.key),
            value: strings.get(entry.value),
        })
        .collect()
}

/// Every name as `Bytes` that share one buffer: a copy of the names, not of each use.
struct Strings {
    pool: Bytes,
    ends: Vec<usize>,
}

impl Strings {
    fn new(names: &Names) -> Strings {
        let mut pool = Vec::new();
        let mut ends = Vec::with_capacity(names.len());
        for name in names.ids() {
            pool.extend_from_slice(names.bytes(name));
            ends.push(pool.len());
        }
        Strings { pool: pool.into(), ends }
    }

    fn of(&self, name: Name) -> Bytes {
        let end = self.ends.get(name.index()).copied().unwrap_or(0);
        let start =
            name.index().checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.pool.slice(start.min(end)..end)
    }

    fn get(&self, name: Option<Name>) -> Option<Bytes> {
        name.map(|name| self.of(name))
    }
}
