//! Arrays that results are written to.

use super::memory;
use super::types::{elem_of, part_of_byte};
use crate::finding::failed;
use numpy::{PyArrayDescrMethods as _, PyUntypedArray, PyUntypedArrayMethods as _};
use onnx_exec::OutputMemory;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The memory of an array for a result, where layout and type allow a run to write there; `None` where the result has to be copied.
///
/// Raises `TypeError` for what is not an array, and `ValueError` for one that cannot be written to.
pub(crate) fn output_memory(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Option<OutputMemory>> {
    let Ok(array) = array.cast::<PyUntypedArray>() else {
        let kind = array.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "the array for result `{name}` is {kind}, expected a numpy.ndarray, or None for a new one"
        )));
    };
    super::input::refuse_masks(array)?;
    if !array.getattr("flags")?.getattr("writeable")?.extract::<bool>()? {
        return Err(PyValueError::new_err(format!("the array for result `{name}` cannot be written to")));
    }
    let ty = array.dtype();
    let Some(elem) = elem_of(&ty)? else { return Ok(None) };
    let is_plain = array.is_c_contiguous() && ty.is_native_byteorder() != Some(false) && array.len() > 0;
    // NumPy and tensors have other bits above those of elements of less than a byte.
    if !is_plain || part_of_byte(elem).is_some() {
        return Ok(None);
    }
    let Some(elements) = memory::writable_elements(array, ty.itemsize()) else { return Ok(None) };
    OutputMemory::new(elem, array.shape(), elements).map(Some).map_err(failed)
}

/// Copies a result into an array of its type and shape.
pub(crate) fn copy_to(name: &str, from: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<()> {
    let numpy = from.py().import("numpy")?;
    // Sequences, maps and optionals.
    if from.cast::<PyUntypedArray>().is_err() {
        let kind = from.get_type().name()?;
        return Err(PyTypeError::new_err(format!("result `{name}` is a {kind}, which an array cannot hold")));
    }
    let (is, there) = (shown(from)?, shown(to)?);
    if is != there {
        return Err(failed(format!("output `{name}` is {is}, but the memory for it is {there}")));
    }
    numpy.call_method1("copyto", (to, from)).map(|_| ())
}

/// Type and shape of an array.
fn shown(array: &Bound<'_, PyAny>) -> PyResult<String> {
    let ty: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    Ok(format!("{ty}{}", array.getattr("shape")?.str()?))
}
