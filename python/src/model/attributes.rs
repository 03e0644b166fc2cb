//! Attributes of nodes as a mapping: typed values in Python, converted by the schema of the operator.

use super::graph::PyGraph;
use super::node::PyNode;
use super::state::{Shared, State};
use super::tensor::{array_of, stored};
use bytes::Bytes;
use onnx_ir::diag::did_you_mean;
use onnx_ir::{
    Attr, AttrType, AttrValue, Body, BodyId, GraphId, Model, Names, NodeId, SparseTensor, Tensor, TensorId,
    TypeId, normalize_domain,
};
use onnx_ops::opset::registry_of;
use onnx_ops::schema::{Lookup, Schema};
use onnx_text::{RaiseOptions, print_type, read_type};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::sync::Arc;

/// The value of an attribute that is that of a parameter of the function around the node: `Parameter(name, type)`.
#[pyclass(name = "Parameter", module = "onnxtxt", frozen, eq, hash, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Parameter {
    /// The name of the parameter.
    name: String,
    /// The type of the attribute: `int`, `float`, `string`, `tensor`, `graph`, `ints`, …
    #[pyo3(name = "type")]
    ty: String,
}

#[pymethods]
impl Parameter {
    #[new]
    fn new(name: String, r#type: String) -> PyResult<Parameter> {
        if AttrType::from_name(&r#type).is_none() {
            let known: Vec<&str> = AttrType::ALL.iter().filter_map(|ty| ty.name()).collect();
            let message =
                format!("unknown attribute type `{}`, expected one of {}", r#type, known.join(", "));
            return Err(PyValueError::new_err(message));
        }
        Ok(Parameter { name, ty: r#type })
    }

    fn __repr__(&self) -> String {
        format!("Parameter({:?}, {:?})", self.name, self.ty)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Parameter { name, ty } = slf.get();
        Ok((slf.get_type().into_any(), (name, ty).into_pyobject(slf.py())?))
    }
}

/// A value for an attribute, before it is in a model.
#[derive(Clone)]
pub(crate) enum Given {
    Float(f32),
    Int(i64),
    String(Bytes),
    Tensor(Tensor),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Bytes>),
    Tensors(Vec<Tensor>),
    Graph(GraphId),
    Graphs(Vec<GraphId>),
    Type(String),
    Parameter(String, AttrType),
}

/// The type of a Python object, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

fn expected(name: &str, what: &str, object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("attribute `{name}`: expected {what}, not {}", type_name(object)))
}

fn float(name: &str, object: &Bound<'_, PyAny>) -> PyResult<f32> {
    let number: f64 = object.extract().map_err(|_| expected(name, "a float", object))?;
    #[expect(clippy::cast_possible_truncation, reason = "attributes are floats of 32 bits")]
    Ok(number as f32)
}

fn int(name: &str, object: &Bound<'_, PyAny>) -> PyResult<i64> {
    if object.is_instance_of::<PyFloat>() {
        return Err(expected(name, "an int", object));
    }
    object.extract().map_err(|error: PyErr| {
        let is_type = error.is_instance_of::<PyTypeError>(object.py());
        if is_type { expected(name, "an int", object) } else { error }
    })
}

fn bytes(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Bytes::copy_from_slice(text.to_str()?.as_bytes()));
    }
    match object.cast::<PyBytes>() {
        Ok(bytes) => Ok(Bytes::copy_from_slice(bytes.as_bytes())),
        Err(_) => Err(expected(name, "a str or bytes", object)),
    }
}

fn graph(name: &str, object: &Bound<'_, PyAny>) -> PyResult<GraphId> {
    match object.cast::<PyGraph>() {
        Ok(graph) => Ok(graph.get().id()),
        Err(_) => Err(expected(name, "a graph that was made for this node by `Node.add_graph`", object)),
    }
}

/// The elements of a list, tuple or array of one dimension.
fn items<'py>(name: &str, what: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(expected(name, what, object));
    }
    let items = object.try_iter().map_err(|_| expected(name, what, object))?;
    items.collect()
}

