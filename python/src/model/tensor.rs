//! Stored tensors as arrays that share their memory, and arrays as stored tensors.

use super::state::{Shared, State};
use crate::array::{dtype_of, to_array, to_tensor};
use crate::finding::{Finding, failed, with_findings};
use bytes::Bytes;
use onnx_exec::Tensor as Computed;
use onnx_ir::{BodyId, ElemType, Field, Payload, Tensor, TensorId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The elements of a stored tensor: what the array over them keeps alive.
#[pyclass(name = "_Elements", module = "onnxtxt._native", frozen)]
pub(crate) struct Elements {
    bytes: Bytes,
    shape: Vec<i64>,
    typestr: &'static str,
}

#[pymethods]
impl Elements {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("typestr", self.typestr)?;
        dict.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        // Models may share the memory, and files may be mapped there: it is not written.
        dict.set_item("data", (self.bytes.as_ptr().addr(), true))?;
        Ok(dict)
    }
}

/// numpy's description of elements of whole bytes: those of another type with as many bytes, if numpy itself does not know the type.
fn typestr(elem: ElemType) -> Option<&'static str> {
    Some(match elem {
        ElemType::FLOAT => "<f4",
        ElemType::DOUBLE => "<f8",
        ElemType::FLOAT16 => "<f2",
        ElemType::INT8 => "|i1",
        ElemType::INT16 => "<i2",
        ElemType::INT32 => "<i4",
        ElemType::INT64 => "<i8",
        ElemType::UINT8 => "|u1",
        ElemType::UINT16 | ElemType::BFLOAT16 => "<u2",
        ElemType::UINT32 => "<u4",
        ElemType::UINT64 => "<u8",
        ElemType::BOOL => "|b1",
        ElemType::COMPLEX64 => "<c8",
        ElemType::COMPLEX128 => "<c16",
        other => return (other.bits() == Some(8)).then_some("|u1"),
    })
}

/// The bytes of a tensor, if they are those of its elements one after the other.
fn plain(tensor: &Tensor, elem: ElemType) -> Option<&Bytes> {
    let [Payload::Entries { field, bytes }] = &tensor.data[..] else { return None };
    let width = u64::from(elem.bits()? / 8);
    let is_plain = match field {
        Field::Raw => true,
        Field::Float => matches!(elem, ElemType::FLOAT | ElemType::COMPLEX64),
        Field::Double => matches!(elem, ElemType::DOUBLE | ElemType::COMPLEX128),
        Field::Int32 => elem == ElemType::INT32,
        Field::Int64 => elem == ElemType::INT64,
        Field::Uint64 => elem == ElemType::UINT64,
        Field::String => false,
    };
    let size = tensor.element_count()?.checked_mul(width)?;
    (is_plain && tensor.extra().segment.is_none() && size == bytes.len() as u64).then_some(bytes)
}

/// The memory of an array.
enum Source {
    Shared { elements: Elements, elem: ElemType },
    Copied(Computed),
}

fn source(tensor: &Tensor) -> PyResult<Source> {
    let elem = tensor.elem.unwrap_or(ElemType::UNDEFINED);
    if let (Some(typestr), Some(bytes)) = (typestr(elem), plain(tensor, elem)) {
        let elements = Elements { bytes: bytes.clone(), shape: tensor.dims.to_vec(), typestr };
        return Ok(Source::Shared { elements, elem });
    }
    Ok(Source::Copied(Computed::stored(tensor).map_err(failed)?))
}

/// A tensor of a model as an array, which cannot be written if it shares the memory of the model.
pub(crate) fn array_of<'py>(
    py: Python<'py>,
    model: &Shared,
    body: BodyId,
    tensor: TensorId,
) -> PyResult<Bound<'py, PyAny>> {
    let made = model.read(py, |state| {
        let stored = &state.model().bodies[body].tensors[tensor];
        (!stored.is_external()).then(|| source(stored))
    });
    let made = match made {
        Some(made) => made?,
        None => source(&model.read_long(py, |state| external(state, body, tensor))?)?,
    };
    match made {
        Source::Copied(tensor) => to_array(py, &tensor),
        Source::Shared { elements, elem } => {
            let numpy = py.import("numpy")?;
            let array = numpy.call_method1("asarray", (Bound::new(py, elements)?,))?;
            // A type of another package, over numbers of the same width.
            if is_foreign(elem) { array.call_method1("view", (dtype_of(py, elem)?,)) } else { Ok(array) }
        }
    }
}

/// Whether numpy itself does not know a type.
fn is_foreign(elem: ElemType) -> bool {
    elem == ElemType::BFLOAT16 || elem.name().is_some_and(|name| name.starts_with("float8"))
}

/// An external tensor with its data: files are mapped, so that only what is used is read.
fn external(state: &State, body: BodyId, tensor: TensorId) -> PyResult<Tensor> {
    let whole = state.with_weights();
    let (loaded, found) = &*whole;
    let tensor = &loaded.model.bodies[body].tensors[tensor];
    if tensor.is_external() {
        return Err(with_findings(Finding::all(state.loaded(), found)));
    }
    Ok(tensor.clone())
}

/// An object as a tensor to be stored: an array, or what `numpy.asarray` makes one of.
pub(crate) fn stored(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    to_tensor(object)?.to_stored().map_err(failed)
}
