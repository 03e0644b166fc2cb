//! The bodies in files, found by the name of their operator.

#[rustfmt::skip]
mod list;

/// The newest body of an operator of ai.onnx that is valid in a version, and the first such version.
pub(crate) fn of(domain: &str, name: &str, version: i64) -> Option<(i64, &'static str)> {
    if !domain.is_empty() {
        return None;
    }
    let end = list::FILES.partition_point(|(other, since, _)| (*other, *since) <= (name, version));
    let (other, since, text) = list::FILES[..end].last()?;
    (*other == name).then_some((*since, *text))
}
