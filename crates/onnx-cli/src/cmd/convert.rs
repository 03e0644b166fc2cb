//! `onnxtxt convert`: between text, binary, JSON and textproto, without loss.
//!
//! Weights: what was inline stays part of the model. If the result is text, large weights are put into a file beside
//! it, with a mark that lets them come back into place byte for byte. What is external in a binary model stays so
//! unless `--weights` says otherwise.

use super::print::EXTENDED;
use crate::input::{Form, Input, Loaded};
use crate::locate;
use crate::output::{self, Pending, Target};
use crate::progress::Work;
use crate::session::{Session, Status, bytes, count};
use crate::text::{ProfileArg, Text};
use crate::value::Value;
use anyhow::{Context as _, bail, ensure};
use onnx_ir::diag::code;
use onnx_ir::{Diagnostic, Model, Severity};
use onnx_proto::FileKind;
use onnx_proto::external::{self, DataFile, Folder, Layout, Which, externalize, internalize};
use onnx_text::RaiseOptions;
use std::io::{self, Write};
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
  onnxtxt convert model.onnx -o big.onnx --weights sidecar   weights in big.onnx.data
  onnxtxt convert - -o - --to json < input_0.pb")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write; - is stdout
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
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
    /// Replace the input
    #[arg(long)]
    in_place: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
    /// Leave out fields that the format does not know, instead of refusing the model
    #[arg(long)]
    drop_unknown: bool,
    /// Compare the SHA-1 of external data that is read with the checksums that the model states
    #[arg(long)]
    verify_checksums: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Weights {
    /// All in the result itself
    Inline,
    /// In one file beside the result, but for small ones
    Sidecar,
    /// In a folder beside the result, each in a file of its own, but for small ones
    Files,
    /// Where they are
    Keep,
}

/// A tensor of more bytes goes into a file beside a text.
pub(crate) const LARGE: u64 = 16 << 10;
/// `--weights sidecar` and `files` leave smaller tensors inline, as the Python package does.
const SMALL: u64 = 1 << 10;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let target = Target::new(&args.output);
    let to = match args.to.or_else(|| Form::of_name(&args.output)) {
        Some(form) => form,
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
    if let Some(value) = input.value() {
        return convert_value(args, &value, &input, to, &target, session);
    }
    if input.kind != FileKind::Model {
        return message(&input, to, &target, session);
    }
    let mut loaded = input.load();
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    if !args.drop_unknown {
        // What cannot be written back is no loss to be made in passing.
        for diagnostic in diagnostics.iter_mut().filter(|d| d.code == &code::UNKNOWN_FIELD) {
            diagnostic.severity = Severity::Error;
            diagnostic.help = Some("use --drop-unknown to convert the model without it".to_owned());
        }
    }
    let is_partial = diagnostics.iter().any(Diagnostic::is_error);
    loaded.diagnostics.clone_from(&diagnostics);
    locate::report(session, &input, &loaded, &diagnostics);
    if is_partial {
        session.note(&format!("{} was not written: a part of {} cannot be kept", target.name(), input.name));
        return Ok(Status::Findings);
    }

    work.now("moving weights");
    let moved = weights(args, &mut loaded.model, &input, to, &target)?;
    let files = match moved {
        Ok(files) => files,
        Err(found) => {
            locate::report(session, &input, &loaded, &found);
            return Ok(Status::Findings);
        }
    };
    still_elsewhere(session, &loaded.model, &input, &target);

    work.now(format!("writing {}", target.name()));
    let written = write(args, &input, &loaded, to, &target, &files, session)?;
    drop(work);
    Ok(written)
}

/// Moves weights to where they are wanted. `Err`: what is wrong with files that are to be read.
fn weights(
    args: &Args,
    model: &mut Model,
    input: &Input,
    to: Form,
    target: &Target,
) -> anyhow::Result<Result<Vec<DataFile>, Vec<Diagnostic>>> {
    let is_text = to == Form::Text;
    let take = match args.weights {
        Some(Weights::Keep) => None,
        Some(Weights::Inline) => Some(Which::All),
        Some(Weights::Sidecar | Weights::Files) if !is_text => Some(Which::All),
        // What is external stays so, or a text could not be converted back.
        Some(Weights::Sidecar | Weights::Files) | None => Some(Which::Marked),
    };
    if let Some(which) = take {
        let is_needed =
            if which == Which::All { external::is_stored_outside(model) } else { external::has_marks(model) };
        let path = match &input.path {
            Some(path) => path.as_path(),
            None if !is_needed => Path::new(""),
            None => bail!("weights are in files beside the model, and stdin has none"),
        };
        let mut folder = Folder::of(path);
        let found = internalize(model, which, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, args.verify_checksums)
        });
        if !found.is_empty() {
            return Ok(Err(found));
        }
    }
    let at_least = match args.weights {
        Some(Weights::Sidecar | Weights::Files) => SMALL,
        None if is_text && *target != Target::Stdout => LARGE,
        None | Some(Weights::Inline | Weights::Keep) => return Ok(Ok(Vec::new())),
    };
    let Target::File(path) = target else {
        bail!("weights cannot go beside stdout: use -o FILE, or --weights inline")
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} is no name that a model can refer to", path.display()))?;
    let (data, folder) = (format!("{name}.data"), format!("{name}.weights"));
    let layout = match args.weights {
        Some(Weights::Files) => Layout::Each(&folder),
        Some(Weights::Sidecar | Weights::Inline | Weights::Keep) | None => Layout::One(&data),
    };
    let is_taken = external::external_tensors(model).iter().any(|(tensor, _)| {
        let location = tensor.external(&model.names, "location").map_or("", |name| &model.names[name]);
        location == data || location.starts_with(&format!("{folder}/"))
    });
    ensure!(
        !is_taken,
        "the model has weights in {data} already, which would be replaced: choose another name"
    );
    Ok(Ok(externalize(model, at_least, layout, is_text)))
}

