//! `onnxtxt simplify`: runs the passes that make a model smaller until none of them changes it.

use crate::comparison::pair::{First, PairArgs};
use crate::edit::{EditArgs, edit};
use crate::execution::prepared::Prepared;
use crate::session::{Session, Status};
use onnx_exec::CompileOptions;
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ops::pass::simplify;
use onnxtxt::compare::Baseline;
use onnxtxt::edit::Edited;

/// Make a model smaller, without changing what it computes
///
/// Computes what is known before the model runs, removes nodes that do nothing, makes one node of two where one operator
/// computes the same, computes the same thing once, and removes what nothing uses, again and again until nothing changes.
/// Weights that change are rounded once, so that results may differ by rounding. `onnxtxt pass --list` has the passes one by one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt simplify model.onnx -o small.onnx
  onnxtxt simplify model.onnx -o small.onnx --verify -D N=1     write it only if it computes the same
  onnxtxt simplify model.onnxtxt --dry-run                      what would change
  onnxtxt pass fuse-pads fuse-scales dead-code model.onnx       some of it")]
pub(crate) struct Args {
    #[command(flatten)]
    edit: EditArgs,
    /// Run both models with the same inputs, random ones where none are given, and write nothing if their outputs differ
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    pair: PairArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let before = match args.verify {
        true => Some(args.pair.open(&args.edit.file, session)?),
        false => None,
    };
    let expected = match &before {
        Some(prepared) => match original(args, prepared, session)? {
            Ok(original) => {
                Some((prepared, original, args.pair.limits.compile_options(&|text| session.note(text))))
            }
            Err(found) => return Ok(prepared.report(session, &found)),
        },
        None => None,
    };
    edit(&args.edit.file, &args.edit.out, session, "simplify", |model| {
        let report = simplify(model);
        let different = match &expected {
            Some((prepared, original, compile)) => differences(args, prepared, original, model, compile)?,
            None => Vec::new(),
        };
        Ok(if different.is_empty() { Ok(report) } else { Err(different) } as Edited)
    })
}

/// Runs the original model, or says why that cannot be done.
fn original<'r>(
    args: &Args,
    prepared: &'r Prepared,
    session: &mut Session,
) -> anyhow::Result<Result<Baseline<'r>, Vec<Diagnostic>>> {
    let First { executable, inputs, options } = args.pair.first(prepared, session)?;
    Ok(Baseline::run(executable, inputs, &options).map_err(|finding| vec![*finding]))
}

/// Outputs that are others in the model as it is now, or why it cannot be run.
fn differences(
    args: &Args,
    prepared: &Prepared,
    original: &Baseline<'_>,
    model: &Model,
    compile: &CompileOptions,
) -> anyhow::Result<Vec<Diagnostic>> {
    let mut model = model.clone();
    let found = prepared.load_weights(&mut model);
    if !found.is_empty() {
        return Ok(found);
    }
    let options = args.pair.limits.options(args.pair.inputs.seed, &model);
    let tolerance = args.pair.tolerance([&model]);
    let registry = prepared.registry_for(&model);
    let found = original.differences(&model, registry, compile, &options, &tolerance);
    Ok(found.unwrap_or_else(|found| found))
}
