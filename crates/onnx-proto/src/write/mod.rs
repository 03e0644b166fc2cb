//! From the IR to bytes: the inverse of `read`, byte for byte on what standard encoders write.

mod data;
mod graph;
mod part;
mod tensor;
mod types;

pub use data::write_data;
pub use part::{write_function, write_graph};

use crate::pb;
use bytes::Bytes;
use graph::GraphWriter;
use onnx_ir::{BodyId, EntityId as _, Entry, Function, Model, Name, Names, OpsetImport};
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};

/// A message of more bytes than protobuf readers accept: 2 GiB - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// The size it would have, in bytes.
    pub size: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the file would have {} bytes, and protobuf ends at 2147483647", self.size)
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
    // A message is the sum of its pieces, so the graph can be written apart, and its nodes, which are many, apart from
    // it. The pieces are those before the graph (7), the graph (first its nodes, 1), and those after it.
    let before = before_graph(model, strings);
    let after = after_graph(model, strings);
    let main = model.main.map(|body| GraphWriter { model, body: &model.bodies[body], strings });
    let graph = main.as_ref().map(GraphWriter::root_pieces);
    let graph_len = graph.as_ref().map(|(nodes, rest)| nodes.len() + rest.encoded_len());

    let size = before.encoded_len() + graph_len.map_or(0, |len| len + MAX_PREFIX) + after.encoded_len();
    check_size(size)?;
    let mut out = Vec::with_capacity(size);
    before.encode_raw(&mut out);
    if let (Some((nodes, rest)), Some(len)) = (graph, graph_len) {
        encode_key(GRAPH, WireType::LengthDelimited, &mut out);
        encode_varint(len as u64, &mut out);
        out.extend_from_slice(&nodes);
        rest.encode_raw(&mut out);
    }
    after.encode_raw(&mut out);
    Ok(out)
}

/// The number of `ModelProto.graph`.
const GRAPH: u32 = 7;
/// At most so many bytes of key and length precede a message.
const MAX_PREFIX: usize = 16;

fn encode(message: &impl prost::Message) -> Result<Vec<u8>, TooLarge> {
    check_size(message.encoded_len())?;
    Ok(message.encode_to_vec())
}

fn check_size(size: usize) -> Result<(), TooLarge> {
    i32::try_from(size).map(|_| ()).map_err(|_| TooLarge { size })
}

fn before_graph(model: &Model, strings: &Strings) -> pb::ModelProto {
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

fn after_graph(model: &Model, strings: &Strings) -> pb::ModelProto {
    let header = &model.header;
    let graph = |body: BodyId| GraphWriter { model, body: &model.bodies[body], strings }.root();
    pb::ModelProto {
        opset_import: opset_imports(&header.opset_imports, strings),
        metadata_props: entries(&header.metadata, strings),
        training_info: model
            .training
            .iter()
            .map(|info| pb::TrainingInfoProto {
                initialization: info.initialization.map(graph),
                algorithm: info.algorithm.map(graph),
                initialization_binding: entries(&info.initialization_bindings, strings),
                update_binding: entries(&info.update_bindings, strings),
            })
            .collect(),
        functions: model
            .functions
            .values()
            .map(|function| function_message(function, model, strings))
            .collect(),
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

fn function_message(function: &Function, model: &Model, strings: &Strings) -> pb::FunctionProto {
    let writer = GraphWriter { model, body: &model.bodies[function.body], strings };
    let root = writer.body.root().map(|root| &writer.body.graphs[root]);
    let names = |ports: Option<&Vec<onnx_ir::Port>>| {
        let ports = ports.map(Vec::as_slice).unwrap_or_default();
        ports.iter().map(|port| strings.of(port.name.unwrap_or(Name::empty()))).collect()
    };
    pb::FunctionProto {
        name: strings.get(function.name),
        input: names(root.map(|root| &root.inputs)),
        output: names(root.map(|root| &root.outputs)),
        attribute: function.attributes.iter().map(|&name| strings.of(name)).collect(),
        attribute_proto: function.attribute_defaults.iter().map(|attr| writer.attr(attr)).collect(),
        node: root.map(|root| writer.nodes(root)).unwrap_or_default(),
        doc_string: strings.get(function.doc),
        opset_import: opset_imports(&function.opset_imports, strings),
        domain: strings.get(function.domain),
        overload: strings.get(function.overload),
        value_info: root.map(|root| writer.ports(&root.value_info)).unwrap_or_default(),
        metadata_props: entries(&function.metadata, strings),
    }
}

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
        for index in 0..names.len() {
            pool.extend_from_slice(names.bytes(Name::from_index(index)));
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
