//! Long lists of findings, shortened for people.

use onnx_ir::diag::{Diagnostic, Level, Severity};
use onnx_ir::diag::{counted, grouped};
use std::collections::{BTreeMap, HashMap};

/// Lints with more findings in one file than this become one entry.
pub const MAX_LINTS_LISTED: usize = 5;

/// The maximum number of findings of one code and severity that are listed for a file.
pub const MAX_OF_KIND_LISTED: usize = 100;

/// Findings, with frequent lints apart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Grouped {
    /// The other findings, in the same order.
    pub listed: Vec<Diagnostic>,
    /// The frequent lints, in the order of their first findings.
    pub groups: Vec<LintGroup>,
}

/// The findings of a frequent lint.
#[derive(Clone, PartialEq, Debug)]
pub struct LintGroup {
    /// The first one.
    pub first: Diagnostic,
    /// The number of all.
    pub count: usize,
}

/// Takes lints ([`Level::Strict`]) with more than [`MAX_LINTS_LISTED`] findings out of a list.
#[must_use]
pub fn group_lints(mut found: Vec<Diagnostic>) -> Grouped {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in found.iter().filter(|finding| finding.code.level == Level::Strict) {
        *counts.entry(finding.code.id).or_default() += 1;
    }
    let mut groups: Vec<LintGroup> = Vec::new();
    found.retain(|finding| {
        let count = counts.get(finding.code.id).copied().unwrap_or(0);
        let is_frequent = count > MAX_LINTS_LISTED;
        if is_frequent && !groups.iter().any(|group| group.first.code == finding.code) {
            groups.push(LintGroup { first: finding.clone(), count });
        }
        !is_frequent
    });
    Grouped { listed: found, groups }
}

/// A list of bounded length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Bounded {
    /// The first findings of each kind, and for each kind with more a finding that tells how many.
    pub listed: Vec<Diagnostic>,
    /// The number of errors that are not in the list.
    pub unlisted_errors: usize,
    /// The number of warnings that are not in the list.
    pub unlisted_warnings: usize,
}

/// Lists at most [`MAX_OF_KIND_LISTED`] findings of each code and severity. One finding at the end stands for the others of its
/// kind, at the place of the first of them.
#[must_use]
pub fn bound(found: Vec<Diagnostic>) -> Bounded {
    let mut counts: HashMap<(&str, bool), usize> = HashMap::new();
    let mut bounded = Bounded::default();
    let mut first_unlisted: Vec<Diagnostic> = Vec::new();
    for finding in found {
        let count = counts.entry((finding.code.id, finding.is_error())).or_default();
        *count += 1;
        match *count {
            ..=MAX_OF_KIND_LISTED => bounded.listed.push(finding),
            _ if *count == MAX_OF_KIND_LISTED + 1 => first_unlisted.push(finding),
            _ => {}
        }
    }
    for first in first_unlisted {
        let rest = counts[&(first.code.id, first.is_error())] - MAX_OF_KIND_LISTED;
        // The finding that is made here is counted as one of the list.
        match first.severity {
            Severity::Error => bounded.unlisted_errors += rest - 1,
            Severity::Warning => bounded.unlisted_warnings += rest - 1,
        }
        let message = format!("{} of this kind", counted(grouped(rest as u64), "more finding"));
        let mut finding = Diagnostic::new(first.code, first.primary.place, message);
        finding.severity = first.severity;
        bounded.listed.push(finding.label("the first one"));
    }
    bounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::{self, Code, Place, code};

    fn many(code: &'static Code, count: usize) -> Vec<Diagnostic> {
        (0..count).map(|i| Diagnostic::new(code, Place::Nowhere, i.to_string())).collect()
    }

    fn lint() -> &'static Code {
        diag::ALL.iter().find(|code| code.level == Level::Strict).copied().unwrap()
    }

    #[test]
    fn findings_of_one_kind_are_counted_beyond_a_hundred() {
        let mut found = many(&code::VALUE_UNDEFINED, 100_000);
        found.extend(many(&code::RUN_FAILED, 1));
        let Bounded { listed, unlisted_errors, unlisted_warnings } = bound(found);
        assert_eq!((listed.len(), unlisted_errors, unlisted_warnings), (102, 99_899, 0));
        assert_eq!(listed[100].code.id, code::RUN_FAILED.id);
        assert_eq!(listed[101].message, "99,900 more findings of this kind");
        assert!(listed[101].is_error());
    }

    /// The list and the two numbers add up to the number of findings, whatever that is.
    #[test]
    fn no_finding_is_lost() {
        for (errors, warnings) in [(0, 0), (100, 100), (101, 0), (102, 7), (0, 1234)] {
            let mut found = many(&code::VALUE_UNDEFINED, errors);
            found.extend(many(lint(), warnings));
            let bounded = bound(found);
            let listed =
                |is_error| bounded.listed.iter().filter(|found| found.is_error() == is_error).count();
            assert_eq!(listed(true) + bounded.unlisted_errors, errors);
            assert_eq!(listed(false) + bounded.unlisted_warnings, warnings);
        }
        assert_eq!(bound(many(lint(), 101)).listed[100].message, "1 more finding of this kind");
    }

    #[test]
    fn frequent_lints_become_one_entry() {
        let few = group_lints(many(lint(), MAX_LINTS_LISTED));
        assert_eq!((few.listed.len(), few.groups.len()), (MAX_LINTS_LISTED, 0));
        let mut found = many(&code::VALUE_UNDEFINED, 50);
        found.extend(many(lint(), MAX_LINTS_LISTED + 1));
        let Grouped { listed, groups } = group_lints(found);
        assert_eq!((listed.len(), groups.len()), (50, 1));
        assert_eq!((groups[0].first.message.as_str(), groups[0].count), ("0", MAX_LINTS_LISTED + 1));
    }
}