impl Given {
    /// Converts an object to an attribute of this type, or of the type that the object suggests.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>, ty: Option<AttrType>) -> PyResult<Given> {
        if let Ok(parameter) = object.cast::<Parameter>() {
            let Parameter { name, ty } = parameter.get();
            return Ok(Given::Parameter(name.clone(), AttrType::from_name(ty).unwrap_or(AttrType::INT)));
        }
        let Some(ty) = ty else { return Given::guess(name, object) };
        let list = |what: &str| items(name, what, object);
        Ok(match ty {
            AttrType::FLOAT => Given::Float(float(name, object)?),
            AttrType::INT => Given::Int(int(name, object)?),
            AttrType::STRING => Given::String(bytes(name, object)?),
            AttrType::TENSOR => Given::Tensor(stored(object)?),
            AttrType::GRAPH => Given::Graph(graph(name, object)?),
            AttrType::FLOATS => {
                let floats = list("a list of floats")?;
                Given::Floats(floats.iter().map(|item| float(name, item)).collect::<PyResult<_>>()?)
            }
            AttrType::INTS => {
                let ints = list("a list of ints")?;
                Given::Ints(ints.iter().map(|item| int(name, item)).collect::<PyResult<_>>()?)
            }
            AttrType::STRINGS => {
                let strings = list("a list of str")?;
                Given::Strings(strings.iter().map(|item| bytes(name, item)).collect::<PyResult<_>>()?)
            }
            AttrType::TENSORS => {
                let tensors = list("a list of arrays")?;
                Given::Tensors(tensors.iter().map(stored).collect::<PyResult<_>>()?)
            }
            AttrType::GRAPHS => {
                let graphs = list("a list of graphs")?;
                Given::Graphs(graphs.iter().map(|item| graph(name, item)).collect::<PyResult<_>>()?)
            }
            AttrType::TYPE_PROTO => Given::Type(object.extract()?),
            other => {
                let ty = other.name().unwrap_or("unknown");
                let message = format!("attribute `{name}` of type {ty} cannot be set from Python");
                return Err(PyTypeError::new_err(message));
            }
        })
    }

    /// The attribute that an object suggests.
    fn guess(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Given> {
        if object.is_instance_of::<PyBool>() || object.is_instance_of::<PyInt>() {
            return Ok(Given::Int(int(name, object)?));
        }
        if object.is_instance_of::<PyFloat>() {
            return Ok(Given::Float(float(name, object)?));
        }
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Ok(Given::String(bytes(name, object)?));
        }
        if object.is_instance_of::<PyGraph>() {
            return Ok(Given::Graph(graph(name, object)?));
        }
        let numpy = object.py().import("numpy")?;
        if object.is_instance(&numpy.getattr("ndarray")?)?
            || object.is_instance(&numpy.getattr("generic")?)?
        {
            return Ok(Given::Tensor(stored(object)?));
        }
        let list = items(name, "an int, a float, a str, bytes, an array or a list of them", object)?;
        let all = |is: &dyn Fn(&Bound<'_, PyAny>) -> bool| !list.is_empty() && list.iter().all(is);
        let ty = if all(&|item| item.is_instance_of::<PyInt>()) {
            AttrType::INTS
        } else if all(&|item| item.is_instance_of::<PyInt>() || item.is_instance_of::<PyFloat>()) {
            AttrType::FLOATS
        } else if all(&|item| item.is_instance_of::<PyString>() || item.is_instance_of::<PyBytes>()) {
            AttrType::STRINGS
        } else if list.is_empty() {
            let message = format!("attribute `{name}`: the type of an empty list is not known");
            return Err(PyTypeError::new_err(message));
        } else {
            return Err(expected(name, "a list of ints, floats or str", object));
        };
        Given::of(name, object, Some(ty))
    }

    /// Puts the attribute into a node of a model.
    pub(crate) fn put(self, model: &mut Model, body: BodyId, node: NodeId, name: &str) -> PyResult<()> {
        let ty = match &self {
            Given::Type(text) => Some(type_of(model, text)?),
            _ => None,
        };
        let Model { names, bodies, .. } = model;
        let body = &mut bodies[body];
        let attr = self.attr(names, body, name, ty);
        for &graph in attr.values.iter().flat_map(AttrValue::graphs) {
            body.graphs[graph].owner = Some(node);
        }
        let attrs = &mut body.nodes[node].attrs;
        match attrs.iter_mut().find(|known| known.name == attr.name) {
            Some(known) => *known = attr,
            None => attrs.push(attr),
        }
        Ok(())
    }

    fn attr(self, names: &mut Names, body: &mut Body, name: &str, ty: Option<TypeId>) -> Attr {
        let name = names.intern(name);
        let mut tensor = |tensor: Tensor| body.tensors.push(tensor);
        let value: AttrValue = match self {
            Given::Float(number) => number.into(),
            Given::Int(number) => number.into(),
            Given::String(bytes) => AttrValue::String(bytes),
            Given::Tensor(given) => AttrValue::Tensor(tensor(given)),
            Given::Floats(list) => list.into(),
            Given::Ints(list) => list.into(),
            Given::Strings(list) => list.into(),
            Given::Tensors(list) => AttrValue::Tensors(list.into_iter().map(tensor).collect()),
            Given::Graph(graph) => graph.into(),
            Given::Graphs(graphs) => AttrValue::Graphs(graphs),
            Given::Type(_) => match ty {
                Some(ty) => ty.into(),
                None => AttrValue::Types(Vec::new()),
            },
            Given::Parameter(parameter, ty) => return Attr::parameter(name, ty, names.intern(&parameter)),
        };
        Attr::new(name, value)
    }
}

