//! `onnxtxt infer`: the types and shapes of all values.

use crate::deliver::{OutArgs, deliver};
use crate::input::Input;
use crate::locate;
use crate::operators::OpsetArgs;
use crate::progress::Work;
use crate::session::{Session, Status};
use anyhow::ensure;
use onnx_ir::Diagnostic;
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_proto::FileKind;
use std::path::PathBuf;

/// Infer the types and shapes of all values
///
/// What is found out is declared in value_info, and completes the types of outputs. What the model declares stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt infer model.onnx                       the model as text, with the types of all values
  onnxtxt infer model.onnx -o typed.onnx")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let delivery = args.out.delivery(&args.file)?;
    let work = Work::begin(session, format!("reading {}", args.file.display()));
    let input = Input::open(&args.file)?;
    ensure!(
        input.kind == FileKind::Model && input.document().is_none(),
        "{} is no model: there is nothing to infer in it",
        input.name
    );
    let operators = match args.opset.load(session)? {
        Ok(operators) => operators,
        Err(status) => return Ok(status),
    };
    let mut loaded = input.load();
    locate::report(session, &input, &loaded, &loaded.diagnostics);
    if loaded.is_partial() {
        return Ok(Status::Findings);
    }
    work.now("inferring types and shapes");
    let mut inference = infer(&loaded.model, operators.of(&loaded.model), &InferOptions::default());
    locate::report(session, &input, &loaded, &inference.diagnostics);
    apply(&mut loaded.model, &mut inference.facts);
    let written = deliver(&delivery, &input, &mut loaded, session, &work)?;
    drop(work);
    Ok(written.and(Status::of(!inference.diagnostics.iter().any(Diagnostic::is_error))))
}
