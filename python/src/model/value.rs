//! Values of a model: inputs, initializers and results.

use super::attributes::{type_of, type_text};
use super::graph::PyGraph;
use super::node::PyNode;
use super::operand::{Operand, operands};
use super::state::{Removed, Shared, State};
use super::tensor::array_of;
use crate::array::{dtype_of, has_dtype};
use onnx_ir::{
    BodyId, Cursor, Declaration, DimValue, ElemType, EntityId as _, GraphId, Model, Port, TensorId, TypeId,
    TypeKind, Use, ValueDef, ValueId,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

/// A value of a graph: an input, an initializer, or a result of a node. A view that stays valid while its value is part of the model. Two
/// views of one value are equal.
#[pyclass(name = "Value", module = "onnxtxt", frozen, weakref)]
#[derive(Clone)]
pub(crate) struct PyValue {
    shared: Arc<Shared>,
    generation: u64,
    body: BodyId,
    value: ValueId,
}

/// The value of a body that has a name.
pub(crate) fn find_value(model: &Model, body: BodyId, name: &str) -> Option<ValueId> {
    let name = model.names.find(name)?;
    let is_it = |value: &onnx_ir::Value| value.name == name && !matches!(value.def, ValueDef::Unbound(_));
    model.bodies[body].values.iter().find(|(_, value)| is_it(value)).map(|(id, _)| id)
}

/// The stored tensor of an initializer.
pub(crate) fn tensor_of(state: &State, body: BodyId, value: ValueId) -> Option<TensorId> {
    let uses = state.uses(body);
    let body = &state.model().bodies[body];
    uses.declarations(value).iter().find_map(|declaration| match *declaration {
        Declaration::Initializer(graph, i) => Some(body.graphs[graph].initializers.get(i as usize)?.tensor),
        _ => None,
    })
}

/// The declarations with a type: those of inputs, outputs and `value_info`.
fn ports(state: &State, id: BodyId, value: ValueId) -> Vec<&Port> {
    let uses = state.uses(id);
    let body = &state.model().bodies[id];
    let declared = uses.declarations(value).iter().filter_map(|declaration| match *declaration {
        Declaration::Input(graph, i) => body.graphs[graph].inputs.get(i as usize),
        Declaration::ValueInfo(graph, i) => body.graphs[graph].value_info.get(i as usize),
        Declaration::Initializer(..) | Declaration::SparseInitializer(..) => None,
    });
    let outputs = uses.of_value(value).iter().filter_map(|user| match *user {
        Use::Output(graph, i) => body.graphs[graph].outputs.get(i as usize),
        Use::Input(..) => None,
    });
    declared.chain(outputs).collect()
}

/// The known type of a value.
enum Known {
    Declared(TypeId),
    Stored(ElemType, Vec<i64>),
}

fn known(state: &State, body: BodyId, value: ValueId) -> Option<Known> {
    if let Some(ty) = ports(state, body, value).iter().find_map(|port| port.ty) {
        return Some(Known::Declared(ty));
    }
    let tensor = &state.model().bodies[body].tensors[tensor_of(state, body, value)?];
    Some(Known::Stored(tensor.elem?, tensor.dims.to_vec()))
}

/// The element type of a tensor, as far as it is declared.
pub(crate) fn elem_type(state: &State, body: BodyId, value: ValueId) -> Option<ElemType> {
    match known(state, body, value)? {
        Known::Stored(elem, _) => Some(elem),
        Known::Declared(ty) => match &state.model().types[ty].kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => tensor.elem,
            _ => None,
        },
    }
}

/// A dimension in Python: a number, a symbol, or `None`.
#[derive(IntoPyObject)]
enum Dim {
    Size(i64),
    Symbol(String),
    Unknown(Option<i64>),
}

