//! Lists the derivative of each operator for the documentation.

use crate::derivative::Derivative;
use crate::functions::has_body;
use crate::operators;
use crate::schema::{Registry, Schema};
use onnx_ir::normalize_domain;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How an operator is differentiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Differentiable {
    /// By a derivative of its own.
    Derivative,
    /// Through equivalent nodes: its function body, or simpler operators.
    Body,
    /// The derivative is zero, for a reason.
    Zero(&'static str),
    /// There is none, for a reason.
    No(&'static str),
}

/// How an operator is differentiated.
pub fn differentiable(schema: &Schema) -> Differentiable {
    match operators::derivative_of(normalize_domain(&schema.domain), &schema.name) {
        Some(Derivative::Text(_) | Derivative::Build(_) | Derivative::Graphs) => Differentiable::Derivative,
        Some(Derivative::Rewrite(_)) => Differentiable::Body,
        Some(Derivative::Zero(why)) => Differentiable::Zero(why),
        Some(Derivative::None(why)) => Differentiable::No(why),
        None if has_body(schema, i64::MAX) => Differentiable::Body,
        None => Differentiable::No("its derivative is not known yet"),
    }
}

/// `docs/gradient.md`: all operators that are not deprecated, with their kinds of derivatives.
pub fn document(registry: &Registry) -> String {
    let mut newest: BTreeMap<(&str, &str), &Schema> = BTreeMap::new();
    for domain in registry.domains() {
        for name in registry.operators(domain) {
            if let Some(&id) = registry.versions(domain, name).last() {
                newest.insert((normalize_domain(domain), name), registry.get(id));
            }
        }
    }
    let mut text = HEAD.to_owned();
    let mut counts = [0usize; 4];
    let mut rows = String::new();
    for ((domain, name), schema) in newest.into_iter().filter(|(_, schema)| !schema.deprecated) {
        let (kind, said) = match differentiable(schema) {
            Differentiable::Derivative => (0, "derivative".to_owned()),
            Differentiable::Body => (1, "through a body".to_owned()),
            Differentiable::Zero(why) => (2, format!("zero: {why}")),
            Differentiable::No(why) => (3, format!("none: {why}")),
        };
        counts[kind] += 1;
        let domain = if domain.is_empty() { String::new() } else { format!("{domain}.") };
        let _ = writeln!(rows, "| {domain}{name} | {said} |");
    }
    let [derivative, body, zero, none] = counts;
    let _ = writeln!(
        text,
        "{derivative} have a derivative of their own, {body} are differentiated through a body, of {zero} the derivative is zero, {none} have none.\n"
    );
    text.push_str("| operator | derivative |\n| --- | --- |\n");
    text + &rows
}

const HEAD: &str = "\
# Derivatives

`onnxtxt pass expand-gradient` replaces `ai.onnx.preview.training.Gradient` by ordinary operators. This is what it knows of each operator.
A test writes this page (`crates/onnx-ops/tests/gradient_list.rs`): do not edit it.

- *derivative*: stated by its row in `crates/onnx-ops/src/operators`.
- *through a body*: nodes that compute the same are differentiated: the operator's function body, or simpler operators.
- *zero*: by definition, or everywhere but at jumps. The gradient ends there.
- *none*: a `Gradient` through such a node is an error (E1515) that says so.

";
