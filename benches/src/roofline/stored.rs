//! The shares of the peak that classes had, in a file: `benches/roofline.json`.
//!
//! Shares depend on the instruction set and the number of threads, so each pair has an entry of its own, with the seed and the number of
//! the models that it was measured with: the same ones are drawn to compare.

use super::census::Census;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A class that has less than this part of its stored share has lost.
const KEPT: f64 = 0.9;
/// Classes that take less time than this, in seconds, vary by more than that.
const MIN_TIME: f64 = 2e-4;

/// The entries by instruction set and number of threads.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(super) struct Stored(BTreeMap<String, Entry>);

#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seed: u64,
    pub(super) models: usize,
    pub(super) shares: BTreeMap<String, f64>,
}

fn key(isa: &str, threads: usize) -> String {
    format!("{isa}, {threads}")
}

impl Stored {
    pub(super) fn read(file: &Path) -> Result<Stored> {
        match std::fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| file.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Stored::default()),
            Err(error) => Err(error).with_context(|| file.display().to_string()),
        }
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(file, text).with_context(|| file.display().to_string())
    }

    pub(super) fn entry(&self, isa: &str, threads: usize) -> Option<&Entry> {
        self.0.get(&key(isa, threads))
    }

    pub(super) fn set(&mut self, isa: &str, threads: usize, entry: Entry) {
        self.0.insert(key(isa, threads), entry);
    }
}

impl Entry {
    /// The shares of a census, to three digits.
    pub(super) fn of(census: &Census, seed: u64, models: usize) -> Entry {
        let shares = census.classes.iter().filter(|(_, sums)| sums.time >= MIN_TIME);
        let shares =
            shares.map(|(class, sums)| (class.clone(), (sums.share() * 1e3).round() / 1e3)).collect();
        Entry { seed, models, shares }
    }

    /// The classes that have lost a tenth of their share or more, a line for each.
    pub(super) fn lost(&self, census: &Census) -> Vec<String> {
        let now = |class: &str| census.classes.get(class).filter(|sums| sums.time >= MIN_TIME);
        let lost = self.shares.iter().filter_map(|(class, before)| {
            let share = now(class)?.share();
            (share < before * KEPT).then(|| format!("{class}: {share:.3} of the peak, {before:.3} before"))
        });
        lost.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::census::Sums;
    use super::*;

    fn census(shares: &[(&str, f64, f64)]) -> Census {
        let mut census = Census::default();
        for (class, share, time) in shares {
            let sums = Sums { kernels: 1, time: *time, least: share * time, ..Sums::default() };
            census.classes.insert((*class).to_owned(), sums);
        }
        census
    }

    #[test]
    fn a_class_that_loses_a_tenth_is_reported() {
        let before = Entry::of(&census(&[("a", 0.5, 1.0), ("b", 0.5, 1.0), ("short", 0.5, 1e-5)]), 7, 40);
        assert_eq!((before.seed, before.models, before.shares.len()), (7, 40, 2));
        let lost = before.lost(&census(&[("a", 0.46, 1.0), ("b", 0.44, 1.0), ("new", 0.1, 1.0)]));
        assert_eq!(lost, ["b: 0.440 of the peak, 0.500 before"]);
    }

    #[test]
    fn entries_of_other_machines_stay() {
        let file = std::env::temp_dir().join(format!("onnxtxt-bench-roofline-{}.json", std::process::id()));
        let mut stored = Stored::read(&file).unwrap();
        let entry = Entry::of(&census(&[("a", 0.5, 1.0)]), 7, 40);
        stored.set("AVX2", 1, entry.clone());
        stored.set("AVX2", 2, Entry { seed: 8, ..entry.clone() });
        stored.write(&file).unwrap();
        let read = Stored::read(&file).unwrap();
        assert_eq!(read.entry("AVX2", 1), Some(&entry));
        assert_eq!(read.entry("AVX2", 2).map(|entry| entry.seed), Some(8));
        assert_eq!(read.entry("NEON", 1), None);
        std::fs::remove_file(file).unwrap();
    }
}
