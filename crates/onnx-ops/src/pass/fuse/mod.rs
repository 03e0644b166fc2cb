//! Passes that make one node of two where one operator computes what both did: `Conv` and `BatchNormalization`, `Pad` and
//! `Conv`, two `Transpose` in a row.
//!
//! ```text
//! before:  g (float[1,3,8,8] x) => (float[1,4,8,8] y) {
//!             a = Conv <pads = [1, 1, 1, 1]> (x, w)     b = Mul(a, scale)     y = Add(b, shift)
//!          }
//! after:   g (float[1,3,8,8] x) => (float[1,4,8,8] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w_1, bias) }
//! ```
//!
//! The second node becomes the fused one in its place and keeps its results, so that names, declarations and annotations of
//! values stay. The first goes when nothing reads it any more. Each rule is a function in a file of its own; a sweep tries
//! the rules at each node, and sweeps follow each other until none of them changes anything.
//!
//! Rules that compute new weights round them once: results differ by rounding from those before, as they do from one runtime to the
//! next. All others keep every bit. Bodies of functions, and models that are trained, stay as they are.

mod casts;
mod concats;
mod gemm;
mod pads;
mod reshapes;
mod scales;
mod site;
mod slices;
mod static_reshapes;
mod transposes;
mod weights;

use super::local_functions;
use crate::infer::{InferOptions, infer};
use crate::schema::Registry;
use onnx_ir::edit::drop_declarations;
use onnx_ir::pass::{Report, node_orders};
use onnx_ir::{BodyId, Model, NodeId, Uses, ValueDef};
use site::Site;

/// What is tried at a node, the second of two; `Some` if it has become another one.
type Rule = fn(&mut Site<'_>, NodeId) -> Option<()>;

/// A model needs two or three sweeps; the limit bounds the time for rows of nodes that are fused one by one.
const SWEEPS: usize = 64;

/// Makes one `Transpose` of two in a row.
pub fn fuse_transposes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[transposes::fuse])
}

/// Makes one `Reshape` of `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze` in a row.
pub fn fuse_reshapes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[reshapes::fuse])
}

/// Makes one `Concat` of those in a row along one axis.
pub fn fuse_concats(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[concats::fuse])
}

/// Makes one `Slice` of two that cut different axes.
pub fn fuse_slices(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[slices::fuse])
}

/// Gives each `Reshape` a constant target where its computed one has at most one unknown extent that is not copied.
pub fn static_reshapes(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[static_reshapes::fuse])
}

/// Removes the first of two casts where it loses nothing.
pub fn fuse_casts(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[casts::fuse])
}

/// Puts `BatchNormalization` and arithmetic with constants into the weights before it.
pub fn fuse_scales(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[scales::fuse])
}

/// Puts a `Pad` with zeros into the `Conv` or pooling behind it.
pub fn fuse_pads(model: &mut Model, registry: &Registry) -> Report {
    fuse(model, registry, &[pads::fuse])
}

/// Makes a `Gemm` of `MatMul` and `Add` of matrices.
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
    if !model.training.is_empty() {
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

/// Tries the rules at all nodes; how many have become others.
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
        let mut site = Site::new(model, &facts, &uses, &local, body, version);
        let before = count;
        for (_, order) in orders {
            for node in order.into_iter().flatten() {
                count += usize::from(rules.iter().any(|rule| rule(&mut site, node).is_some()));
            }
        }
        let stale = site.finish();
        if count > before {
            remove_unread(model, body, stale);
        }
    }
    count
}

/// Removes those of some nodes that nothing reads any more.
fn remove_unread(model: &mut Model, body: BodyId, mut stale: Vec<NodeId>) {
    stale.sort_unstable();
    stale.dedup();
    let mut has_removed = false;
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
        has_removed = true;
        for &node in &unread {
            let Some(graph) = uses.graph_of(node) else { continue };
            for output in body.nodes[node].outputs.iter().flatten() {
                body.values[*output].def = ValueDef::Unbound(graph);
            }
        }
        for graph in body.graphs.values_mut() {
            graph.nodes.retain(|node| unread.binary_search(node).is_err());
        }
    }
    if has_removed {
        drop_declarations(&mut model.bodies[body]);
    }
}
