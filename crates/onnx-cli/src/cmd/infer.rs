//! `onnxtxt infer`: infers the types and shapes of all values, or explains those of one.

mod comments;
mod facts;
mod why;

use crate::emit::{Destination, OutArgs, emit};
use crate::input::operators::{Operators, OpsetArgs};
use crate::input::{Form, Input, Loaded};
use crate::output::{self, OutputTarget};
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{Context as _, ensure};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ops::infer::{Facts, InferOptions, Refined, apply, infer};
use onnx_text::RaiseOptions;
use onnxtxt::{File, Text};
use std::path::{Path, PathBuf};
use why::RequestedValue;

/// Infer the types and shapes of all values
///
/// Inferred types are declared in value_info and complete the types of outputs. Existing declarations are kept, except for symbols
/// that turn out to be numbers.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt infer model.onnx                       the model as text, with the types of all values
  onnxtxt infer model.onnx -o typed.onnx
  onnxtxt infer --why logits model.onnx          how the type of one value comes about, step by step
  onnxtxt infer --comments model.onnxtxt         the text with `#: float[N]` at the ends of lines
  onnxtxt infer --json model.onnx                what is known of each value, for programs")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    out: OutArgs,
    /// Show how the type and shape of this value are derived, instead of the model
    #[arg(long, value_name = "VALUE", conflicts_with_all = ["output", "in_place"])]
    why: Option<String>,
    /// Maximum number of values in a derivation
    #[arg(long, value_name = "N", default_value_t = 50, requires = "why")]
    most: usize,
    /// Print the inferred facts of all values, or of the one asked for, as a JSON document; the same as --format json without -o
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    json: bool,
    /// Write the text with the inferred types of results as comments at the ends of lines, `#: float[N]`; those of the last time are
    /// replaced
    #[arg(long, conflicts_with_all = ["why", "json", "to"])]
    comments: bool,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let destination = args.out.destination(&args.file)?;
    let work = Work::begin(session, format!("reading {}", args.file.display()));
    let input = Input::open(&args.file)?;
    input.ensure_model()?;
    let operators = args.opset.load(session)?;
    let mut loaded = input.load();
    findings::report(session, &loaded, &loaded.diagnostics);
    if loaded.is_partial() {
        return Ok(Status::Findings);
    }
    work.now("inferring types and shapes");
    let wants_json = args.json || session.wants_json() && !args.out.is_given();
    if let Some(value) = &args.why {
        let RequestedValue { body, value } = why::find(&loaded.model, value)?;
        let why = onnx_ops::infer::why(&loaded.model, operators.of(&loaded.model), body, value, args.most);
        let text = loaded.with_source(true, |source| match wants_json {
            true => why::json(&why, source),
            false => why::text(&why, source),
        });
        drop(work);
        output::to_people(&text)?;
        return Ok(Status::Clean);
    }
    let mut inference = infer(&loaded.model, operators.of(&loaded.model), &InferOptions::default());
    findings::report(session, &loaded, &inference.diagnostics);
    if wants_json {
        let text =
            loaded.with_source(true, |source| facts::json(&loaded.model, &mut inference.facts, source));
        drop(work);
        output::to_people(&text)?;
        return Ok(Status::of(!inference.diagnostics.iter().any(Diagnostic::is_error)));
    }
    if args.comments {
        drop(work);
        let text = commented(&input, &loaded, &operators, inference.facts)?;
        write_text(&destination, &args.file, &text)?;
        return Ok(Status::of(!inference.diagnostics.iter().any(Diagnostic::is_error)));
    }
    let applied = apply(&mut loaded.model, &mut inference.facts);
    refined(session, &loaded.model, &applied.refined);
    let written = emit(&destination, &input, &mut loaded, session, &work)?;
    drop(work);
    Ok(written.and(Status::of(!inference.diagnostics.iter().any(Diagnostic::is_error))))
}

/// The text of a model with the types of results as comments. A model that is not a text has them in the text that it is printed as.
fn commented(
    input: &Input,
    loaded: &Loaded,
    operators: &Operators,
    mut facts: Facts,
) -> anyhow::Result<String> {
    if loaded.syntax().is_some() {
        return comments::commented(loaded, &mut facts).context("the model has no text");
    }
    let text = Text::new(&loaded.model, &RaiseOptions::default()).to_text();
    let mut file = File::new(input.name.clone(), None, text.into());
    file.form = Form::Text;
    let printed = file.load();
    let mut facts = infer(&printed.model, operators.of(&printed.model), &InferOptions::default()).facts;
    comments::commented(&printed, &mut facts).context("the model has no text")
}

fn write_text(destination: &Destination, input: &Path, text: &str) -> anyhow::Result<()> {
    let name = destination.target.name();
    ensure!(destination.to == Form::Text, "comments are written into text, and {name} is not");
    match &destination.target {
        OutputTarget::Stdout => output::model_text(text),
        target @ OutputTarget::File(_) => output::put(target, Some(input), text.as_bytes()),
    }
}

/// Maximum number of symbols that are reported one by one.
const MAX_NAMES: usize = 8;

/// Reports the declared symbols that were replaced by numbers.
fn refined(session: &Session, model: &Model, refined: &[Refined]) {
    for Refined { value, axis, symbol, number } in refined.iter().take(MAX_NAMES) {
        let (value, symbol) = (&model.names[*value], &model.names[*symbol]);
        session.note(&format!("axis {axis} of `{value}` is declared as `{symbol}` and inferred as {number}"));
    }
    let more = refined.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        session.note(&format!("and {more} more such axes"));
    }
}
