//! `onnxtxt set-opset`: converts a model to other versions of its operator sets.

use crate::edit::{EditOut, edit};
use crate::session::{Session, Status};
use anyhow::anyhow;
use onnx_ir::pass::Report;
use onnx_ops::opset::registry_of;
use onnx_ops::pass::Pass;
use std::path::PathBuf;

/// Convert a model to other versions of its operator sets
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt set-opset model.onnx 21 -o new.onnx
  onnxtxt set-opset model.onnx 17 ai.onnx.ml=3 -o old.onnx
  onnxtxt set-opset model.onnxtxt 21 --dry-run        what would change")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A version of ai.onnx, or DOMAIN=VERSION
    #[arg(value_name = "VERSION", required = true)]
    versions: Vec<String>,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let named = |text: &String| {
        let word = format!("convert-opset={}", text.replacen('=', ":", 1));
        Pass::parse(&word).map_err(|why| anyhow!("`{text}`: {why}"))
    };
    let passes: Vec<Pass> = args.versions.iter().map(named).collect::<anyhow::Result<_>>()?;
    edit(&args.file, &args.out, session, "set-opset", |model| {
        let mut all = Report::default();
        for pass in &passes {
            let outcome = pass.run(model, registry_of(model));
            if !outcome.is_done {
                return Ok(Err(outcome.report.diagnostics));
            }
            all.changes.extend(outcome.report.changes);
            // Places in a model that a pass has changed do not refer to the file.
            if passes.len() == 1 {
                all.diagnostics.extend(outcome.report.diagnostics);
            }
        }
        Ok(Ok(all))
    })
}
