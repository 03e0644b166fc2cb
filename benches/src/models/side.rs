//! One side of a model: a process that has loaded it and runs it when its turn comes.

use super::tensor::Stored;
use crate::peer::{Peer, seconds};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long a turn takes at least, in seconds: long enough for what the others have evicted from the caches to count little.
const TURN: f64 = 0.04;
/// Runs that begin a turn and do not count, unless one takes longer than this.
const LONGEST_WARM: f64 = 0.02;
/// The time limit.
const PATIENCE: Duration = Duration::from_secs(120);

/// A model on one side.
pub(crate) struct Side {
    peer: Peer,
    /// Runs of a turn.
    times: u32,
    warm: u32,
    /// Seconds of loading it and of the first run.
    pub(crate) load: f64,
    pub(crate) first: f64,
    pub(crate) outputs: Vec<Stored>,
    /// About how long a run takes.
    pub(crate) once: f64,
}

impl Side {
    /// Starts a process that loads a model and runs it once. Outputs are in a folder until the next side uses it.
    pub(crate) fn start(
        command: &mut Command,
        model: &Path,
        inputs: &[Stored],
        folder: &Path,
        threads: usize,
    ) -> Result<Side> {
        // `cargo xtask bench` sets these for text and files.
        command.env_remove("MALLOC_MMAP_MAX_").env_remove("MALLOC_TRIM_THRESHOLD_");
        let mut peer = Peer::start(command)?;
        let inputs: Vec<Value> = inputs.iter().map(Stored::json).collect();
        let request = json!({"model": model, "inputs": inputs, "folder": folder, "threads": threads});
        let answer = peer.ask_within(&request, PATIENCE)?;
        let mut side = Side {
            peer,
            times: 2,
            warm: 1,
            load: seconds(&answer, "load")?,
            first: seconds(&answer, "first")?,
            outputs: Stored::all(&answer["outputs"])?,
            once: 0.0,
        };
        side.once = side.turn()?.0;
        side.times = (TURN / side.once).ceil().clamp(1.0, 500.0) as u32;
        side.warm = u32::from(side.once < LONGEST_WARM);
        Ok(side)
    }

    /// The median of the runs of a turn, and the CPU time of all of them, in seconds.
    pub(crate) fn turn(&mut self) -> Result<(f64, f64)> {
        let request = json!({"times": self.times, "warm": self.warm});
        let answer = self.peer.ask_within(&request, PATIENCE)?;
        let walls = answer["wall"].as_array().context("the times of runs")?;
        let mut walls: Vec<f64> = walls.iter().filter_map(Value::as_f64).collect();
        walls.sort_by(f64::total_cmp);
        let median = *walls.get(walls.len() / 2).context("a time at least")?;
        Ok((median, seconds(&answer, "cpu")?))
    }

    /// The most that the resident memory has grown, in bytes, if the system says so.
    pub(crate) fn memory(&mut self) -> Result<Option<u64>> {
        Ok(self.peer.ask(&json!({"memory": true}))?["memory"].as_u64())
    }

    /// The operations and times of kernels; for our side.
    pub(crate) fn kernels(&mut self) -> Result<Value> {
        self.peer.ask_within(&json!({"kernels": true}), PATIENCE)
    }
}
