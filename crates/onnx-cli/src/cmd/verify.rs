//! `onnxtxt verify`: whether two models compute the same.

use crate::close::{ToleranceArgs, difference};
use crate::feed::{self, FeedArgs};
use crate::limits::LimitArgs;
use crate::operators::OpsetArgs;
use crate::output;
use crate::ready::Ready;
use crate::session::{Session, Status};
use anyhow::ensure;
use onnx_exec::{Executable, Value};
use std::path::PathBuf;

/// Whether two models compute the same
///
/// Both are run with the same inputs; those that are not given are made up. Outputs are compared in their order.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt verify model.onnx optimized.onnx -D N=1        made-up inputs
  onnxtxt verify model.onnx half.onnx -i in.npz --rtol 1e-2")]
pub(crate) struct Args {
    /// A model
    #[arg(value_name = "A")]
    one: PathBuf,
    /// Another one, with inputs of the same names
    #[arg(value_name = "B")]
    other: PathBuf,
    #[command(flatten)]
    feed: FeedArgs,
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let one = match Ready::open(&args.one, &args.opset, session)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    let other = match Ready::open(&args.other, &args.opset, session)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    let first = match one.executable() {
        Ok(executable) => executable,
        Err(found) => return Ok(one.report(session, &found)),
    };
    let second = match other.executable() {
        Ok(executable) => executable,
        Err(found) => return Ok(other.report(session, &found)),
    };
    let (a, b) = (first.outputs().len(), second.outputs().len());
    ensure!(a == b, "{} has {a} outputs, {} has {b}", one.input.name, other.input.name);
    let options = args.limits.options(args.feed.seed);
    let inputs = match options.within(|| args.feed.or_random().values(&one, &first, session))? {
        Ok(inputs) => inputs,
        Err(found) => return Ok(one.report(session, &found)),
    };
    let again = feed::again(&first, &inputs, &second)?;
    let results = match first.run(inputs, &options) {
        Ok(results) => results,
        Err(finding) => return Ok(one.report(session, &[*finding])),
    };
    let others = match second.run(again, &options) {
        Ok(results) => results,
        Err(finding) => return Ok(other.report(session, &[*finding])),
    };
    compare(args, &first, &results, &others)
}

fn compare(
    args: &Args,
    executable: &Executable<'_>,
    results: &[Value],
    others: &[Value],
) -> anyhow::Result<Status> {
    let tolerance = args.tolerance.tolerance();
    let mut is_same = true;
    let mut text = String::new();
    for (port, (result, other)) in executable.outputs().iter().zip(results.iter().zip(others)) {
        let name = executable.model().text(port.name);
        match difference(other, result, &tolerance) {
            None if result == other => text += &format!("equal    {name}\n"),
            None => text += &format!("close    {name}\n"),
            Some(difference) => {
                is_same = false;
                text += &format!("DIFFERS  {name}: {difference}\n");
            }
        }
    }
    output::to_people(&text)?;
    Ok(Status::of(is_same))
}
