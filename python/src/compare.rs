//! Results of two runs, compared.

use crate::array::named;
use crate::finding::failed;
use crate::model::{PyModel, object_of};
use onnxtxt::compare::{OutputComparison, Tolerance};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

/// Compares results by name with expected ones: the lines of `onnxtxt verify`, and its JSON. `models` decide the tolerance that is left open.
#[pyfunction]
#[pyo3(signature = (results, expected, *, rtol = None, atol = None, models = None))]
fn _compare<'py>(
    py: Python<'py>,
    results: &Bound<'py, PyDict>,
    expected: &Bound<'py, PyDict>,
    rtol: Option<f64>,
    atol: Option<f64>,
    models: Option<Vec<Py<PyModel>>>,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let models: Vec<_> = models.unwrap_or_default().iter().map(|model| model.get().snapshot(py)).collect();
    let tolerance = Tolerance::new(rtol, atol).for_models(models.iter().map(|loaded| &loaded.model));
    let (results, expected) = (named(results)?, named(expected)?);
    let mut pairs = Vec::with_capacity(expected.len());
    for (name, expected) in &expected {
        match results.iter().find(|(other, _)| other == name) {
            Some((_, result)) => pairs.push((name, result, expected)),
            None => return Err(failed(format!("there is no result `{name}` to compare"))),
        }
    }
    let compared: Vec<OutputComparison> = py.detach(|| {
        pairs
            .iter()
            .map(|(name, result, expected)| OutputComparison::of(name, result, expected, &tolerance))
            .collect()
    });
    let text = compared.iter().map(OutputComparison::text).collect();
    Ok((text, object_of(py, &compared.iter().map(OutputComparison::json).collect::<Json>())?))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_compare, module)?)
}
