//! `onnxtxt bench`: measures how long a model takes to load, prepare and run.

mod kernels;

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::execution::schedule::ScheduleArgs;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::output::numbers::{bytes, count};
use crate::session::{Session, Status};
use kernels::Kernels;
use onnx_exec::{Executable, Machine, RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use onnxtxt::Purpose;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Measure how long a model takes
///
/// The model is loaded, prepared, run once, and then run repeatedly with the same inputs; missing inputs are generated at
/// random.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt bench model.onnx -D N=1                 made-up inputs
  onnxtxt bench model.onnx -i inputs.npz          these inputs
  onnxtxt bench model.onnx --per-kernel           which kernels take the time
  onnxtxt bench model.onnx --trace trace.json     every kernel, for chrome://tracing or ui.perfetto.dev")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Number of runs; default: as many as take two seconds, and at least three
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,
    /// Print the time of each kernel, and its share of the processor's peak: of arithmetic or of memory bandwidth, whichever
    /// is greater. Measuring the peaks takes a second
    #[arg(long)]
    per_kernel: bool,
    /// Write the kernels of one run as a Chrome trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print a JSON object; the same as --format json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

/// How long a model is run by default.
const ENOUGH: Duration = Duration::from_secs(2);
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 100_000;

/// The measured times and memory.
struct Figures {
    load: Duration,
    prepare: Duration,
    first: Duration,
    /// All further runs, shortest first.
    runs: Vec<Duration>,
    /// Peak memory of tensors, in bytes.
    peak: usize,
    kernels: Option<Kernels>,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let start = Instant::now();
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    let figures = measure(args, &prepared, start, session)?;
    if let (Some(path), Some(kernels)) = (&args.trace, &figures.kernels) {
        let trace = serde_json::to_vec(&kernels.trace())?;
        output::to_file(path, |out| out.write_all(&trace))?;
    }
    let text = match args.json || session.wants_json() {
        true => figures.json(&args.file)?,
        false => figures.text(),
    };
    output::to_people(&text)?;
    Ok(Status::Clean)
}

fn measure(
    args: &Args,
    prepared: &Prepared,
    start: Instant,
    session: &mut Session,
) -> anyhow::Result<Figures> {
    let load = start.elapsed();
    // The check of the model is not part of preparing it.
    prepared.admit(Purpose::Inference, &args.limits, session)?;
    let start = Instant::now();
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let executable = prepared.compiled(&args.limits, &options, session)?;
    let prepare = start.elapsed();
    let inputs = options
        .within(|| args.inputs.or_random().values(prepared, &executable, session))?
        .map_err(|found| prepared.reported(session, &found))?;
    args.schedule.follow(prepared, &executable, &inputs, &options, session)?;
    let peak = AtomicUsize::new(0);
    let options = RunOptions { peak: Some(&peak), ..options };
    let first =
        once(&executable, &inputs, &options).map_err(|finding| prepared.reported(session, &[*finding]))?;
    let mut runs = Vec::new();
    let start = Instant::now();
    let is_enough = |runs: usize| match args.runs {
        Some(requested) => runs >= requested as usize,
        None => runs >= MIN_RUNS && start.elapsed() >= ENOUGH || runs >= MAX_RUNS,
    };
    while !is_enough(runs.len()) {
        match once(&executable, &inputs, &options) {
            Ok(time) => runs.push(time),
            Err(finding) => return Err(prepared.reported(session, &[*finding])),
        }
    }
    runs.sort_unstable();
    let mut kernels = None;
    if args.per_kernel || args.trace.is_some() {
        // Runs with kernel timers are not counted.
        let machine = args.per_kernel.then(|| Machine::measure(options.threads));
        match Kernels::of(&executable, &inputs, &RunOptions { peak: None, ..options.clone() }, machine) {
            Ok(found) => kernels = Some(found),
            Err(finding) => return Err(prepared.reported(session, &[*finding])),
        }
    }
    Ok(Figures { load, prepare, first, runs, peak: peak.load(Ordering::Relaxed), kernels })
}

/// Times one run.
fn once(
    executable: &Executable<'_>,
    inputs: &[Option<Value>],
    options: &RunOptions<'_>,
) -> Result<Duration, Box<Diagnostic>> {
    let inputs = inputs.to_vec();
    let start = Instant::now();
    let outputs = executable.run(inputs, options)?;
    let took = start.elapsed();
    drop(outputs);
    Ok(took)
}

impl Figures {
    /// The time that this share of the runs does not exceed.
    fn at(&self, part: f64) -> Duration {
        let last = self.runs.len().saturating_sub(1);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a count")]
        let at = (last as f64 * part).round() as usize;
        self.runs.get(at).copied().unwrap_or_default()
    }

    fn text(&self) -> String {
        let mut text = format!("load       {}\n", shown(self.load));
        text += &format!("prepare    {}\n", shown(self.prepare));
        text += &format!("first run  {}\n", shown(self.first));
        text += &format!(
            "runs       median {}, min {}, p90 {} ({})\n",
            shown(self.at(0.5)),
            shown(self.at(0.0)),
            shown(self.at(0.9)),
            count(self.runs.len(), "run")
        );
        text += &format!("memory     {} in tensors at most\n", bytes(self.peak as u64));
        if let Some(kernels) = &self.kernels {
            text += &kernels.text();
        }
        text
    }

    fn json(&self, file: &std::path::Path) -> anyhow::Result<String> {
        let mut object = json!({
            "file": file.display().to_string(),
            "load_seconds": self.load.as_secs_f64(),
            "prepare_seconds": self.prepare.as_secs_f64(),
            "first_run_seconds": self.first.as_secs_f64(),
            "runs": self.runs.len(),
            "median_seconds": self.at(0.5).as_secs_f64(),
            "min_seconds": self.at(0.0).as_secs_f64(),
            "p90_seconds": self.at(0.9).as_secs_f64(),
            "peak_bytes": self.peak,
        });
        if let Some(kernels) = &self.kernels {
            kernels.add_to(&mut object);
        }
        Ok(serde_json::to_string(&object)? + "\n")
    }
}

/// `1.25 s`, `3.40 ms`, `12.0 µs`
fn shown(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        1.0.. => format!("{seconds:.2} s"),
        1e-3.. => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_runs() {
        let runs = (1..=11).map(Duration::from_millis).collect();
        let zero = Duration::ZERO;
        let figures = Figures { load: zero, prepare: zero, first: zero, runs, peak: 0, kernels: None };
        assert_eq!(shown(figures.at(0.5)), "6.00 ms");
        assert_eq!(shown(figures.at(0.9)), "10.00 ms");
        assert_eq!(shown(figures.at(0.0)), "1.00 ms");
    }
}
