//! Times of the kernels of a run, compared with the peak of the processor, and a trace of all kernels.

use super::shown;
use crate::output::numbers::{bytes, count};
use onnx_exec::{Executable, KernelProfile, Limit, Machine, Profile, RunOptions, Value};
use onnx_ir::dense_type_text;
use onnx_ir::diag::Diagnostic;
use serde_json::json;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The kernels of the main graph, timed in several runs.
pub(super) struct Kernels {
    profile: Profile,
    /// The peaks to compare with; `None` if only a trace is wanted.
    machine: Option<Machine>,
}

/// Time limit for timing kernels, and the maximum number of runs.
const ENOUGH: Duration = Duration::from_secs(1);
const MAX_RUNS: usize = 1000;
/// Maximum number of lines of the table.
const MAX_LINES: usize = 40;

impl Kernels {
    /// The kernels of runs with these inputs.
    pub(super) fn of(
        executable: &Executable<'_>,
        inputs: &[Option<Value>],
        options: &RunOptions<'_>,
        machine: Option<Machine>,
    ) -> Result<Kernels, Box<Diagnostic>> {
        let begin = Instant::now();
        let mut is_enough = |runs: usize| begin.elapsed() >= ENOUGH || runs >= MAX_RUNS;
        let profile = executable.profile(inputs, options, &mut is_enough)?;
        Ok(Kernels { profile, machine })
    }

    fn total(&self) -> f64 {
        let all = self.profile.kernels.iter().map(|kernel| kernel.median().as_secs_f64());
        all.sum::<f64>().max(f64::MIN_POSITIVE)
    }

    fn limit(&self, machine: &Machine, kernel: &KernelProfile) -> Limit {
        machine.limit(&kernel.work, self.profile.constants())
    }

    /// Operators with the number of their kernels and their total time, longest first.
    fn by_operator(&self) -> Vec<(&str, usize, Duration)> {
        let mut all: HashMap<&str, (usize, Duration)> = HashMap::new();
        for kernel in &self.profile.kernels {
            let (calls, took) = all.entry(&kernel.op).or_default();
            *calls += 1;
            *took += kernel.median();
        }
        let mut all: Vec<_> = all.into_iter().map(|(op, (calls, took))| (op, calls, took)).collect();
        all.sort_by_key(|&(op, _, took)| (std::cmp::Reverse(took), op));
        all
    }

    /// The kernels, longest first.
    fn longest(&self) -> Vec<&KernelProfile> {
        let mut all: Vec<&KernelProfile> = self.profile.kernels.iter().collect();
        all.sort_by_key(|kernel| std::cmp::Reverse(kernel.median()));
        all
    }

    /// The table of the machine, the kernels and the operators, if it is wanted.
    pub(super) fn text(&self) -> String {
        match &self.machine {
            Some(machine) => {
                format!("\n{}\n{}\n{}", machine_line(machine), self.table(machine), self.operators())
            }
            None => String::new(),
        }
    }

    fn table(&self, machine: &Machine) -> String {
        let longest = self.longest();
        let mut lines =
            vec![["kernel", "node", "time", "share", "GFLOP/s", "GB/s", "of peak"].map(str::to_owned)];
        for kernel in longest.iter().take(MAX_LINES) {
            let took = kernel.median();
            let seconds = took.as_secs_f64().max(f64::MIN_POSITIVE);
            let limit = self.limit(machine, kernel);
            let rate = |count: u64| {
                if count == 0 { "-".to_owned() } else { format!("{:.1}", count as f64 / seconds / 1e9) }
            };
            let by = if limit.is_memory() { "memory" } else { "compute" };
            lines.push([
                cut(&kernel.op, 40),
                cut(&kernel.name, 40),
                shown(took),
                format!("{:.1}%", seconds / self.total() * 100.0),
                rate(kernel.work.operations()),
                rate(kernel.work.bytes()),
                format!("{:.0}% {by}", limit.part_of(took) * 100.0),
            ]);
        }
        let mut text = aligned(&lines);
        let rest = longest.get(MAX_LINES..).unwrap_or_default();
        if !rest.is_empty() {
            let took = rest.iter().map(|kernel| kernel.median()).sum();
            text += &format!("and {} more, {}\n", count(rest.len(), "kernel"), shown(took));
        }
        text
    }

