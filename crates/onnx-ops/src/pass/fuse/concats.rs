//! Merges consecutive `Concat` nodes along one axis.
//!
//! ```text
//! before:  a = Concat <axis = 0> (x, y)     c = Concat <axis = 0> (a, z)
//! after:   c = Concat <axis = 0> (x, y, z)
//! ```

use super::site::FuseSite;
use onnx_ir::{NodeId, ValueId};

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if !site.is_op(node, "Concat") {
        return None;
    }
    let axis = axis(site, node)?;
    let mut inputs: Vec<Option<ValueId>> = Vec::new();
    let mut gone = Vec::new();
    for input in &site.node(node).inputs {
        let value = (*input)?;
        let first = site.producer(value, node).filter(|first| {
            site.is_op(*first, "Concat")
                && site.is_read_by(value, node)
                && self::axis(site, *first) == Some(axis)
        });
        match first {
            Some(first) => {
                inputs.extend(&site.node(first).inputs);
                gone.push(first);
            }
            None => inputs.push(Some(value)),
        }
    }
    if gone.is_empty() {
        return None;
    }
    let attrs = site.attrs_without(node, &[]);
    site.become_op(node, "Concat", &inputs, attrs);
    gone.into_iter().for_each(|first| site.absorb(node, first));
    Some(())
}

/// The axis of a node, counted from the first one.
fn axis(site: &FuseSite<'_>, node: NodeId) -> Option<i64> {
    // Before version 4, the attribute had a default.
    let default = if site.version < 4 { 1 } else { i64::MIN };
    match site.int_attr(node, "axis", default)? {
        i64::MIN => None,
        axis if axis >= 0 => Some(axis),
        axis => axis
            .checked_add(i64::try_from(site.shape(site.result(node)?)?.len()).ok()?)
            .filter(|axis| *axis >= 0),
    }
}
