//! Merges consecutive `Transpose` nodes.
//!
//! ```text
//! before:  a = Transpose <perm = [0, 2, 3, 1]> (x)     y = Transpose <perm = [0, 2, 1, 3]> (a)
//! after:   y = Transpose <perm = [0, 3, 2, 1]> (x)
//! ```
//!
//! If all readers of the first one are `Transpose` nodes, each gets its combined permutation. Two inverse ones become an
//! `Identity`, which `remove-no-ops` removes.

use super::site::FuseSite;
use onnx_ir::{AttrValue, NodeId};

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if !site.is_op(node, "Transpose") {
        return None;
    }
    let between = site.input(node, 0)?;
    let first = site.producer(between, node).filter(|first| site.is_op(*first, "Transpose"))?;
    if !site.is_read_by_ops(between, node, &["Transpose"]) {
        return None;
    }
    let x = site.input(first, 0)?;
    let (inner, outer) = (permutation(site, first)?, permutation(site, node)?);
    if inner.len() != outer.len() {
        return None;
    }
    let both: Vec<i64> = outer.iter().map(|axis| inner[*axis] as i64).collect();
    if both.iter().copied().eq(0..both.len() as i64) {
        site.become_op(node, "Identity", &[Some(x)], Vec::new());
    } else {
        let perm = site.new_attr("perm", AttrValue::Ints(both.into()));
        site.become_op(node, "Transpose", &[Some(x)], vec![perm]);
    }
    site.absorb(node, first);
    Some(())
}

/// The permutation of a node, if it is valid.
fn permutation(site: &FuseSite<'_>, node: NodeId) -> Option<Vec<usize>> {
    let perm: Vec<usize> = match site.attr(node, "perm") {
        Some(AttrValue::Ints(perm)) => {
            perm.iter().copied().map(|axis| usize::try_from(axis).ok()).collect::<Option<_>>()?
        }
        Some(_) => return None,
        None => (0..site.shape(site.input(node, 0)?)?.len()).rev().collect(),
    };
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..perm.len()).then_some(perm)
}
