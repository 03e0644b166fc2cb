//! `onnxtxt simplify`: runs the passes that make a model smaller until none of them changes it.

use crate::edit::{EditArgs, edit};
use crate::session::{Session, Status};
use onnx_ir::Model;
use onnx_ir::pass::{Change, Report};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::Pass;

/// Make a model smaller, without changing what it computes
///
/// Folds constants, removes nodes that do nothing, merges common subexpressions and removes unused parts, until nothing
/// changes any more.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt simplify model.onnx -o small.onnx
  onnxtxt simplify model.onnxtxt --dry-run          what would change
  onnxtxt verify model.onnx small.onnx -D N=1       whether both compute the same")]
pub(crate) struct Args {
    #[command(flatten)]
    edit: EditArgs,
}

/// The passes of each round.
const PASSES: &[&str] = &["fold-constants", "remove-no-ops", "common-subexpressions", "dead-code"];
/// Models need a few rounds; the limit stops two passes that undo each other.
const ROUNDS: usize = 32;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let passes: Vec<Pass> = PASSES
        .iter()
        .map(|name| Pass::parse(name).map_err(anyhow::Error::msg))
        .collect::<anyhow::Result<_>>()?;
    edit(&args.edit.file, &args.edit.out, session, "simplify", |model| Ok(Ok(simplify(model, &passes))))
}

fn simplify(model: &mut Model, passes: &[Pass]) -> Report {
    let mut all = Report::default();
    for round in 0..ROUNDS {
        let mut is_changed = false;
        for (i, pass) in passes.iter().enumerate() {
            let report = pass.run(model, registry_of(model)).report;
            is_changed |= report.is_changed();
            report.changes.into_iter().for_each(|change| add(&mut all, change));
            // Only the first pass sees the model of the file, which places refer to.
            if round == 0 && i == 0 {
                all.diagnostics.extend(report.diagnostics);
            }
        }
        if !is_changed {
            break;
        }
    }
    all
}

fn add(report: &mut Report, change: Change) {
    match report.changes.iter_mut().find(|c| (c.noun, c.verb) == (change.noun, change.verb)) {
        Some(known) => known.count += change.count,
        None => report.changes.push(change),
    }
}
