//! Finds the row of an operator by its schema or by its name.

use super::{FAMILIES, Operator};
use crate::derivative::Derivative;
use crate::opset::is_added;
use crate::schema::{Registry, Schema, SchemaId};
use foldhash::HashMap;
use onnx_ir::normalize_domain;
use std::sync::LazyLock;

/// The rows by domain and name, and by the schemas of the built-in registry.
struct Table {
    names: HashMap<(&'static str, &'static str), &'static Operator>,
    /// `None` for operators without a row.
    schemas: Vec<Option<&'static Operator>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let names: HashMap<_, _> = all().map(|row| ((row.domain, row.name), row)).collect();
    let registry = Registry::builtin();
    let mut schemas = Vec::new();
    for domain in registry.domains() {
        for name in registry.operators(domain) {
            for id in registry.versions(domain, name) {
                if schemas.len() <= id.index() {
                    schemas.resize(id.index() + 1, None);
                }
                schemas[id.index()] = names.get(&(domain, name)).copied();
            }
        }
    }
    Table { names, schemas }
});

/// Every row.
pub(crate) fn all() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().flat_map(|(_, rows)| *rows)
}

/// The row of an operator of a normalized domain.
pub(crate) fn find(domain: &str, name: &str) -> Option<&'static Operator> {
    TABLE.names.get(&(domain, name)).copied()
}

/// The derivative of an operator of a normalized domain.
pub(crate) fn derivative_of(domain: &str, name: &str) -> Option<Derivative> {
    find(domain, name)?.derivative
}

/// The row of the operator of a schema.
///
/// A document that describes an operator of ONNX itself describes another operator: the row is not about that one, except for
/// operators that ONNX Runtime adds to ONNX's domain.
pub(crate) fn of_schema(id: SchemaId, schema: &Schema) -> Option<&'static Operator> {
    if let Some(row) = TABLE.schemas.get(id.index()) {
        return *row;
    }
    let domain = normalize_domain(&schema.domain);
    let is_standard = domain.is_empty() || domain.starts_with("ai.onnx");
    if is_standard && !is_added(schema) { None } else { find(domain, &schema.name) }
}

/// The reason why an operator that is known cannot be run, if there is a special one.
///
/// ```
/// assert!(onnx_ops::refusal("com.microsoft", "BeamSearch").is_some());
/// assert_eq!(onnx_ops::refusal("", "Conv"), None);
/// ```
pub fn refusal(domain: &str, op: &str) -> Option<&'static str> {
    find(normalize_domain(domain), op)?.refusal
}

/// The family of an operator of ai.onnx, such as `conv`, and the number of operands that it must have.
///
/// ```
/// assert_eq!(onnx_ops::family("", "Conv"), Some(("conv", 2)));
/// assert_eq!(onnx_ops::family("com.acme", "Conv"), None);
/// ```
pub fn family(domain: &str, op: &str) -> Option<(&'static str, usize)> {
    if !normalize_domain(domain).is_empty() {
        return None;
    }
    let row = find("", op)?;
    let has_it = |rows: &[Operator]| rows.iter().any(|other| std::ptr::eq(row, other));
    let (name, _) = FAMILIES.iter().find(|(_, rows)| has_it(rows))?;
    let registry = Registry::builtin();
    let newest = registry.versions("", op).last()?;
    Some((name, registry.get(*newest).input_range().0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::has_body;
    use crate::opset::whole_registry;

    /// Lists operator versions without a rule or body.
    #[test]
    fn every_operator_is_inferred() {
        let registry = Registry::builtin();
        let mut missing = Vec::new();
        for domain in registry.domains() {
            for name in registry.operators(domain) {
                for &id in registry.versions(domain, name) {
                    let schema = registry.get(id);
                    let rule = of_schema(id, schema).and_then(|row| row.rule(schema.since));
                    if rule.is_none() && !has_body(schema, schema.since.into()) {
                        missing.push(format!("{domain} {name} {}", schema.since));
                    }
                }
            }
        }
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn rows_are_sorted_and_name_operators_once() {
        for (family, rows) in FAMILIES {
            assert!(rows.is_sorted_by_key(|row| row.name), "{family} is not sorted");
        }
        assert_eq!(TABLE.names.len(), all().count(), "two rows have one operator");
        for row in all() {
            let versions = whole_registry().versions(row.domain, row.name);
            assert!(!versions.is_empty(), "`{}` of `{}` is not an operator", row.name, row.domain);
            let most = versions.iter().map(|id| whole_registry().get(*id).inputs.len()).max();
            assert!(
                row.reads.iter().all(|i| most.is_some_and(|most| *i < most)),
                "{} reads inputs",
                row.name
            );
        }
    }
}
