//! Runs a model and keeps some of its results. All results of a large model do not fit into memory, so it is run several times, and
//! each pass keeps as many as fit.

use crate::output::results::Results;
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The results of one pass.
pub(super) struct Pass {
    /// The kept results of the main graph, in the order of computation.
    pub(super) results: Results,
    /// The names and bytes of those that were not kept.
    pub(super) sizes: Vec<(String, usize)>,
}

impl Pass {
    /// The first pass: keeps the first results that fit into so many bytes.
    pub(super) fn first(
        executable: &Executable<'_>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
        most: usize,
    ) -> Result<Pass, Box<Diagnostic>> {
        let mut kept = 0usize;
        Pass::run(executable, inputs, options, move |pass, _, bytes| {
            kept = kept.saturating_add(bytes);
            pass.sizes.is_empty() && (kept <= most || pass.results.is_empty())
        })
    }

    /// A pass that keeps the results of these names.
    pub(super) fn of(
        executable: &Executable<'_>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
        names: &HashSet<&str>,
    ) -> Result<Pass, Box<Diagnostic>> {
        Pass::run(executable, inputs, options, |_, name, _| names.contains(name))
    }

    fn run(
        executable: &Executable<'_>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
        is_kept: impl FnMut(&Pass, &str, usize) -> bool + Send,
    ) -> Result<Pass, Box<Diagnostic>> {
        let seen = Mutex::new((Pass { results: Results::new(), sizes: Vec::new() }, is_kept));
        let observe = |name: &str, value: &Value| {
            let (pass, is_kept) = &mut *seen.lock().unwrap_or_else(PoisonError::into_inner);
            let bytes = bytes_of(value);
            if is_kept(pass, name, bytes) {
                pass.results.push((name.to_owned(), value.clone()));
            } else {
                pass.sizes.push((name.to_owned(), bytes));
            }
        };
        executable.run(inputs, &RunOptions { observe: Some(&observe), ..options.clone() })?;
        Ok(seen.into_inner().unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// The results of later passes: as many names for each as fit into its share of bytes, but at least one.
pub(super) struct Batches {
    pub(super) left: std::vec::IntoIter<(String, usize)>,
    pub(super) share: usize,
}

impl Iterator for Batches {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        let (first, mut bytes) = self.left.next()?;
        let mut names = vec![first];
        while let Some((_, more)) = self.left.as_slice().first() {
            bytes = bytes.saturating_add(*more);
            if bytes > self.share {
                break;
            }
            names.extend(self.left.next().map(|(name, _)| name));
        }
        Some(names)
    }
}

/// The bytes of a value.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Tensor(tensor) => match tensor.string_slice() {
            Ok(strings) => strings.iter().map(|string| string.len() + size_of::<String>()).sum(),
            Err(_) => tensor.bytes().len(),
        },
        Value::Sequence(values) => values.iter().map(bytes_of).sum(),
        Value::Map(map) => map.keys.bytes().len() + map.values.iter().map(bytes_of).sum::<usize>(),
        Value::Optional(value) => value.as_deref().map_or(0, bytes_of),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_as_large_as_their_share() {
        let sizes = [("a", 3), ("b", 3), ("c", 9), ("d", 2), ("e", 4), ("f", 1)];
        let left = sizes.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec().into_iter();
        let batches: Vec<Vec<String>> = Batches { left, share: 6 }.collect();
        assert_eq!(batches, [vec!["a", "b"], vec!["c"], vec!["d", "e"], vec!["f"]]);
    }
}
