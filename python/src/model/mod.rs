//! Models.

use crate::finding::{Finding, refused, unwritten};
use crate::session::PyExecutable;
use bytes::Bytes;
use onnx_exec::CompileOptions;
use onnxtxt::{Diagnostic, Form, Level, Loaded, Purpose, SaveOptions, broken_rules};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::CString;
use std::path::PathBuf;

/// A model. `str(model)` is its text.
#[pyclass(name = "Model", module = "onnxtxt")]
pub(crate) struct PyModel(pub(crate) Loaded);

/// Opens a model in any form: text, binary, JSON or textproto, detected from its content. Mistakes in it are findings of `check`.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<PyModel> {
    Ok(PyModel(py.detach(|| onnxtxt::open(path)).map_err(unwritten)?))
}

/// Parses a model from text. Mistakes in it are findings of `check`.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, text: &str) -> PyModel {
    PyModel(py.detach(|| onnxtxt::parse(text)))
}

/// Decodes a model from bytes, such as `onnx.ModelProto.SerializeToString()`.
#[pyfunction]
pub(crate) fn decode(py: Python<'_>, content: &[u8]) -> PyModel {
    let content = Bytes::copy_from_slice(content);
    PyModel(py.detach(|| onnxtxt::decode(content)))
}

/// Warns as Python does, with a `UserWarning`.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let message = CString::new(message.replace('\0', "\\0"))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)
}

fn level(name: &str) -> PyResult<Level> {
    Ok(match name {
        "syntax" => Level::Syntax,
        "spec" => Level::Spec,
        "types" => Level::Types,
        "strict" => Level::Strict,
        _ => {
            let message = format!("unknown level `{name}`, expected syntax, spec, types or strict");
            return Err(PyValueError::new_err(message));
        }
    })
}

#[pymethods]
impl PyModel {
    /// All findings up to a level (`syntax`, `spec`, `types`, `strict`), in the order of the text.
    #[pyo3(signature = (level = "types"))]
    fn check(&self, py: Python<'_>, level: &str) -> PyResult<Vec<Finding>> {
        let level = self::level(level)?;
        Ok(py.detach(|| Finding::all(&self.0, &self.0.check(level))))
    }

    /// Infers types and shapes and declares them. Returns findings about contradictions.
    fn infer(&mut self, py: Python<'_>) -> Vec<Finding> {
        py.detach(|| {
            let found = self.0.infer();
            Finding::all(&self.0, &found)
        })
    }

    /// The text of the model, with its comments.
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text())
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.text(py)
    }

    fn __repr__(&self) -> String {
        let nodes = self.0.model.walk_main().count();
        format!("<onnxtxt.Model {} with {nodes} nodes>", self.0.file().name)
    }

    /// The model in protobuf's encoding, for `onnx.load_from_string` and for runtimes. A model of which parts could not be read is
    /// refused, unless `partial` is true: those parts are lost.
    #[pyo3(signature = (*, partial = false))]
    fn to_bytes<'py>(&self, py: Python<'py>, partial: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            // Weights are shared, not copied.
            let mut loaded = self.0.clone();
            let found = loaded.load_weights();
            if !found.is_empty() {
                return Err(refused(&self.0, &found));
            }
            let options = SaveOptions { form: Some(Form::Binary), partial, ..SaveOptions::default() };
            let mut bytes = Vec::new();
            let saved = loaded.write_to(&mut bytes, &options).map_err(unwritten)?;
            if saved.is_written { Ok(bytes) } else { Err(refused(&self.0, &saved.losses)) }
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the model, in the form that the name of the file says, as a whole or not at all. A model of which parts could not be
    /// read is refused, unless `partial` is true: those parts are lost.
    #[pyo3(signature = (path, *, partial = false))]
    fn save(&mut self, py: Python<'_>, path: PathBuf, partial: bool) -> PyResult<()> {
        let options = SaveOptions { partial, ..SaveOptions::default() };
        let saved = py.detach(|| self.0.save_with(&path, &options)).map_err(unwritten)?;
        if saved.is_written { Ok(()) } else { Err(refused(&self.0, &saved.losses)) }
    }

    /// Prepares the model to be run. A model whose errors make its meaning unclear is refused, unless `unchecked` is true; other
    /// errors are a warning. With `exact`, floats of 16 bits are rounded after each node.
    #[pyo3(signature = (*, exact = false, unchecked = false))]
    fn compile(&self, py: Python<'_>, exact: bool, unchecked: bool) -> PyResult<PyExecutable> {
        let options = CompileOptions { exact, ..CompileOptions::default() };
        // A copy, so that several threads can compile at once; the data of tensors is shared.
        let mut loaded = self.0.clone();
        let made = py.detach(|| {
            let clear = if unchecked { Vec::new() } else { loaded.ensure_clear(Purpose::Inference)? };
            Ok::<_, Vec<Diagnostic>>((loaded.compile_unchecked(&options)?, clear))
        });
        match made {
            Ok((executable, clear)) => {
                if !clear.is_empty() {
                    let rules = broken_rules(&clear);
                    warn(py, &format!("the model breaks rules that leave its meaning clear: {rules}"))?;
                }
                Ok(PyExecutable::new(executable, loaded))
            }
            Err(found) => Err(refused(&loaded, &found)),
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyModel>()?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)
}
