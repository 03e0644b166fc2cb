//! Sessions, which run models.

mod class;
mod feeds;
mod interrupt;
mod operator;
mod outputs;
mod port;
mod profile;
mod ready;

pub(crate) use interrupt::{ask_here, interruptible, watched};
pub(crate) use operator::{compile, operators};

use crate::array::dictionary;
use crate::model::warn;
use onnx_exec::Executable;
use onnxtxt::Loaded;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ready::{Ready, RunArgs};

/// A model that can be run, also by several threads at once. `Session` can do more.
#[pyclass(name = "Executable", module = "onnxtxt", frozen)]
pub(crate) struct PyExecutable(Ready);

impl PyExecutable {
    pub(crate) fn new(executable: Executable<'static>, loaded: Loaded) -> PyExecutable {
        PyExecutable(Ready::new(executable, loaded))
    }
}

#[pymethods]
impl PyExecutable {
    /// The names of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.0.input_names()
    }

    /// The names of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.0.output_names()
    }

    /// Computes the outputs for inputs by name: arrays, which must not change before it returns. Raises `Error` if a type or shape does
    /// not fit, and `TimeoutError` after `timeout` seconds.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.compile().run({"x": np.array([-1, 2], np.float32)}, threads=1)
    /// {'y': array([1., 0.], dtype=float32)}
    #[pyo3(signature = (inputs, *, threads = None, seed = 0, timeout = None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyDict>,
        threads: Option<usize>,
        seed: u64,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let args = RunArgs { threads, seed, timeout, ..RunArgs::default() };
        let results = self.0.run_dict(inputs, &args)?;
        dictionary(py, self.0.output_names().into_iter().zip(results))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyExecutable>()?;
    module.add_class::<class::PySession>()?;
    module.add_class::<port::PyPort>()
}

/// The models that a session computes with, see [`Ready`]; warnings are those of Python.
pub(super) fn hear(py: Python<'_>, warnings: Vec<String>) -> PyResult<()> {
    warnings.iter().try_for_each(|warning| warn(py, warning))
}
