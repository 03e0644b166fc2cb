//! How long each node of a run takes, by operators and as a trace.

use super::shown;
use crate::feed::tensor_type;
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::Diagnostic;
use serde_json::json;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The kernels of one run of the main graph, in order.
pub(super) struct Steps(Vec<Step>);

struct Step {
    op: String,
    name: String,
    /// The types of its results.
    results: Vec<String>,
    /// Since the run began.
    start: Duration,
    took: Duration,
}

impl Steps {
    /// Those of a run with these inputs.
    pub(super) fn of(
        executable: &Executable<'_>,
        inputs: &[Option<Value>],
        options: &RunOptions<'_>,
    ) -> Result<Steps, Box<Diagnostic>> {
        let steps = RefCell::new(Vec::new());
        let begin = Instant::now();
        let time = |step: &onnx_exec::Step<'_>| {
            steps.borrow_mut().push(Step {
                op: step.op.to_owned(),
                name: step.name.to_owned(),
                results: step.results.iter().map(|(elem, dims)| tensor_type(*elem, dims)).collect(),
                start: step.start.saturating_duration_since(begin),
                took: step.took,
            });
        };
        executable.run(inputs.to_vec(), &RunOptions { time: Some(&time), ..options.clone() })?;
        Ok(Steps(steps.into_inner()))
    }

    /// Each kernel with the number of its runs and their time together, the longest first.
    fn by_operator(&self) -> Vec<(&str, usize, Duration)> {
        let mut all: HashMap<&str, (usize, Duration)> = HashMap::new();
        for step in &self.0 {
            let (calls, took) = all.entry(&step.op).or_default();
            *calls += 1;
            *took += step.took;
        }
        let mut all: Vec<_> = all.into_iter().map(|(op, (calls, took))| (op, calls, took)).collect();
        all.sort_by_key(|&(op, _, took)| (std::cmp::Reverse(took), op));
        all
    }

    fn total(&self) -> f64 {
        self.0.iter().map(|step| step.took.as_secs_f64()).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    pub(super) fn table(&self) -> String {
        let rows = self.by_operator();
        let width = rows.iter().map(|(op, ..)| op.chars().count()).max().unwrap_or(0).max(8);
        let mut text = format!("{:width$}  {:>6}  {:>10}  {:>6}\n", "kernel", "calls", "time", "share");
        for (op, calls, took) in rows {
            let share = took.as_secs_f64() / self.total() * 100.0;
            text += &format!("{op:width$}  {calls:>6}  {:>10}  {share:>5.1}%\n", shown(took));
        }
        text
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let row = |(op, calls, took): (&str, usize, Duration)| {
            let seconds = took.as_secs_f64();
            json!({"kernel": op, "calls": calls, "seconds": seconds, "share": seconds / self.total()})
        };
        self.by_operator().into_iter().map(row).collect()
    }

    /// The run as a document of the Trace Event Format.
    pub(super) fn trace(&self) -> serde_json::Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let event = |step: &Step| {
            json!({
                "name": step.op, "cat": "node", "ph": "X", "pid": 1, "tid": 1,
                "ts": micros(step.start), "dur": micros(step.took),
                "args": {"node": step.name, "results": step.results},
            })
        };
        json!({"displayTimeUnit": "ms", "traceEvents": self.0.iter().map(event).collect::<Vec<_>>()})
    }
}