/// The type that a text says, in the types of a model.
pub(crate) fn type_of(model: &mut Model, text: &str) -> PyResult<TypeId> {
    let read = read_type(text, model);
    match (read.value, read.diagnostics.iter().find(|found| found.is_error())) {
        (Some(ty), None) => Ok(ty),
        (_, found) => {
            let why = found.map_or_else(|| "nothing could be read".to_owned(), |found| found.message.clone());
            Err(PyValueError::new_err(format!("`{text}` is not a type: {why}")))
        }
    }
}

/// A type as text.
pub(crate) fn type_text(model: &Model, ty: TypeId) -> String {
    print_type(model, ty, &RaiseOptions::default())
}

/// The schema of an operator in a body, unless a function of the model has its name.
pub(crate) fn schema_of(model: &Model, body: BodyId, domain: &str, op: &str) -> Option<&'static Schema> {
    let is_function = model.functions.values().any(|function| {
        model.text(function.name) == op
            && normalize_domain(model.text(function.domain)) == normalize_domain(domain)
    });
    if is_function {
        return None;
    }
    let version = model.newest_import(body, domain)?;
    let registry = registry_of(model);
    match registry.lookup(domain, op, version) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::UnknownOperator | Lookup::UnknownDomain | Lookup::TooNew { .. } => None,
    }
}

/// The type of an attribute by a schema, or why the operator has none of this name.
pub(crate) fn attr_type(schema: Option<&Schema>, name: &str) -> PyResult<Option<AttrType>> {
    let Some(schema) = schema else { return Ok(None) };
    if let Some(attr) = schema.attr(name) {
        return Ok(Some(attr.ty));
    }
    let near = did_you_mean(name, schema.attrs.iter().map(|attr| &*attr.name));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if schema.attrs.is_empty() => "it has no attributes".to_owned(),
        None => format!(
            "it has {}",
            schema.attrs.iter().map(|a| format!("`{}`", a.name)).collect::<Vec<_>>().join(", ")
        ),
    };
    let (op, since) = (&schema.name, schema.since);
    Err(PyValueError::new_err(format!("`{op}` of version {since} has no attribute `{name}`: {help}")))
}

/// The attributes of a node, by name. Values are `int`, `float`, `str` (`bytes` if they are not UTF-8), arrays, `Graph`, lists of them,
/// types as text, and `Parameter` for an attribute whose value is that of the function around the node.
///
/// Assigning converts to the type that the operator declares.
#[pyclass(name = "Attributes", module = "onnxtxt", frozen)]
pub(crate) struct PyAttributes {
    node: PyNode,
}

/// An attribute as read from a model, to be converted when the model is not locked.
enum Read {
    Value(Plain),
    Array(BodyId, TensorId),
    Arrays(BodyId, Vec<TensorId>),
    Graph(GraphId),
    Graphs(Vec<GraphId>),
    Sparse(BodyId, Vec<SparseTensor>, bool),
}

