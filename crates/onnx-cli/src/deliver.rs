//! A model that a command has made or changed, on its way to where the user wants it.
//!
//! Weights: what was inline stays part of the model. If the result is text, large weights are put into a file beside
//! it, with a mark that lets them come back into place byte for byte. What is external in a binary model stays so
//! unless `--weights` says otherwise.

use crate::input::{Form, Input, Loaded};
use crate::locate;
use crate::output::{self, Target};
use crate::place::resolve;
use crate::progress::Work;
use crate::reads;
use crate::session::{Session, Status, bytes, count};
use crate::text::{ProfileArg, Text};
use crate::together::{Moved, locations, plain, put};
use anyhow::{Context as _, bail, ensure};
use onnx_ir::{Diagnostic, Model};
use onnx_proto::external::{self, DataFile, Folder, Layout, Which, externalize, internalize, relocate};
use onnx_proto::{FileKind, FormatError};
use onnx_text::RaiseOptions;
use std::io;
use std::path::{Path, PathBuf};

/// What a text with extended forms is like.
pub(crate) const EXTENDED: &str =
    "the text has forms that the reference implementation refuses, for what its grammar cannot say";

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Weights {
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

/// Where and how a model is written.
pub(crate) struct Delivery {
    pub(crate) target: Target,
    pub(crate) to: Form,
    pub(crate) weights: Option<Weights>,
    pub(crate) profile: ProfileArg,
    pub(crate) verify_checksums: bool,
}

/// What commands that change a model take.
#[derive(clap::Args)]
pub(crate) struct OutArgs {
    /// Where to write, in the form that the name says; default: as text to stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The form to write, where the name of OUT does not say it
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
    /// Replace the input
    #[arg(long)]
    in_place: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
}

impl OutArgs {
    /// Whether the command line says where to write.
    pub(crate) fn is_given(&self) -> bool {
        self.output.is_some() || self.in_place
    }

    /// Where and how the model of `input` is written.
    pub(crate) fn delivery(&self, input: &Path) -> anyhow::Result<Delivery> {
        let target = match &self.output {
            Some(path) => Target::new(path),
            None if self.in_place => Target::new(input),
            None => Target::Stdout,
        };
        let named = if let Target::File(path) = &target { Form::of_name(path) } else { None };
        let to = match self.to.or(named) {
            Some(form) => form,
            None if target == Target::Stdout => Form::Text,
            None => bail!("the name of {} does not say which form to write: use --to", target.name()),
        };
        ensure!(
            self.in_place || input == Path::new("-") || !target.is(input),
            "{} is the input: say --in-place to replace it",
            target.name()
        );
        let is_shown = target == Target::Stdout && to == Form::Binary && output::is_terminal();
        ensure!(!is_shown || self.force, "binary data is not written to a terminal: use --force, or -o FILE");
        Ok(Delivery { target, to, weights: None, profile: ProfileArg::Onnx, verify_checksums: false })
    }
}

/// Moves the weights of a model to where they are wanted, and writes it.
pub(crate) fn deliver(
    delivery: &Delivery,
    input: &Input,
    loaded: &mut Loaded,
    session: &mut Session,
    work: &Work,
) -> anyhow::Result<Status> {
    work.now("moving weights");
    if let Some(path) = &input.path {
        // Also what stays in its files.
        reads::note_external(&loaded.model, path);
    }
    let files = match weights(delivery, &mut loaded.model, input)? {
        Ok(files) => files,
        Err(found) => {
            locate::report(session, input, loaded, &found);
            return Ok(Status::Findings);
        }
    };
    still_elsewhere(session, &loaded.model, input, &delivery.target);
    work.now(format!("writing {}", delivery.target.name()));
    write(delivery, input, loaded, &files, session)
}

/// Moves weights to where they are wanted. `Err`: what is wrong with files that are to be read.
fn weights(
    delivery: &Delivery,
    model: &mut Model,
    input: &Input,
) -> anyhow::Result<Result<Vec<DataFile>, Vec<Diagnostic>>> {
    let Delivery { target, to, .. } = delivery;
    let is_text = *to == Form::Text;
    let take = match delivery.weights {
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
        // A text has weights of its own beside it, which may be those of another.
        let is_summed = delivery.verify_checksums || input.form == Form::Text;
        let mut folder = Folder::of(path);
        let found = internalize(model, which, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, is_summed)
        });
        reads::note_read(&folder);
        if !found.is_empty() {
            return Ok(Err(found));
        }
    }
    let at_least = match delivery.weights {
        Some(Weights::Sidecar | Weights::Files) => SMALL,
        None if is_text && *target != Target::Stdout => LARGE,
        None | Some(Weights::Inline | Weights::Keep) => return Ok(Ok(Vec::new())),
    };
    let Target::File(path) = target else {
        bail!("weights cannot go beside stdout: use -o FILE, or --weights inline")
    };
    let resolved = resolve(path).with_context(|| format!("cannot write {}", path.display()))?;
    let name = resolved.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} is no name that a model can refer to", path.display()))?;
    let (data, folder) = (format!("{name}.data"), format!("{name}.weights"));
    let layout = match delivery.weights {
        Some(Weights::Files) => Layout::Each(&folder),
        Some(Weights::Sidecar | Weights::Inline | Weights::Keep) | None => Layout::One(&data),
    };
    let own = [Path::new(&data), Path::new(&folder)];
    let is_taken = locations(model).any(|location| own.iter().any(|own| plain(location).starts_with(own)));
    ensure!(
        !is_taken,
        "the model has weights in {data} already, which would be replaced: choose another name"
    );
    Ok(Ok(externalize(model, at_least, layout, is_text)))
}

