//! Function bodies of operators in place of their nodes.

use onnx_ir::pass::{Foreign, Inline, inline};
use onnx_ir::{Model, normalize_domain};
use onnx_ops::functions::body_of;
use onnx_ops::infer::{InferOptions, infer};
use onnx_ops::schema::{Lookup, Registry};
use std::collections::BTreeSet;

/// Replaces the nodes of function operators by their bodies; how many. Adds the operators and their versions.
///
/// # Panics
///
/// A body does not fit its node.
pub fn expand(model: &mut Model, used: &mut BTreeSet<(String, u32)>) -> usize {
    let registry = Registry::builtin();
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let mut count = 0;
    let mut bodies = |model: &Model, body, node| {
        let found = body_of(model, registry, &facts, body, node)?;
        let n = &model.bodies[body].nodes[node];
        let domain = normalize_domain(model.text(n.domain));
        let version = model.opset_version(model.imports_of(body), domain)?;
        if let Lookup::Found(id) = registry.lookup(domain, model.text(n.op), version) {
            used.insert((model.text(n.op).to_owned(), registry.get(id).since));
        }
        count += 1;
        Some(Foreign { model: found.model, function: found.id })
    };
    // One level: what a body uses has its own tests.
    let options = Inline { depth: Some(1), others: Some(&mut bodies), ..Inline::default() };
    let report = inline(model, registry, options);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    count
}
