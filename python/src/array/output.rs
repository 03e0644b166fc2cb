//! Values as Python has them.

use super::memory;
use super::types::{number_type, part_of_byte};
use crate::finding::failed;
use onnx_exec::{Tensor, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Elements up to so many bytes are copied into memory of NumPy: that is faster than an owner for them.
const SMALL: usize = 1 << 10;
/// The interpreter is released for copies from so many bytes on.
pub(super) const LARGE: usize = 1 << 16;

/// A value as Python has it. The memory of a tensor becomes that of the array.
pub(crate) fn from_value<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Tensor(tensor) => into_array(py, tensor)?,
        Value::Sequence(values) => {
            let list = PyList::empty(py);
            for value in values.iter() {
                list.append(from_value(py, value.clone())?)?;
            }
            list.into_any()
        }
        Value::Map(map) => {
            let keys = into_array(py, map.keys.clone())?.call_method0("tolist")?;
            let dict = PyDict::new(py);
            for (key, value) in keys.try_iter()?.zip(map.values.iter()) {
                let is_scalar = matches!(value, Value::Tensor(tensor) if tensor.rank() == 0);
                let value = from_value(py, value.clone())?;
                // As in ONNX Runtime: numbers, not arrays of rank 0.
                dict.set_item(key?, if is_scalar { value.call_method0("item")? } else { value })?;
            }
            dict.into_any()
        }
        Value::Optional(None) => py.None().into_bound(py),
        Value::Optional(Some(value)) => from_value(py, (*value).clone())?,
    })
}

/// An array of a tensor that others have too: its elements are copied.
pub(crate) fn to_array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    into_array(py, tensor.clone())
}

/// A tensor as an array that can be written to. Elements are copied if they are few or if the memory is shared.
fn into_array<'py>(py: Python<'py>, mut tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    if tensor.is_strings() {
        let texts = PyList::new(py, tensor.string_slice().map_err(failed)?)?;
        let objects = py.import("numpy")?.call_method1("array", (texts, "object"))?;
        return objects.call_method1("reshape", (tensor.dims().to_vec(),));
    }
    let ty = number_type(py, tensor.elem())?;
    if let Some((bits, true)) = part_of_byte(tensor.elem()) {
        // The bits above are zero in NumPy, and copies of the sign in tensors.
        let low = (1u8 << bits) - 1;
        py.detach(|| tensor.bytes_mut().map(|bytes| bytes.iter_mut().for_each(|byte| *byte &= low)))
            .map_err(failed)?;
    }
    if tensor.bytes().len() <= SMALL {
        return memory::copied(py, ty, tensor.dims(), tensor.bytes());
    }
    if tensor.bytes().len() >= LARGE {
        // If the memory is shared, it is copied here.
        tensor = py.detach(|| tensor.bytes_mut().map(|_| ()).map(|()| tensor)).map_err(failed)?;
    }
    memory::moved(py, ty, tensor)
}
