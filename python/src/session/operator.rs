//! Operators that are functions of Python.

use crate::array::{Expected, dtype_of, elem_of_dtype, from_value, read_only, to_value};
use crate::finding::refused;
use crate::model::compiled;
use onnx_exec::{
    CompileOptions, CustomKernel, CustomNode, CustomOperator, CustomOperators, CustomType, Executable,
    Failure, Tensor, Value,
};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{AttrValue, Body, ElemType};
use onnxtxt::Loaded;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The exception of an operator that has ended the run of this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Forgets the exception of an earlier run.
pub(super) fn begin() {
    RAISED.with_borrow_mut(|raised| raised.take());
}

/// The exception that has ended a run, with a note about its node.
pub(super) fn raised(py: Python<'_>, found: &Diagnostic) -> Option<PyErr> {
    let raised = RAISED.with_borrow_mut(Option::take)?;
    // Notes exist since Python 3.11; without them, the exception is the same.
    _ = raised.value(py).call_method1("add_note", (format!("in a run of onnxtxt: {}", found.message),));
    Some(raised)
}

/// Prepares a model that may have operators of Python to be run.
pub(crate) fn compile(
    py: Python<'_>,
    loaded: &mut Loaded,
    options: &CompileOptions,
    unchecked: bool,
) -> PyResult<Executable<'static>> {
    begin();
    compiled(py, loaded, options, unchecked, |loaded, found| {
        let raised = found.first().and_then(|found| raised(py, found));
        raised.unwrap_or_else(|| refused(loaded, found))
    })
}

/// Keeps an exception until the run of this thread has ended.
fn keep(py: Python<'_>, why: PyErr) -> Failure {
    let message = why.value(py).to_string();
    let kind = why.get_type(py).name().map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    RAISED.with_borrow_mut(|raised| *raised = Some(why));
    Failure::new(if message.is_empty() { kind } else { format!("{kind}: {message}") })
}

/// The operators of a dictionary: from `(domain, name)` or `"domain.name"` to a function, or to an object with `prepare`.
pub(crate) fn operators(given: &Bound<'_, PyDict>) -> PyResult<CustomOperators> {
    let mut custom = CustomOperators::default();
    for item in given.items().iter() {
        let (key, function): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let (domain, name) = if let Ok(both) = key.extract::<(String, String)>() {
            both
        } else if let Ok(text) = key.extract::<String>() {
            match text.rsplit_once('.') {
                Some((domain, name)) => (domain.to_owned(), name.to_owned()),
                None => (String::new(), text),
            }
        } else {
            let kind = key.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "the name of an operator is {kind}, expected (domain, name) or \"domain.name\""
            )));
        };
        if !function.is_callable() && !function.hasattr("prepare")? {
            let kind = function.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "operator `{domain}.{name}` is {kind}, expected a function of arrays, or an object with `prepare`"
            )));
        }
        custom.insert(&domain, &name, Arc::new(Operator(function.unbind())));
    }
    Ok(custom)
}

/// An operator.
struct Operator(Py<PyAny>);

/// A node of an operator: a function, and the attributes that it is called with.
struct Function {
    function: Py<PyAny>,
    attributes: Option<Py<PyDict>>,
    /// A function from the types of inputs to those of outputs.
    infer: Option<Py<PyAny>>,
}

impl CustomOperator for Operator {
    fn kernel(&self, node: &CustomNode<'_>) -> Result<Arc<dyn CustomKernel>, Failure> {
        Python::attach(|py| {
            let made = attributes(py, node).and_then(|attributes| {
                let operator = self.0.bind(py);
                if !operator.hasattr("prepare")? {
                    let attributes = (!attributes.is_empty()).then(|| attributes.unbind());
                    return Ok(Function {
                        function: self.0.clone_ref(py),
                        attributes,
                        infer: inference(operator)?,
                    });
                }
                let body = node.body;
                let names = |values: &[Option<onnx_ir::ValueId>]| -> Vec<String> {
                    let name =
                        |value: &onnx_ir::ValueId| node.model.names[body.values[*value].name].to_string();
                    values.iter().map(|value| value.as_ref().map(name).unwrap_or_default()).collect()
                };
                let options = PyDict::new(py);
                options.set_item("domain", node.model.text(node.node.domain))?;
                options.set_item("op_type", node.model.text(node.node.op))?;
                options.set_item("name", node.model.text(node.node.name))?;
                options.set_item("inputs", names(&node.node.inputs))?;
                options.set_item("outputs", names(&node.node.outputs))?;
                options.set_item("attributes", attributes)?;
                let function = operator.call_method("prepare", (), Some(&options))?;
                let infer = inference(&function)?;
                Ok(Function { function: function.unbind(), attributes: None, infer })
            });
            match made {
                Ok(made) => Ok(Arc::new(made) as Arc<dyn CustomKernel>),
                Err(why) => Err(keep(py, why)),
            }
        })
    }
}

impl CustomKernel for Function {
    fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>, Failure> {
        Python::attach(|py| self.call(py, inputs).map_err(|why| keep(py, why)))
    }

    fn infer(&self, inputs: &[Option<(ElemType, &[usize])>]) -> Result<Option<Vec<CustomType>>, Failure> {
        let Some(infer) = &self.infer else { return Ok(None) };
        Python::attach(|py| self.inferred(infer.bind(py), inputs).map_err(|why| keep(py, why)))
    }
}

