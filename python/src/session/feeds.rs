//! The values of a run from the arguments of Python.

use crate::array::{Expected, about, to_value};
use onnx_exec::Value;
use onnx_ir::{Model, TypeId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// An input, with its name as Python has it, so that no string is made in a run.
pub(super) struct InputPort {
    pub(super) name: Py<PyString>,
    pub(super) ty: Option<TypeId>,
}

/// The values of a dictionary in the order of the inputs, and how many there are.
pub(super) fn feed(
    inputs: &[InputPort],
    model: &Model,
    feeds: &Bound<'_, PyDict>,
) -> PyResult<(Vec<Option<Value>>, usize)> {
    let (py, mut count) = (feeds.py(), 0);
    let mut given = Vec::with_capacity(inputs.len());
    for input in inputs {
        let name = input.name.bind(py);
        let value = match feeds.get_item(name)? {
            Some(object) => {
                count += 1;
                let expected = input.ty.map_or(Expected::Any, |ty| Expected::Type(model, ty));
                let value = to_value(&object, expected);
                Some(value.map_err(|why| about(py, &name.to_string_lossy(), why))?)
            }
            None => None,
        };
        given.push(value);
    }
    Ok((given, count))
}
