//! Inputs and outputs of a session.

use crate::array::dtype_of;
use onnx_exec::Executable;
use onnx_ir::{DimValue, ElemType, Model, Port, TypeId, TypeKind, type_text};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// An input or output of a session: `name`, `shape`, `type` as in ONNX Runtime, and `dtype`.
#[pyclass(name = "Port", module = "onnxtxt", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PyPort {
    /// The name.
    #[pyo3(get)]
    name: String,
    /// The type as ONNX Runtime writes it: `tensor(float)`, `seq(tensor(int64))`; empty if none is declared.
    #[pyo3(get, name = "type")]
    kind: String,
    /// The type as the text writes it, with the shape: `float[N,3]`.
    #[pyo3(get)]
    text: String,
    /// Whether a run may leave it out, because the model has a value for it.
    #[pyo3(get)]
    has_default: bool,
    shape: Option<Vec<Size>>,
    elem: Option<ElemType>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Size {
    Known(i64),
    Symbol(String),
    Unknown,
}

#[pymethods]
impl PyPort {
    /// The sizes of a tensor: a number, a symbol, or `None` for a size that is not known. `None` if the rank is not known or it is not
    /// a tensor.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(shape) = &self.shape else { return Ok(None) };
        let sizes: PyResult<Vec<_>> = shape
            .iter()
            .map(|size| match size {
                Size::Known(size) => size.into_bound_py_any(py),
                Size::Symbol(symbol) => symbol.into_bound_py_any(py),
                Size::Unknown => Ok(py.None().into_bound(py)),
            })
            .collect();
        Ok(Some(PyList::new(py, sizes?)?))
    }

    /// NumPy's type of the elements of a tensor; `None` for other types.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.elem.map(|elem| Ok(dtype_of(py, elem)?.into_any())).transpose()
    }

    fn __repr__(&self) -> String {
        format!("<onnxtxt.Port {}>", self.shown())
    }
}

impl PyPort {
    /// Type and name, as in the text.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.text, self.name)
    }

    pub(super) fn of(executable: &Executable<'_>, port: &Port) -> PyPort {
        let model = executable.model();
        let tensor = port.ty.and_then(|ty| match &model.types[ty].kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => Some(tensor),
            _ => None,
        });
        let size = |dim: &onnx_ir::Dim| match dim.value {
            DimValue::Value(size @ 0..) => Size::Known(size),
            DimValue::Param(symbol) if !model.names[symbol].is_empty() => {
                Size::Symbol(model.names[symbol].to_string())
            }
            DimValue::Value(_) | DimValue::Param(_) | DimValue::Unknown => Size::Unknown,
        };
        PyPort {
            name: model.text(port.name).to_owned(),
            kind: port.ty.map(|ty| kind(model, ty)).unwrap_or_default(),
            text: port.ty.map_or_else(|| "?".to_owned(), |ty| type_text(model, ty)),
            has_default: executable.has_default(port),
            shape: tensor.and_then(|ty| Some(ty.shape.as_ref()?.iter().map(size).collect())),
            elem: tensor.and_then(|ty| ty.elem),
        }
    }
}

/// A type as ONNX Runtime writes it.
fn kind(model: &Model, ty: TypeId) -> String {
    let inner = |ty: &Option<TypeId>| ty.map(|ty| kind(model, ty)).unwrap_or_default();
    let name = |elem: Option<ElemType>| elem.and_then(ElemType::name).unwrap_or("undefined");
    match &model.types[ty].kind {
        TypeKind::Unset => String::new(),
        TypeKind::Tensor(tensor) => format!("tensor({})", name(tensor.elem)),
        TypeKind::SparseTensor(tensor) => format!("sparse_tensor({})", name(tensor.elem)),
        TypeKind::Sequence(ty) => format!("seq({})", inner(ty)),
        TypeKind::Optional(ty) => format!("optional({})", inner(ty)),
        TypeKind::Map { key, value } => format!("map({},{})", name(*key), inner(value)),
        TypeKind::Opaque { domain, name } => {
            format!("opaque({},{})", model.text(*domain), model.text(*name))
        }
    }
}