/// The function `infer` of an operator, if it has one.
fn inference(operator: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    Ok(operator.getattr_opt("infer")?.filter(|infer| !infer.is_none()).map(Bound::unbind))
}

impl Function {
    fn call(&self, py: Python<'_>, inputs: &[Option<Value>]) -> PyResult<Vec<Value>> {
        let arguments: PyResult<Vec<Bound<'_, PyAny>>> = inputs
            .iter()
            .map(|input| match input {
                None => Ok(py.None().into_bound(py)),
                // Others may use the memory.
                Some(Value::Tensor(tensor)) if !tensor.is_strings() => read_only(py, tensor),
                Some(value) => from_value(py, value.clone()),
            })
            .collect();
        let arguments = PyTuple::new(py, arguments?)?;
        let attributes = self.attributes.as_ref().map(|attributes| attributes.bind(py).copy()).transpose()?;
        let results = self.function.bind(py).call(arguments, attributes.as_ref())?;
        match results.cast::<PyTuple>() {
            Ok(results) => results.iter().map(|result| to_value(&result, Expected::Any)).collect(),
            Err(_) if results.is_none() => Err(PyTypeError::new_err(
                "an operator has returned None, expected an array or a tuple of arrays",
            )),
            Err(_) => Ok(vec![to_value(&results, Expected::Any)?]),
        }
    }
}

impl Function {
    /// The types of the outputs, for those of the inputs.
    fn inferred(
        &self,
        infer: &Bound<'_, PyAny>,
        inputs: &[Option<(ElemType, &[usize])>],
    ) -> PyResult<Option<Vec<CustomType>>> {
        let py = infer.py();
        let class = py.import("onnxtxt._operators")?.getattr("TensorType")?;
        let mut types = Vec::with_capacity(inputs.len());
        for input in inputs {
            types.push(match input {
                Some((elem, dims)) => class.call1((dtype_of(py, *elem)?, PyTuple::new(py, *dims)?))?,
                None => py.None().into_bound(py),
            });
        }
        let attributes = self.attributes.as_ref().map(|attributes| attributes.bind(py).copy()).transpose()?;
        let result = infer.call(PyTuple::new(py, types)?, attributes.as_ref())?;
        if result.is_none() {
            return Ok(None);
        }
        // One type is a pair itself.
        let is_list = result.is_instance_of::<PyList>()
            || result
                .cast::<PyTuple>()
                .is_ok_and(|all| all.get_item(0).is_ok_and(|one| one.is_instance_of::<PyTuple>()));
        let all = if is_list { result.try_iter()?.collect::<PyResult<Vec<_>>>()? } else { vec![result] };
        all.iter().map(tensor_type).collect::<PyResult<Vec<_>>>().map(Some)
    }
}

/// A type that an inference function returns.
fn tensor_type(pair: &Bound<'_, PyAny>) -> PyResult<CustomType> {
    let Ok((dtype, shape)) = pair.extract::<(Bound<'_, PyAny>, Vec<usize>)>() else {
        let shown = pair.repr()?;
        return Err(PyTypeError::new_err(format!(
            "inference has returned {shown}, expected a pair of a dtype and a shape, or a list of them, or None"
        )));
    };
    Ok((elem_of_dtype(&dtype)?, shape))
}

/// The attributes of a node by name; graphs are left out.
fn attributes<'py>(py: Python<'py>, node: &CustomNode<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for attr in &node.node.attrs {
        let value = match (attr.value(), attr.ty) {
            (Some(value), _) => attribute(py, node.body, value)?,
            (None, Some(ty)) if ty.is_list() => Some(PyList::empty(py).into_any()),
            (None, _) => None,
        };
        if let Some(value) = value {
            dict.set_item(node.model.text(attr.name), value)?;
        }
    }
    Ok(dict)
}

fn attribute<'py>(py: Python<'py>, body: &Body, value: &AttrValue) -> PyResult<Option<Bound<'py, PyAny>>> {
    let text = |bytes: &bytes::Bytes| match std::str::from_utf8(bytes) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, bytes).into_any(),
    };
    let tensor = |id: onnx_ir::TensorId| -> PyResult<Bound<'py, PyAny>> {
        let tensor = Tensor::stored(&body.tensors[id]).map_err(crate::finding::failed)?;
        crate::array::to_array(py, &tensor)
    };
    Ok(Some(match value {
        AttrValue::Float(x) => x.into_bound_py_any(py)?,
        AttrValue::Int(i) => i.into_bound_py_any(py)?,
        AttrValue::String(bytes) => text(bytes),
        AttrValue::Tensor(id) => tensor(*id)?,
        AttrValue::Floats(list) => PyList::new(py, list.iter().copied())?.into_any(),
        AttrValue::Ints(list) => PyList::new(py, list.iter().copied())?.into_any(),
        AttrValue::Strings(list) => PyList::new(py, list.iter().map(text))?.into_any(),
        AttrValue::Tensors(ids) => {
            let tensors: PyResult<Vec<_>> = ids.iter().map(|id| tensor(*id)).collect();
            PyList::new(py, tensors?)?.into_any()
        }
        _ => return Ok(None),
    }))
}
