//! `onnxtxt lower`: prints the schedule of a model.

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::session::{Session, Status};
use onnx_exec::{Stage, Stats};
use serde_json::json;
use std::path::PathBuf;

/// Show the schedule of a model: how it is run
///
/// The schedule depends on the types of the inputs. It shows which operators share a kernel, the formula and the loops of each
/// kernel, where results are stored, and why operators are not fused. If types depend on elements, the model is run with given or
/// random inputs. A schedule can be edited and run: `run --schedule`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt lower model.onnx -D N=1                 the schedule for a batch of one
  onnxtxt lower model.onnx -o model.schedule      into a file, for `run --schedule model.schedule`
  onnxtxt lower model.onnx --emit stats           how many kernels there are, and how many bytes they move
  onnxtxt lower model.onnx --emit formulas        the formulas of its nodes, before they are fused")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Kind of output
    #[arg(long, value_name = "WHAT", default_value = "schedule")]
    emit: Emit,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Emit {
    /// The formulas of the nodes
    #[value(alias = "ir")]
    Formulas,
    /// The formulas after fusion
    Fused,
    /// The formulas with the memory layout of each result
    Layout,
    /// The kernels
    Schedule,
    /// Number of kernels, operations, bytes
    Stats,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let (executable, inputs) =
        prepared.with_inputs(&args.limits, &args.inputs.or_random(), &options, session)?;
    let stage = |stage| executable.formulas(stage, inputs.clone(), &options);
    let schedule = || executable.schedule(inputs.clone(), &options);
    let shown = match args.emit {
        Emit::Formulas => stage(Stage::Formulas),
        Emit::Fused => stage(Stage::Fused),
        Emit::Layout => stage(Stage::Layout),
        Emit::Schedule => schedule().map(|schedule| schedule.text),
        Emit::Stats if session.wants_json() => schedule().map(|schedule| counts_json(&schedule.stats)),
        Emit::Stats => schedule().map(|schedule| counts(&schedule.stats)),
    };
    let shown = shown.map_err(|finding| prepared.reported(session, &[*finding]))?;
    match &args.output {
        Some(path) => output::to_file(path, |out| out.write_all(shown.as_bytes()))?,
        None => output::to_people(&shown)?,
    }
    Ok(Status::Clean)
}

/// The statistics as a JSON object.
fn counts_json(stats: &Stats) -> String {
    let Stats { kernels, nodes, flops, bytes, arena } = stats;
    let object = json!({
        "kernels": kernels,
        "other_nodes": nodes,
        "operations": flops,
        "bytes_moved": bytes,
        "arena_bytes": arena,
    });
    format!("{object}\n")
}

/// The statistics, one per line.
fn counts(stats: &Stats) -> String {
    let Stats { kernels, nodes, flops, bytes, arena } = stats;
    format!(
        "kernels      {kernels}\nother nodes  {nodes}\noperations   {flops}\nbytes moved  {bytes}\narena bytes  {arena}\n"
    )
}
