//! Updates sharding annotations when the tensors of a node change.

use crate::change::site::ConvertSite;
use onnx_ir::{Body, Name, NodeId};

/// The names of a node's inputs and outputs, by position.
pub(super) struct Tensors {
    inputs: Vec<Option<Name>>,
    outputs: Vec<Option<Name>>,
}

impl Tensors {
    /// The tensors of a node with sharding annotations.
    pub(super) fn of(body: &Body, node: NodeId) -> Option<Tensors> {
        let n = &body.nodes[node];
        let name = |v: &Option<_>| v.map(|v| body.values[v].name);
        (!n.extra().devices.is_empty()).then(|| Tensors {
            inputs: n.inputs.iter().map(name).collect(),
            outputs: n.outputs.iter().map(name).collect(),
        })
    }

    fn has(&self, name: Name) -> bool {
        self.inputs.contains(&Some(name)) || self.outputs.contains(&Some(name))
    }

    /// The tensor that now has the position of another one.
    fn in_place_of(&self, name: Name, now: &Tensors) -> Option<Name> {
        let at = |list: &[Option<Name>]| list.iter().position(|n| *n == Some(name));
        let input = at(&self.inputs).and_then(|i| *now.inputs.get(i)?);
        input.or_else(|| at(&self.outputs).and_then(|i| *now.outputs.get(i)?))
    }
}

/// Moves annotations from old tensors to those at the same position, and drops the others.
pub(super) fn follow(site: &mut ConvertSite<'_>, before: &Tensors) {
    let Some(now) = Tensors::of(site.body(), site.node) else { return };
    let Some(extra) = &mut site.n_mut().extra else { return };
    for device in &mut extra.devices {
        device.sharding.retain_mut(|spec| {
            let Some(name) = spec.tensor_name else { return true };
            if now.has(name) || !before.has(name) {
                return true;
            }
            spec.tensor_name = before.in_place_of(name, &now);
            spec.tensor_name.is_some()
        });
    }
}
