//! Sources of models: paths, texts, bytes, buffers, open files, and messages of the package `onnx`.

use super::attributes::type_name;
use bytes::Bytes;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString};
use std::path::PathBuf;

/// Where content comes from.
pub(crate) enum Source {
    Path(PathBuf),
    Text(PyBackedStr),
    Bytes(Bytes),
}

/// The meaning of a `str`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrIs {
    Path,
    Text,
}

impl Source {
    /// The content of an object, without a copy of `bytes`.
    pub(crate) fn of(object: &Bound<'_, PyAny>, str_is: StrIs) -> PyResult<Source> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(match str_is {
                StrIs::Path => Source::Path(text.extract()?),
                StrIs::Text => Source::Text(text.clone().try_into()?),
            });
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Source::Bytes(Bytes::from_owner(PyBackedBytes::from(bytes.clone()))));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Source::Path(object.extract()?));
        }
        if object.hasattr("SerializeToString")? {
            let bytes = object.call_method0("SerializeToString")?;
            return Source::of(&bytes, StrIs::Text);
        }
        if object.hasattr("read")? {
            return Source::of(&object.call_method0("read")?, StrIs::Text);
        }
        let py = object.py();
        match py.import("builtins")?.getattr("memoryview")?.call1((object,)) {
            Ok(view) => Source::of(&view.call_method0("tobytes")?, StrIs::Text),
            Err(_) => {
                let message = format!(
                    "expected a path, a str, bytes, a buffer, an open file or a message of the package onnx, not {}",
                    type_name(object)
                );
                Err(PyTypeError::new_err(message))
            }
        }
    }
}
