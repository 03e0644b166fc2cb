//! Graphs, nodes and attributes.

use super::tensor::{sparse_tensor_message, tensor_message};
use super::types::type_message;
use super::{Strings, entries};
use crate::pb;
use bytes::Bytes;
use onnx_ir::{
    Attr, AttrValue, Body, DimValue, Graph, GraphId, Model, NodeDeviceConfiguration, NodeId, Port,
    ShardingSpec, SimpleSharding, SparseTensor, TensorId, TypeId, ValueId,
};

/// The number of `GraphProto.node`, the lowest there.
const NODE: u32 = 1;

/// Writes what is in one body.
pub(super) struct GraphWriter<'m> {
    pub(super) model: &'m Model,
    pub(super) body: &'m Body,
    pub(super) strings: &'m Strings,
}

impl GraphWriter<'_> {
    pub(super) fn root(&self) -> pb::GraphProto {
        self.body.root().map(|root| self.graph(root)).unwrap_or_default()
    }

    /// The nodes of the root graph, encoded one by one, and the rest of it, which follows them.
    pub(super) fn root_pieces(&self) -> (Vec<u8>, pb::GraphProto) {
        let Some(root) = self.body.root().map(|root| &self.body.graphs[root]) else {
            return (Vec::new(), pb::GraphProto::default());
        };
        let mut nodes = Vec::new();
        for &node in &root.nodes {
            prost::encoding::message::encode(NODE, &self.node(node), &mut nodes);
        }
        (nodes, self.graph_without_nodes(root))
    }

    fn graph(&self, id: GraphId) -> pb::GraphProto {
        let graph = &self.body.graphs[id];
        pb::GraphProto { node: self.nodes(graph), ..self.graph_without_nodes(graph) }
    }

    fn graph_without_nodes(&self, graph: &Graph) -> pb::GraphProto {
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

    pub(super) fn nodes(&self, graph: &Graph) -> Vec<pb::NodeProto> {
        graph.nodes.iter().map(|&node| self.node(node)).collect()
    }

    fn node(&self, id: NodeId) -> pb::NodeProto {
        let node = &self.body.nodes[id];
        let strings = self.strings;
        let extra = node.extra();
        pb::NodeProto {
            input: node.inputs.iter().map(|&value| self.value(value)).collect(),
            output: node.outputs.iter().map(|&value| self.value(value)).collect(),
            name: strings.get(node.name),
            op_type: strings.get(node.op),
            attribute: node.attrs.iter().map(|attr| self.attr(attr)).collect(),
            doc_string: strings.get(extra.doc),
            domain: strings.get(node.domain),
            overload: strings.get(node.overload),
            metadata_props: entries(&extra.metadata, strings),
            device_configurations: extra.devices.iter().map(|devices| self.devices(devices)).collect(),
        }
    }

    /// The name of an operand; empty for one that is left out.
    fn value(&self, value: Option<ValueId>) -> Bytes {
        value.map(|value| self.strings.of(self.body.values[value].name)).unwrap_or_default()
    }

    pub(super) fn attr(&self, attr: &Attr) -> pb::AttributeProto {
        let mut message = pb::AttributeProto {
            name: self.strings.get(attr.name),
            r#type: attr.ty.map(|ty| ty.0),
            ref_attr_name: self.strings.get(attr.reference),
            doc_string: self.strings.get(attr.doc),
            ..pb::AttributeProto::default()
        };
        for value in &attr.values {
            match value {
                AttrValue::Float(f) => message.f = Some(*f),
                AttrValue::Int(i) => message.i = Some(*i),
                AttrValue::String(s) => message.s = Some(s.clone()),
                AttrValue::Tensor(t) => message.t = Some(Box::new(self.tensor(*t))),
                AttrValue::Graph(g) => message.g = Some(Box::new(self.graph(*g))),
                AttrValue::Floats(floats) => message.floats.clone_from(floats),
                AttrValue::Ints(ints) => message.ints.clone_from(ints),
                AttrValue::Strings(strings) => message.strings.clone_from(strings),
                AttrValue::Tensors(tensors) => {
                    message.tensors = tensors.iter().map(|&t| self.tensor(t)).collect()
                }
                AttrValue::Graphs(graphs) => message.graphs = graphs.iter().map(|&g| self.graph(g)).collect(),
                AttrValue::Type(ty) => message.tp = Some(Box::new(self.ty(*ty))),
                AttrValue::Types(types) => {
                    message.type_protos = types.iter().map(|&ty| self.ty(ty)).collect()
                }
                AttrValue::SparseTensor(t) => message.sparse_tensor = Some(Box::new(self.sparse_tensor(t))),
                AttrValue::SparseTensors(tensors) => {
                    message.sparse_tensors = tensors.iter().map(|t| self.sparse_tensor(t)).collect();
                }
            }
        }
        message
    }

    fn ty(&self, ty: TypeId) -> pb::TypeProto {
        type_message(ty, &self.model.types, self.strings)
    }

    fn tensor(&self, id: TensorId) -> pb::TensorProto {
        tensor_message(&self.body.tensors[id], self.strings)
    }

    fn sparse_tensor(&self, tensor: &SparseTensor) -> pb::SparseTensorProto {
        let tensors = &self.body.tensors;
        let part = |id: Option<TensorId>| id.map(|id| &tensors[id]);
        sparse_tensor_message(part(tensor.values), part(tensor.indices), &tensor.dims, self.strings)
    }

    fn devices(&self, devices: &NodeDeviceConfiguration) -> pb::NodeDeviceConfigurationProto {
        pb::NodeDeviceConfigurationProto {
            configuration_id: self.strings.get(devices.configuration),
            sharding_spec: devices.sharding.iter().map(|spec| self.sharding(spec)).collect(),
            pipeline_stage: devices.pipeline_stage,
        }
    }

    fn sharding(&self, spec: &ShardingSpec) -> pb::ShardingSpecProto {
        use pb::simple_sharded_dim_proto::Dim;
        let part = |part: &SimpleSharding| pb::SimpleShardedDimProto {
            dim: match part.dim {
                DimValue::Unknown => None,
                DimValue::Value(value) => Some(Dim::DimValue(value)),
                DimValue::Param(param) => Some(Dim::DimParam(self.strings.of(param))),
            },
            num_shards: part.shards,
        };
        pb::ShardingSpecProto {
            tensor_name: self.strings.get(spec.tensor_name),
            device: spec.devices.clone(),
            index_to_device_group_map: spec
                .groups
                .iter()
                .map(|group| pb::IntIntListEntryProto { key: group.key, value: group.devices.clone() })
                .collect(),
            sharded_dim: spec
                .axes
                .iter()
                .map(|axis| pb::ShardedDimProto {
                    axis: axis.axis,
                    simple_sharding: axis.parts.iter().map(part).collect(),
                })
                .collect(),
        }
    }
}