enum Plain {
    None,
    Float(f32),
    Int(i64),
    String(Bytes),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Bytes>),
    Type(String),
    Types(Vec<String>),
    Parameter(Parameter),
}

fn read(state: &State, body: BodyId, attr: &Attr) -> Read {
    let model = state.model();
    if attr.reference.is_some() {
        let ty = attr.ty.and_then(AttrType::name).unwrap_or("undefined").to_owned();
        return Read::Value(Plain::Parameter(Parameter { name: model.text(attr.reference).to_owned(), ty }));
    }
    Read::Value(match attr.value() {
        None if attr.ty.is_some_and(AttrType::is_list) => Plain::Ints(Vec::new()),
        None => Plain::None,
        Some(AttrValue::Float(number)) => Plain::Float(*number),
        Some(AttrValue::Int(number)) => Plain::Int(*number),
        Some(AttrValue::String(bytes)) => Plain::String(bytes.clone()),
        Some(AttrValue::Tensor(tensor)) => return Read::Array(body, *tensor),
        Some(AttrValue::Graph(graph)) => return Read::Graph(*graph),
        Some(AttrValue::Floats(list)) => Plain::Floats(list.elements().collect()),
        Some(AttrValue::Ints(list)) => Plain::Ints(list.elements().collect()),
        Some(AttrValue::Strings(list)) => Plain::Strings(list.to_vec()),
        Some(AttrValue::Tensors(list)) => return Read::Arrays(body, list.clone()),
        Some(AttrValue::Graphs(list)) => return Read::Graphs(list.clone()),
        Some(AttrValue::Type(ty)) => Plain::Type(type_text(model, *ty)),
        Some(AttrValue::Types(list)) => Plain::Types(list.iter().map(|ty| type_text(model, *ty)).collect()),
        Some(AttrValue::SparseTensor(sparse)) => return Read::Sparse(body, vec![(**sparse).clone()], true),
        Some(AttrValue::SparseTensors(list)) => return Read::Sparse(body, list.clone(), false),
    })
}

fn text<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyAny> {
    match std::str::from_utf8(bytes) {
        Ok(text) => PyString::new(py, text).into_any(),
        Err(_) => PyBytes::new(py, bytes).into_any(),
    }
}

impl Plain {
    fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Plain::None => py.None().into_bound(py),
            Plain::Float(number) => PyFloat::new(py, f64::from(number)).into_any(),
            Plain::Int(number) => number.into_pyobject(py)?.into_any(),
            Plain::String(bytes) => text(py, &bytes),
            Plain::Floats(list) => PyList::new(py, list.into_iter().map(f64::from))?.into_any(),
            Plain::Ints(list) => PyList::new(py, list)?.into_any(),
            Plain::Strings(list) => PyList::new(py, list.iter().map(|bytes| text(py, bytes)))?.into_any(),
            Plain::Type(text) => text.into_pyobject(py)?.into_any(),
            Plain::Types(list) => PyList::new(py, list)?.into_any(),
            Plain::Parameter(parameter) => parameter.into_pyobject(py)?.into_any(),
        })
    }
}

impl PyAttributes {
    pub(crate) fn new(node: PyNode) -> PyAttributes {
        PyAttributes { node }
    }

    fn shared(&self) -> &Arc<Shared> {
        self.node.shared()
    }

