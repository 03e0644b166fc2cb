//! Execution on several devices: C01–C06.

use super::context::{Findings, Seen, VerifyContext, View, index};
use super::types::tensor_of;
use crate::body::{Body, NodeDeviceConfiguration, ShardingSpec};
use crate::diag::{Code, Diagnostic, Entity, code, counted};
use crate::entity::SecondaryMap;
use crate::ids::{GraphId, NodeId, ValueId};
use crate::names::Name;
use crate::types::Types;
use std::collections::BTreeSet;

/// Ranks of the values of a body that are declared.
pub(crate) type Ranks = SecondaryMap<ValueId, Option<usize>>;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let mut configurations: Seen<u32> = Seen::new();
    for (i, configuration) in cx.model.configurations.iter().enumerate() {
        let at = |i| Entity::Configuration(i);
        let new = |message: String| Diagnostic::new(&code::DEVICE_CONFIGURATION, at(index(i)), message);
        let name = configuration.name.unwrap_or(Name::empty());
        let text = cx.text(name);
        if name.is_empty() {
            found.push(new("device configuration without a name".to_owned()));
        } else if let Some(first) = configurations.first(name, index(i)) {
            found.push(
                new(format!("two device configurations are named `{text}`")).related(at(first), "the first"),
            );
        }
        let devices = configuration.num_devices.unwrap_or(0);
        let names = configuration.devices.len();
        if devices < 1 {
            found.push(new(format!("device configuration `{text}` has {}", counted(devices, "device"))));
        } else if names != 0 && usize::try_from(devices) != Ok(names) {
            let (devices, names) = (counted(devices.unsigned_abs(), "device"), counted(names, "name"));
            found.push(new(format!("device configuration `{text}` has {devices}, but {names}")));
        }
    }
    let mut seen = Seen::new();
    for view in &cx.bodies {
        let mut ranks = None;
        for node in view.layout.special_nodes() {
            let devices = &view.body.nodes[node].extra().devices;
            if devices.is_empty() {
                continue;
            }
            let ranks =
                ranks.get_or_insert_with(|| declared_ranks(&cx.model.types, view.body, view.layout.graphs()));
            let mut check = OfNode { cx, found, view, node, ranks };
            seen.clear();
            for configuration in devices {
                let count = check.configuration(configuration, &configurations, &mut seen);
                for spec in &configuration.sharding {
                    check.sharding(spec, count);
                }
            }
        }
    }
}

/// The ranks that the declarations and initializers of `graphs` state, which belong to `body`.
pub(crate) fn declared_ranks(types: &Types, body: &Body, graphs: impl IntoIterator<Item = GraphId>) -> Ranks {
    let mut ranks = Ranks::with_len(None, body.values.len());
    for graph in graphs {
        let g = &body.graphs[graph];
        for port in g.inputs.iter().chain(&g.outputs).chain(&g.value_info) {
            let shape = port.ty.and_then(|ty| tensor_of(&types[ty])).and_then(|t| t.shape.as_ref());
            if let (Some(value), Some(shape)) = (port.value, shape) {
                ranks[value] = Some(shape.len());
            }
        }
        for init in &g.initializers {
            ranks[init.value] = Some(body.tensors[init.tensor].dims.len());
        }
    }
    ranks
}

/// Mistakes in the split axes of a sharding of `tensor`, for a tensor of `rank`.
pub(crate) fn misplaced_axes(spec: &ShardingSpec, rank: Option<usize>, tensor: &str) -> Vec<String> {
    let rank = rank.and_then(|r| i64::try_from(r).ok());
    let mut seen = BTreeSet::new();
    let misplaced = |axis: Option<i64>| match (axis, rank) {
        (None, _) => Some(format!("sharding of `{tensor}` has no axis")),
        (Some(a), Some(r)) if a < -r || a >= r => {
            Some(format!("axis {a} is out of range for `{tensor}` of rank {r}"))
        }
        (Some(a), _) => {
            // Without the rank, an axis from the end may be any.
            let from_start = if a < 0 { rank.map_or(a, |r| a + r) } else { a };
            let is_new = seen.insert(from_start);
            (!is_new).then(|| format!("axis {a} of `{tensor}` is sharded twice"))
        }
    };
    spec.axes.iter().map(|axis| axis.axis).filter_map(misplaced).collect()
}

struct OfNode<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    view: &'s View<'m>,
    node: NodeId,
    ranks: &'s Ranks,
}

impl OfNode<'_, '_> {
    fn push(&mut self, code: &'static Code, message: String) {
        self.found.push(Diagnostic::new(code, Entity::Node(self.view.id, self.node), message));
    }

