//! Shared code of commands that change a model.

use crate::emit::{OutArgs, emit};
use crate::input::{Input, Loaded};
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ir::pass::Report;
use onnxtxt::edit::relocate;
use std::path::Path;

/// One change of a model.
pub(crate) struct NamedChange<'s> {
    /// Its name, for messages.
    pub(crate) name: &'s str,
    /// Applies the change. `None`: the model must not be written.
    pub(crate) run: &'s dyn Fn(&mut Model) -> Made,
}

/// The result of a change.
pub(crate) struct Made {
    pub(crate) report: Report,
    /// Whether it was applied, so that there is something to write.
    pub(crate) is_done: bool,
}

/// Reads a model that is to be changed, and reports problems of the file. `None`: a part of it is lost.
pub(crate) fn open(file: &Path, session: &mut Session) -> anyhow::Result<Option<(Input, Loaded)>> {
    let input = Input::open(file)?;
    input.ensure_model()?;
    let loaded = input.load();
    findings::report(session, &loaded, &loaded.diagnostics);
    Ok((!loaded.is_partial()).then_some((input, loaded)))
}

/// Reads a model, applies changes step by step, and writes it.
pub(crate) fn change<'s>(
    file: &Path,
    out: &OutArgs,
    session: &mut Session,
    steps: impl FnOnce(&Model) -> anyhow::Result<Vec<NamedChange<'s>>>,
) -> anyhow::Result<Status> {
    let destination = out.destination(file)?;
    let work = Work::begin(session, format!("reading {}", file.display()));
    let Some((input, mut loaded)) = open(file, session)? else { return Ok(Status::Findings) };
    let mut status = Status::Clean;
    for step in steps(&loaded.model)? {
        work.now(step.name.to_owned());
        // Findings refer to places in the original model.
        let mut model = loaded.model.clone();
        let Made { mut report, is_done } = (step.run)(&mut model);
        relocate(&mut report.diagnostics, &model, &loaded.model);
        findings::report(session, &loaded, &report.diagnostics);
        status = status.and(Status::of(!report.diagnostics.iter().any(Diagnostic::is_error)));
        if !is_done {
            return Ok(Status::Findings);
        }
        session.note(&format!("{}: {report}", step.name));
        loaded = loaded.became(model);
    }
    let written = emit(&destination, &input, &mut loaded, session, &work)?;
    drop(work);
    Ok(written.and(status))
}