    fn operators(&self) -> String {
        let mut lines = vec![["operators", "calls", "time", "share"].map(str::to_owned)];
        lines.extend(self.by_operator().into_iter().map(|(op, calls, took)| {
            let share = took.as_secs_f64() / self.total() * 100.0;
            [op.to_owned(), calls.to_string(), shown(took), format!("{share:.1}%")]
        }));
        aligned(&lines)
    }

    /// Adds the figures of kernels to those of the model.
    pub(super) fn add_to(&self, object: &mut serde_json::Value) {
        if let Some(machine) = &self.machine {
            object["kernels"] =
                self.profile.kernels.iter().map(|kernel| self.json(machine, kernel)).collect();
            object["machine"] = machine_json(machine);
        }
    }

    fn json(&self, machine: &Machine, kernel: &KernelProfile) -> serde_json::Value {
        let took = kernel.median();
        let (seconds, limit, work) = (took.as_secs_f64(), self.limit(machine, kernel), kernel.work);
        let rate = |count: u64| count as f64 / seconds.max(f64::MIN_POSITIVE);
        json!({
            "kernel": kernel.op,
            "node": kernel.name,
            "nodes": kernel.nodes.len(),
            "results": results(kernel),
            "runs": kernel.times.len(),
            "seconds": seconds,
            "share": seconds / self.total(),
            "operations": work.operations(),
            "bytes_read": work.read + work.constants,
            "bytes_written": work.written,
            "operations_per_second": rate(work.operations()),
            "bytes_per_second": rate(work.bytes()),
            "compute_seconds_at_peak": limit.compute,
            "memory_seconds_at_peak": limit.memory,
            "part_of_peak": limit.part_of(took),
        })
    }

    /// The first run as a document of the Trace Event Format.
    pub(super) fn trace(&self) -> serde_json::Value {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let event = |kernel: &KernelProfile| {
            json!({
                "name": kernel.op, "cat": "node", "ph": "X", "pid": 1, "tid": 1,
                "ts": micros(kernel.start), "dur": micros(kernel.times.first().copied().unwrap_or_default()),
                "args": {"node": kernel.name, "results": results(kernel)},
            })
        };
        json!({"displayTimeUnit": "ms", "traceEvents": self.profile.kernels.iter().map(event).collect::<Vec<_>>()})
    }
}

/// The machine in one line.
fn machine_line(machine: &Machine) -> String {
    let Machine { threads, isa, singles, byte_products, bandwidths, .. } = machine;
    let [singles, products] = [singles, byte_products].map(|rate| rate / 1e9);
    let reads = bandwidths.iter().map(|b| format!("{:.0} GB/s of {}", b.read / 1e9, bytes(b.set)));
    let reads = reads.collect::<Vec<_>>().join(", ");
    let threads = count(*threads, "thread");
    format!("machine    {isa}, {threads}: {singles:.0} GFLOP/s, bytes {products:.0} Gop/s; reads {reads}\n")
}

fn machine_json(machine: &Machine) -> serde_json::Value {
    let Machine { threads, isa, singles, doubles, byte_products, bandwidths } = machine;
    let bandwidths: Vec<_> = bandwidths
        .iter()
        .map(|b| json!({"bytes": b.set, "read": b.read, "write": b.write, "copy": b.copy}))
        .collect();
    json!({
        "isa": isa,
        "threads": threads,
        "float_operations_per_second": singles,
        "double_operations_per_second": doubles,
        "byte_operations_per_second": byte_products,
        "bytes_per_second": bandwidths,
    })
}

/// The types of the results of a kernel.
fn results(kernel: &KernelProfile) -> Vec<String> {
    kernel.results.iter().map(|(elem, dims)| dense_type_text(*elem, dims)).collect()
}

/// The end of a text that is longer than `most`.
fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    match length > most {
        true => std::iter::once('…').chain(text.chars().skip(length - most + 1)).collect(),
        false => text.to_owned(),
    }
}

/// Aligns the cells of a table; numbers, from the third cell of a wide line and the second of a narrow one on, are right-aligned.
fn aligned<const N: usize>(lines: &[[String; N]]) -> String {
    let names = if N > 4 { 2 } else { 1 };
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = width(column);
            match column < names {
                true => row += &format!("{cell:<width$}  "),
                false => row += &format!("{cell:>width$}  "),
            }
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_below_one_another() {
        let lines = [["op", "calls"], ["Relu", "2"]].map(|line| line.map(str::to_owned));
        assert_eq!(aligned(&lines), "op    calls\nRelu      2\n");
        assert_eq!((cut("abcdef", 4).as_str(), cut("abc", 4).as_str()), ("…def", "abc"));
    }
}
