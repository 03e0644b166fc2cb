//! Compares the table with the registry: a new operator version needs a row.

use super::rows::change;
use crate::change::Conversion;
use crate::operators;
use crate::schema::{Registry, Schema};
use std::collections::BTreeSet;

const DOMAINS: [&str; 2] = ["", "ai.onnx.ml"];

/// Every version of every operator of a domain with the one before it.
fn boundaries(domain: &str) -> impl Iterator<Item = (&'static Schema, &'static Schema)> {
    let registry = Registry::builtin();
    registry.operators(domain).flat_map(move |op| {
        let versions = registry.versions(domain, op);
        versions.windows(2).map(move |pair| (registry.get(pair[0]), registry.get(pair[1])))
    })
}

#[test]
fn every_version_of_every_operator_has_a_row() {
    for domain in DOMAINS {
        let wanted: BTreeSet<(String, u32)> =
            boundaries(domain).map(|(_, new)| (new.name.to_string(), new.since)).collect();
        let rows = operators::all().filter(|row| row.domain == domain);
        let has = rows.flat_map(|row| row.changes().map(|change| (row.name.to_owned(), change.since)));
        let has: BTreeSet<(String, u32)> = has.collect();
        let missing: Vec<_> = wanted.difference(&has).collect();
        assert!(missing.is_empty(), "no row says what becomes of {missing:?}");
        // Rows of first versions describe the operators that they replace.
        let registry = Registry::builtin();
        let is_first = |op: &str, since| {
            registry.versions(domain, op).first().is_some_and(|id| registry.get(*id).since == since)
        };
        let surplus: Vec<_> = has.difference(&wanted).filter(|(op, since)| !is_first(op, *since)).collect();
        assert!(surplus.is_empty(), "rows of versions that are not there: {surplus:?}");
    }
}

/// Unchanged nodes must keep their meaning: no attribute is removed, no default changes, and nothing becomes required.
#[test]
fn versions_that_keep_nodes_as_they_are_only_add() {
    for domain in DOMAINS {
        for (old, new) in boundaries(domain) {
            let Some(change) = change(domain, &new.name, new.since) else { continue };
            if !matches!(change.up, Conversion::Same) {
                continue;
            }
            let at = format!("{} {}", new.name, new.since);
            assert!(!new.deprecated, "{at} is deprecated");
            for attr in old.attrs.iter() {
                let now = new.attr(&attr.name).unwrap_or_else(|| panic!("{at} lost `{}`", attr.name));
                assert_eq!(now.ty, attr.ty, "{at}: `{}`", attr.name);
                assert!(now.default == attr.default || attr.required, "{at}: default of `{}`", attr.name);
            }
            for attr in new.attrs.iter().filter(|attr| attr.required) {
                assert!(old.attr(&attr.name).is_some_and(|a| a.required), "{at} needs `{}`", attr.name);
            }
            assert!(new.input_range().0 <= old.input_range().0, "{at}: inputs");
            assert!(new.output_range().0 <= old.output_range().0, "{at}: outputs");
        }
    }
}