impl PyValue {
    pub(crate) fn new(shared: &Arc<Shared>, generation: u64, body: BodyId, value: ValueId) -> PyValue {
        PyValue { shared: shared.clone(), generation, body, value }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn body(&self) -> BodyId {
        self.body
    }

    pub(crate) fn id(&self) -> ValueId {
        self.value
    }

    /// The value in the model, if it is still there.
    pub(crate) fn get(&self, state: &State) -> PyResult<onnx_ir::Value> {
        state.ensure_generation(self.generation, "value")?;
        state.ensure_there(Removed::Value(self.body, self.value))?;
        Ok(state.model().bodies[self.body].values[self.value])
    }

    fn node(&self, node: onnx_ir::NodeId) -> PyNode {
        PyNode::new(&self.shared, self.generation, self.body, node)
    }

    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State, onnx_ir::Value) -> R) -> PyResult<R> {
        self.shared.read(py, |state| {
            let value = self.get(state)?;
            Ok(read(state, value))
        })
    }

    fn change_port(
        &self,
        py: Python<'_>,
        change: impl Fn(&mut Port, &mut Model) + Send + Sync,
    ) -> PyResult<()> {
        self.shared.write(py, |state| {
            let value = self.get(state)?;
            let uses = state.uses(self.body);
            let home = home_of(state, self.body, self.value);
            let model = state.edit()?;
            let mut taken = std::mem::take(&mut model.bodies[self.body].graphs);
            let mut count = 0;
            for &declaration in uses.declarations(self.value) {
                let port = match declaration {
                    Declaration::Input(graph, i) => taken[graph].inputs.get_mut(i as usize),
                    Declaration::ValueInfo(graph, i) => taken[graph].value_info.get_mut(i as usize),
                    Declaration::Initializer(..) | Declaration::SparseInitializer(..) => None,
                };
                port.into_iter().for_each(|port| {
                    change(port, model);
                    count += 1;
                });
            }
            for &user in uses.of_value(self.value) {
                if let Use::Output(graph, i) = user
                    && let Some(port) = taken[graph].outputs.get_mut(i as usize)
                {
                    change(port, model);
                    count += 1;
                }
            }
            if count == 0 {
                let mut port = Port { name: Some(value.name), value: Some(self.value), ..Port::default() };
                change(&mut port, model);
                if let Some(graph) = home {
                    taken[graph].value_info.push(port);
                }
            }
            model.bodies[self.body].graphs = taken;
            Ok(())
        })
    }
}

/// The graph that defines a value.
fn home_of(state: &State, body: BodyId, value: ValueId) -> Option<GraphId> {
    match state.model().bodies[body].values[value].def {
        ValueDef::Input(graph) | ValueDef::Initializer(graph) | ValueDef::Unbound(graph) => Some(graph),
        ValueDef::Output(node, _) => state.graph_of(body, node),
    }
}

