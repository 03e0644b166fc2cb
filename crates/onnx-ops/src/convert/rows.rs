//! The conversions of operators, by their rows.

use crate::change::VersionChange;
use crate::operators;

/// The conversion of an operator at a version.
pub(super) fn change(domain: &str, op: &str, since: u32) -> Option<VersionChange> {
    operators::find(domain, op)?.change(since)
}

/// Whether operators of a domain have conversions.
pub(super) fn is_convertible(domain: &str) -> bool {
    operators::all().any(|row| row.domain == domain && row.changes().next().is_some())
}
