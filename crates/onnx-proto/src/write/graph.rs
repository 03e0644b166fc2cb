//! Graphs.

use super::fields::message;
use super::tensor::{sparse_tensor_message, tensor_message};
use super::types::type_message;
use super::{Strings, entries};
use crate::pb;
use onnx_ir::{Body, Graph, GraphId, Model, Port, SparseTensor, TensorId, TypeId};
use prost::Message as _;

/// The number of `GraphProto.node`, the lowest there.
pub(super) const NODE: u32 = 1;

/// Writes what is in one body.
pub(super) struct GraphWriter<'m> {
    pub(super) model: &'m Model,
    pub(super) body: &'m Body,
    pub(super) strings: &'m Strings,
}

impl GraphWriter<'_> {
    /// Writes the fields of the root graph.
    pub(super) fn root(&self, out: &mut Vec<u8>) {
        if let Some(root) = self.body.root() {
            self.graph(root, out);
        }
    }

    /// Writes the fields of a graph: first its nodes, which have the lowest number.
    pub(super) fn graph(&self, id: GraphId, out: &mut Vec<u8>) {
        let graph = &self.body.graphs[id];
        self.nodes(graph, NODE, out);
        self.without_nodes(graph).encode_raw(out);
    }

    /// Writes the nodes of a graph as fields of this number.
    pub(super) fn nodes(&self, graph: &Graph, number: u32, out: &mut Vec<u8>) {
        for &node in &graph.nodes {
            message(number, out, |out| self.node(node, out));
        }
    }

    /// The rest of a graph.
    pub(super) fn without_nodes(&self, graph: &Graph) -> pb::GraphProto {
        let strings = self.strings;
        pb::GraphProto {
            node: Vec::new(),
            name: strings.get(graph.name),
            initializer: graph.initializers.iter().map(|init| self.tensor(init.tensor)).collect(),
            doc_string: strings.get(graph.doc),
            input: self.ports(&graph.inputs),
            output: self.ports(&graph.outputs),
            value_info: self.ports(&graph.value_info),
            quantization_annotation: graph
                .quantization
                .iter()
                .map(|annotation| pb::TensorAnnotation {
                    tensor_name: strings.get(annotation.tensor_name),
                    quant_parameter_tensor_names: entries(&annotation.parameters, strings),
                })
                .collect(),
            sparse_initializer: graph
                .sparse_initializers
                .iter()
                .map(|init| self.sparse_tensor(&init.tensor))
                .collect(),
            metadata_props: entries(&graph.metadata, strings),
        }
    }

    pub(super) fn ports(&self, ports: &[Port]) -> Vec<pb::ValueInfoProto> {
        let message = |port: &Port| pb::ValueInfoProto {
            name: self.strings.get(port.name),
            r#type: port.ty.map(|ty| self.ty(ty)),
            doc_string: self.strings.get(port.doc),
            metadata_props: entries(&port.metadata, self.strings),
        };
        ports.iter().map(message).collect()
    }

    pub(super) fn ty(&self, ty: TypeId) -> pb::TypeProto {
        type_message(ty, &self.model.types, self.strings)
    }

    pub(super) fn tensor(&self, id: TensorId) -> pb::TensorProto {
        tensor_message(&self.body.tensors[id], self.strings)
    }

    pub(super) fn sparse_tensor(&self, tensor: &SparseTensor) -> pb::SparseTensorProto {
        let tensors = &self.body.tensors;
        let part = |id: Option<TensorId>| id.map(|id| &tensors[id]);
        sparse_tensor_message(part(tensor.values), part(tensor.indices), &tensor.dims, self.strings)
    }
}
