//! Replaces nodes by the function bodies of their operators.
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
//! It works in rounds, because a body may depend on types that are known only after the previous round. A node with insufficient
//! facts is kept.

use super::{FunctionBody, body_of};
use crate::infer::{InferOptions, infer};
use crate::schema::{Lookup, Registry, Schema};
use foldhash::{HashMap, HashSet};
use onnx_ir::pass::{self, Foreign, Inline, OpRef, Operators as _, Report};
use onnx_ir::{BodyId, Model, NodeId, OpsetImport, ValueId, normalize_domain};

/// The deepest nesting of bodies; the existing ones are less deep.
const MAX_ROUNDS: u32 = 100;

/// Which operators to expand, and how far.
pub struct Expand<'a> {
    /// Selects the operators to replace.
    pub select: &'a dyn Fn(&Schema) -> bool,
    /// The number of rounds; `None`: until nothing is left.
    pub depth: Option<u32>,
    /// The most nodes that a graph may have afterwards, see [`Inline::max_nodes`].
    pub max_nodes: u64,
}

/// Replaces nodes by the bodies of their operators. Imports that become unused are removed.
pub fn expand(model: &mut Model, registry: &Registry, options: &Expand<'_>) -> Report {
    let mut all = Report::default();
    let (mut count, mut domains) = (0, HashSet::default());
    for _ in 0..options.depth.unwrap_or(MAX_ROUNDS).min(MAX_ROUNDS) {
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

/// Expands one level. Returns the number of replaced nodes, and adds their domains.
fn round(
    model: &mut Model,
    registry: &Registry,
    options: &Expand<'_>,
    domains: &mut HashSet<String>,
) -> (Report, usize) {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let absent = maybe_absent(model);
    let mut others = |model: &Model, body: BodyId, node: NodeId| {
        let schema = schema_of(model, registry, body, node).filter(|schema| (options.select)(schema))?;
        let mut operands = model.bodies[body].nodes[node].inputs.iter().flatten();
        (!operands.any(|&operand| absent.contains(&(body, operand)))).then_some(())?;
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

/// Whether the operators of a body mean the same in the context from which the enclosing function is called, which may import
/// other versions: a call that could be inlined must stay so.
fn may_be_inlined(model: &Model, registry: &Registry, body: BodyId, found: &FunctionBody) -> bool {
    let Some(main) = model.main.filter(|main| *main != body) else { return true };
    found.body().nodes.values().all(|node| {
        let (domain, op) = (normalize_domain(found.model.text(node.domain)), found.model.text(node.op));
        let version = model.newest_import(body, domain);
        let there = model.newest_import(main, domain);
        there.is_none_or(|there| registry.is_same(OpRef { domain, op, version }, there))
    })
}

/// Values that may be absent at run time: omitted inputs of functions, and results of calls that return them. The body of a node
/// depends on whether such an operand is present.
fn maybe_absent(model: &Model) -> HashSet<(BodyId, ValueId)> {
    let mut absent = HashSet::default();
    let mut calls = Vec::new();
    let functions: HashMap<_, _> = model
        .functions
        .values()
        .rev()
        .map(|f| ((normalize_domain(model.text(f.domain)), f.name, f.overload), f))
        .collect();
    for (body, b) in model.bodies.iter().filter(|_| !functions.is_empty()) {
        for node in b.nodes.values() {
            let key = (normalize_domain(model.text(node.domain)), node.op, node.overload);
            if let Some(function) = functions.get(&key) {
                calls.push((body, node, *function));
            }
        }
    }
    loop {
        let before = absent.len();
        for (caller, node, function) in &calls {
            let body = function.body;
            let Some(root) = model.bodies[body].root() else { continue };
            let graph = &model.bodies[body].graphs[root];
            for (i, input) in graph.inputs.iter().enumerate() {
                let given = node.inputs.get(i).copied().flatten();
                if given.is_none_or(|given| absent.contains(&(*caller, given))) {
                    absent.extend(input.value.map(|value| (body, value)));
                }
            }
            for (output, result) in graph.outputs.iter().zip(&node.outputs) {
                if output.value.is_some_and(|value| absent.contains(&(body, value))) {
                    absent.extend(result.map(|value| (*caller, value)));
                }
            }
        }
        if absent.len() == before {
            return absent;
        }
    }
}

/// The schema of a node's operator.
fn schema_of<'r>(model: &Model, registry: &'r Registry, body: BodyId, node: NodeId) -> Option<&'r Schema> {
    let n = &model.bodies[body].nodes[node];
    let domain = normalize_domain(model.text(n.domain));
    let version = model.newest_import(body, domain)?;
    match registry.lookup(domain, model.text(n.op), version) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// Removes unused imports of these domains.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The operators that are left after expanding everything.
    fn expanded(text: &str) -> Vec<String> {
        let mut model = onnx_text::read_model(text).value;
        let options = Expand { select: &|_| true, depth: None, max_nodes: 100 };
        expand(&mut model, Registry::builtin(), &options);
        let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
        nodes.map(|node| model.text(node.op).to_owned()).collect()
    }

    #[test]
    fn a_node_whose_operand_may_be_absent_stays() {
        let model = |call: &str, outputs: &str, in_f: &str| {
            format!(
                "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]> g (float[2] x, float m) => (float[2] z) {{ {call} }}
                <domain: \"l\", opset_import: [\"\": 21]> f (a, least) => ({outputs}) {{ {in_f} }}"
            )
        };
        let has_clip = |text: String| expanded(&text).contains(&"Clip".to_owned());
        // The input of the function, and a result that is one.
        assert!(has_clip(model("z = l.f(x)", "b", "b = Clip(a, least)")));
        assert!(has_clip(model("y, k = l.f(x) z = Clip(y, k)", "b, least", "b = Neg(a)")));
        assert!(!has_clip(model("z = l.f(x, m)", "b", "b = Clip(a, least)")));
        assert!(!has_clip(model("y, k = l.f(x, m) z = Clip(y, k)", "b, least", "b = Neg(a)")));
    }
}
