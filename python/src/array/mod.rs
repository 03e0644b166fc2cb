//! Values as numpy arrays, and back. Elements are copied.

use crate::finding::failed;
use onnx_exec::{Tensor, Value};
use onnx_ir::ElemType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyByteArray, PyBytes, PyDict, PyList};

/// Element types, and numpy's names for them; the last ones are those of the package `ml_dtypes`.
const TYPES: &[(ElemType, &str)] = &[
    (ElemType::FLOAT, "float32"),
    (ElemType::DOUBLE, "float64"),
    (ElemType::FLOAT16, "float16"),
    (ElemType::INT8, "int8"),
    (ElemType::INT16, "int16"),
    (ElemType::INT32, "int32"),
    (ElemType::INT64, "int64"),
    (ElemType::UINT8, "uint8"),
    (ElemType::UINT16, "uint16"),
    (ElemType::UINT32, "uint32"),
    (ElemType::UINT64, "uint64"),
    (ElemType::BOOL, "bool"),
    (ElemType::COMPLEX64, "complex64"),
    (ElemType::COMPLEX128, "complex128"),
    (ElemType::BFLOAT16, "bfloat16"),
    (ElemType::FLOAT8E4M3FN, "float8_e4m3fn"),
    (ElemType::FLOAT8E4M3FNUZ, "float8_e4m3fnuz"),
    (ElemType::FLOAT8E5M2, "float8_e5m2"),
    (ElemType::FLOAT8E5M2FNUZ, "float8_e5m2fnuz"),
    (ElemType::FLOAT4E2M1, "float4_e2m1fn"),
    (ElemType::INT4, "int4"),
    (ElemType::UINT4, "uint4"),
];

/// An object as a tensor, by `numpy.asarray`.
pub(crate) fn to_tensor(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object,))?;
    let dims: Vec<usize> = array.getattr("shape")?.extract()?;
    let ty = array.getattr("dtype")?;
    let kind: String = ty.getattr("kind")?.extract()?;
    if matches!(&*kind, "U" | "O") {
        let texts: Vec<String> = array.call_method0("ravel")?.call_method0("tolist")?.extract()?;
        return Tensor::of_strings(&dims, texts).map_err(failed);
    }
    let name: String = ty.getattr("name")?.extract()?;
    let Some((elem, _)) = TYPES.iter().find(|(_, known)| *known == name) else {
        return Err(PyTypeError::new_err(format!("arrays of `{name}` have no ONNX type")));
    };
    // In the byte order of the machine, without a copy if it is so already.
    let no_copy = [("copy", false)].into_py_dict(object.py())?;
    let native = array.call_method("astype", (ty.call_method1("newbyteorder", ("=",))?,), Some(&no_copy))?;
    let bytes = native.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let mut tensor = Tensor::zeros(*elem, &dims).map_err(failed)?;
    let to = tensor.bytes_mut().map_err(failed)?;
    if to.len() != bytes.len() {
        return Err(failed(format!("{} bytes for a tensor of {}", bytes.len(), to.len())));
    }
    to.copy_from_slice(bytes);
    Ok(tensor)
}

/// A tensor as an array.
pub(crate) fn to_array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let dims = tensor.dims().to_vec();
    if tensor.is_strings() {
        let texts = PyList::new(py, tensor.string_slice().map_err(failed)?)?;
        return numpy.call_method1("array", (texts, "object"))?.call_method1("reshape", (dims,));
    }
    let Some((_, name)) = TYPES.iter().find(|(elem, _)| *elem == tensor.elem()) else {
        return Err(PyTypeError::new_err(format!("{} has no numpy type", tensor.type_text())));
    };
    let bytes = PyByteArray::new(py, tensor.bytes());
    if tensor.is_empty() {
        return numpy.call_method1("zeros", (dims, dtype(py, name)?));
    }
    numpy.call_method1("frombuffer", (bytes, dtype(py, name)?))?.call_method1("reshape", (dims,))
}

/// numpy's type of a name, or that of `ml_dtypes`.
fn dtype<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    if let Ok(known) = numpy.call_method1("dtype", (name,)) {
        return Ok(known);
    }
    let types = py
        .import("ml_dtypes")
        .map_err(|_| PyTypeError::new_err(format!("numpy has no `{name}`; install the package ml_dtypes")))?;
    numpy.call_method1("dtype", (types.getattr(name)?,))
}

/// A value: an array, a list of values for a sequence, `None` for an optional without a value.
pub(crate) fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Optional(None));
    }
    let array = object.py().import("numpy")?.getattr("ndarray")?;
    if let Ok(list) = object.cast::<PyList>()
        && !list.is_empty()
        && list.iter().all(|item| item.is_instance(&array).unwrap_or(false))
    {
        let values: PyResult<Vec<Value>> = list.iter().map(|item| to_value(&item)).collect();
        return Ok(Value::sequence(values?));
    }
    Ok(Value::Tensor(to_tensor(object)?))
}

/// A value as Python has it.
pub(crate) fn from_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Tensor(tensor) => to_array(py, tensor)?,
        Value::Sequence(values) => {
            let list = PyList::empty(py);
            for value in values.iter() {
                list.append(from_value(py, value)?)?;
            }
            list.into_any()
        }
        Value::Map(map) => {
            let keys = to_array(py, &map.keys)?.call_method0("tolist")?;
            let dict = PyDict::new(py);
            for (key, value) in keys.try_iter()?.zip(map.values.iter()) {
                dict.set_item(key?, from_value(py, value)?)?;
            }
            dict.into_any()
        }
        Value::Optional(None) => py.None().into_bound(py),
        Value::Optional(Some(value)) => from_value(py, value)?,
    })
}

/// Named values as a dictionary.
pub(crate) fn dictionary<'py, 'v>(
    py: Python<'py>,
    values: impl IntoIterator<Item = (&'v str, &'v Value)>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in values {
        dict.set_item(name, from_value(py, value)?)?;
    }
    Ok(dict)
}

/// The values of a dictionary.
pub(crate) fn named(dict: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    dict.iter().map(|(name, value)| Ok((name.extract()?, to_value(&value)?))).collect()
}
