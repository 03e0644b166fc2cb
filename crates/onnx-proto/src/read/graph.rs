//! Graphs.

use super::plain::{plain_port, plain_tensor};
use super::read_pass::ReadPass;
use super::tensor::{read_sparse_tensor, read_tensor};
use super::types::read_type;
use super::{entries, name};
use crate::pb;
use crate::wire::{GRAPH_PROTO, TENSOR_PROTO, VALUE_INFO_PROTO};
use bytes::Bytes;
use onnx_ir::{
    BodyBuilder, GraphId, NodeId, Port, QuantizationAnnotation, SparseData, SparseTensor, Tensor, TypeId,
};

// The lists of a graph that can be long.
const NODE: u32 = 1;
const INITIALIZER: u32 = 5;
const INPUT: u32 = 11;
const OUTPUT: u32 = 12;
const VALUE_INFO: u32 = 13;

/// Fills one body.
pub(super) struct GraphReader<'m, 'd> {
    pub(super) b: BodyBuilder<'m>,
    pub(super) pass: &'d mut ReadPass,
}

impl GraphReader<'_, '_> {
    /// A `GraphProto`.
    pub(super) fn graph(&mut self, encoded: &Bytes, owner: Option<NodeId>) -> GraphId {
        if !self.pass.enter() {
            self.pass.leave();
            return self.empty_graph(owner);
        }
        let (rest, deferred) = self.pass.split(encoded, &[NODE, INITIALIZER, INPUT, OUTPUT, VALUE_INFO]);
        let pb::GraphProto {
            node: _,
            name: graph_name,
            initializer: _,
            doc_string,
            input: _,
            output: _,
            value_info: _,
            quantization_annotation,
            sparse_initializer,
            metadata_props,
        } = self.pass.decode(rest, &GRAPH_PROTO);

        let graph_name = name(graph_name, self.b.names);
        let id = self.b.begin_graph(graph_name, owner);
        for input in deferred.slices(INPUT) {
            let port = self.encoded_port(input, &deferred.bytes);
            self.b.input_port(port);
        }
        let count = |number| deferred.slices(number).count();
        let (nodes, tensors) = (count(NODE), count(INITIALIZER));
        // Each has a name, and so have the results of nodes.
        self.b.names.reserve(2 * nodes + tensors);
        let body = self.b.body_mut();
        body.nodes.reserve(nodes);
        body.tensors.reserve(tensors);
        body.values.reserve(nodes + tensors);
        for tensor in deferred.values(INITIALIZER) {
            let tensor = self.tensor(tensor);
            self.b.initializer(tensor);
        }
        for tensor in sparse_initializer {
            let tensor = self.sparse_tensor(tensor);
            self.b.sparse_initializer(tensor);
        }
        for node in deferred.slices(NODE) {
            if self.pass.is_over() {
                break;
            }
            self.node(node, &deferred.bytes);
        }
        for output in deferred.slices(OUTPUT) {
            let port = self.encoded_port(output, &deferred.bytes);
            self.b.output_port(port);
        }
        for info in deferred.slices(VALUE_INFO) {
            let port = self.encoded_port(info, &deferred.bytes);
            self.b.value_info(port);
        }

        let names = &mut *self.b.names;
        let doc = name(doc_string, names);
        let metadata = entries(metadata_props, names);
        let quantization = quantization_annotation
            .into_iter()
            .map(|message| QuantizationAnnotation {
                tensor_name: name(message.tensor_name, names),
                parameters: entries(message.quant_parameter_tensor_names, names),
            })
            .collect();
        let graph = self.b.current_graph();
        graph.doc = doc;
        graph.metadata = metadata;
        graph.quantization = quantization;
        self.b.end_graph();
        self.pass.leave();
        id
    }

    /// In place of a graph that is not read.
    fn empty_graph(&mut self, owner: Option<NodeId>) -> GraphId {
        let id = self.b.begin_graph(None, owner);
        self.b.end_graph();
        id
    }

    pub(super) fn port(&mut self, message: pb::ValueInfoProto) -> Port {
        let names = &mut *self.b.names;
        let (port_name, doc) = (name(message.name, names), name(message.doc_string, names));
        let metadata = entries(message.metadata_props, names);
        Port { name: port_name, value: None, ty: message.r#type.map(|ty| self.ty(ty)), doc, metadata }
    }

    fn encoded_port(&mut self, encoded: &[u8], whole: &Bytes) -> Port {
        if let Some(port) = plain_port(encoded, self.b.names, self.b.types) {
            return port;
        }
        let message = self.pass.decode(whole.slice_ref(encoded), &VALUE_INFO_PROTO);
        self.port(message)
    }

    pub(super) fn tensor(&mut self, encoded: Bytes) -> Tensor {
        if let Some(tensor) = plain_tensor(&encoded, self.b.names) {
            return tensor;
        }
        let message = self.pass.decode(encoded, &TENSOR_PROTO);
        read_tensor(message, self.b.names, &mut self.pass.diagnostics)
    }

    pub(super) fn ty(&mut self, message: pb::TypeProto) -> TypeId {
        read_type(message, self.b.names, self.b.types)
    }

    pub(super) fn sparse_tensor(&mut self, message: pb::SparseTensorProto) -> SparseTensor {
        let SparseData { values, indices, dims } =
            read_sparse_tensor(message, self.b.names, &mut self.pass.diagnostics);
        let values = values.map(|tensor| self.b.tensor(tensor));
        let indices = indices.map(|tensor| self.b.tensor(tensor));
        SparseTensor { values, indices, dims }
    }
}
