//! Objects of Python as values.

use super::memory;
use super::types::{BYTES, OBJECT, STRING, UNICODE, dtype_of, elem_of, part_of_byte};
use crate::finding::failed;
use bytes::Bytes;
use numpy::{PyArrayDescrMethods as _, PyUntypedArray, PyUntypedArrayMethods as _};
use onnx_exec::{Map, Tensor, Value};
use onnx_ir::{ElemType, Model, TypeId, TypeKind};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::Arc;

/// The deepest nesting of lists and dictionaries.
const MAX_DEPTH: usize = 32;

/// The declared type of a value, which decides what lists and numbers of Python are.
#[derive(Clone, Copy)]
pub(crate) enum Expected<'m> {
    /// Nothing is declared.
    Any,
    /// A type of a model.
    Type(&'m Model, TypeId),
}

impl Expected<'_> {
    fn kind(&self) -> Option<&TypeKind> {
        match self {
            Expected::Any => None,
            Expected::Type(model, ty) => Some(&model.types[*ty].kind),
        }
    }

    /// The element type of tensors.
    fn elem(&self) -> Option<ElemType> {
        match self.kind()? {
            TypeKind::Tensor(ty) | TypeKind::SparseTensor(ty) => ty.elem,
            TypeKind::Optional(_) => self.inner().elem(),
            _ => None,
        }
    }

    /// The type of what is inside of a sequence, an optional or a map.
    fn inner(&self) -> Self {
        match (self, self.kind()) {
            (
                Expected::Type(model, _),
                Some(
                    TypeKind::Sequence(Some(ty))
                    | TypeKind::Optional(Some(ty))
                    | TypeKind::Map { value: Some(ty), .. },
                ),
            ) => Expected::Type(model, *ty),
            _ => Expected::Any,
        }
    }

    fn is_sequence(&self) -> bool {
        match self.kind() {
            Some(TypeKind::Sequence(_)) => true,
            Some(TypeKind::Optional(_)) => self.inner().is_sequence(),
            _ => false,
        }
    }
}

/// A value: an array (or what NumPy makes one of), a list for a sequence, a dictionary for a map, `None` for an optional without a
/// value. Tensors share the memory of arrays until the run ends.
pub(crate) fn to_value(object: &Bound<'_, PyAny>, expected: Expected<'_>) -> PyResult<Value> {
    value_at(object, expected, 0)
}

fn value_at(object: &Bound<'_, PyAny>, expected: Expected<'_>, depth: usize) -> PyResult<Value> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return tensor_of(array).map(Value::Tensor);
    }
    if depth > MAX_DEPTH {
        let message = format!("lists and dictionaries lie more than {MAX_DEPTH} deep in one another");
        return Err(PyValueError::new_err(message));
    }
    if object.is_none() {
        return Ok(Value::Optional(None));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return map(dict, expected, depth);
    }
    if let Ok(list) = object.cast::<PyList>()
        && (expected.is_sequence() || expected.kind().is_none() && is_of_values(list))
    {
        let inner = match expected.kind() {
            Some(TypeKind::Optional(_)) => expected.inner().inner(),
            _ => expected.inner(),
        };
        // The list may change meanwhile: by index, and no further than it goes.
        let mut values = Vec::with_capacity(list.len());
        let mut at = 0;
        while at < list.len() {
            values.push(value_at(&list.get_item(at)?, inner, depth + 1)?);
            at += 1;
        }
        return Ok(Value::sequence(values));
    }
    lent_tensor(object, expected.elem()).map(Value::Tensor)
}

/// Whether a list has values that are more than numbers: then it is a sequence.
fn is_of_values(list: &Bound<'_, PyList>) -> bool {
    let is_value = |item: &Bound<'_, PyAny>| {
        item.cast::<PyUntypedArray>().is_ok() || item.cast::<PyDict>().is_ok() || has_memory(item)
    };
    !list.is_empty() && list.iter().all(|item| is_value(&item))
}

fn map(dict: &Bound<'_, PyDict>, expected: Expected<'_>, depth: usize) -> PyResult<Value> {
    let py = dict.py();
    let wanted = match expected.kind() {
        Some(TypeKind::Map { key, .. }) => *key,
        _ => None,
    };
    let (keys, items): (Vec<_>, Vec<_>) = dict.iter().unzip();
    let keys = if keys.iter().all(|key| key.is_instance_of::<PyString>()) && !keys.is_empty() {
        let texts: PyResult<Vec<String>> = keys.iter().map(|key| key.extract()).collect();
        Tensor::of_strings(&[keys.len()], texts?).map_err(failed)?
    } else {
        let wanted = dtype_of(py, wanted.unwrap_or(ElemType::INT64))?;
        let array = py.import("numpy")?.call_method1("array", (keys, wanted))?;
        to_tensor(&array)?
    };
    let values: PyResult<Vec<Value>> =
        items.iter().map(|item| value_at(item, expected.inner(), depth + 1)).collect();
    let values = values?;
    if keys.dims() != [values.len()] {
        return Err(PyTypeError::new_err("the keys of a map must be strings or integers"));
    }
    Ok(Value::Map(Arc::new(Map { keys, values: values.into() })))
}