/// Says that the result needs files that are not beside it.
fn still_elsewhere(session: &Session, model: &Model, input: &Input, target: &Target) {
    let (Some(from), Target::File(to)) = (&input.path, target) else { return };
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    if folder(from) == folder(to) {
        return;
    }
    let mut missing: Vec<&str> = Vec::new();
    for (tensor, _) in external::external_tensors(model) {
        let location = tensor.external(&model.names, "location").map_or("", |name| &model.names[name]);
        if from.with_file_name(location).exists() && !to.with_file_name(location).exists() {
            missing.push(location);
        }
    }
    missing.sort_unstable();
    missing.dedup();
    if let [first, rest @ ..] = missing.as_slice() {
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {}", count(rest.len(), "other file")) };
        session.note(&format!(
            "the weights stay in {first}{more} beside {}: copy them, or use --weights inline",
            input.name
        ));
    }
}

fn write(
    args: &Args,
    input: &Input,
    loaded: &Loaded,
    to: Form,
    target: &Target,
    files: &[DataFile],
    session: &mut Session,
) -> anyhow::Result<Status> {
    if to == Form::Text {
        let options = RaiseOptions { profile: args.profile.into(), ..RaiseOptions::default() };
        let text = Text::new(&loaded.model, &options);
        if !text.is_lost() {
            put(target, files, |out| text.write(out))?;
        }
        let severity = if text.is_lost() { Severity::Error } else { Severity::Warning };
        let losses: Vec<_> = text.losses().iter().cloned().map(|loss| loss.severity(severity)).collect();
        locate::report(session, input, loaded, &losses);
        if text.is_extended() {
            session.note(EXTENDED);
        }
        beside(session, target, files);
        return Ok(Status::of(!text.is_lost()));
    }
    let encoded = onnx_proto::write(&loaded.model).map_err(|error| {
        anyhow::anyhow!("{error}: use --weights sidecar, which writes weights to a file of their own")
    })?;
    let document = match to {
        Form::Text | Form::Binary => None,
        Form::Json => Some(onnx_proto::json::to_json(&encoded, FileKind::Model)),
        Form::Textproto => Some(onnx_proto::textproto::to_text(&encoded, FileKind::Model)),
    };
    match document.transpose() {
        Ok(Some(document)) => put(target, files, |out| out.write_all(document.as_bytes()))?,
        Ok(None) => put(target, files, |out| out.write_all(&encoded))?,
        Err(error) => {
            let diagnostic = crate::input::undecodable(to, &error);
            locate::report(session, input, loaded, &[diagnostic]);
            return Ok(Status::Findings);
        }
    }
    beside(session, target, files);
    Ok(Status::Clean)
}

/// Writes the result and the files beside it: all of them first, then all into their places.
fn put(
    target: &Target,
    files: &[DataFile],
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let path = match target {
        Target::Stdout => return output::to_stdout(write),
        Target::File(path) => path,
    };
    let folder = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut pending = Vec::new();
    for file in files {
        let place = folder.with_file_name(&file.location);
        if let Some(folder) = place.parent().filter(|_| file.location.contains('/')) {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make folder {}", folder.display()))?;
        }
        pending.push(Pending::write(&place, |out| data(file, out))?);
    }
    pending.push(Pending::write(path, write)?);
    pending.into_iter().try_for_each(Pending::commit)
}

fn data(file: &DataFile, out: &mut dyn Write) -> io::Result<()> {
    let mut at = 0;
    for chunk in &file.chunks {
        let gap = chunk.offset.saturating_sub(at);
        io::copy(&mut io::Read::take(io::repeat(0), gap), out)?;
        out.write_all(&chunk.bytes)?;
        at = chunk.offset + u64::try_from(chunk.bytes.len()).unwrap_or(u64::MAX);
    }
    Ok(())
}

fn beside(session: &Session, target: &Target, files: &[DataFile]) {
    let size = files.iter().flat_map(|file| &file.chunks).map(|chunk| chunk.bytes.len() as u64).sum();
    if let [first, ..] = files {
        let place = if files.len() == 1 { first.location.clone() } else { count(files.len(), "file") };
        session.note(&format!("{} of weights are in {place} beside {}", bytes(size), target.name()));
    }
}

/// A value in a file of its own. It has no weights to move.
fn convert_value(
    args: &Args,
    value: &Value,
    input: &Input,
    to: Form,
    target: &Target,
    session: &mut Session,
) -> anyhow::Result<Status> {
    value.report(session, input, &value.diagnostics);
    if value.is_partial() {
        return Ok(Status::Findings);
    }
    let options = RaiseOptions { profile: args.profile.into(), ..RaiseOptions::default() };
    match value.write(to, &options)? {
        Ok(content) => put(target, &[], |out| out.write_all(&content)).map(|()| Status::Clean),
        Err(diagnostic) => {
            value.report(session, input, &[diagnostic]);
            Ok(Status::Findings)
        }
    }
}

/// A message that is neither model nor value: its fields in another form.
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
        Ok(document) => put(target, &[], |out| out.write_all(document.as_bytes())).map(|()| Status::Clean),
        Err(error) => {
            let diagnostic = crate::input::undecodable(input.form, &error);
            locate::report(session, input, &Loaded::default(), &[diagnostic]);
            Ok(Status::Findings)
        }
    }
}
