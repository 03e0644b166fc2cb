//! `onnxtxt convert`: converts between text, binary, JSON and textproto, without loss.

use crate::args::profile::ProfileArg;
use crate::emit::{Destination, emit};
use crate::input::document::Document;
use crate::input::{Form, Input};
use crate::output::{self, OutputTarget};
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_ir::diag::{Diagnostic, code};
use onnx_text::RaiseOptions;
use onnxtxt::Weights;
use std::path::{Path, PathBuf};

/// Convert between text, binary, JSON and textproto
///
/// The input format is detected from the content of IN, the output format from the name of OUT. IN may also be a part of a model
/// (a graph, function, node, type, declaration or attribute), a value, or an operator set.
///
/// A model comes back byte for byte if it was written as standard encoders of protobuf write. Others (packed lists, fields out of
/// order) come back as an equal message, and a note says so.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt convert model.onnx -o model.onnxtxt             large weights go to model.onnxtxt.data
  onnxtxt convert model.onnxtxt -o model.onnx             and come back byte for byte
  onnxtxt convert model.onnx -o model.json
  onnxtxt convert model.onnx --in-place --weights inline     the weights beside it go into it
  onnxtxt convert model.onnx -o big.onnx --weights sidecar   weights in big.onnx.data
  onnxtxt convert - -o - --to json < input_0.pb")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write; - is stdout
    #[arg(short, long, value_name = "OUT", required_unless_present = "in_place")]
    output: Option<PathBuf>,
    /// Output format, if the name of OUT does not determine it
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
    /// Where to store weights. Default: small ones in the text, others in a file beside it; for binary output, where they
    /// were
    #[arg(long, value_enum)]
    weights: Option<Weights>,
    /// Syntax that the text may use
    #[arg(long, value_enum, default_value = "onnx")]
    profile: ProfileArg,
    /// Replace the input; without OUT and --to, in its format
    #[arg(long)]
    in_place: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
    /// Drop unknown fields instead of rejecting the model
    #[arg(long)]
    drop_unknown: bool,
    /// Compare the SHA-1 of external data that is read with the checksums in the model, as is always done for
    /// a text
    #[arg(long)]
    verify_checksums: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    ensure!(args.profile != ProfileArg::Review, "`--profile review` is supported only by `onnxtxt print`");
    let output = args.output.as_ref().unwrap_or(&args.input);
    ensure!(args.output.is_some() || output != Path::new("-"), "stdin cannot be replaced: add `-o FILE`");
    let target = OutputTarget::new(output);
    let named = args.to.or_else(|| args.output.as_deref().and_then(Form::of_name));
    let to = match named {
        Some(form) => form,
        // In place, the format does not change.
        None if args.output.is_none() => Input::open(&args.input)?.form,
        None => bail!(
            "output format of {} unknown: add `--to text`, `binary`, `json` or `textproto`",
            target.name()
        ),
    };
    ensure!(
        args.in_place || args.input == Path::new("-") || !target.is(&args.input),
        "{} is the input: add `--in-place` to replace it",
        target.name()
    );
    let is_shown = target == OutputTarget::Stdout && to == Form::Binary && output::is_terminal();
    ensure!(
        !is_shown || args.force,
        "refusing to write binary data to a terminal: add `-o FILE` or `--force`"
    );

    let work = Work::begin(session, format!("reading {}", args.input.display()));
    let input = Input::open(&args.input)?;
    if let Some(document) = input.document() {
        return convert_document(args, &document, &input, to, &target, session);
    }
    let mut loaded = input.load();
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    refuse_unknown(args, &mut diagnostics);
    let is_partial = diagnostics.iter().any(Diagnostic::is_error);
    loaded.diagnostics.clone_from(&diagnostics);
    findings::report(session, &loaded, &diagnostics);
    if is_partial {
        session.note(&format!("{} was not written: parts of {} would be lost", target.name(), input.name));
        return Ok(Status::Findings);
    }

    note_encoding(&input, to, session);
    let destination = Destination {
        target,
        to,
        weights: args.weights,
        profile: args.profile,
        verify_checksums: args.verify_checksums,
    };
    let written = emit(&destination, &input, &mut loaded, session, &work)?;
    drop(work);
    Ok(written)
}

/// Notes that a binary file that is not written as standard encoders write will not come back byte for byte.
fn note_encoding(input: &Input, to: Form, session: &Session) {
    if input.form == Form::Binary
        && to != Form::Binary
        && let Some(how) = onnx_proto::unusual(&input.bytes, input.kind)
    {
        session.note(&format!(
            "{} is not written as standard encoders write ({how}): it comes back as an equal message, not byte for byte",
            input.name
        ));
    }
}

/// Turns unknown fields into errors: they would be lost.
fn refuse_unknown(args: &Args, diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics.iter_mut().filter(|d| !args.drop_unknown && d.code == &code::UNKNOWN_FIELD)
    {
        diagnostic.deny();
        diagnostic.help = Some("add `--drop-unknown` to convert the model without it".to_owned());
    }
}

/// A value or an operator set, which has no weights to move.
fn convert_document(
    args: &Args,
    document: &Document,
    input: &Input,
    to: Form,
    target: &OutputTarget,
    session: &mut Session,
) -> anyhow::Result<Status> {
    let mut diagnostics = document.diagnostics().to_vec();
    refuse_unknown(args, &mut diagnostics);
    document.report(session, input, &diagnostics);
    if document.is_partial() || diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(Status::Findings);
    }
    let visible = *target == OutputTarget::Stdout && args.profile == ProfileArg::Onnx;
    let options = RaiseOptions { profile: args.profile.into(), visible, ..RaiseOptions::default() };
    note_encoding(input, to, session);
    match document.write(to, &options)? {
        Ok(content) => output::put(target, input.path.as_deref(), &content).map(|()| Status::Clean),
        Err(diagnostic) => {
            document.report(session, input, &[diagnostic]);
            Ok(Status::Findings)
        }
    }
}