/// Says that the result needs files that are not beside it.
fn still_elsewhere(session: &Session, model: &Model, input: &Input, target: &Target) {
    let (Some(from), Target::File(to)) = (&input.path, target) else { return };
    let (Ok(from), Ok(to)) = (resolve(from), resolve(to)) else { return };
    if from.parent() == to.parent() {
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
    delivery: &Delivery,
    input: &Input,
    loaded: &Loaded,
    files: &[DataFile],
    session: &mut Session,
) -> anyhow::Result<Status> {
    let Delivery { target, to, .. } = delivery;
    if *to == Form::Text {
        let visible = *target == Target::Stdout && delivery.profile == ProfileArg::Onnx;
        let options = RaiseOptions { profile: delivery.profile.into(), visible, ..RaiseOptions::default() };
        let comments = loaded.comments(input);
        let text = Text::commented(&loaded.model, &options, &comments);
        if !text.is_lost() {
            put(target, input.path.as_deref(), files, &|moved, out| match moved {
                [] => text.write(out),
                _ => Text::commented(&relocated(loaded, moved), &options, &comments).write(out),
            })?;
        }
        let mut losses = text.losses().to_vec();
        if text.is_lost() {
            losses.iter_mut().for_each(Diagnostic::deny);
        }
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
    let content = match document(*to, encoded) {
        Ok(content) => content,
        Err(error) => {
            let diagnostic = crate::input::undecodable(*to, &error);
            locate::report(session, input, loaded, &[diagnostic]);
            return Ok(Status::Findings);
        }
    };
    put(target, input.path.as_deref(), files, &|moved, out| {
        if moved.is_empty() {
            return out.write_all(&content);
        }
        let encoded = onnx_proto::write(&relocated(loaded, moved)).map_err(io::Error::other)?;
        out.write_all(&document(*to, encoded).map_err(|error| io::Error::other(error.message))?)
    })?;
    beside(session, target, files);
    Ok(Status::Clean)
}

/// A model in wire format in the form that is wanted.
fn document(to: Form, encoded: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    match to {
        Form::Text | Form::Binary => Ok(encoded),
        Form::Json => onnx_proto::json::to_json(&encoded, FileKind::Model).map(String::into_bytes),
        Form::Textproto => onnx_proto::textproto::to_text(&encoded, FileKind::Model).map(String::into_bytes),
    }
}

/// The model with its weights in files of other names.
fn relocated(loaded: &Loaded, moved: &[Moved]) -> Model {
    let mut model = loaded.model.clone();
    moved.iter().for_each(|Moved { from, to }| relocate(&mut model, from, to));
    model
}

fn beside(session: &Session, target: &Target, files: &[DataFile]) {
    let size = files.iter().flat_map(|file| &file.chunks).map(|chunk| chunk.bytes.len() as u64).sum();
    if let [first, ..] = files {
        let place = if files.len() == 1 { first.location.clone() } else { count(files.len(), "file") };
        session.note(&format!("{} of weights are in {place} beside {}", bytes(size), target.name()));
    }
}
