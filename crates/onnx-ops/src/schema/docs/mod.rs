//! A sentence and a small example model for each built-in operator.
//!
//! They are the files of `docs/` in this crate: a comment with the sentence, followed by a model that uses the newest version of
//! the operator that is not deprecated.

#[rustfmt::skip]
mod list;

use onnx_ir::normalize_domain;

/// The description of an operator, in a sentence.
pub fn summary(domain: &str, name: &str) -> Option<&'static str> {
    parts(domain, name).map(|(summary, _)| summary)
}

/// A model that uses an operator, as formatted text.
pub fn example(domain: &str, name: &str) -> Option<&'static str> {
    parts(domain, name).map(|(_, example)| example)
}

fn parts(domain: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let wanted = (normalize_domain(domain), name);
    let at = list::FILES.binary_search_by(|(domain, name, _)| (*domain, *name).cmp(&wanted)).ok()?;
    list::FILES[at].2.strip_prefix("## ")?.split_once('\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Lookup, Registry};
    use onnx_ir::{Node, VerifyOptions};
    use onnx_text::FormatOptions;

    #[test]
    fn every_operator_has_a_summary_and_an_example() {
        let registry = Registry::builtin();
        let mut operators = 0;
        for domain in registry.domains() {
            for name in registry.operators(domain) {
                let Some(summary) = summary(domain, name) else {
                    panic!("{domain}.{name}: no file in docs/")
                };
                assert!(summary.ends_with('.') && summary.len() < 120, "{domain}.{name}: {summary}");
                uses_newest(registry, domain, name);
                operators += 1;
            }
        }
        assert_eq!(operators, list::FILES.len(), "a file of an operator that is not there");
        assert_eq!(summary("ai.onnx", "Abs"), summary("", "Abs"));
        assert_eq!(summary("", "abs"), None);
    }

    /// The example is valid, formatted, and has a node of the newest version that is not deprecated.
    fn uses_newest(registry: &Registry, domain: &str, name: &str) {
        let text = example(domain, name).unwrap();
        let checked = onnx_text::check(text, &VerifyOptions::default());
        assert!(checked.diagnostics.is_empty(), "{domain}.{name}: {:?}", checked.diagnostics);
        let onnx_text::Checked { syntax, model } = &checked.value;
        let found = crate::check::check(model, registry, &VerifyOptions::default());
        assert!(found.is_empty(), "{domain}.{name}: {found:?}");
        let options = FormatOptions::default();
        let formatted = onnx_text::format(text, syntax, &options);
        assert_eq!(text, formatted, "{domain}.{name} is not formatted");

        let is_it = |node: &Node| model.text(node.domain) == domain && model.text(node.op) == name;
        let body = model.main_body().unwrap();
        assert!(body.nodes.iter().any(|(_, node)| is_it(node)), "{domain}.{name} is not in its example");
        let version = model.opset_version(&model.header.opset_imports, domain).unwrap();
        let found = registry.lookup(domain, name, version);
        let newest = registry.versions(domain, name).iter().rfind(|id| !registry.get(**id).deprecated);
        assert_eq!(found, Lookup::Found(*newest.unwrap()), "{domain}.{name} at {version}");
    }
}
