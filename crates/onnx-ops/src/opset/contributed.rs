//! Operators outside the standard that models use: those of ONNX Runtime.

use super::documents::FILES;
use super::load::load;
use crate::schema::set::LoadedSet;
use crate::schema::{Registry, Schema};
use onnx_ir::{Model, normalize_domain};
use std::sync::{LazyLock, OnceLock};

/// The domain of the operators of ONNX Runtime.
pub(crate) const CONTRIBUTED: &str = "com.microsoft";

/// The documents of [`FILES`], read on demand.
static DOCUMENTS: [OnceLock<LoadedSet>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

fn document(at: usize) -> &'static LoadedSet {
    // Later versions of the domains may exist: the documents say what is known of them.
    DOCUMENTS[at]
        .get_or_init(|| LoadedSet { version: None, ..load(onnx_text::read_operator_set(FILES[at].1).value) })
}

/// The operators that ONNX Runtime adds to a domain, if this crate describes any: those of `com.microsoft`, and some of the
/// default domain.
pub fn contributed(domain: &str) -> Option<&'static [Schema]> {
    contributed_set(domain).map(|loaded| &*loaded.schemas)
}

/// The operators of ONNX Runtime in a domain, with the functions that define some of them.
#[must_use]
pub fn contributed_set(domain: &str) -> Option<&'static LoadedSet> {
    let domain = normalize_domain(domain);
    FILES.iter().position(|(name, _)| *name == domain).map(document)
}

/// Whether a schema is one that ONNX Runtime adds to ONNX's own domain.
pub(crate) fn is_added(schema: &Schema) -> bool {
    normalize_domain(&schema.domain).is_empty()
        && !Registry::builtin().versions("", &schema.name).iter().any(|id| {
            // Older versions are added to some operators.
            Registry::builtin().get(*id).since == schema.since
        })
        && contributed("").is_some_and(|added| added.contains(schema))
}

/// The built-in operators, and those of ONNX Runtime if a part of the model imports its domain.
///
/// A model that imports the domain was written for that runtime, so its additions to the default domain are known as well.
pub fn registry_of(model: &Model) -> &'static Registry {
    let functions = model.functions.values().flat_map(|f| &f.opset_imports);
    let mut imports = model.header.opset_imports.iter().chain(functions);
    let is_described = |domain: &str| FILES.iter().any(|(name, _)| !name.is_empty() && *name == domain);
    if imports.any(|import| is_described(model.text(import.domain))) {
        whole_registry()
    } else {
        Registry::builtin()
    }
}

/// The built-in operators and all of ONNX Runtime.
pub fn whole_registry() -> &'static Registry {
    static WHOLE: LazyLock<Registry> = LazyLock::new(|| Registry::with_sets(contributed_sets()));
    &WHOLE
}

/// The operator sets of ONNX Runtime, to build larger registries.
pub fn contributed_sets() -> impl Iterator<Item = &'static LoadedSet> {
    (0..FILES.len()).map(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{BodyKind, Lookup, Registry};
    use onnx_ir::VerifyOptions;
    use onnx_ir::diag::Level;
    use onnx_text::FormatOptions;

    #[test]
    fn documents_are_sound_and_formatted() {
        for (_, source) in FILES {
            let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
            let checked = onnx_text::check_operator_set(source, &options);
            // Some operators of the default domain were removed later.
            let others = |d: &&onnx_ir::diag::Diagnostic| d.code != &onnx_ir::diag::code::OPERATOR_VERSIONS;
            let found: Vec<_> = checked.diagnostics.iter().filter(others).collect();
            assert!(found.is_empty(), "{found:#?}");
            let onnx_text::CheckedSet { syntax, set } = &checked.value;
            let formatted = onnx_text::format_operator_set(source, syntax, &FormatOptions::default());
            assert!(formatted == source, "run `onnxtxt fmt crates/onnx-ops/opsets`");
            let names = &set.model.names;
            for operator in &set.operators {
                let summary = operator.doc.and_then(|doc| names[doc].rsplit('\n').next()).unwrap();
                assert!(summary.ends_with('.') && summary.len() < 120, "{summary}");
            }
        }
    }

    #[test]
    fn every_operator_is_found_in_a_registry() {
        let schemas = contributed("com.microsoft").unwrap();
        assert_eq!(schemas.len(), 136);
        let registry = Registry::with(schemas.to_vec());
        for schema in schemas {
            assert!(matches!(registry.lookup("com.microsoft", &schema.name, 1), Lookup::Found(_)));
        }
        assert_eq!(contributed("ai.onnx").map(<[_]>::len), Some(18));
        assert!(contributed("com.acme").is_none());
    }

    #[test]
    fn operators_with_a_body_say_so() {
        for domain in ["", "com.microsoft"] {
            let loaded = contributed_set(domain).unwrap();
            for (schema, body) in loaded.schemas.iter().zip(&loaded.bodies) {
                let expected = if body.is_some() { BodyKind::Fixed } else { BodyKind::None };
                assert_eq!(schema.body, expected, "{}", schema.name);
            }
            assert!(loaded.bodies.iter().any(Option::is_some));
        }
    }
}
