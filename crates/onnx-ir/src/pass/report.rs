//! The report of a pass.

use crate::diag::Diagnostic;

/// The changes of a pass, and findings about what it could not do.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The changes, without counts of 0.
    pub changes: Vec<PassChange>,
    /// Changes that were not possible, or not as expected. Places are those of the model before the pass.
    pub diagnostics: Vec<Diagnostic>,
}

/// A number of changes of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassChange {
    /// The number.
    pub count: usize,
    /// The kind of entity: `node`.
    pub noun: &'static str,
    /// The change: `removed`.
    pub verb: &'static str,
}

impl Report {
    /// Records changes, unless the count is 0.
    pub fn note(&mut self, count: usize, noun: &'static str, verb: &'static str) {
        if count > 0 {
            self.changes.push(PassChange { count, noun, verb });
        }
    }

    /// Whether the model is another one.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }
}

/// `2 nodes removed`
impl std::fmt::Display for PassChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = if self.count == 1 { "" } else { "s" };
        write!(f, "{} {}{plural} {}", self.count, self.noun, self.verb)
    }
}

/// `2 nodes removed, 1 initializer removed`, or `nothing to do`
impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.changes.is_empty() {
            return f.write_str("nothing to do");
        }
        for (i, change) in self.changes.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{change}")?;
        }
        Ok(())
    }
}
