//! What inference tells, and takes back.

use super::engine::Engine;
use onnx_ir::diag::{Code, Diagnostic, Entity};

impl Engine<'_> {
    /// Takes down a finding, unless it was told already (of another call of the same function, say).
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.reports += 1;
        if self.quiet == 0 && self.told.insert((diagnostic.code.id, diagnostic.primary.place)) {
            self.findings.push(diagnostic);
        }
    }

    /// The candidate that was likely meant by the word that such a finding is about, if the finding is told at all.
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

    /// The findings after the first ones, which can be told again.
    pub(super) fn take_findings(&mut self, first: usize) -> Vec<Diagnostic> {
        let findings = self.findings.split_off(first);
        for finding in &findings {
            self.told.remove(&(finding.code.id, finding.primary.place));
        }
        findings
    }

    /// How many findings there are.
    pub(super) fn finding_count(&self) -> usize {
        self.findings.len()
    }

    /// Takes back the findings after the first ones that are not to be kept, and says whether there were any. That
    /// inference has stopped stays.
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
