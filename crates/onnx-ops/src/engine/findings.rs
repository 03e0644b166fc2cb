//! Reports and retracts findings.

use super::walk::Engine;
use onnx_ir::diag::{Code, Diagnostic, Entity};

impl Engine<'_> {
    /// Adds a finding, unless it is a duplicate (of another call of the same function, for example).
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.reports += 1;
        if self.quiet > 0 {
            return;
        }
        let is_new = self.told.insert((diagnostic.code.id, diagnostic.primary.place));
        self.blame.note(&diagnostic, is_new);
        if is_new {
            self.findings.push(diagnostic);
        }
    }

    /// The closest candidate for the misspelt word of a finding; not computed if the finding is not kept.
    pub(super) fn near<'a>(
        &mut self,
        (code, place): (&'static Code, Entity),
        word: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        if self.quiet > 0 || self.told.contains(&(code.id, place.into())) {
            return None;
        }
        let candidates: Vec<&str> = candidates.into_iter().collect();
        self.suggestions.near(word, candidates.len(), candidates)
    }

    /// Removes and returns the findings after the first ones.
    pub(super) fn take_findings(&mut self, first: usize) -> Vec<Diagnostic> {
        let findings = self.findings.split_off(first);
        for finding in &findings {
            self.told.remove(&(finding.code.id, finding.primary.place));
        }
        findings
    }

    /// Number of findings.
    pub(super) fn finding_count(&self) -> usize {
        self.findings.len()
    }

    /// Removes findings after the first ones unless `keep` returns true, and returns whether there were any. The finding that
    /// inference has stopped is always kept.
    pub(super) fn forget_findings(&mut self, first: usize, keep: impl Fn(&Diagnostic) -> bool) -> bool {
        if self.fuel == 0 || self.findings.len() <= first {
            return false;
        }
        let later = self.findings.split_off(first);
        let (kept, forgotten): (Vec<_>, Vec<_>) = later.into_iter().partition(keep);
        self.findings.extend(kept);
        for finding in &forgotten {
            self.told.remove(&(finding.code.id, finding.primary.place));
        }
        !forgotten.is_empty()
    }
}
