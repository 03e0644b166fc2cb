//! Shared code of commands that edit a model: output, `--dry-run`, and the check that no errors are added.

pub(crate) mod steps;

use crate::edit::steps::open;
use crate::emit::{Destination, OutFile, emit};
use crate::input::{Form, Input, Loaded};
use crate::output;
use crate::output::unified_diff::diff;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_text::RaiseOptions;
use onnxtxt::edit::{Edited, Incoming, new_errors, relocate};
use onnxtxt::{Text, Weights};
use std::path::{Path, PathBuf};

/// Arguments of every command that edits.
#[derive(clap::Args)]
pub(crate) struct EditArgs {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) out: EditOut,
}

/// Where the result is written.
#[derive(clap::Args)]
pub(crate) struct EditOut {
    /// Write nothing; show the changes as a diff of the text
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    out: OutFile,
}

/// Elements per tensor in a diff.
const SHOWN: usize = 8;

/// Reads a model, edits it, and writes it unless the edit adds errors.
pub(crate) fn edit(
    file: &Path,
    out: &EditOut,
    session: &mut Session,
    name: &str,
    run: impl FnOnce(&mut Model) -> anyhow::Result<Edited>,
) -> anyhow::Result<Status> {
    edit_to(file, out, None, session, name, run)
}

/// The same, with the weights where they are wanted.
pub(crate) fn edit_to(
    file: &Path,
    out: &EditOut,
    weights: Option<Weights>,
    session: &mut Session,
    name: &str,
    run: impl FnOnce(&mut Model) -> anyhow::Result<Edited>,
) -> anyhow::Result<Status> {
    edit_all(file, out, weights, Vec::new(), session, name, |model, _| run(model))
}

/// Reads a model, and copies nodes of others into it, with their comments.
pub(crate) fn edit_with(
    file: &Path,
    out: &EditOut,
    others: Vec<Loaded>,
    session: &mut Session,
    name: &str,
    run: impl FnOnce(&mut Model, &[Incoming]) -> anyhow::Result<Edited>,
) -> anyhow::Result<Status> {
    edit_all(file, out, None, others, session, name, run)
}

fn edit_all(
    file: &Path,
    out: &EditOut,
    weights: Option<Weights>,
    others: Vec<Loaded>,
    session: &mut Session,
    name: &str,
    run: impl FnOnce(&mut Model, &[Incoming]) -> anyhow::Result<Edited>,
) -> anyhow::Result<Status> {
    let destination = Destination { weights, ..out.destination(file)? };
    let work = Work::begin(session, format!("reading {}", file.display()));
    let Some((input, mut loaded)) = open(file, session)? else { return Ok(Status::Findings) };
    work.now(name.to_owned());
    let mut model = loaded.model.clone();
    let others: Vec<Incoming> = others.into_iter().map(|other| loaded.adopt(other)).collect();
    let mut report = match run(&mut model, &others)? {
        Ok(report) => report,
        Err(mut found) => {
            relocate(&mut found, &model, &loaded.model);
            findings::report(session, &loaded, &found);
            return Ok(Status::Findings);
        }
    };
    relocate(&mut report.diagnostics, &model, &loaded.model);
    findings::report(session, &loaded, &report.diagnostics);
    if report.diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(Status::Findings);
    }
    work.now("checking");
    let (new, mut old) = new_errors(&loaded.model, &model);
    let mut became = loaded.became(model);
    if !new.is_empty() {
        findings::report(session, &became, &new);
        session.note(&format!(
            "{name}: nothing written, because the result would have errors that {} does not have",
            input.name
        ));
        return Ok(Status::Findings);
    }
    session.note(&format!("{name}: {report}"));
    old.retain(|error| error.code.clear.is_some());
    session.tolerated(&input.name, &old);
    out.put(&destination, &input, &loaded, &mut became, session, work)
}

impl EditOut {
    /// Where and how the model of `input` is written.
    pub(crate) fn destination(&self, input: &Path) -> anyhow::Result<Destination> {
        self.out.destination(input, None)
    }

    /// Whether nothing is written.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Writes what a model has become, or shows the changes.
    pub(crate) fn put(
        &self,
        destination: &Destination,
        input: &Input,
        loaded: &Loaded,
        became: &mut Loaded,
        session: &mut Session,
        work: Work,
    ) -> anyhow::Result<Status> {
        if self.dry_run {
            drop(work);
            output::to_people(&changes(input, loaded, became))?;
            return Ok(Status::Clean);
        }
        let written = emit(destination, input, became, session, &work)?;
        drop(work);
        Ok(written)
    }
}

/// The diff of the text of a model.
pub(crate) fn changes(input: &Input, old: &Loaded, new: &Loaded) -> String {
    let elide = (input.form != Form::Text).then_some(SHOWN);
    let options = RaiseOptions { elide, visible: true, ..RaiseOptions::default() };
    let before = match input.form {
        Form::Text => input.text().to_owned(),
        Form::Binary | Form::Json | Form::Textproto => Text::new(&old.model, &options).to_text(),
    };
    let after = Text::commented(&new.model, &options, &new.comments()).to_text();
    diff(&before, &after, &input.name)
}
