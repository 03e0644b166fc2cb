//! `onnxtxt insert`: puts a part between a value and its readers.

use super::replace::PartArgs;
use crate::edit::{EditOut, edit_with};
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::diag::counted;
use onnxtxt::edit::{self, Selection};
use std::path::PathBuf;

/// Put a part between a value of the main graph and everything that reads it
///
/// The part is a model with one output, and one input for the value; other inputs belong to values of the model by name, or as --map says.
/// Outputs of the model keep their names. Nothing is written if the result has errors that the model does not have.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt insert model.onnx --at image --with normalize.onnxtxt -o new.onnx
  onnxtxt insert model.onnx --at op:Softmax --with scale.onnxtxt --map in=probs -o new.onnx
  onnxtxt insert model.onnxtxt --at t --with part.onnxtxt --dry-run")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    part: PartArgs,
    /// The value: its name, or the node that computes it (#17, op:Conv)
    #[arg(long, value_name = "VALUE")]
    at: Selection,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let map = args.part.map()?;
    let Some(part) = args.part.open(session)? else { return Ok(Status::Findings) };
    edit_with(&args.file, &args.out, vec![part], session, "insert", |model, parts| {
        let values = args.at.values(model)?;
        let [value] = values[..] else {
            bail!("`{}` matches {}, not one", args.at, counted(values.len(), "value"))
        };
        Ok(edit::insert(model, value, &parts[0], &map))
    })
}
