//! Changes of texts.

/// The changes as a unified diff, as `patch` reads.
pub(crate) fn diff(old: &str, new: &str, name: &str) -> String {
    similar::TextDiff::from_lines(old, new).unified_diff().context_radius(3).header(name, name).to_string()
}
