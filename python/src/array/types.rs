//! Element types, and NumPy's types for them.

use super::memory;
use numpy::{PyArrayDescr, PyArrayDescrMethods as _};
use onnx_ir::ElemType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::os::raw::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The numbers of types that other packages register begin here.
const REGISTERED: c_int = 256;
/// The number of `StringDType`.
pub(super) const STRING: c_int = 2056;
/// The numbers of `object`, `bytes` and `str`.
pub(super) const OBJECT: c_int = 17;
pub(super) const BYTES: c_int = 18;
pub(super) const UNICODE: c_int = 19;

/// Element types, and NumPy's names for them; those after `complex128` are types of the package `ml_dtypes`.
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
    (ElemType::FLOAT8E8M0, "float8_e8m0fnu"),
    (ElemType::FLOAT6E2M3, "float6_e2m3fn"),
    (ElemType::FLOAT6E3M2, "float6_e3m2fn"),
    (ElemType::FLOAT4E2M1, "float4_e2m1fn"),
    (ElemType::INT4, "int4"),
    (ElemType::UINT4, "uint4"),
    (ElemType::INT2, "int2"),
    (ElemType::UINT2, "uint2"),
];

/// NumPy's own types: kind, bytes, and the number in its C interface.
const BUILTIN: &[(ElemType, u8, usize, c_int)] = &[
    (ElemType::FLOAT, b'f', 4, 11),
    (ElemType::DOUBLE, b'f', 8, 12),
    (ElemType::FLOAT16, b'f', 2, 23),
    (ElemType::INT8, b'i', 1, 1),
    (ElemType::INT16, b'i', 2, 3),
    (ElemType::INT32, b'i', 4, 5),
    (ElemType::INT64, b'i', 8, if size_of::<std::os::raw::c_long>() == 8 { 7 } else { 9 }),
    (ElemType::UINT8, b'u', 1, 2),
    (ElemType::UINT16, b'u', 2, 4),
    (ElemType::UINT32, b'u', 4, 6),
    (ElemType::UINT64, b'u', 8, if size_of::<std::os::raw::c_long>() == 8 { 8 } else { 10 }),
    (ElemType::BOOL, b'b', 1, 0),
    (ElemType::COMPLEX64, b'c', 8, 14),
    (ElemType::COMPLEX128, b'c', 16, 15),
];

/// Registered types that were seen: their numbers, and NumPy's objects for them.
static SEEN: Mutex<Vec<(ElemType, c_int, Py<PyArrayDescr>)>> = Mutex::new(Vec::new());

fn seen() -> MutexGuard<'static, Vec<(ElemType, c_int, Py<PyArrayDescr>)>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The element type of arrays of numbers of this type, if ONNX has one.
pub(super) fn elem_of(ty: &Bound<'_, PyArrayDescr>) -> PyResult<Option<ElemType>> {
    let number = ty.num();
    if number < REGISTERED {
        let (kind, size) = (ty.kind(), ty.itemsize());
        return Ok(BUILTIN.iter().find(|row| (row.1, row.2) == (kind, size)).map(|row| row.0));
    }
    if number == STRING {
        return Ok(None);
    }
    if let Some((elem, ..)) = seen().iter().find(|(_, known, _)| *known == number) {
        return Ok(Some(*elem));
    }
    // Out of the lock: this calls Python.
    let name: String = ty.getattr("name")?.extract()?;
    let row = TYPES.iter().find(|(_, known)| *known == name);
    if let Some((elem, _)) = row {
        seen().push((*elem, number, ty.clone().unbind()));
    }
    Ok(row.map(|(elem, _)| *elem))
}

/// The element type of what `numpy.dtype` makes a type of.
///
/// Raises `TypeError` if ONNX has no such type.
pub(crate) fn elem_of_dtype(dtype: &Bound<'_, PyAny>) -> PyResult<ElemType> {
    let ty = PyArrayDescr::new(dtype.py(), dtype.clone())?;
    match elem_of(&ty)? {
        Some(elem) => Ok(elem),
        None if matches!(ty.num(), OBJECT | UNICODE | STRING) => Ok(ElemType::STRING),
        None => Err(PyTypeError::new_err(format!("ONNX has no type for {}", ty.str()?))),
    }
}

/// NumPy's type of an element type of numbers.
pub(super) fn number_type<'py>(py: Python<'py>, elem: ElemType) -> PyResult<Bound<'py, PyArrayDescr>> {
    if let Some((.., number)) = BUILTIN.iter().find(|row| row.0 == elem) {
        return memory::builtin(py, *number);
    }
    if let Some((.., ty)) = seen().iter().find(|(known, ..)| *known == elem) {
        return Ok(ty.bind(py).clone());
    }
    let Some((_, name)) = TYPES.iter().find(|(known, _)| *known == elem) else {
        let name = elem.name().unwrap_or("?");
        return Err(PyTypeError::new_err(format!("NumPy has no type for {name}")));
    };
    let ty = PyArrayDescr::new(py, dtype(py, name)?)?;
    seen().push((elem, ty.num(), ty.clone().unbind()));
    Ok(ty)
}

/// NumPy's type of a name, or that of `ml_dtypes`.
fn dtype<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    if let Ok(known) = numpy.call_method1("dtype", (name,)) {
        return Ok(known);
    }
    let package = py.import("ml_dtypes").map_err(|_| {
        PyTypeError::new_err(format!("NumPy has no type {name}; install the package ml_dtypes"))
    })?;
    numpy.call_method1("dtype", (package.getattr(name)?,))
}

/// Whether NumPy, or the package `ml_dtypes`, has a type for an element type; strings are objects.
pub(crate) fn has_dtype(elem: ElemType) -> bool {
    elem == ElemType::STRING || TYPES.iter().any(|(known, _)| *known == elem)
}

/// NumPy's type of any element type; strings are objects.
pub(crate) fn dtype_of<'py>(py: Python<'py>, elem: ElemType) -> PyResult<Bound<'py, PyArrayDescr>> {
    if elem == ElemType::STRING { memory::builtin(py, OBJECT) } else { number_type(py, elem) }
}

/// The bits of types whose elements take a byte each, but use less; and whether they are signed.
pub(super) fn part_of_byte(elem: ElemType) -> Option<(u32, bool)> {
    let bits = elem.bits().filter(|bits| *bits < 8 && elem != ElemType::BOOL)?;
    Some((bits, matches!(elem, ElemType::INT4 | ElemType::INT2)))
}
