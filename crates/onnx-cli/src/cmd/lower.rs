//! `onnxtxt lower`: how a model is run, as text.

use crate::feed::FeedArgs;
use crate::limits::LimitArgs;
use crate::operators::OpsetArgs;
use crate::output;
use crate::ready::Ready;
use crate::session::{Session, Status};
use onnx_exec::{Schedule, Stats};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Show how a model is run
///
/// The kernels for inputs of certain types: which operators are one pass over memory, what is computed in it, where results
/// lie, and why others are apart. Where types depend on elements, the model is run with inputs that are given or made up.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt lower model.onnx -D N=1                 the kernels for a batch of one
  onnxtxt lower model.onnx --emit stats           how many there are, and what they move
  onnxtxt lower model.onnx --emit ir              the formulas of its nodes, before they are fused")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    feed: FeedArgs,
    /// What is shown
    #[arg(long, value_name = "WHAT", default_value = "schedule")]
    emit: Emit,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Emit {
    /// The formulas of the nodes
    Ir,
    /// The kernels
    Schedule,
    /// Counts of kernels, operations, bytes
    Stats,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let ready = match Ready::open(&args.file, &args.opset, session)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    let options = args.limits.options(args.feed.seed, &ready.loaded.model);
    let executable = match options.within(|| ready.executable()) {
        Ok(executable) => executable,
        Err(found) => return Ok(ready.report(session, &found)),
    };
    let inputs = match options.within(|| args.feed.or_random().values(&ready, &executable, session))? {
        Ok(inputs) => inputs,
        Err(found) => return Ok(ready.report(session, &found)),
    };
    let schedule = match executable.schedule(inputs, &options) {
        Ok(schedule) => schedule,
        Err(finding) => return Ok(ready.report(session, &[*finding])),
    };
    let Schedule { text, formulas, stats } = &schedule;
    let shown = match args.emit {
        Emit::Ir => formulas.clone(),
        Emit::Schedule => text.clone(),
        Emit::Stats if session.wants_json() => counts_json(stats),
        Emit::Stats => counts(stats)?,
    };
    output::to_people(&shown)?;
    Ok(Status::Clean)
}

/// The counts as a JSON object.
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

/// The counts, one a line.
fn counts(stats: &Stats) -> anyhow::Result<String> {
    let Stats { kernels, nodes, flops, bytes, arena } = stats;
    let mut text = String::new();
    writeln!(text, "kernels      {kernels}")?;
    writeln!(text, "other nodes  {nodes}")?;
    writeln!(text, "operations   {flops}")?;
    writeln!(text, "bytes moved  {bytes}")?;
    writeln!(text, "arena bytes  {arena}")?;
    Ok(text)
}
