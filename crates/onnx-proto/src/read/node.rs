//! Decodes nodes directly from bytes: they have most fields of a model, and intermediate structs would take longer than
//! everything else.

use super::fields::{Fields, RawValue};
use super::graph::GraphReader;
use super::name;
use super::types::entry;
use crate::pb;
use crate::wire::NODE_DEVICE_CONFIGURATION_PROTO;
use bytes::Bytes;
use onnx_ir::{
    DeviceGroup, DimValue, Name, Names, NodeDeviceConfiguration, NodeExtra, NodeSpec, ShardedAxis,
    ShardingSpec, SimpleSharding,
};
use smallvec::SmallVec;

const INPUT: u32 = 1;
const OUTPUT: u32 = 2;
const NAME: u32 = 3;
const OP_TYPE: u32 = 4;
const ATTRIBUTE: u32 = 5;
const DOC_STRING: u32 = 6;
const DOMAIN: u32 = 7;
const OVERLOAD: u32 = 8;
const METADATA_PROPS: u32 = 9;
const DEVICE_CONFIGURATIONS: u32 = 10;

impl GraphReader<'_, '_> {
    /// A `NodeProto`, a slice of `whole`.
    pub(super) fn node(&mut self, encoded: &[u8], whole: &Bytes) {
        let Self { b, pass } = self;
        let names = &mut *b.names;
        let mut spec = NodeSpec::default();
        let (mut inputs, mut outputs) = (SmallVec::<[Name; 8]>::new(), SmallVec::<[Name; 8]>::new());
        let mut attributes = SmallVec::<[&[u8]; 8]>::new();
        let mut extra = NodeExtra::default();
        for (number, value) in Fields::new(encoded) {
            let RawValue::Bytes(bytes) = value else {
                pass.unusual();
                continue;
            };
            match number {
                INPUT => inputs.push(names.intern_bytes(bytes)),
                OUTPUT => outputs.push(names.intern_bytes(bytes)),
                NAME => spec.name = Some(names.intern_bytes(bytes)),
                OP_TYPE => spec.op = Some(names.intern_bytes(bytes)),
                ATTRIBUTE => attributes.push(bytes),
                DOC_STRING => extra.doc = Some(names.intern_bytes(bytes)),
                DOMAIN => spec.domain = Some(names.intern_bytes(bytes)),
                OVERLOAD => spec.overload = Some(names.intern_bytes(bytes)),
                METADATA_PROPS => extra.metadata.push(entry(bytes, names, pass)),
                DEVICE_CONFIGURATIONS => {
                    let message = pass.decode(whole.slice_ref(bytes), &NODE_DEVICE_CONFIGURATION_PROTO);
                    extra.devices.push(devices(message, names));
                }
                _ => pass.unusual(),
            }
        }
        let has_extra = extra.doc.is_some() || !extra.metadata.is_empty() || !extra.devices.is_empty();

        let node = self.b.begin_node(spec, inputs);
        let attrs = attributes.iter().map(|attr| self.attr(attr, whole, Some(node))).collect();
        let filled = &mut self.b.body_mut().nodes[node];
        filled.attrs = attrs;
        filled.extra = has_extra.then(|| Box::new(extra));
        self.b.end_node(node, outputs);
    }
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

#[cfg(test)]
mod tests {
    use crate::wire::{self, MODEL_PROTO, ScanDepth, is_misread, push_bytes};
    use crate::{read, write};

    fn field(number: u32, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_bytes(number, value, &mut out);
        out
    }

    /// A field of every kind that an attribute has, some of them in two places.
    fn attribute_fields() -> Vec<Vec<u8>> {
        let tensor = [&[0x08, 2, 0x10, 1][..], &field(4, &[0, 0, 128, 63, 0, 0, 0, 64])].concat();
        let graph = field(1, &[field(1, b"x"), field(4, b"Relu")].concat());
        let sparse = [field(1, &tensor), vec![0x18, 9]].concat();
        vec![
            field(1, b"name"),
            vec![0x15, 0, 0, 128, 63],
            vec![0x18, 7],
            field(4, b"text"),
            field(5, &tensor),
            field(6, &graph),
            field(7, &[0, 0, 128, 63, 0, 0, 0, 64]),
            vec![0x40, 5],
            vec![0x40, 0xac, 2],
            field(9, b"a"),
            field(9, b""),
            field(10, &tensor),
            field(11, &graph),
            field(13, b"doc"),
            field(14, &field(1, &[0x08, 1])),
            field(15, &field(4, &[])),
            vec![0xa0, 1, 7],
            field(21, b"reference"),
            field(22, &sparse),
            field(23, &sparse),
            // The rest of a tensor, of a graph, of a type; a number and a string that replace what came before.
            field(5, &field(8, b"t")),
            field(6, &field(2, b"g")),
            field(14, &field(6, b"IMAGE")),
            vec![0x18, 8],
            field(13, b"more"),
            // Unknown.
            field(30, b"?"),
        ]
    }

    fn rotated(mut fields: Vec<Vec<u8>>, by: usize) -> Vec<u8> {
        fields.rotate_left(by);
        fields.concat()
    }

    #[test]
    fn fields_come_in_any_order() {
        let count = attribute_fields().len();
        for by in 0..count {
            let attribute = rotated(attribute_fields(), by);
            let node = vec![
                field(1, b"a"),
                field(1, b""),
                field(2, b"y"),
                field(3, b"node"),
                field(4, b"Op"),
                field(5, &attribute),
                field(5, &rotated(attribute_fields(), count - by)),
                field(6, b"doc"),
                field(7, b"domain"),
                field(8, b"overload"),
                field(9, &[field(2, b"value"), field(1, b"key")].concat()),
                field(10, &[field(1, b"c"), vec![0x18, 1]].concat()),
                field(3, b"renamed"),
            ];
            let by = by % node.len();
            let graph = [field(5, &field(8, b"a")), field(1, &rotated(node, by)), field(2, b"g")].concat();
            let model = [vec![0x08, 10], field(7, &graph)].concat();
            wire::walk(&model, &MODEL_PROTO, ScanDepth::Structure, &mut |finding| {
                assert!(!is_misread(finding.kind), "the reader would begin with another encoding");
            })
            .unwrap();
            let canonical = wire::canonical(&model, &MODEL_PROTO).unwrap();
            assert!(write(&read(model.into()).value).unwrap() == canonical, "rotated by {by}");
        }
    }
}