    fn object<'py>(&self, py: Python<'py>, read: Read) -> PyResult<Bound<'py, PyAny>> {
        let shared = self.shared();
        let graph = |id: GraphId| self.node.nested(id).into_pyobject(py).map(Bound::into_any);
        Ok(match read {
            Read::Value(plain) => plain.object(py)?,
            Read::Array(body, tensor) => array_of(py, shared, body, tensor)?,
            Read::Arrays(body, list) => {
                let arrays = list.into_iter().map(|tensor| array_of(py, shared, body, tensor));
                PyList::new(py, arrays.collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Read::Graph(id) => graph(id)?,
            Read::Graphs(list) => {
                PyList::new(py, list.into_iter().map(graph).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Read::Sparse(body, list, is_one) => {
                let array = |tensor: Option<TensorId>| match tensor {
                    Some(tensor) => array_of(py, shared, body, tensor),
                    None => Ok(py.None().into_bound(py)),
                };
                let dict = |sparse: SparseTensor| {
                    let dict = PyDict::new(py);
                    dict.set_item("values", array(sparse.values)?)?;
                    dict.set_item("indices", array(sparse.indices)?)?;
                    dict.set_item("dims", PyTuple::new(py, sparse.dims.iter())?)?;
                    Ok(dict)
                };
                let mut dicts = list.into_iter().map(dict).collect::<PyResult<Vec<_>>>()?;
                match (is_one, dicts.pop()) {
                    (true, Some(one)) => one.into_any(),
                    (_, last) => {
                        dicts.extend(last);
                        PyList::new(py, dicts)?.into_any()
                    }
                }
            }
        })
    }

    fn find<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.shared().read(py, |state| {
            let node = self.node.get(state)?;
            let named = state.model().names.find(name);
            let attr = named.and_then(|name| node.attr(name));
            Ok::<_, PyErr>(attr.map(|attr| read(state, self.node.body(), attr)))
        })?;
        found.map(|read| self.object(py, read)).transpose()
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.shared().read(py, |state| {
            let node = self.node.get(state)?;
            Ok(node.attrs.iter().map(|attr| state.model().text(attr.name).to_owned()).collect())
        })
    }
}

#[pymethods]
impl PyAttributes {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.find(py, name)? {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// The value of an attribute, or `default` if the node does not have it. Defaults of operators are not looked up.
    ///
    /// >>> node = onnxtxt.parse_node("y = LeakyRelu <alpha = 0.5> (x)").model.graph.nodes[0]
    /// >>> node.attributes.get("alpha"), node.attributes.get("beta", 1.0)
    /// (0.5, 1.0)
    #[pyo3(signature = (name, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find(py, name)?.or(default))
    }

    fn __setitem__(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let ty = self.shared().read(py, |state| {
            let node = self.node.get(state)?;
            let model = state.model();
            let schema = schema_of(model, self.node.body(), model.text(node.domain), model.text(node.op));
            attr_type(schema, name)
        })?;
        let given = Given::of(name, value, ty)?;
        let (body, id) = (self.node.body(), self.node.id());
        self.shared().write(py, |state| {
            self.node.get(state)?;
            given.put(state.edit()?, body, id, name)
        })
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let (body, id) = (self.node.body(), self.node.id());
        let is_removed = self.shared().write(py, |state| {
            self.node.get(state)?;
            let model = state.edit()?;
            let named = model.names.find(name);
            Ok::<_, PyErr>(named.is_some_and(|name| model.bodies[body].nodes[id].remove_attr(name)))
        })?;
        if is_removed { Ok(()) } else { Err(PyKeyError::new_err(name.to_owned())) }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared().read(py, |state| Ok(self.node.get(state)?.attrs.len()))
    }

    fn __contains__(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(name) = name.extract::<String>() else { return Ok(false) };
        Ok(self.names(py)?.contains(&name))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.names(py)?)?.try_iter()?.into_any())
    }

    /// The names of the attributes.
    ///
    /// >>> node = onnxtxt.parse_node("y = LeakyRelu <alpha = 0.5> (x)").model.graph.nodes[0]
    /// >>> node.attributes.keys()
    /// ['alpha']
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.names(py)
    }

    /// The values of the attributes, in the order of the names.
    ///
    /// >>> node = onnxtxt.parse_node("y = LeakyRelu <alpha = 0.5> (x)").model.graph.nodes[0]
    /// >>> node.attributes.values()
    /// [0.5]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.names(py)?.iter().map(|name| self.__getitem__(py, name)).collect()
    }

    /// Pairs of names and values.
    ///
    /// >>> node = onnxtxt.parse_node("y = LeakyRelu <alpha = 0.5> (x)").model.graph.nodes[0]
    /// >>> node.attributes.items()
    /// [('alpha', 0.5)]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let item = |name: String| {
            let value = self.__getitem__(py, &name)?;
            Ok((name, value))
        };
        self.names(py)?.into_iter().map(item).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let dict = PyDict::new(py);
        for (name, value) in self.items(py)? {
            dict.set_item(name, value)?;
        }
        Ok(dict.repr()?.to_string())
    }
}
