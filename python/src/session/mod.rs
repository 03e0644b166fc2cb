//! What runs models.

use crate::array::{dictionary, named};
use crate::finding::refused;
use crate::model::warn;
use onnx_exec::{Executable, RunOptions, Value};
use onnxtxt::{Diagnostic, Loaded};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// A model that can be run, also by several threads at once.
#[pyclass(name = "Executable", module = "onnxtxt", frozen)]
pub(crate) struct PyExecutable {
    executable: Executable<'static>,
    /// For the places of findings.
    loaded: Loaded,
}

impl PyExecutable {
    pub(crate) fn new(executable: Executable<'static>, loaded: Loaded) -> PyExecutable {
        PyExecutable { executable, loaded }
    }
}

#[pymethods]
impl PyExecutable {
    /// The names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        let model = self.executable.model();
        self.executable.inputs().iter().map(|port| model.text(port.name).to_owned()).collect()
    }

    /// The names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        let model = self.executable.model();
        self.executable.outputs().iter().map(|port| model.text(port.name).to_owned()).collect()
    }

    /// Computes the outputs for inputs by name.
    #[pyo3(signature = (inputs, *, threads = None, seed = 0))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        threads: Option<usize>,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inputs = named(inputs)?;
        let heard = Mutex::new(Vec::new());
        let hear = |warning: Diagnostic| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(warning.to_string());
        };
        let results: Vec<Value> = py.detach(|| {
            let mut options = RunOptions { seed, warn: Some(&hear), ..RunOptions::default() };
            if let Some(threads) = threads {
                options.threads = threads;
            }
            let inputs = inputs.iter().map(|(name, value)| (name.as_str(), value.clone()));
            let done = self.executable.inputs_by_name(inputs);
            let done = done.and_then(|inputs| self.executable.run(inputs, &options));
            done.map_err(|found| refused(&self.loaded, &[*found]))
        })?;
        for warning in heard.into_inner().unwrap_or_else(PoisonError::into_inner) {
            warn(py, &warning)?;
        }
        let model = self.executable.model();
        let names = self.executable.outputs().iter().map(|port| model.text(port.name));
        dictionary(py, names.zip(&results))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyExecutable>()
}
