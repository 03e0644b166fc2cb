//! Graphs, nodes and attributes.

use super::late::{Late, decode_late};
use super::tensor::{read_sparse_tensor, read_tensor};
use super::types::read_type;
use super::{entries, name};
use crate::pb;
use onnx_ir::{
    Attr, AttrType, AttrValue, BodyBuilder, DeviceGroup, Diagnostic, DimValue, GraphId, Name, Names,
    NodeDeviceConfiguration, NodeExtra, NodeId, NodeSpec, Port, QuantizationAnnotation, ShardedAxis,
    ShardingSpec, SimpleSharding, SparseData, SparseTensor, TensorId, TypeId,
};
use smallvec::SmallVec;

/// The lists of a graph that can be long.
pub(super) const LATE: [u32; 3] = [NODE, INITIALIZER, VALUE_INFO];
const NODE: u32 = 1;
const INITIALIZER: u32 = 5;
const VALUE_INFO: u32 = 13;

/// Fills one body.
pub(super) struct GraphReader<'m, 'd> {
    pub(super) b: BodyBuilder<'m>,
    pub(super) diagnostics: &'d mut Vec<Diagnostic>,
}

impl GraphReader<'_, '_> {
    /// A graph; elements of its long lists may be late.
    pub(super) fn graph(&mut self, message: pb::GraphProto, late: &Late, owner: Option<NodeId>) -> GraphId {
        let pb::GraphProto {
            node,
            name: graph_name,
            initializer,
            doc_string,
            input,
            output,
            value_info,
            quantization_annotation,
            sparse_initializer,
            metadata_props,
        } = message;

        let graph_name = name(graph_name, self.b.names);
        let id = self.b.begin_graph(graph_name, owner);
        for input in input {
            let port = self.port(input);
            self.b.input_port(port);
        }
        for tensor in initializer {
            self.initializer(tensor);
        }
        for tensor in late.values(INITIALIZER) {
            let tensor = decode_late(tensor, self.diagnostics);
            self.initializer(tensor);
        }
        for tensor in sparse_initializer {
            let tensor = self.sparse_tensor(tensor);
            self.b.sparse_initializer(tensor);
        }
        for node in node {
            self.node(node);
        }
        for node in late.values(NODE) {
            let node = decode_late(node, self.diagnostics);
            self.node(node);
        }
        for output in output {
            let port = self.port(output);
            self.b.output_port(port);
        }
        for info in value_info {
            let port = self.port(info);
            self.b.value_info(port);
        }
        for info in late.values(VALUE_INFO) {
            let info = decode_late(info, self.diagnostics);
            let port = self.port(info);
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
        id
    }

    fn initializer(&mut self, message: pb::TensorProto) {
        let tensor = read_tensor(message, self.b.names, self.diagnostics);
        self.b.initializer(tensor);
    }

    pub(super) fn port(&mut self, message: pb::ValueInfoProto) -> Port {
        let names = &mut *self.b.names;
        let (port_name, doc) = (name(message.name, names), name(message.doc_string, names));
        let metadata = entries(message.metadata_props, names);
        Port { name: port_name, value: None, ty: message.r#type.map(|ty| self.ty(ty)), doc, metadata }
    }

    fn ty(&mut self, message: pb::TypeProto) -> TypeId {
        read_type(message, self.b.names, self.b.types)
    }

    pub(super) fn node(&mut self, message: pb::NodeProto) {
        let pb::NodeProto {
            input,
            output,
            name: node_name,
            op_type,
            attribute,
            doc_string,
            domain,
            overload,
            metadata_props,
            device_configurations,
        } = message;

        let names = &mut *self.b.names;
        let spec = NodeSpec {
            name: name(node_name, names),
            op: name(op_type, names),
            domain: name(domain, names),
            overload: name(overload, names),
            ..NodeSpec::default()
        };
        let inputs: SmallVec<[Name; 8]> = input.iter().map(|input| names.intern_bytes(input)).collect();
        let outputs: SmallVec<[Name; 8]> = output.iter().map(|output| names.intern_bytes(output)).collect();
        let extra = NodeExtra {
            doc: name(doc_string, names),
            metadata: entries(metadata_props, names),
            devices: device_configurations.into_iter().map(|message| devices(message, names)).collect(),
        };
        let has_extra = extra.doc.is_some() || !extra.metadata.is_empty() || !extra.devices.is_empty();

        let node = self.b.begin_node(spec, inputs);
        let attrs: Vec<Attr> = attribute.into_iter().map(|attr| self.attr(attr, Some(node))).collect();
        let filled = &mut self.b.body_mut().nodes[node];
        filled.attrs = attrs;
        filled.extra = has_extra.then(|| Box::new(extra));
        self.b.end_node(node, outputs);
    }

    /// An attribute of a node, or the default of a function's attribute.
    pub(super) fn attr(&mut self, message: pb::AttributeProto, node: Option<NodeId>) -> Attr {
        let names = &mut *self.b.names;
        let mut attr = Attr {
            name: name(message.name, names),
            ty: message.r#type.map(AttrType),
            reference: name(message.ref_attr_name, names),
            doc: name(message.doc_string, names),
            values: SmallVec::new(),
        };
        let values = &mut attr.values;
        // In the order of the field numbers.
        values.extend(message.f.map(AttrValue::Float));
        values.extend(message.i.map(AttrValue::Int));
        values.extend(message.s.map(AttrValue::String));
        values.extend(message.t.map(|t| AttrValue::Tensor(self.tensor(*t))));
        values.extend(message.g.map(|g| AttrValue::Graph(self.graph(*g, &Late::none(), node))));
        values.extend(list(message.floats).map(AttrValue::Floats));
        values.extend(list(message.ints).map(AttrValue::Ints));
        values.extend(list(message.strings).map(AttrValue::Strings));
        values.extend(
            list(message.tensors)
                .map(|ts| AttrValue::Tensors(ts.into_iter().map(|t| self.tensor(t)).collect())),
        );
        values.extend(list(message.graphs).map(|gs| {
            AttrValue::Graphs(gs.into_iter().map(|g| self.graph(g, &Late::none(), node)).collect())
        }));
        values.extend(message.tp.map(|ty| AttrValue::Type(self.ty(*ty))));
        values.extend(
            list(message.type_protos)
                .map(|ts| AttrValue::Types(ts.into_iter().map(|t| self.ty(t)).collect())),
        );
        values
            .extend(message.sparse_tensor.map(|t| AttrValue::SparseTensor(Box::new(self.sparse_tensor(*t)))));
        values.extend(
            list(message.sparse_tensors)
                .map(|ts| AttrValue::SparseTensors(ts.into_iter().map(|t| self.sparse_tensor(t)).collect())),
        );
        attr
    }

    fn tensor(&mut self, message: pb::TensorProto) -> TensorId {
        let tensor = read_tensor(message, self.b.names, self.diagnostics);
        self.b.tensor(tensor)
    }

    fn sparse_tensor(&mut self, message: pb::SparseTensorProto) -> SparseTensor {
        let SparseData { values, indices, dims } =
            read_sparse_tensor(message, self.b.names, self.diagnostics);
        let values = values.map(|tensor| self.b.tensor(tensor));
        let indices = indices.map(|tensor| self.b.tensor(tensor));
        SparseTensor { values, indices, dims }
    }
}

/// A list, unless it is empty: lists have no presence.
fn list<T>(entries: Vec<T>) -> Option<Vec<T>> {
    (!entries.is_empty()).then_some(entries)
}

fn devices(message: pb::NodeDeviceConfigurationProto, names: &mut Names) -> NodeDeviceConfiguration {
    let group = |message: pb::IntIntListEntryProto| DeviceGroup { key: message.key, devices: message.value };
    let mut spec = |message: pb::ShardingSpecProto| ShardingSpec {
        tensor_name: name(message.tensor_name, names),
        devices: message.device,
        groups: message.index_to_device_group_map.into_iter().map(group).collect(),
        axes: message
            .sharded_dim
            .into_iter()
            .map(|message| ShardedAxis {
                axis: message.axis,
                parts: message
                    .simple_sharding
                    .into_iter()
                    .map(|part| SimpleSharding {
                        dim: match part.dim {
                            Some(pb::simple_sharded_dim_proto::Dim::DimValue(value)) => {
                                DimValue::Value(value)
                            }
                            Some(pb::simple_sharded_dim_proto::Dim::DimParam(param)) => {
                                DimValue::Param(names.intern_bytes(&param))
                            }
                            None => DimValue::Unknown,
                        },
                        shards: part.num_shards,
                    })
                    .collect(),
            })
            .collect(),
    };
    let sharding = message.sharding_spec.into_iter().map(&mut spec).collect();
    NodeDeviceConfiguration {
        configuration: name(message.configuration_id, names),
        sharding,
        pipeline_stage: message.pipeline_stage,
    }
}
