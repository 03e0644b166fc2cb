//! Lists of operators.

use super::spec::ensure_released;
use super::{NotFound, domain_text};
use onnx_ops::schema::{Lookup, Registry, Schema};

/// A row of the operator list.
#[derive(Clone, Copy)]
pub struct Listed<'r> {
    /// Its domain; `""` is ai.onnx.
    pub domain: &'r str,
    /// Its name.
    pub name: &'r str,
    /// The version to show: the newest, or the one in force.
    pub shown: &'r Schema,
}

/// The operators of all domains, or of one; with a version, those in force in it that are not deprecated.
///
/// # Errors
///
/// There is no such domain, or it does not have this version.
pub fn listed<'r>(
    registry: &'r Registry,
    domain: Option<&str>,
    version: Option<i64>,
) -> Result<Vec<Listed<'r>>, NotFound> {
    let requested = match (domain, version) {
        (Some(domain), _) => Some(onnx_ir::normalize_domain(domain)),
        (None, Some(_)) => Some(""),
        (None, None) => None,
    };
    let requested = requested.map(|domain| known_domain(registry, domain)).transpose()?;
    if let (Some(domain), Some(version)) = (requested, version) {
        ensure_released(registry, domain, version)?;
    }
    let mut operators = Vec::new();
    for domain in registry.domains().filter(|domain| requested.is_none_or(|requested| requested == *domain)) {
        for name in registry.operators(domain) {
            let shown = match version {
                None => registry.versions(domain, name).last().copied(),
                Some(version) => match registry.lookup(domain, name, version) {
                    Lookup::Found(id) => Some(id),
                    Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
                },
            };
            let shown = shown.map(|id| registry.get(id));
            // With a version, deprecated operators are not listed.
            let shown = shown.filter(|schema| version.is_none() || !schema.deprecated);
            operators.extend(shown.map(|shown| Listed { domain, name, shown }));
        }
    }
    Ok(operators)
}

/// The domain, if it has operators.
///
/// # Errors
///
/// It has none.
pub fn known_domain<'r>(registry: &'r Registry, domain: &str) -> Result<&'r str, NotFound> {
    if let Some(known) = registry.domains().find(|known| *known == domain) {
        return Ok(known);
    }
    let known: Vec<&str> = registry.domains().map(domain_text).collect();
    Err(NotFound(format!("unknown domain `{domain}`: expected one of {}", known.join(", "))))
}
