//! Nodes and attributes, field by field as they stand in the IR: a model is mostly these, and structs on the way would
//! take longer than everything else.

use super::fields::{bytes, float, int, message};
use super::graph::GraphWriter;
use crate::pb;
use onnx_ir::{
    Attr, AttrValue, DimValue, Entry, Name, NodeDeviceConfiguration, NodeId, ShardingSpec, SimpleSharding,
    ValueId,
};
use prost::Message;
use smallvec::SmallVec;

impl GraphWriter<'_> {
    /// Writes the fields of a node.
    pub(super) fn node(&self, id: NodeId, out: &mut Vec<u8>) {
        let node = &self.body.nodes[id];
        let extra = node.extra();
        for &value in &node.inputs {
            bytes(1, self.value(value), out);
        }
        for &value in &node.outputs {
            bytes(2, self.value(value), out);
        }
        self.string(3, node.name, out);
        self.string(4, node.op, out);
        for attr in &node.attrs {
            message(5, out, |out| self.attr(attr, out));
        }
        self.string(6, extra.doc, out);
        self.string(7, node.domain, out);
        self.string(8, node.overload, out);
        for entry in &extra.metadata {
            message(9, out, |out| self.entry(entry, out));
        }
        for devices in &extra.devices {
            encode(10, &self.devices(devices), out);
        }
    }

    /// The name of an operand; empty for one that is omitted.
    #[inline]
    fn value(&self, value: Option<ValueId>) -> &[u8] {
        value.map(|value| self.model.names.bytes(self.body.values[value].name)).unwrap_or_default()
    }

    #[inline]
    fn string(&self, number: u32, name: Option<Name>, out: &mut Vec<u8>) {
        if let Some(name) = name {
            bytes(number, self.model.names.bytes(name), out);
        }
    }

    fn entry(&self, entry: &Entry, out: &mut Vec<u8>) {
        self.string(1, entry.key, out);
        self.string(2, entry.value, out);
    }

    /// Writes the fields of an attribute.
    pub(super) fn attr(&self, attr: &Attr, out: &mut Vec<u8>) {
        let mut values: SmallVec<[(u32, &AttrValue); 2]> =
            attr.values.iter().map(|value| (number(value), value)).collect();
        values.sort_by_key(|(number, _)| *number);
        // Of two with the same number, the last one counts.
        let mut values =
            values.chunk_by(|a, b| a.0 == b.0).filter_map(|same| same.last().copied()).peekable();
        let mut values_below = |below: u32, out: &mut Vec<u8>| {
            while let Some((number, value)) = values.next_if(|(number, _)| *number < below) {
                self.attr_value(number, value, out);
            }
        };
        self.string(1, attr.name, out);
        values_below(13, out);
        self.string(13, attr.doc, out);
        values_below(20, out);
        if let Some(ty) = attr.ty {
            int(20, ty.0.into(), out);
        }
        self.string(21, attr.reference, out);
        values_below(u32::MAX, out);
    }

    fn attr_value(&self, number: u32, value: &AttrValue, out: &mut Vec<u8>) {
        match value {
            AttrValue::Float(value) => float(number, *value, out),
            AttrValue::Int(value) => int(number, *value, out),
            AttrValue::String(value) => bytes(number, value, out),
            AttrValue::Tensor(tensor) => encode(number, &self.tensor(*tensor), out),
            AttrValue::Graph(graph) => message(number, out, |out| self.graph(*graph, out)),
            AttrValue::Floats(values) => values.elements().for_each(|value| float(number, value, out)),
            AttrValue::Ints(values) => values.elements().for_each(|value| int(number, value, out)),
            AttrValue::Strings(values) => values.elements().for_each(|value| bytes(number, value, out)),
            AttrValue::Tensors(tensors) => {
                tensors.iter().for_each(|&tensor| encode(number, &self.tensor(tensor), out));
            }
            AttrValue::Graphs(graphs) => {
                graphs.iter().for_each(|&graph| message(number, out, |out| self.graph(graph, out)));
            }
            AttrValue::Type(ty) => encode(number, &self.ty(*ty), out),
            AttrValue::Types(types) => types.iter().for_each(|&ty| encode(number, &self.ty(ty), out)),
            AttrValue::SparseTensor(tensor) => encode(number, &self.sparse_tensor(tensor), out),
            AttrValue::SparseTensors(tensors) => {
                tensors.iter().for_each(|tensor| encode(number, &self.sparse_tensor(tensor), out));
            }
        }
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

/// The number of a value's field in `AttributeProto`.
fn number(value: &AttrValue) -> u32 {
    match value {
        AttrValue::Float(_) => 2,
        AttrValue::Int(_) => 3,
        AttrValue::String(_) => 4,
        AttrValue::Tensor(_) => 5,
        AttrValue::Graph(_) => 6,
        AttrValue::Floats(_) => 7,
        AttrValue::Ints(_) => 8,
        AttrValue::Strings(_) => 9,
        AttrValue::Tensors(_) => 10,
        AttrValue::Graphs(_) => 11,
        AttrValue::Type(_) => 14,
        AttrValue::Types(_) => 15,
        AttrValue::SparseTensor(_) => 22,
        AttrValue::SparseTensors(_) => 23,
    }
}

fn encode(number: u32, message: &impl Message, out: &mut Vec<u8>) {
    prost::encoding::message::encode(number, message, out);
}
