//! The command `reduce`, whose search asks a Python function.

use super::invalid;
use crate::finding::refused;
use crate::model::PyModel;
use crate::progress::Progress;
use onnx_ir::Model;
use onnxtxt::Loaded;
use onnxtxt::reduce::{Oracle, Size, reduce};
use pyo3::prelude::*;

#[pymethods]
impl PyModel {
    /// The smallest model for which `fails(model)` is still true, by delta debugging. Candidates with errors are not tried, unless
    /// `may_have_errors` is true. `progress` shows how many candidates were tried: `True`, `False`, or a function of their number; by default,
    /// notebooks show it.
    ///
    /// Raises `ValueError` if `fails` is not true for this model; exceptions of `fails` end the search and are raised.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> small = model.reduce(lambda candidate: any(node.op_type == "Relu" for node in candidate.graph.nodes))
    /// >>> [node.op_type for node in small.graph.nodes]
    /// ['Relu']
    #[pyo3(signature = (fails, *, may_have_errors = false, progress = None))]
    fn reduce(
        &self,
        py: Python<'_>,
        fails: &Bound<'_, PyAny>,
        may_have_errors: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyModel> {
        let loaded = self.snapshot(py);
        let lost = loaded.lost_parts();
        if !lost.is_empty() {
            return Err(refused(&loaded, &lost));
        }
        let progress = Progress::begin(py, progress, "reduce", None)?;
        let mut oracle = Callback { of: self, loaded: &loaded, fails: fails.clone().unbind(), progress };
        py.detach(|| {
            if !oracle.fails(&loaded.model)? {
                return Err(invalid("the callback does not return true for the model itself"));
            }
            let reduced = reduce(&loaded.model, may_have_errors, &mut oracle);
            match reduced.stop {
                Some(error) => Err(error),
                None => Ok(reduced.model),
            }
        })
        .and_then(|model| PyModel::edited(py, loaded.became(model)).with_operators_of(py, self))
    }
}

/// A search that asks a Python function.
struct Callback<'l> {
    of: &'l PyModel,
    loaded: &'l Loaded,
    fails: Py<PyAny>,
    progress: Progress,
}

impl Oracle for Callback<'_> {
    type Stop = PyErr;

    fn fails(&mut self, candidate: &Model) -> Result<bool, PyErr> {
        Python::attach(|py| {
            py.check_signals()?;
            let model = PyModel::edited(py, self.loaded.became(candidate.clone()));
            let model = model.with_operators_of(py, self.of)?;
            let fails = self.fails.call1(py, (model,))?.bind(py).is_truthy()?;
            self.progress.advance()?;
            Ok(fails)
        })
    }

    fn found(&mut self, _: &Model, _: &Size) -> Result<(), PyErr> {
        Ok(())
    }
}
