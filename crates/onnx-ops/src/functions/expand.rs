//! Puts function bodies of operators in place of their nodes.
//!
//! ```text
//! before:  <ir_version: 10, opset_import: ["": 21]>
//!          g (float[N] x) => (float[N] y) { y = Softplus(x) }
//! after:   g (float[N] x) => (float[N] y) {
//!             Softplus__exp = Exp(x)
//!             Softplus__one = Constant <value_float = 1.0> ()
//!             …
//!          }
//! ```
//!
//! It goes in rounds: a body may depend on types, and those of the nodes that a round brings are known after it. An
//! operator of which too little is known stays.

use super::{FunctionBody, body_of};
use crate::infer::{InferOptions, infer};
use crate::schema::{Lookup, Registry, Schema};
use foldhash::HashSet;
use onnx_ir::pass::{self, Foreign, Inline, OpRef, Operators as _, Report};
use onnx_ir::{BodyId, Model, NodeId, OpsetImport, normalize_domain};

/// Bodies in bodies that are expanded; those that there are use each other less deep.
const MOST_ROUNDS: u32 = 100;

/// Which operators to expand, and how far.
pub struct Expand<'a> {
    /// Whether nodes of an operator are to be replaced.
    pub select: &'a dyn Fn(&Schema) -> bool,
    /// How many bodies deep; `None`: until there is nothing left.
    pub depth: Option<u32>,
    /// The most nodes that a graph may have afterwards, see [`Inline::max_nodes`].
    pub max_nodes: u64,
}

/// Replaces nodes of operators that have a body by it. Imports of domains that no node needs any more are removed.
pub fn expand(model: &mut Model, registry: &Registry, options: &Expand<'_>) -> Report {
    let mut all = Report::default();
    let (mut count, mut domains) = (0, HashSet::default());
    for _ in 0..options.depth.unwrap_or(MOST_ROUNDS).min(MOST_ROUNDS) {
        let (report, replaced) = round(model, registry, options, &mut domains);
        for found in report.diagnostics {
            let is_known = all
                .diagnostics
                .iter()
                .any(|d| d.code == found.code && d.primary.place == found.primary.place);
            if !is_known {
                all.diagnostics.push(found);
            }
        }
        count += replaced;
        if replaced == 0 {
            break;
        }
    }
    all.note(count, "node", "expanded");
    if count > 0 {
        pass::compact(model);
        remove_imports(model, &domains);
    }
    all
}

/// One body deep. Returns how many nodes were replaced, and adds their domains.
fn round(
    model: &mut Model,
    registry: &Registry,
    options: &Expand<'_>,
    domains: &mut HashSet<String>,
) -> (Report, usize) {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let mut others = |model: &Model, body: BodyId, node: NodeId| {
        let schema = schema_of(model, registry, body, node).filter(|schema| (options.select)(schema))?;
        let found = body_of(model, registry, &facts, body, node)?;
        may_be_inlined(model, registry, body, &found).then_some(())?;
        domains.insert(normalize_domain(&schema.domain).to_owned());
        Some(Foreign { model: found.model, function: found.id })
    };
    let inline = Inline {
        select: &|_, _| false,
        depth: Some(1),
        max_nodes: options.max_nodes,
        others: Some(&mut others),
    };
    let report = pass::inline(model, registry, inline);
    let calls = report.changes.iter().filter(|change| change.noun == "call").map(|change| change.count);
    let count = calls.sum();
    (report, count)
}

/// Whether the operators of a body that takes the place of a node mean the same where the function that the node is in is called,
/// which may import other versions: a call that could be inlined still can be.
fn may_be_inlined(model: &Model, registry: &Registry, body: BodyId, found: &FunctionBody) -> bool {
    let Some(main) = model.main.filter(|main| *main != body) else { return true };
    found.body().nodes.values().all(|node| {
        let (domain, op) = (normalize_domain(found.model.text(node.domain)), found.model.text(node.op));
        let version = model.newest_import(body, domain);
        let there = model.newest_import(main, domain);
        there.is_none_or(|there| registry.is_same(OpRef { domain, op, version }, there))
    })
}

/// The schema of the operator that a node applies.
fn schema_of<'r>(model: &Model, registry: &'r Registry, body: BodyId, node: NodeId) -> Option<&'r Schema> {
    let n = &model.bodies[body].nodes[node];
    let domain = normalize_domain(model.text(n.domain));
    let version = model.newest_import(body, domain)?;
    match registry.lookup(domain, model.text(n.op), version) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// Removes imports of these domains where no node of the model has them.
fn remove_imports(model: &mut Model, domains: &HashSet<String>) {
    let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
    let used: HashSet<String> =
        nodes.map(|node| normalize_domain(model.text(node.domain)).to_owned()).collect();
    let Model { names, header, functions, .. } = model;
    let is_wanted = |import: &OpsetImport| {
        let domain = normalize_domain(import.domain.map_or("", |name| &names[name]));
        domain.is_empty() || !domains.contains(domain) || used.contains(domain)
    };
    header.opset_imports.retain(is_wanted);
    functions.values_mut().for_each(|function| function.opset_imports.retain(is_wanted));
}