    /// Checks the reference to a configuration of the model; its number of devices.
    fn configuration(
        &mut self,
        configuration: &NodeDeviceConfiguration,
        known: &Seen<u32>,
        seen: &mut Seen<()>,
    ) -> Option<i64> {
        let code = &code::NODE_CONFIGURATION_ID;
        let name = configuration.configuration.unwrap_or(Name::empty());
        let text = self.cx.text(name);
        let configurations = &self.cx.model.configurations;
        let Some(i) = known.get(name) else {
            let names = configurations.iter().filter_map(|c| c.name).map(|n| self.cx.text(n));
            let help = self.found.suggest(text, configurations.len(), names);
            let message = if name.is_empty() {
                "device configuration of the node has no `configuration_id`".to_owned()
            } else {
                format!("model has no device configuration `{text}`")
            };
            let place = Entity::Node(self.view.id, self.node);
            self.found.push(Diagnostic::new(code, place, message).maybe_help(help));
            return None;
        };
        if seen.first(name, ()).is_some() {
            self.push(code, format!("node has device configuration `{text}` twice"));
        }
        configurations[i as usize].num_devices.map(i64::from).filter(|&n| n >= 1)
    }

    fn sharding(&mut self, spec: &ShardingSpec, devices: Option<i64>) {
        let body = self.view.body;
        let node = &body.nodes[self.node];
        let name = spec.tensor_name.unwrap_or(Name::empty());
        let tensor = self.cx.text(name);
        let values = node.inputs.iter().chain(&node.outputs).flatten();
        let value = values.copied().find(|&v| !name.is_empty() && body.values[v].name == name);
        if value.is_none() {
            self.push(
                &code::SHARDING_TENSOR,
                format!("sharded tensor `{tensor}` is not an input or output of the node"),
            );
        }
        if let Some(devices) = devices {
            self.devices(spec, devices, tensor);
        }
        self.axes(spec, value.and_then(|v| self.ranks[v]), tensor);
    }

    fn devices(&mut self, spec: &ShardingSpec, devices: i64, tensor: &str) {
        let code = &code::SHARDING_DEVICES;
        let has = counted(devices.unsigned_abs(), "device");
        let mut keys = BTreeSet::new();
        for group in &spec.groups {
            let key = group.key.unwrap_or(0);
            if !keys.insert(key) {
                self.push(code, format!("sharding of `{tensor}` defines group {key} twice"));
            }
            if let Some(d) = group.devices.iter().find(|d| !(0..devices).contains(*d)) {
                self.push(
                    code,
                    format!("group {key} of `{tensor}` has device {d}, but the configuration has {has}"),
                );
            }
        }
        let used: BTreeSet<i64> = spec.devices.iter().copied().collect();
        if let Some(d) = spec.devices.iter().find(|d| !(0..devices).contains(*d) && !keys.contains(*d)) {
            self.push(
                code,
                format!("sharding of `{tensor}` names device {d}, but the configuration has {has}"),
            );
        }
        if let Some(key) = keys.difference(&used).next() {
            self.push(code, format!("sharding of `{tensor}` does not use group {key}"));
        }
    }