/// Whether an object shares its memory with others by a protocol.
fn has_memory(object: &Bound<'_, PyAny>) -> bool {
    object.hasattr("__dlpack__").unwrap_or(false) || object.hasattr("__array_interface__").unwrap_or(false)
}

/// An object as a tensor, which shares the memory of the object where layout and type allow it.
///
/// Numbers and lists of Python have the wanted type; for everything else, NumPy decides.
pub(crate) fn lent_tensor(object: &Bound<'_, PyAny>, wanted: Option<ElemType>) -> PyResult<Tensor> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return tensor_of(array);
    }
    let py = object.py();
    let numpy = py.import("numpy")?;
    let is_number = object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyBool>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>();
    let array = if is_number {
        match wanted {
            Some(elem) => numpy.call_method1("asarray", (object, dtype_of(py, elem)?)),
            None => numpy.call_method1("asarray", (object,)),
        }
    } else if object.hasattr("__dlpack__")? && !object.hasattr("__array_interface__")? {
        numpy.call_method1("from_dlpack", (object,)).or_else(|why| {
            // Arrays that NumPy cannot read by DLPack may have `__array__`.
            if object.hasattr("__array__")? { numpy.call_method1("asarray", (object,)) } else { Err(why) }
        })
    } else {
        numpy.call_method1("asarray", (object,))
    };
    let array = array.map_err(|why| {
        let kind = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        let told =
            PyTypeError::new_err(format!("{kind} is not an array and cannot be made one: {}", why.value(py)));
        told.set_cause(py, Some(why));
        told
    })?;
    tensor_of(array.cast::<PyUntypedArray>()?)
}

/// A tensor in memory of its own, for values that are kept longer than a run.
pub(crate) fn to_tensor(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let tensor = lent_tensor(object, None)?;
    object.py().detach(|| tensor.to_kept()).map_err(failed)
}

fn tensor_of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let py = array.py();
    refuse_masks(array)?;
    let ty = array.dtype();
    let Some(elem) = elem_of(&ty)? else {
        return match ty.num() {
            OBJECT | UNICODE | BYTES | STRING => strings(array),
            _ => {
                let name: String = ty.getattr("name")?.extract()?;
                Err(PyTypeError::new_err(format!(
                    "an array of {name} has no ONNX type: convert it with `astype`, for example to float32 or int64"
                )))
            }
        };
    };
    let is_plain = array.is_c_contiguous() && ty.is_native_byteorder() != Some(false);
    let bytes = if is_plain {
        memory::elements(array)
    } else {
        // NumPy releases the interpreter while it copies numbers.
        let options = [("order", "C")].into_py_dict(py)?;
        let native = ty.call_method1("newbyteorder", ("=",))?;
        let copied = array.call_method("astype", (native,), Some(&options))?;
        memory::elements(copied.cast::<PyUntypedArray>()?)
    };
    let bytes = match part_of_byte(elem) {
        Some((bits, is_signed)) => Bytes::from(py.detach(|| extended(&bytes, bits, is_signed))),
        None => bytes,
    };
    Tensor::lent(elem, array.shape(), bytes).map_err(failed)
}

/// Elements of less than a byte, of which NumPy ignores the bits above.
fn extended(bytes: &[u8], bits: u32, is_signed: bool) -> Vec<u8> {
    let above = 8 - bits;
    bytes
        .iter()
        .map(|&byte| match is_signed {
            true => ((byte << above) as i8 >> above) as u8,
            false => byte << above >> above,
        })
        .collect()
}

/// Masked arrays have no elements where they are masked.
pub(super) fn refuse_masks(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if !array.get_type().is(array.py().get_type::<PyUntypedArray>()) {
        let masked = array.py().import("numpy.ma")?.getattr("MaskedArray")?;
        if array.is_instance(&masked)? {
            return Err(PyTypeError::new_err(
                "a masked array has no elements where it is masked: pass `array.filled(value)`",
            ));
        }
    }
    Ok(())
}

/// A tensor of strings: of `str`, of `bytes` in UTF-8, of objects that are such, or of `StringDType`.
fn strings(array: &Bound<'_, PyUntypedArray>) -> PyResult<Tensor> {
    let items = array.call_method0("ravel")?.call_method0("tolist")?;
    let mut texts = Vec::new();
    for (at, item) in items.try_iter()?.enumerate() {
        let item = item?;
        texts.push(if let Ok(bytes) = item.extract::<&[u8]>() {
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| PyValueError::new_err(format!("element {at} of an array of bytes is not UTF-8")))?
                .to_owned()
        } else if item.is_instance_of::<PyString>() {
            item.extract::<String>()?
        } else {
            let kind = item.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "element {at} of an array of objects is {kind}, expected str: for numbers, give the array a type with `astype`"
            )));
        });
    }
    Tensor::of_strings(array.shape(), texts).map_err(failed)
}
