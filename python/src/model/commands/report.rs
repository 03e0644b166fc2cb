//! Reports of what a command has changed.

use crate::finding::Finding;
use crate::model::findings;
use onnx_ir::pass::Report;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The changes of a method: `str(report)` is `2 nodes removed, 1 node replaced`, and `bool(report)` tells whether anything has changed.
#[pyclass(name = "Report", module = "onnxtxt", frozen)]
pub(crate) struct PyReport {
    pub(super) report: Report,
    pub(super) found: Vec<Finding>,
}

#[pymethods]
impl PyReport {
    /// The changes as tuples `(count, noun, verb)`.
    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.report.changes.iter().map(|change| (change.count, change.noun, change.verb)))
    }

    /// Findings about changes that could not be made, or not as expected.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        findings(py, self.found.clone())
    }

    fn __bool__(&self) -> bool {
        self.report.is_changed()
    }

    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<onnxtxt.Report {}>", self.report)
    }
}
