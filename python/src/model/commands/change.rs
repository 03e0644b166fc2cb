//! Edits of a model on a copy: a result with errors that the model does not have is refused.

use super::report::PyReport;
use crate::finding::{Finding, refused, with_findings};
use crate::model::PyModel;
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ir::pass::compact;
use onnxtxt::Loaded;
use onnxtxt::edit::{Edited, Incoming, new_errors, relocate};
use pyo3::prelude::*;

/// An edit on a copy of a model, whose ids are in the order of its text. Returns what the model becomes, and the report.
pub(super) fn edited(
    mut loaded: Loaded,
    others: Vec<Loaded>,
    run: impl FnOnce(&mut Model, &[Incoming]) -> PyResult<Edited>,
) -> PyResult<(Loaded, PyReport)> {
    let lost = loaded.lost_parts();
    if !lost.is_empty() {
        return Err(refused(&loaded, &lost));
    }
    let mut model = loaded.model.clone();
    let others: Vec<Incoming> = others.into_iter().map(|other| loaded.adopt(other)).collect();
    let mut report = match run(&mut model, &others)? {
        Ok(report) => report,
        Err(mut found) => {
            relocate(&mut found, &model, &loaded.model);
            return Err(refused(&loaded, &found));
        }
    };
    relocate(&mut report.diagnostics, &model, &loaded.model);
    let found = Finding::all(&loaded, &report.diagnostics);
    if report.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(with_findings(found));
    }
    // So that findings about the result have places.
    compact(&mut model);
    let (new, _) = new_errors(&loaded.model, &model);
    let became = loaded.became(model);
    if !new.is_empty() {
        return Err(refused(&became, &new));
    }
    Ok((became, PyReport { report, found }))
}

impl PyModel {
    pub(super) fn change(
        &self,
        py: Python<'_>,
        name: &'static str,
        run: impl FnOnce(&mut Model) -> PyResult<Edited> + Send,
    ) -> PyResult<PyReport> {
        self.change_with(py, name, Vec::new(), |model, _| run(model))
    }

    pub(super) fn change_with(
        &self,
        py: Python<'_>,
        name: &'static str,
        others: Vec<Loaded>,
        run: impl FnOnce(&mut Model, &[Incoming]) -> PyResult<Edited> + Send,
    ) -> PyResult<PyReport> {
        self.shared.write_watched(py, |state| {
            let (became, report) = edited(state.in_order(), others, run)?;
            state.replace(became, name);
            Ok(report)
        })?
    }
}

impl PyModel {
    /// A model that a command made, which has no text of its own.
    pub(crate) fn edited(py: Python<'_>, loaded: Loaded) -> PyModel {
        let model = PyModel::of(loaded.clone());
        model.shared.write(py, |state| state.replace(loaded, "extract"));
        model
    }
}