    fn axes(&mut self, spec: &ShardingSpec, rank: Option<usize>, tensor: &str) {
        for message in misplaced_axes(spec, rank, tensor) {
            self.push(&code::SHARDING_AXIS, message);
        }
        let mut product: Option<u64> = Some(1);
        for axis in &spec.axes {
            let mut shards = 0u64;
            for part in &axis.parts {
                match part.shards.map(u64::try_from) {
                    Some(Ok(n)) if n > 0 => shards = shards.saturating_add(n),
                    _ => {
                        let n = part.shards.unwrap_or(0);
                        self.push(
                            &code::SHARDING_SHARDS,
                            format!("`{tensor}` is split into {}", counted(n, "shard")),
                        );
                        product = None;
                    }
                }
            }
            product = product.and_then(|p| p.checked_mul(shards));
        }
        let devices = spec.devices.len() as u64;
        if let Some(product) = product.filter(|&p| !spec.axes.is_empty() && devices > 0 && p != devices) {
            let (shards, devices) = (counted(product, "shard"), counted(devices, "device"));
            let message = format!("sharding of `{tensor}` has {shards} for {devices}");
            let place = Entity::Node(self.view.id, self.node);
            self.found.push(Diagnostic::new(&code::SHARDING_DEVICE_COUNT, place, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::body::{DeviceGroup, ShardedAxis, SimpleSharding};
    use crate::model::{DeviceConfiguration, Model};
    use crate::types::DimValue;

    /// The findings about `y = Relu(x)` on two devices, with `x` sharded over both along axis 0.
    fn sharded(edit: impl FnOnce(&mut Model, &mut NodeDeviceConfiguration)) -> Vec<String> {
        let mut model = relu();
        model.header.ir_version = Some(11);
        let name = Some(model.names.intern("c"));
        model.configurations.push(DeviceConfiguration { name, num_devices: Some(2), devices: vec![] });
        let mut configuration = NodeDeviceConfiguration {
            configuration: name,
            sharding: vec![ShardingSpec {
                tensor_name: Some(model.names.intern("x")),
                devices: vec![0, 1],
                groups: vec![],
                axes: vec![axis(0, 2)],
            }],
            pipeline_stage: None,
        };
        edit(&mut model, &mut configuration);
        only(&mut main(&mut model).nodes).extra_mut().devices.push(configuration);
        findings(&model)
    }

    fn axis(axis: i64, shards: i64) -> ShardedAxis {
        let part = SimpleSharding { dim: DimValue::Unknown, shards: Some(shards) };
        ShardedAxis { axis: Some(axis), parts: vec![part] }
    }

    #[test]
    fn configurations_have_names_and_devices() {
        assert_eq!(sharded(|_, _| {}), [""; 0]);
        let with = |edit: fn(&mut Model)| sharded(|m, _| edit(m));
        assert_eq!(
            with(|m| m.configurations[0].num_devices = Some(0)),
            ["E0921 device configuration `c` has 0 devices"]
        );
        let names = with(|m| m.configurations[0].devices = vec![Name::empty()]);
        assert_eq!(names, ["E0921 device configuration `c` has 2 devices, but 1 name"]);
        let twice = with(|m| m.configurations.push(m.configurations[0].clone()));
        assert_eq!(twice, ["E0921 two device configurations are named `c`"]);
        let nameless = with(|m| {
            m.configurations.push(DeviceConfiguration { name: None, ..m.configurations[0].clone() })
        });
        assert_eq!(nameless, ["E0921 device configuration without a name"]);
    }

    #[test]
    fn nodes_name_configurations_once() {
        let ghost = sharded(|m, c| c.configuration = Some(m.names.intern("ghost")));
        assert_eq!(ghost, ["E0922 model has no device configuration `ghost`"]);
        let twice = sharded(|m, c| only(&mut main(m).nodes).extra_mut().devices.push(c.clone()));
        assert_eq!(twice, ["E0922 node has device configuration `c` twice"]);
    }

    #[test]
    fn shardings_name_tensors_and_devices() {
        let ghost = sharded(|m, c| c.sharding[0].tensor_name = Some(m.names.intern("ghost")));
        assert_eq!(ghost, ["E0923 sharded tensor `ghost` is not an input or output of the node"]);
        let seven = sharded(|_, c| c.sharding[0].devices[1] = 7);
        assert_eq!(seven, ["E0924 sharding of `x` names device 7, but the configuration has 2 devices"]);
        let group = |key, device| DeviceGroup { key: Some(key), devices: vec![device] };
        let groups = |list: Vec<DeviceGroup>| {
            sharded(|_, c| {
                c.sharding[0].devices[1] = -1;
                c.sharding[0].groups = list;
            })
        };
        assert_eq!(groups(vec![group(-1, 1)]), [""; 0]);
        let outside = "E0924 group -1 of `x` has device 9, but the configuration has 2 devices";
        assert_eq!(groups(vec![group(-1, 9)]), [outside]);
        assert_eq!(
            groups(vec![group(-1, 1), group(-1, 1)]),
            ["E0924 sharding of `x` defines group -1 twice"]
        );
        assert_eq!(groups(vec![group(-1, 1), group(-2, 1)]), ["E0924 sharding of `x` does not use group -2"]);
    }

    #[test]
    fn shardings_split_axes_that_exist() {
        let axes = |list: Vec<ShardedAxis>| sharded(|_, c| c.sharding[0].axes = list);
        assert_eq!(axes(vec![axis(-1, 2)]), [""; 0]);
        assert_eq!(axes(vec![axis(5, 2)]), ["E0925 axis 5 is out of range for `x` of rank 1"]);
        assert_eq!(axes(vec![axis(0, 2), axis(-1, 1)]), ["E0925 axis -1 of `x` is sharded twice"]);
        assert_eq!(axes(vec![axis(0, 0)]), ["E0926 `x` is split into 0 shards"]);
        assert_eq!(axes(vec![axis(0, 3)]), ["W0927 sharding of `x` has 3 shards for 2 devices"]);
    }
}
