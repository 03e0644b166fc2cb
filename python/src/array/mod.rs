//! Values as NumPy arrays, and back: without a copy where layout and type allow it.

mod input;
mod into;
mod memory;
mod output;
mod types;

pub(crate) use input::{Expected, to_tensor, to_value};
pub(crate) use into::{copy_to, output_memory};
pub(crate) use memory::{Memory, read_only};
pub(crate) use output::{from_value, to_array};
pub(crate) use types::{dtype_of, elem_of_dtype, has_dtype};

use onnx_exec::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Named values as a dictionary.
pub(crate) fn dictionary<'py, N: AsRef<str>>(
    py: Python<'py>,
    values: impl IntoIterator<Item = (N, Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name.as_ref(), from_value(py, value)?)?;
    }
    Ok(dict)
}

/// The values of a dictionary.
pub(crate) fn named(dict: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    named_as(dict, |_| Expected::Any)
}

/// The values of a dictionary, with what is declared for a name.
pub(crate) fn named_as<'m>(
    dict: &Bound<'_, PyDict>,
    declared: impl Fn(&str) -> Expected<'m>,
) -> PyResult<Vec<(String, Value)>> {
    let entry = |item: Bound<'_, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(name) = name.extract::<String>() else {
            let kind = name.get_type().name()?;
            return Err(PyTypeError::new_err(format!("the name of an input is {kind}, expected str")));
        };
        let value = to_value(&value, declared(&name)).map_err(|why| about(dict.py(), &name, why))?;
        Ok((name, value))
    };
    // A copy: making arrays may call Python, which may change the dictionary.
    dict.items().iter().map(entry).collect()
}

/// An exception of the same type, with the name of the input in front.
pub(crate) fn about(py: Python<'_>, name: &str, why: PyErr) -> PyErr {
    if why.is_instance_of::<PyTypeError>(py) && why.get_type(py).is(py.get_type::<PyTypeError>()) {
        let told = PyTypeError::new_err(format!("input `{name}`: {}", why.value(py)));
        told.set_cause(py, why.cause(py));
        return told;
    }
    why
}

/// Registers the class of the owners of arrays.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Memory>()
}
