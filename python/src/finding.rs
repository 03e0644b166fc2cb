//! Findings, and the exception of calls that have no result.

use onnxtxt::{Diagnostic, Loaded};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

pyo3::create_exception!(
    onnxtxt,
    OnnxtxtError,
    PyException,
    "A call has no result. The message has the findings as the program shows them."
);

/// A finding about a model.
#[pyclass(name = "Finding", module = "onnxtxt", frozen, eq)]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The code, such as `E0203`.
    #[pyo3(get)]
    code: String,
    /// `error` or `warning`.
    #[pyo3(get)]
    severity: &'static str,
    /// One sentence.
    #[pyo3(get)]
    message: String,
    /// The finding with its lines, as the program shows it.
    #[pyo3(get)]
    rendered: String,
}

#[pymethods]
impl Finding {
    fn __repr__(&self) -> String {
        format!("<{} {}: {}>", self.severity, self.code, self.message)
    }

    fn __str__(&self) -> String {
        self.rendered.clone()
    }
}

impl Finding {
    fn of(loaded: &Loaded, found: &Diagnostic) -> Finding {
        Finding {
            code: found.code.id.to_owned(),
            severity: found.severity.name(),
            message: found.message.clone(),
            rendered: loaded.render(found),
        }
    }

    pub(crate) fn all(loaded: &Loaded, found: &[Diagnostic]) -> Vec<Finding> {
        found.iter().map(|found| Finding::of(loaded, found)).collect()
    }
}

/// The exception for findings about a model.
pub(crate) fn refused(loaded: &Loaded, found: &[Diagnostic]) -> PyErr {
    let rendered: Vec<String> = found.iter().map(|found| loaded.render(found)).collect();
    OnnxtxtError::new_err(rendered.join("\n"))
}

/// The exception for a file that cannot be read or written.
pub(crate) fn unwritten(why: onnxtxt::Error) -> PyErr {
    let mut message = why.to_string();
    let mut cause = std::error::Error::source(&why);
    while let Some(why) = cause {
        message = format!("{message}: {why}");
        cause = why.source();
    }
    OnnxtxtError::new_err(message)
}

/// The exception for any other reason.
pub(crate) fn failed(why: impl std::fmt::Display) -> PyErr {
    OnnxtxtError::new_err(why.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<OnnxtxtError>())?;
    module.add_class::<Finding>()
}
