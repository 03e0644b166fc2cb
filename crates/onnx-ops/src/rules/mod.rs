//! Shape inference of each operator, in families that share rules.
//!
//! A family is a file with a list of [`Row`]s: an operator, its first version with this rule, and the rule. A
//! rule applies to all later versions up to the next row of the operator. Types that follow from the type variables of the
//! schema (most element types) are set before the rule runs; see [`NodeCx`] for what a rule can do.
//!
//! An operator without a rule that a function body defines is inferred through that body. A test fails for operators with
//! neither.

mod attention;
mod axes;
mod broadcast;
mod cast;
mod contributed;
mod control;
mod conv;
pub(crate) mod einsum;
mod elementwise;
mod fit;
mod fraction;
mod gather;
mod loss;
mod matmul;
mod ml;
mod norm;
mod optional;
mod parts;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod scan;
mod scatter;
mod select;
mod sequence;
mod shape;
mod signal;
mod slice;
mod spread;
mod text;
mod training;
mod view;
mod window;

use crate::infer::{Infer, NodeCx};
use crate::schema::{Registry, Schema, SchemaId};
use foldhash::HashMap;
use onnx_ir::normalize_domain;
use std::sync::LazyLock;

/// Infers the outputs of a node.
pub(crate) type Rule = fn(&mut NodeCx<'_, '_>) -> Infer;

/// A rule for the versions of an operator from `since` on.
pub(crate) struct Row {
    domain: &'static str,
    name: &'static str,
    since: u32,
    rule: Rule,
}

/// A row of ai.onnx.
const fn row(name: &'static str, since: u32, rule: Rule) -> Row {
    Row { domain: "", name, since, rule }
}

/// The families of ai.onnx, under the names of their files.
const FAMILIES: &[(&str, &[Row])] = &[
    ("attention", attention::ROWS),
    ("cast", cast::ROWS),
    ("control", control::ROWS),
    ("conv", conv::ROWS),
    ("einsum", einsum::ROWS),
    ("elementwise", elementwise::ROWS),
    ("gather", gather::ROWS),
    ("loss", loss::ROWS),
    ("matmul", matmul::ROWS),
    ("ml", ml::ROWS),
    ("norm", norm::ROWS),
    ("optional", optional::ROWS),
    ("parts", parts::ROWS),
    ("pool", pool::ROWS),
    ("quantize", quantize::ROWS),
    ("random", random::ROWS),
    ("recurrent", recurrent::ROWS),
    ("reduce", reduce::ROWS),
    ("reshape", reshape::ROWS),
    ("resize", resize::ROWS),
    ("scan", scan::ROWS),
    ("scatter", scatter::ROWS),
    ("select", select::ROWS),
    ("sequence", sequence::ROWS),
    ("shape", shape::ROWS),
    ("signal", signal::ROWS),
    ("slice", slice::ROWS),
    ("spread", spread::ROWS),
    ("text", text::ROWS),
    ("training", training::ROWS),
    ("view", view::ROWS),
];

/// The family of rules that an operator of ai.onnx belongs to, such as `conv`, and the number of operands that it must have.
///
/// ```
/// assert_eq!(onnx_ops::family("", "Conv"), Some(("conv", 2)));
/// assert_eq!(onnx_ops::family("com.acme", "Conv"), None);
/// ```
pub fn family(domain: &str, op: &str) -> Option<(&'static str, usize)> {
    if !normalize_domain(domain).is_empty() {
        return None;
    }
    let has_it = |rows: &[Row]| rows.iter().any(|row| row.name == op);
    let (name, _) = FAMILIES.iter().find(|(_, rows)| has_it(rows))?;
    let registry = Registry::builtin();
    let newest = registry.versions("", op).last()?;
    Some((name, registry.get(*newest).input_range().0))
}

/// The rules of all schemas.
pub(crate) struct Rules {
    /// The rules of built-in schemas, by id.
    rules: Vec<Option<Rule>>,
    /// The rules of other operators, for all their versions.
    contributed: HashMap<(&'static str, &'static str), Rule>,
}

impl Rules {
    /// The rules of the built-in operators.
    pub(crate) fn get() -> &'static Rules {
        static RULES: LazyLock<Rules> = LazyLock::new(Rules::new);
        &RULES
    }

    fn new() -> Rules {
        let registry = Registry::builtin();
        let mut rules: HashMap<SchemaId, (u32, Rule)> = HashMap::default();
        for row in FAMILIES.iter().flat_map(|(_, rows)| *rows) {
            for &id in registry.versions(row.domain, row.name) {
                let is_later = rules.get(&id).is_none_or(|(since, _)| *since <= row.since);
                if registry.get(id).since >= row.since && is_later {
                    rules.insert(id, (row.since, row.rule));
                }
            }
        }
        let len = rules.keys().map(|id| id.index() + 1).max().unwrap_or(0);
        let contributed =
            contributed::FAMILIES.iter().copied().flatten().map(|r| ((r.domain, r.name), r.rule));
        let mut table = Rules { rules: vec![None; len], contributed: contributed.collect() };
        for (id, (_, rule)) in rules {
            table.rules[id.index()] = Some(rule);
        }
        table
    }

    /// The rule of a schema.
    pub(crate) fn of(&self, id: SchemaId, schema: &Schema) -> Option<Rule> {
        match self.rules.get(id.index()) {
            Some(rule) => *rule,
            None => self.contributed.get(&(normalize_domain(&schema.domain), &*schema.name)).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::has_body;

    /// Lists operator versions without a rule or body.
    #[test]
    fn every_operator_is_inferred() {
        let registry = Registry::builtin();
        let mut missing = Vec::new();
        for domain in registry.domains() {
            for name in registry.operators(domain) {
                for &id in registry.versions(domain, name) {
                    let schema = registry.get(id);
                    let is_covered =
                        Rules::get().of(id, schema).is_some() || has_body(schema, schema.since.into());
                    if !is_covered {
                        missing.push(format!("{domain} {name} {}", schema.since));
                    }
                }
            }
        }
        assert_eq!(missing, [""; 0]);
    }
}
