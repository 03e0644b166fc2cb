//! Rules that are younger than the code. The places that break such a rule are counted for each crate; the number may only fall.

use super::Finding;
use std::collections::BTreeMap;

/// The number of places in each crate that may break a rule. Lower it when `tidy` says that fewer are left.
pub(super) type Budget = &'static [(&'static str, usize)];

/// The findings of crates that have more than their budget allows. Notes budgets that can be lowered.
pub(super) fn beyond(rule: &str, findings: Vec<Finding>, budget: Budget) -> Vec<Finding> {
    let mut by_crate: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        by_crate.entry(crate_of(&finding.path).to_owned()).or_default().push(finding);
    }
    for (name, allowed) in budget {
        let found = by_crate.get(*name).map_or(0, Vec::len);
        if found < *allowed {
            println!(
                "note: {name}: {found} places break the rule `{rule}`, and {allowed} may: lower its budget"
            );
        }
    }
    let is_over = |(name, found): &(String, Vec<Finding>)| {
        let allowed = budget.iter().find(|(of, _)| of == name).map_or(0, |(_, allowed)| *allowed);
        found.len() > allowed
    };
    by_crate.into_iter().filter(is_over).flat_map(|(_, found)| found).collect()
}

/// `crates/onnx-ir`, or the folder at the root.
fn crate_of(path: &str) -> &str {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    let end = path.match_indices('/').nth(depth - 1).map_or(path.len(), |(at, _)| at);
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_may_not_exceed_its_budget() {
        let at = |path: &str| Finding::new(path, 1, "x");
        let budget: Budget = &[("crates/a", 1), ("tests", 2)];
        let count =
            |paths: &[&str]| beyond("rule", paths.iter().map(|path| at(path)).collect(), budget).len();
        assert_eq!(count(&["crates/a/src/lib.rs", "tests/x.rs", "tests/y.rs"]), 0);
        assert_eq!(count(&["crates/a/src/lib.rs", "crates/a/src/x.rs", "tests/x.rs"]), 2);
        assert_eq!(count(&["crates/b/src/lib.rs"]), 1);
        assert_eq!(count(&["README.md"]), 1);
    }
}
