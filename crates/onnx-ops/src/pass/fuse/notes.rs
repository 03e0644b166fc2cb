//! Documentation, metadata and name of a fused node: it has those of the nodes that it replaces, in the order in which they ran. Exporters keep the source line of a node there.
//!
//! ```text
//! before:  ## the convolution                               after:  ## the convolution
//!          #@ metadata_props: ["scope": "a"]                        ## the normalization
//!          [conv] c = Conv(x, w)                                    #@ metadata_props: ["scope": "a\nb"]
//!          ## the normalization                                     [conv] y = Conv(x, w_1, bias)
//!          #@ metadata_props: ["scope": "b"]
//!          y = BatchNormalization(c, …)
//! ```
//!
//! A node without a name gets that of a node that it replaces.

use onnx_ir::pass::joined_notes;
use onnx_ir::{BodyId, Model, Name, NodeId};
use std::collections::{HashMap, HashSet};

/// Joins the notes of the fused nodes. `fused` has each of them with a node that it replaces, in topological order. A list is made once
/// for each node that remains: chains take linear time.
pub(super) fn join(model: &mut Model, body: BodyId, fused: &[(NodeId, NodeId)], removed: &HashSet<NodeId>) {
    let mut replaced: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    fused.iter().for_each(|&(node, first)| replaced.entry(node).or_default().push(first));
    let mut done = HashSet::new();
    let remaining = fused.iter().map(|&(node, _)| node).filter(|&n| !removed.contains(&n) && done.insert(n));
    let all: Vec<_> = remaining.map(|node| (node, in_order(node, &replaced))).collect();
    let Model { names, bodies, .. } = model;
    let nodes = &mut bodies[body].nodes;
    // All are joined before one is written: a node may be replaced in one place and remain in another.
    let notes: Vec<_> = (all.iter())
        .map(|(_, parts)| joined_notes(names, parts.iter().map(|&part| nodes[part].extra())))
        .collect();
    for ((node, parts), (doc, metadata)) in all.into_iter().zip(notes) {
        if doc.is_some() || !metadata.is_empty() {
            let extra = nodes[node].extra_mut();
            (extra.doc, extra.metadata) = (doc, metadata);
        }
        let is_unnamed = |name: Option<Name>| name.is_none_or(Name::is_empty);
        if is_unnamed(nodes[node].name) {
            let mut gone = parts.iter().rev().filter(|part| removed.contains(part));
            if let Some(&named) = gone.find(|&&part| !is_unnamed(nodes[part].name)) {
                nodes[node].name = nodes[named].name.take();
            }
        }
    }
}

/// The nodes that a node replaces, directly or through others, in order, and the node itself.
fn in_order(node: NodeId, replaced: &HashMap<NodeId, Vec<NodeId>>) -> Vec<NodeId> {
    let (mut order, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![node]);
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            order.push(node);
            open.extend(replaced.get(&node).into_iter().flatten());
        }
    }
    order.reverse();
    order
}
