//! The measurements of a model, stored in a file.

use anyhow::Result;
use onnx_exec::{Machine, Work};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A model on a number of threads.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) what: String,
    pub(crate) threads: usize,
    /// Which build of ours it was: when the program was made, in seconds.
    pub(crate) build: u64,
    /// How many cores others used meanwhile.
    pub(crate) others: Option<f64>,
    pub(crate) ours: Outcome,
    /// In the order of the peers.
    pub(crate) peers: Vec<Outcome>,
    /// Of ours, the longest first.
    pub(crate) kernels: Vec<KernelRow>,
}

/// The outcome of one side.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Outcome {
    Ran(Figures),
    /// With the reason. What has other results counts as this.
    NotRun(String),
}

/// Times in seconds, memory in bytes.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) load: f64,
    pub(crate) first: f64,
    pub(crate) memory: Option<u64>,
    /// The median of each turn.
    pub(crate) turns: Vec<f64>,
}

/// A kernel, compared with the peaks of the machine.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KernelRow {
    pub(crate) op: String,
    pub(crate) node: String,
    pub(crate) seconds: f64,
    /// Of the time of all kernels.
    pub(crate) share: f64,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    /// The least time, as a part of the time.
    pub(crate) part: f64,
    pub(crate) is_memory: bool,
}

impl Outcome {
    pub(crate) fn figures(&self) -> Option<&Figures> {
        match self {
            Outcome::Ran(figures) => Some(figures),
            Outcome::NotRun(_) => None,
        }
    }
}

impl Figures {
    /// The median of the turns.
    pub(crate) fn median(&self) -> f64 {
        let mut turns = self.turns.clone();
        turns.sort_by(f64::total_cmp);
        turns.get(turns.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

impl Row {
    /// Our time as a part of a peer's, turn by turn, the lowest first, if both have run.
    pub(crate) fn ratios(&self, peer: usize) -> Option<Vec<f64>> {
        let (ours, peer) = (self.ours.figures()?, self.peers.get(peer)?.figures()?);
        let mut ratios: Vec<f64> = ours.turns.iter().zip(&peer.turns).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        (!ratios.is_empty()).then_some(ratios)
    }

    /// The median of the ratios.
    pub(crate) fn ratio(&self, peer: usize) -> Option<f64> {
        let ratios = self.ratios(peer)?;
        ratios.get(ratios.len() / 2).copied()
    }

    fn file(folder: &Path, name: &str, threads: usize) -> PathBuf {
        folder.join("results").join(format!("{name}-{threads}.json"))
    }

    /// Keeps it in a folder.
    pub(crate) fn keep(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder.join("results"))?;
        let file = Row::file(folder, &self.name, self.threads);
        Ok(std::fs::write(file, serde_json::to_vec(self)?)?)
    }

    /// The one that is kept of a model, if it is of a build.
    pub(crate) fn kept(folder: &Path, name: &str, threads: usize, build: u64) -> Option<Row> {
        let bytes = std::fs::read(Row::file(folder, name, threads)).ok()?;
        let row: Row = serde_json::from_slice(&bytes).ok()?;
        (row.build == build).then_some(row)
    }
}

/// The kernels of an answer, compared with a machine, the longest first.
pub(crate) fn kernels(answer: &serde_json::Value, machine: &Machine) -> Vec<KernelRow> {
    let constants = answer["constants"].as_u64().unwrap_or(0);
    let list = answer["kernels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let seconds = |kernel: &serde_json::Value| kernel["seconds"].as_f64().unwrap_or(0.0);
    let total: f64 = list.iter().map(seconds).sum();
    let mut rows: Vec<KernelRow> = list
        .iter()
        .map(|kernel| {
            let number = |key: &str| kernel[key].as_u64().unwrap_or(0);
            let text = |key: &str| kernel[key].as_str().unwrap_or_default().to_owned();
            let work = Work {
                singles: number("singles"),
                doubles: number("doubles"),
                byte_products: number("byte_products"),
                read: number("read"),
                constants: number("constants"),
                written: number("written"),
            };
            let (took, limit) = (seconds(kernel), machine.limit(&work, constants));
            KernelRow {
                op: text("op"),
                node: text("node"),
                seconds: took,
                share: took / total.max(f64::MIN_POSITIVE),
                operations: work.operations(),
                bytes: work.bytes(),
                part: limit.part_of(Duration::from_secs_f64(took)),
                is_memory: limit.is_memory(),
            }
        })
        .collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

/// The geometric mean, of numbers above 0.
pub(crate) fn geometric_mean(numbers: &[f64]) -> f64 {
    (numbers.iter().map(|number| number.ln()).sum::<f64>() / numbers.len() as f64).exp()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A row whose turns took so long.
    pub(crate) fn row(name: &str, group: &str, ours: &[f64], peers: &[Option<&[f64]>]) -> Row {
        let ran = |turns: &[f64]| {
            Outcome::Ran(Figures { load: 0.5, first: 0.25, memory: Some(2_000_000), turns: turns.to_vec() })
        };
        let none = || Outcome::NotRun("no Relu".to_owned());
        Row {
            name: name.to_owned(),
            group: group.to_owned(),
            what: "one".to_owned(),
            threads: 1,
            build: 7,
            others: Some(0.5),
            ours: ran(ours),
            peers: peers.iter().map(|turns| turns.map_or_else(none, ran)).collect(),
            kernels: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_those_of_turns() {
        let row = row("a", "float", &[1.0, 4.0, 3.0], &[Some(&[2.0, 2.0, 2.0]), None]);
        assert_eq!((row.ratios(0), row.ratio(0)), (Some(vec![0.5, 1.5, 2.0]), Some(1.5)));
        assert_eq!(row.ratio(1), None);
        assert!((geometric_mean(&[0.5, 2.0, 8.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn rows_are_kept_for_their_build() {
        let folder = std::env::temp_dir().join(format!("onnxtxt-bench-rows-{}", std::process::id()));
        row("a", "float", &[1.0], &[Some(&[2.0]), None]).keep(&folder).unwrap();
        let kept = Row::kept(&folder, "a", 1, 7).unwrap();
        assert_eq!((kept.ratio(0), kept.peers.len()), (Some(0.5), 2));
        assert!(Row::kept(&folder, "a", 1, 8).is_none() && Row::kept(&folder, "a", 2, 7).is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn kernels_are_held_against_the_machine() {
        let answer = serde_json::json!({"constants": 0, "kernels": [
            {"op": "Relu", "node": "r", "seconds": 1e-6, "singles": 100, "read": 400, "written": 400},
            {"op": "MatMul", "node": "", "seconds": 3e-6, "singles": 1500},
        ]});
        let machine = Machine {
            threads: 1,
            isa: "",
            singles: 1e9,
            doubles: 1e9,
            byte_products: 1e9,
            bandwidths: Vec::new(),
        };
        let rows = kernels(&answer, &machine);
        let seen: Vec<_> = rows.iter().map(|row| (row.op.as_str(), row.share, row.bytes)).collect();
        assert_eq!(seen, [("MatMul", 0.75, 0), ("Relu", 0.25, 800)]);
        assert!((rows[0].part - 0.5).abs() < 1e-9 && (rows[1].part - 0.1).abs() < 1e-9);
    }
}
