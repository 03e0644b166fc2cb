//! Node fusion: replaces two nodes by one operator with the same result, such as `Conv` and `BatchNormalization`, `Pad` and
//! `Conv`, two consecutive `Transpose`.
//!
//! ```text
//! before:  g (float[1,3,8,8] x) => (float[1,4,8,8] y) {
//!             a = Conv <pads = [1, 1, 1, 1]> (x, w)     b = Mul(a, scale)     y = Add(b, shift)
//!          }
//! after:   g (float[1,3,8,8] x) => (float[1,4,8,8] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w_1, bias) }
//! ```
//!
//! The second node becomes the fused one in place and keeps its results, so that names, declarations and annotations of values
//! stay. It has the documentation and metadata of both (`notes`), and the name of the one that is recognizable: of the linear
//! operator that scales are folded into, otherwise its own, if it has one. The first is removed when it is unused. Each rule is a function in a file of its own; a sweep tries the rules at each
//! node, and sweeps are repeated until nothing changes.
//!
//! Rules that compute new weights round them once: results differ by rounding, as they do between runtimes. All other rules keep
//! every bit. Bodies of functions, and models with training information, are not changed.

mod casts;
mod concats;
mod gemm;
mod notes;
mod pads;
mod reshapes;
mod scales;
mod site;
mod slices;
mod static_reshapes;
mod transposes;
mod weights;

use crate::derivative::is_trained;
use crate::infer::{InferOptions, infer};
use crate::lint::local_functions;
use crate::schema::Registry;
use onnx_ir::drop_declarations;
use onnx_ir::pass::{Report, node_orders};
use onnx_ir::{BodyId, Model, NodeId, Uses, ValueDef};
use site::FuseSite;
use std::collections::HashSet;

/// A fusion rule, tried at the second of two nodes; returns `Some` if it was applied.
type Rule = fn(&mut FuseSite<'_>, NodeId) -> Option<()>;

/// A model needs two or three sweeps; the limit bounds the time for chains that are fused one by one.
const SWEEPS: usize = 64;

/// Merges consecutive `Transpose` nodes.
pub fn fuse_transposes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[transposes::fuse])
}

/// Merges consecutive `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze` nodes.
pub fn fuse_reshapes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[reshapes::fuse])
}

/// Merges consecutive `Concat` nodes along one axis.
pub fn fuse_concats(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[concats::fuse])
}

/// Merges two `Slice` nodes on different axes.
pub fn fuse_slices(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[slices::fuse])
}

/// Replaces the computed shape of a `Reshape` by a constant one, if at most one unknown size is not copied.
pub fn static_reshapes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[static_reshapes::fuse])
}

/// Removes the first of two casts if it is lossless.
pub fn fuse_casts(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[casts::fuse])
}

/// Folds `BatchNormalization` and arithmetic with constants into preceding weights.
pub fn fuse_scales(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[scales::fuse])
}

/// Folds a `Pad` with zeros into the following `Conv` or pooling.
pub fn fuse_pads(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[pads::fuse])
}

/// Replaces `MatMul` and `Add` of matrices by `Gemm`.
pub fn fuse_gemm(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[gemm::fuse])
}

/// All rules in the same sweeps.
pub fn fuse_all(model: &mut Model, registry: &Registry) -> Report {
    let rules: &[Rule] = &[
        transposes::fuse,
        slices::fuse,
        concats::fuse,
        reshapes::fuse,
        static_reshapes::fuse,
        casts::fuse,
        scales::fuse,
        pads::fuse,
        gemm::fuse,
    ];
    fuse(model, registry, rules)
}

fn fuse(model: &mut Model, registry: &Registry, rules: &[Rule]) -> Report {
    let mut report = Report::default();
    if is_trained(model) {
        return report;
    }
    let mut count = 0;
    for _ in 0..SWEEPS {
        match sweep(model, registry, rules) {
            0 => break,
            fused => count += fused,
        }
    }
    report.note(count, "node", "fused");
    report
}

/// Tries the rules at all nodes; returns the number of fusions.
fn sweep(model: &mut Model, registry: &Registry, rules: &[Rule]) -> usize {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let local = local_functions(model);
    let bodies: Vec<BodyId> = model.bodies.ids().filter(|b| model.bodies[*b].root().is_some()).collect();
    let mut count = 0;
    for body in bodies {
        let is_function = model.functions.values().any(|f| f.body == body);
        let Some(version) = model.newest_import(body, "").filter(|_| !is_function) else { continue };
        let uses = Uses::of(&model.bodies[body]);
        let orders = node_orders(&model.bodies[body]);
        let mut site = FuseSite::new(model, &facts, &uses, &local, body, version);
        let before = count;
        for (_, order) in orders {
            for node in order.into_iter().flatten() {
                crate::interrupt::look();
                count += usize::from(rules.iter().any(|rule| rule(&mut site, node).is_some()));
            }
        }
        let fused = site.finish();
        if count > before {
            let removed = remove_unread(model, body, fused.iter().map(|(_, first)| *first).collect());
            notes::join(model, body, &fused, &removed);
        }
    }
    count
}

/// Removes those of the given nodes that are unused, and returns them.
fn remove_unread(model: &mut Model, body: BodyId, mut stale: Vec<NodeId>) -> HashSet<NodeId> {
    stale.sort_unstable();
    stale.dedup();
    let mut removed = HashSet::new();
    loop {
        let uses = Uses::of(&model.bodies[body]);
        let body = &mut model.bodies[body];
        let is_unread = |node: &NodeId| {
            let mut outputs = body.nodes[*node].outputs.iter().flatten();
            outputs.all(|v| uses.is_unused(*v) && !uses.is_annotated(body.values[*v].name))
        };
        let (unread, kept): (Vec<NodeId>, Vec<NodeId>) = stale.into_iter().partition(is_unread);
        stale = kept;
        if unread.is_empty() {
            break;
        }
        for &node in &unread {
            let Some(graph) = uses.graph_of(node) else { continue };
            for output in body.nodes[node].outputs.iter().flatten() {
                body.values[*output].def = ValueDef::Unbound(graph);
            }
        }
        for graph in body.graphs.values_mut() {
            graph.nodes.retain(|node| unread.binary_search(node).is_err());
        }
        removed.extend(unread);
    }
    if !removed.is_empty() {
        drop_declarations(&mut model.bodies[body]);
    }
    removed
}