#[pymethods]
impl PyValue {
    /// The name of the value. Assigning renames it with everything that refers to it by name.
    ///
    /// Raises `ValueError` if another value of the model's graph or function has the name.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state, value| state.model().names[value.name].to_owned())
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.shared.write(py, |state| {
            let value = self.get(state)?;
            if &state.model().names[value.name] == name {
                return Ok(());
            }
            if name.is_empty() {
                return Err(PyValueError::new_err("a value needs a name, which `` is not"));
            }
            if find_value(state.model(), self.body, name).is_some() {
                return Err(PyValueError::new_err(format!("a value has the name `{name}` already")));
            }
            let uses = state.uses(self.body);
            let model = state.edit()?;
            let name = model.names.intern(name);
            Cursor::new(model, self.body).rename(&uses, self.value, name);
            Ok(())
        })
    }

    /// The type as text, such as `float[N,3]` or `seq(int64)`; `None` if it is not declared, which `Model.infer` changes. Assigning declares
    /// it.
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |state, _| {
            Some(match known(state, self.body, self.value)? {
                Known::Declared(ty) => type_text(state.model(), ty),
                Known::Stored(elem, dims) => {
                    let dims: Vec<usize> =
                        dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
                    onnx_ir::dense_type_text(elem, &dims)
                }
            })
        })
    }

    #[setter]
    fn set_type(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        let ty = self.shared.write(py, |state| {
            self.get(state)?;
            type_of(state.edit()?, text)
        })?;
        self.change_port(py, |port, _| port.ty = Some(ty))
    }

    /// The shape as a tuple of sizes, symbols (`str`) and `None` for unknown sizes; `None` if the rank is not declared. `()` is a scalar.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let dims = self.read(py, |state, _| {
            let model = state.model();
            Some(match known(state, self.body, self.value)? {
                Known::Stored(_, dims) => dims.into_iter().map(Dim::Size).collect::<Vec<_>>(),
                Known::Declared(ty) => {
                    let (TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor)) = &model.types[ty].kind
                    else {
                        return None;
                    };
                    let dim = |dim: &onnx_ir::Dim| match dim.value {
                        DimValue::Unknown => Dim::Unknown(None),
                        DimValue::Value(size) => Dim::Size(size),
                        DimValue::Param(name) => Dim::Symbol(model.names[name].to_owned()),
                    };
                    tensor.shape.as_ref()?.iter().map(dim).collect()
                }
            })
        })?;
        dims.map(|dims| PyTuple::new(py, dims)).transpose()
    }

    /// The NumPy type of the elements of a tensor; `None` if it is not declared, or if the value is not a tensor. `object` for strings.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let elem = self.read(py, |state, _| elem_type(state, self.body, self.value))?;
        elem.filter(|elem| has_dtype(*elem)).map(|elem| Ok(dtype_of(py, elem)?.into_any())).transpose()
    }

    /// The node that computes the value; `None` for inputs, initializers and undefined values.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.value_named("h").producer().op_type, model.graph.value_named("x").producer()
    /// ('Neg', None)
    fn producer(&self, py: Python<'_>) -> PyResult<Option<PyNode>> {
        self.read(py, |_, value| match value.def {
            ValueDef::Output(node, _) => Some(self.node(node)),
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
        })
    }

    /// The position among the results of the producer; `None` if there is none.
    #[getter]
    fn index(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.read(py, |_, value| match value.def {
            ValueDef::Output(_, i) => Some(i),
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
        })
    }

    /// The nodes that read the value, as pairs `(node, index of the operand)`, nested graphs included. `is_output` tells whether it is an
    /// output of a graph.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> [(node.op_type, index) for node, index in model.graph.value_named("h").uses()]
    /// [('Relu', 0)]
    fn uses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let uses = self.read(py, |state, _| {
            let uses = state.uses(self.body);
            let pair = |user: &Use| match *user {
                Use::Input(node, i) => Some((self.node(node), i)),
                Use::Output(..) => None,
            };
            uses.of_value(self.value).iter().filter_map(pair).collect::<Vec<_>>()
        })?;
        PyList::new(py, uses)
    }

    /// Whether the value is an input of a graph.
    #[getter]
    fn is_input(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |_, value| matches!(value.def, ValueDef::Input(_)))
    }

    /// Whether the value is an output of a graph.
    #[getter]
    fn is_output(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state, _| {
            state.uses(self.body).of_value(self.value).iter().any(|user| matches!(user, Use::Output(..)))
        })
    }

    /// Whether the value is an initializer, which may be an input with a default as well.
    #[getter]
    fn is_initializer(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |state, _| tensor_of(state, self.body, self.value).is_some())
    }

    /// The stored array of an initializer, which shares the memory of the model and cannot be written; `None` for other values. External
    /// data is mapped when it is first asked for.
    #[getter]
    fn const_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let tensor = self.read(py, |state, _| tensor_of(state, self.body, self.value))?;
        tensor.map(|tensor| array_of(py, &self.shared, self.body, tensor)).transpose()
    }

    /// The graph that defines the value.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<Option<PyGraph>> {
        let home = self.read(py, |state, _| home_of(state, self.body, self.value))?;
        Ok(home.map(|graph| PyGraph::new(&self.shared, self.generation, self.body, graph)))
    }

    /// The documentation of an input, an output or an entry of `value_info`.
    #[getter]
    fn doc_string(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state, _| {
            let doc = ports(state, self.body, self.value).iter().find_map(|port| port.doc);
            state.model().text(doc).to_owned()
        })
    }

    #[setter]
    fn set_doc_string(&self, py: Python<'_>, doc_string: &str) -> PyResult<()> {
        self.change_port(py, |port, model| port.doc = super::node::optional_name(model, doc_string))
    }

    /// Lets everything that reads this value read another one. Returns whether this value is unused now.
    ///
    /// An output of a graph keeps its name: the other value takes it over. It is not changed if the other value is not computed in that
    /// graph, or is an output itself: then the result is false.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.value_named("h").replace_all_uses_with("x")
    /// True
    /// >>> model.graph.nodes[1].inputs[0].name
    /// 'x'
    fn replace_all_uses_with(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let given = operands(value, &self.shared)?;
        self.shared.write(py, |state| {
            self.get(state)?;
            let Some(home) = home_of(state, self.body, self.value) else { return Ok(false) };
            let new = Operand::resolve_all(given, state, self.generation, (self.body, home), None)?;
            let [Some(new)] = new[..] else {
                return Err(PyValueError::new_err("expected one value in place of the other"));
            };
            if new == self.value {
                return Ok(false);
            }
            let uses = state.uses(self.body);
            let model = state.edit()?;
            Ok(Cursor::new(model, self.body).replace_uses(&uses, self.value, new))
        })
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let ty = self.r#type(py)?;
        Ok(ty.map_or_else(String::new, |ty| ty + " ") + &self.name(py)?)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.__str__(py) {
            Ok(text) => format!("<onnxtxt.Value {text}>"),
            Err(_) => "<onnxtxt.Value that was removed>".to_owned(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyValue>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.shared, &other.shared)
                && (self.generation, self.body, self.value) == (other.generation, other.body, other.value)
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.shared).addr(), self.generation, self.body.index(), self.value.index())
            .hash(&mut hasher);
        hasher.finish()
    }
}
