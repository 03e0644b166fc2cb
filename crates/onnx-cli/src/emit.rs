//! Writes a model that a command has made or changed.

use crate::args::profile::ProfileArg;
use crate::input::{Form, Input, Loaded};
use crate::output::numbers::{bytes, count};
use crate::output::{self, OutputTarget};
use crate::read_files;
use crate::session::findings;
use crate::session::progress::{Work, count_bytes, weight_bytes};
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_proto::external;
use onnxtxt::files::resolve;
use onnxtxt::{Error, SaveOptions, Saved, Weights};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The note about extended forms in a text.
pub(crate) const EXTENDED: &str =
    "the text uses extended syntax, which the reference implementation does not accept";

/// The note about a text whose name is that of texts without comments.
const JOINED: &str = "some programs join the lines of a .onnxtext file, so that a `#` swallows the rest: \
                      `convert --profile reference` writes text for them";

/// Where and how a model is written.
pub(crate) struct Destination {
    pub(crate) target: OutputTarget,
    pub(crate) to: Form,
    pub(crate) weights: Option<Weights>,
    pub(crate) profile: ProfileArg,
    pub(crate) verify_checksums: bool,
}

/// Output options of commands that change a model.
#[derive(clap::Args)]
pub(crate) struct OutArgs {
    #[command(flatten)]
    file: OutFile,
    /// Format of the output, if the name of OUT does not determine it
    #[arg(long, value_enum, value_name = "FORM")]
    to: Option<Form>,
}

/// Output options without `--to`: the file name determines the format.
#[derive(clap::Args)]
pub(crate) struct OutFile {
    /// Where to write; the format follows from the name; default: text on stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace the input
    #[arg(long)]
    in_place: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
}

impl OutArgs {
    /// Whether the command line names an output.
    pub(crate) fn is_given(&self) -> bool {
        self.file.output.is_some() || self.file.in_place
    }

    /// Where and how to write the model of `input`.
    pub(crate) fn destination(&self, input: &Path) -> anyhow::Result<Destination> {
        self.file.destination(input, self.to)
    }
}

impl OutFile {
    /// The file that is named, or `-`.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Whether the command line says where to write.
    pub(crate) fn is_given(&self) -> bool {
        self.output.is_some() || self.in_place
    }

    /// Where and how to write the model of `input`, in the format `to` if given.
    pub(crate) fn destination(&self, input: &Path, to: Option<Form>) -> anyhow::Result<Destination> {
        let target = match &self.output {
            Some(path) => OutputTarget::new(path),
            None if self.in_place => OutputTarget::new(input),
            None => OutputTarget::Stdout,
        };
        let named = if let OutputTarget::File(path) = &target { Form::of_name(path) } else { None };
        let to = match to.or(named) {
            Some(form) => form,
            None if target == OutputTarget::Stdout => Form::Text,
            None => bail!(
                "output format of {} unknown: add `--to text`, `binary`, `json` or `textproto`",
                target.name()
            ),
        };
        ensure!(
            self.in_place || input == Path::new("-") || !target.is(input),
            "{} is the input: add `--in-place` to replace it",
            target.name()
        );
        let is_shown = target == OutputTarget::Stdout && to == Form::Binary && output::is_terminal();
        ensure!(
            !is_shown || self.force,
            "refusing to write binary data to a terminal: add `-o FILE` or `--force`"
        );
        Ok(Destination { target, to, weights: None, profile: ProfileArg::Onnx, verify_checksums: false })
    }
}

impl Destination {
    fn options(&self) -> SaveOptions {
        SaveOptions {
            form: Some(self.to),
            weights: self.weights,
            profile: self.profile.into(),
            keeps_layout: false,
            verify_checksums: self.verify_checksums,
            reads: read_files::all(),
            partial: false,
            progress: Some(count_bytes),
        }
    }

    /// Fails if the result and the files beside it cannot be written, for commands that work for a long time before they write what
    /// a model has become.
    pub(crate) fn ensure_writable(&self, loaded: &Loaded) -> anyhow::Result<()> {
        if let OutputTarget::File(path) = &self.target {
            loaded.ensure_writable(path, &self.options())?;
        }
        Ok(())
    }
}

/// Moves the weights of a model as requested, and writes the model.
pub(crate) fn emit(
    destination: &Destination,
    input: &Input,
    loaded: &mut Loaded,
    session: &mut Session,
    work: &Work,
) -> anyhow::Result<Status> {
    let Destination { target, to, profile, .. } = destination;
    work.now_bytes(format!("writing {}", target.name()), weight_bytes(&loaded.model));
    let options = destination.options();
    let saved = match target {
        OutputTarget::File(path) => loaded.save_with(path, &options),
        OutputTarget::Stdout if *to != Form::Binary && output::is_terminal() => {
            let mut content = Vec::new();
            let saved = loaded.write_to(&mut content, &options);
            output::model_text(&String::from_utf8_lossy(&content))?;
            saved
        }
        OutputTarget::Stdout => {
            let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
            loaded.write_to(&mut out, &options)
        }
    };
    let Saved { is_written, losses, is_extended, beside, .. } = match saved {
        Ok(saved) => saved,
        Err(Error::Model(found)) => {
            findings::report(session, loaded, &found);
            return Ok(Status::Findings);
        }
        Err(error) => return Err(error.into()),
    };
    findings::report(session, loaded, &losses);
    if is_extended {
        session.note(EXTENDED);
    }
    let is_joined = |path: &Path| path.extension().is_some_and(|extension| extension == "onnxtext");
    if let OutputTarget::File(path) = target
        && (*to, *profile == ProfileArg::Reference) == (Form::Text, false)
        && is_joined(path)
    {
        session.note(JOINED);
    }
    still_elsewhere(session, &loaded.model, input, target);
    if let [(first, _), ..] = beside.as_slice() {
        let place = if beside.len() == 1 { first.clone() } else { count(beside.len(), "file") };
        let size = beside.iter().map(|(_, size)| size).sum();
        session.note(&format!("{} of weights written to {place} beside {}", bytes(size), target.name()));
    }
    Ok(Status::of(is_written && !losses.iter().any(Diagnostic::is_error)))
}

/// Notes that the result needs files that are not beside it.
fn still_elsewhere(session: &Session, model: &Model, input: &Input, target: &OutputTarget) {
    let (Some(from), OutputTarget::File(to)) = (&input.path, target) else { return };
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
            "the weights are still in {first}{more} beside {}: copy them, or use `--weights inline`",
            input.name
        ));
    }
}
