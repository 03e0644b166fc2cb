//! What a pass did to a model.

use crate::diag::Diagnostic;

/// What a pass changed, and what it left as it is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// What changed; nothing is listed with a count of 0.
    pub changes: Vec<Change>,
    /// What could not be done, or not as a reader may expect. Places are those of the model before the pass.
    pub diagnostics: Vec<Diagnostic>,
}

/// So many things of one kind changed in one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// How many.
    pub count: usize,
    /// Of what: `node`.
    pub noun: &'static str,
    /// What became of them: `removed`.
    pub verb: &'static str,
}

impl Report {
    /// Notes that so many things changed, unless there are none.
    pub fn note(&mut self, count: usize, noun: &'static str, verb: &'static str) {
        if count > 0 {
            self.changes.push(Change { count, noun, verb });
        }
    }

    /// Whether the model is another one.
    pub fn is_changed(&self) -> bool {
        !self.changes.is_empty()
    }
}

/// `2 nodes removed`
impl std::fmt::Display for Change {
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
