//! Graphs.

use super::read_pass::ReadPass;
use super::tensor::TensorReader;
use super::types::TypeReader;
use super::{entries, name};
use crate::pb;
use crate::wire::GRAPH_PROTO;
use bytes::Bytes;
use onnx_ir::{BodyBuilder, GraphId, NodeId, QuantizationAnnotation, SparseData, SparseTensor};

// The lists of a graph that are read one by one: they can be long, or have tensors.
const NODE: u32 = 1;
const INITIALIZER: u32 = 5;
const INPUT: u32 = 11;
const OUTPUT: u32 = 12;
const VALUE_INFO: u32 = 13;
const SPARSE_INITIALIZER: u32 = 15;

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
        // Fields with many entries are read one by one; the others are decoded at once.
        let deferred = [NODE, INITIALIZER, INPUT, OUTPUT, VALUE_INFO, SPARSE_INITIALIZER];
        let (rest, deferred) = self.pass.split(encoded, &deferred);
        let pb::GraphProto {
            node: _,
            name: graph_name,
            initializer: _,
            doc_string,
            input: _,
            output: _,
            value_info: _,
            quantization_annotation,
            sparse_initializer: _,
            metadata_props,
        } = self.pass.decode(rest, &GRAPH_PROTO);

        // Inputs and initializers come before nodes, which read them by name.
        let graph_name = name(graph_name, self.b.names);
        let id = self.b.begin_graph(graph_name, owner);
        for input in deferred.slices(INPUT) {
            let port = self.types().port(input);
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
            let tensor = self.tensors().tensor(&tensor);
            self.b.initializer(tensor);
        }
        for tensor in deferred.values(SPARSE_INITIALIZER) {
            let tensor = self.sparse_tensor(&tensor);
            self.b.sparse_initializer(tensor);
        }
        for node in deferred.slices(NODE) {
            if self.pass.is_over() {
                break;
            }
            self.node(node, &deferred.bytes);
        }
        for output in deferred.slices(OUTPUT) {
            let port = self.types().port(output);
            self.b.output_port(port);
        }
        for info in deferred.slices(VALUE_INFO) {
            let port = self.types().port(info);
            self.b.value_info(port);
        }

        // Documentation, metadata and annotations.
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

    pub(super) fn types(&mut self) -> TypeReader<'_> {
        TypeReader { names: self.b.names, types: self.b.types, pass: self.pass }
    }

    pub(super) fn tensors(&mut self) -> TensorReader<'_> {
        TensorReader { names: self.b.names, pass: self.pass }
    }

    pub(super) fn sparse_tensor(&mut self, encoded: &Bytes) -> SparseTensor {
        let SparseData { values, indices, dims } = self.tensors().sparse_tensor(encoded);
        let values = values.map(|tensor| self.b.tensor(tensor));
        let indices = indices.map(|tensor| self.b.tensor(tensor));
        SparseTensor { values, indices, dims }
    }
}
