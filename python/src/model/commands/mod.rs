//! The commands of the program that are about models, as methods with the names and options of its commands.
//!
//! A method that changes the model works on a copy, refuses a result with errors that the model does not have, and returns a
//! [`PyReport`](report::PyReport).

mod assemble;
mod change;
mod compare;
mod describe;
mod reduce;
mod report;
mod rewrite;
mod run;
mod selection;
mod show;
mod weights;

use super::{PyModel, complete, load};
use onnxtxt::Loaded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An argument that makes no sense.
fn invalid(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// A model that a caller gives: one, or something to read it from.
pub(crate) fn model_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    if let Ok(model) = object.cast::<PyModel>() {
        return Ok(model.get().snapshot(py));
    }
    let model = load(py, super::Source::of(object, super::StrIs::Path)?, None)?;
    Ok(model.snapshot(py))
}

/// A part that goes into a model, with its weights.
fn part_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    let mut part = model_of(py, object)?;
    complete(py, &mut part)?;
    Ok(part)
}

/// Pairs of names.
fn map_of(map: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let pairs = map.into_iter().flat_map(|map| map.iter());
    pairs.map(|(key, value)| Ok((key.extract()?, value.extract()?))).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<report::PyReport>()?;
    module.add_class::<compare::PyDifference>()
}
