//! `onnxtxt convert`: between text, binary, JSON and textproto, without loss.

use crate::deliver::{Delivery, deliver};
use crate::document::Document;
use crate::input::{Form, Input, Loaded};
use crate::locate;
use crate::output::{self, Target};
use crate::profile::ProfileArg;
use crate::progress::Work;
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_ir::Diagnostic;
use onnx_ir::diag::code;
use onnx_proto::FileKind;
use onnx_text::RaiseOptions;
use onnxtxt::Weights;
use std::path::{Path, PathBuf};

/// Convert between text, binary, JSON and textproto
///
/// The forms are seen from the content of IN and from the name of OUT.
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
    /// The form to write, where the name of OUT does not say it
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
    /// Where weights go. Default: into a text if they are small and else into a file beside it; into a binary as they
    /// were
    #[arg(long, value_enum)]
    weights: Option<Weights>,
    /// What a text may be made of
    #[arg(long, value_enum, default_value = "onnx")]
    profile: ProfileArg,
    /// Replace the input; without OUT and --to in the form that it has
    #[arg(long)]
    in_place: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
    /// Leave out fields that the format does not know, instead of refusing the model
    #[arg(long)]
    drop_unknown: bool,
    /// Compare the SHA-1 of external data that is read with the checksums that the model states, as is always done for
    /// a text
    #[arg(long)]
    verify_checksums: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    ensure!(args.profile != ProfileArg::Review, "`--profile review` is for reading: use `onnxtxt print`");
    let output = args.output.as_ref().unwrap_or(&args.input);
    ensure!(
        args.output.is_some() || output != Path::new("-"),
        "stdin cannot be replaced: say where to write with -o"
    );
    let target = Target::new(output);
    let named = args.to.or_else(|| args.output.as_deref().and_then(Form::of_name));
    let to = match named {
        Some(form) => form,
        // In place the form stays.
        None if args.output.is_none() => Input::open(&args.input)?.form,
        None => bail!("the name of {} does not say which form to write: use --to", target.name()),
    };
    ensure!(
        args.in_place || args.input == Path::new("-") || !target.is(&args.input),
        "{} is the input: say --in-place to replace it",
        target.name()
    );
    let is_shown = target == Target::Stdout && to == Form::Binary && output::is_terminal();
    ensure!(!is_shown || args.force, "binary data is not written to a terminal: use --force, or -o FILE");

    let work = Work::begin(session, format!("reading {}", args.input.display()));
    let input = Input::open(&args.input)?;
    if let Some(document) = input.document() {
        return convert_document(args, &document, &input, to, &target, session);
    }
    if input.kind != FileKind::Model {
        return message(&input, to, &target, session);
    }
    let mut loaded = input.load();
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    refuse_unknown(args, &mut diagnostics);
    let is_partial = diagnostics.iter().any(Diagnostic::is_error);
    loaded.diagnostics.clone_from(&diagnostics);
    locate::report(session, &loaded, &diagnostics);
    if is_partial {
        session.note(&format!("{} was not written: a part of {} cannot be kept", target.name(), input.name));
        return Ok(Status::Findings);
    }

    let delivery = Delivery {
        target,
        to,
        weights: args.weights,
        profile: args.profile,
        verify_checksums: args.verify_checksums,
    };
    let written = deliver(&delivery, &input, &mut loaded, session, &work)?;
    drop(work);
    Ok(written)
}

/// What cannot be written back is no loss to be made in passing.
fn refuse_unknown(args: &Args, diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics.iter_mut().filter(|d| !args.drop_unknown && d.code == &code::UNKNOWN_FIELD)
    {
        diagnostic.deny();
        diagnostic.help = Some("use --drop-unknown to convert the model without it".to_owned());
    }
}

/// A value or an operator set. It has no weights to move.
fn convert_document(
    args: &Args,
    document: &Document,
    input: &Input,
    to: Form,
    target: &Target,
    session: &mut Session,
) -> anyhow::Result<Status> {
    let mut diagnostics = document.diagnostics().to_vec();
    refuse_unknown(args, &mut diagnostics);
    document.report(session, input, &diagnostics);
    if document.is_partial() || diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(Status::Findings);
    }
    let visible = *target == Target::Stdout && args.profile == ProfileArg::Onnx;
    let options = RaiseOptions { profile: args.profile.into(), visible, ..RaiseOptions::default() };
    match document.write(to, &options)? {
        Ok(content) => output::put(target, input.path.as_deref(), &content).map(|()| Status::Clean),
        Err(diagnostic) => {
            document.report(session, input, &[diagnostic]);
            Ok(Status::Findings)
        }
    }
}

/// A message that is neither model nor value nor operator set: its fields in another form.
fn message(input: &Input, to: Form, target: &Target, session: &mut Session) -> anyhow::Result<Status> {
    let document = match to {
        Form::Json => onnx_proto::json::to_json(&input.bytes, input.kind),
        Form::Textproto => onnx_proto::textproto::to_text(&input.bytes, input.kind),
        Form::Text | Form::Binary => {
            bail!(
                "{} is a {}, which can be converted to JSON and textproto only",
                input.name,
                input.kind.name()
            )
        }
    };
    match document {
        Ok(document) => {
            output::put(target, input.path.as_deref(), document.as_bytes()).map(|()| Status::Clean)
        }
        Err(error) => {
            let diagnostic = crate::input::undecodable(input.form, &error);
            locate::report(session, &Loaded::nothing((**input).clone(), Vec::new()), &[diagnostic]);
            Ok(Status::Findings)
        }
    }
}
