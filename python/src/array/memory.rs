//! Arrays over the memory of tensors, and tensors over the memory of arrays.

#![allow(
    unsafe_code,
    reason = "NumPy gives out and takes pointers; each use says who checked the bounds and who owns the memory"
)]

use bytes::Bytes;
use numpy::npyffi::{NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, npy_intp};
use numpy::npyffi::{NpyTypes, PY_ARRAY_API};
use numpy::{PyArrayDescr, PyArrayDescrMethods as _, PyUntypedArray, PyUntypedArrayMethods as _};
use onnx_exec::Tensor;
use pyo3::prelude::*;
use std::os::raw::c_int;
use std::ptr;
use std::slice;

/// The owner of the memory of an array that a run has computed.
#[pyclass(module = "onnxtxt", frozen)]
pub(crate) struct Memory {
    _tensor: Tensor,
}

/// The elements of an array, kept alive by the array.
struct Elements {
    data: *const u8,
    len: usize,
    _array: Py<PyUntypedArray>,
}

// SAFETY: the bytes are only read, and `_array` keeps them where they are. Reference counts are changed with the interpreter attached
// (or later, by PyO3).
unsafe impl Send for Elements {}

impl AsRef<[u8]> for Elements {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `elements` has checked that `len` bytes begin at `data`, and `_array` owns them. As for every library that takes
        // arrays, other threads must not write to an array while a call that reads it has not returned.
        unsafe { slice::from_raw_parts(self.data, self.len) }
    }
}

/// The elements of a C-contiguous array of numbers, in row-major order, without a copy.
pub(super) fn elements(array: &Bound<'_, PyUntypedArray>) -> Bytes {
    let len = array.len() * array.dtype().itemsize();
    if len == 0 || !array.is_c_contiguous() {
        return Bytes::new();
    }
    // SAFETY: the pointer is that of an array that exists.
    let data = unsafe { (*array.as_array_ptr()).data }.cast_const().cast::<u8>();
    // A contiguous array has `len` bytes from its first element on: NumPy checks that for every array that it makes.
    Bytes::from_owner(Elements { data, len, _array: array.clone().unbind() })
}

/// The elements of an array that a run writes to, kept alive by the array.
pub(super) struct WritableElements {
    data: *mut u8,
    len: usize,
    _array: Py<PyUntypedArray>,
}

// SAFETY: as for `Elements`; only the owner of the value reads or writes the bytes.
unsafe impl Send for WritableElements {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for WritableElements {}

impl AsRef<[u8]> for WritableElements {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `writable_elements` has checked that `len` bytes begin at `data`, and `_array` owns them.
        unsafe { slice::from_raw_parts(self.data, self.len) }
    }
}

impl AsMut<[u8]> for WritableElements {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the array is writable. Runs compare the addresses of all operands and results first, and other threads must
        // not use an array while a call that writes to it has not returned.
        unsafe { slice::from_raw_parts_mut(self.data, self.len) }
    }
}

/// The elements of a C-contiguous, writable array of numbers; `None` if they are not aligned for their type.
pub(super) fn writable_elements(array: &Bound<'_, PyUntypedArray>, size: usize) -> Option<WritableElements> {
    let len = array.len() * size;
    // SAFETY: the pointer is that of an array that exists.
    let data = unsafe { (*array.as_array_ptr()).data }.cast::<u8>();
    let is_aligned = data.addr().is_multiple_of(size.max(1));
    let is_whole = len > 0 && array.is_c_contiguous();
    (is_aligned && is_whole).then(|| WritableElements { data, len, _array: array.clone().unbind() })
}

/// NumPy's own type of a number of its C interface.
pub(super) fn builtin(py: Python<'_>, number: c_int) -> PyResult<Bound<'_, PyArrayDescr>> {
    // SAFETY: the function returns a new reference to a type, or null with an exception set.
    unsafe {
        let ty = PY_ARRAY_API.PyArray_DescrFromType(py, number);
        Ok(Bound::from_owned_ptr_or_err(py, ty.cast())?.cast_into_unchecked())
    }
}

/// An array of a type with a copy of these elements.
pub(super) fn copied<'py>(
    py: Python<'py>,
    ty: Bound<'py, PyArrayDescr>,
    dims: &[usize],
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let array = new(py, ty, dims, None)?;
    // SAFETY: NumPy has made a contiguous array, to which no other references exist yet, with room for the elements of this shape and type;
    // the length is compared before the copy.
    unsafe {
        let untyped = array.cast_unchecked::<PyUntypedArray>();
        let room = untyped.len() * untyped.dtype().itemsize();
        assert_eq!(room, bytes.len(), "an array has another size than its elements");
        let data = (*untyped.as_array_ptr()).data.cast::<u8>();
        ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
    }
    Ok(array)
}

/// An array over the memory of a tensor of this type, which becomes that of the array. The tensor must be the only one with it.
pub(super) fn moved<'py>(
    py: Python<'py>,
    ty: Bound<'py, PyArrayDescr>,
    mut tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    let dims = tensor.dims().to_vec();
    // Copies if the memory is shared, so that the array is the only one that sees it.
    let data = tensor.bytes_mut().map_err(crate::finding::failed)?.as_mut_ptr();
    let size = tensor.bytes().len();
    let owner = Bound::new(py, Memory { _tensor: tensor })?.into_any();
    over(py, ty, &dims, (data, size, NPY_ARRAY_WRITEABLE), owner)
}

/// An array over the memory of a tensor that others use, which cannot be written to.
pub(crate) fn read_only<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let ty = super::types::number_type(py, tensor.elem())?;
    let (data, size) = (tensor.bytes().as_ptr().cast_mut(), tensor.bytes().len());
    let owner = Bound::new(py, Memory { _tensor: tensor.clone() })?.into_any();
    over(py, ty, tensor.dims(), (data, size, 0), owner)
}

/// An array over `size` bytes at `data`, which `owner` keeps alive.
fn over<'py>(
    py: Python<'py>,
    ty: Bound<'py, PyArrayDescr>,
    dims: &[usize],
    (data, size, flags): (*mut u8, usize, c_int),
    owner: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let count: usize = dims.iter().product();
    assert_eq!(count * ty.itemsize(), size, "an array has another size than its memory");
    let array = new(py, ty, dims, Some((data, flags)))?;
    // SAFETY: the array is new and has no base; the function steals the reference to the owner, which keeps `data` alive and in its
    // place as long as the array exists: tensors do not move their elements.
    let failed = unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), owner.into_ptr()) };
    if failed != 0 { Err(PyErr::fetch(py)) } else { Ok(array) }
}

/// A contiguous array, over memory (with `NPY_ARRAY_WRITEABLE` or 0) or over new memory of its own.
fn new<'py>(
    py: Python<'py>,
    ty: Bound<'py, PyArrayDescr>,
    dims: &[usize],
    data: Option<(*mut u8, c_int)>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut dims: Vec<npy_intp> = dims.iter().map(|dim| *dim as npy_intp).collect();
    let rank = dims.len() as c_int;
    let (data, flags) = match data {
        Some((data, flags)) => (data.cast(), flags | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED),
        None => (ptr::null_mut(), 0),
    };
    // SAFETY: the function reads `rank` sizes, steals the reference to the type, and returns a new reference, or null with an exception
    // set. Callers ensure that `data` has room for the elements.
    unsafe {
        let class = PY_ARRAY_API.get_type_object(py, NpyTypes::PyArray_Type);
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            ty.into_dtype_ptr(),
            rank,
            dims.as_mut_ptr(),
            ptr::null_mut(),
            data,
            flags,
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}
