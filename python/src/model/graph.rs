//! Graphs of a model: the main one, those of functions, and those in nodes.

use super::attributes::type_of;
use super::header::{entries, pairs, pairs_of, proxy};
use super::initializers::PyInitializers;
use super::node::{NewNode, Place, PyNode, new_domain, optional_name};
use super::nodes::PyNodes;
use super::operand::{Operand, operands};
use super::state::{Removed, Shared, State};
use super::value::{PyValue, find_value, tensor_of};
use crate::finding::failed;
use onnx_ir::{
    BodyId, Cursor, EntityId as _, Graph, GraphId, Model, Name, NodeId, Port, Use, Value, ValueDef, ValueId,
};
use onnx_text::{RaiseOptions, print_graph};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMappingProxy, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

/// A graph: the main graph of a model, the body of a function, or a graph in an attribute of a node. A view that stays valid while its graph
/// is part of the model.
#[pyclass(name = "Graph", module = "onnxtxt", frozen, weakref)]
#[derive(Clone)]
pub(crate) struct PyGraph {
    shared: Arc<Shared>,
    generation: u64,
    body: BodyId,
    graph: GraphId,
}

/// The graph that lists a node.
pub(crate) fn graph_of_node(state: &State, body: BodyId, node: NodeId) -> Option<GraphId> {
    state.graph_of(body, node)
}

impl PyGraph {
    pub(crate) fn new(shared: &Arc<Shared>, generation: u64, body: BodyId, graph: GraphId) -> PyGraph {
        PyGraph { shared: shared.clone(), generation, body, graph }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn body(&self) -> BodyId {
        self.body
    }

    pub(crate) fn id(&self) -> GraphId {
        self.graph
    }

    /// The graph in the model, if it is still there.
    pub(crate) fn get<'s>(&self, state: &'s State) -> PyResult<&'s Graph> {
        state.ensure_generation(self.generation, "graph")?;
        let graph = &state.model().bodies[self.body].graphs[self.graph];
        if let Some(owner) = graph.owner {
            state.ensure_there(Removed::Node(self.body, owner))?;
        }
        Ok(graph)
    }

    fn value(&self, value: ValueId) -> PyValue {
        PyValue::new(&self.shared, self.generation, self.body, value)
    }

    fn node(&self, node: NodeId) -> PyNode {
        PyNode::new(&self.shared, self.generation, self.body, node)
    }

    fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&State, &Graph) -> R) -> PyResult<R> {
        self.shared.read(py, |state| {
            let graph = self.get(state)?;
            Ok(read(state, graph))
        })
    }

    fn set(&self, py: Python<'_>, set: impl FnOnce(&mut Graph, &mut Model) + Send) -> PyResult<()> {
        self.shared.write(py, |state| {
            self.get(state)?;
            let model = state.edit()?;
            let mut graph = std::mem::take(&mut model.bodies[self.body].graphs[self.graph]);
            set(&mut graph, model);
            model.bodies[self.body].graphs[self.graph] = graph;
            Ok(())
        })
    }

    /// Adds an output, under a name of its own if one is given.
    fn put_output(
        &self,
        state: &mut State,
        value: ValueId,
        name: Option<&str>,
        ty: Option<&str>,
    ) -> PyResult<ValueId> {
        let now = state.model().bodies[self.body].values[value];
        let value = match name {
            Some(name) if &state.model().names[now.name] != name => {
                if find_value(state.model(), self.body, name).is_some() {
                    return Err(PyValueError::new_err(format!("a value has the name `{name}` already")));
                }
                let uses = state.uses(self.body);
                let is_output = uses.of_value(value).iter().any(|user| matches!(user, Use::Output(..)));
                let is_here = match now.def {
                    ValueDef::Output(node, _) => state.graph_of(self.body, node) == Some(self.graph),
                    ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => false,
                };
                let model = state.edit()?;
                let name = model.names.intern(name);
                let domain = new_domain(model, self.body, "");
                let mut cursor = Cursor::new(model, self.body);
                if is_here && !is_output {
                    cursor.rename(&uses, value, name);
                    value
                } else {
                    // Its name is that of another output, or means something outside.
                    cursor.goto_graph(self.graph);
                    cursor.goto_end();
                    let text = cursor.model().names[name].to_owned();
                    let output = cursor.insert_node("Identity").input(value).output(&text);
                    if let ValueDef::Output(node, _) = cursor.body().values[output].def {
                        cursor.body_mut().nodes[node].domain = domain;
                    }
                    output
                }
            }
            _ => value,
        };
        let model = state.edit()?;
        let ty = ty.map(|text| type_of(model, text)).transpose()?;
        let name = Some(model.bodies[self.body].values[value].name);
        let port = Port { name, value: Some(value), ty, ..Port::default() };
        model.bodies[self.body].graphs[self.graph].outputs.push(port);
        Ok(value)
    }
}

#[pymethods]
impl PyGraph {
    /// The name of the graph.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state, graph| state.model().text(graph.name).to_owned())
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.set(py, |graph, model| graph.name = optional_name(model, name))
    }

    /// The documentation of the graph.
    #[getter]
    fn doc_string(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |state, graph| state.model().text(graph.doc).to_owned())
    }

    #[setter]
    fn set_doc_string(&self, py: Python<'_>, doc_string: &str) -> PyResult<()> {
        self.set(py, |graph, model| graph.doc = optional_name(model, doc_string))
    }

    /// The metadata of the graph as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        proxy(py, self.read(py, |state, graph| pairs(state.model(), &graph.metadata))?)
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
        let metadata = pairs_of::<String>(metadata)?;
        self.set(py, |graph, model| graph.metadata = entries(model, metadata))
    }

    /// The inputs as a tuple of values.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values =
            self.read(py, |_, graph| graph.inputs.iter().filter_map(|port| port.value).collect::<Vec<_>>())?;
        PyTuple::new(py, values.into_iter().map(|value| self.value(value)))
    }

    /// The outputs as a tuple of values.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values =
            self.read(py, |_, graph| graph.outputs.iter().filter_map(|port| port.value).collect::<Vec<_>>())?;
        PyTuple::new(py, values.into_iter().map(|value| self.value(value)))
    }

    /// The values whose types `value_info` declares, as a tuple.
    #[getter]
    fn value_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let values = self
            .read(py, |_, graph| graph.value_info.iter().filter_map(|port| port.value).collect::<Vec<_>>())?;
        PyTuple::new(py, values.into_iter().map(|value| self.value(value)))
    }

    /// The initializers: a mapping from names to arrays that share the memory of the model.
    #[getter]
    fn initializers(&self, py: Python<'_>) -> PyResult<PyInitializers> {
        self.read(py, |_, _| ())?;
        Ok(PyInitializers::new(self.clone()))
    }

    /// The nodes of the graph in order, as a sequence of those that it has now: an edit of the graph does not change it. Nodes of nested graphs are
    /// in the graphs of their nodes; `all_nodes` has them too.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<PyNodes> {
        let nodes = self.read(py, |_, graph| graph.nodes.clone())?;
        Ok(PyNodes::new(&self.shared, self.generation, self.body, nodes))
    }

    /// The nodes of the graph and of the graphs nested in it, in the order of the text.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> [node.op_type for node in model.graph.all_nodes()]
    /// ['Neg', 'Relu']
    fn all_nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let nodes = self.read(py, |state, graph| {
            state.model().bodies[self.body].walk_nodes(&graph.nodes).nodes().collect::<Vec<_>>()
        })?;
        PyList::new(py, nodes.into_iter().map(|node| self.node(node)))
    }

    /// The values that the graph defines: inputs, initializers and results, as a list.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let values =
            self.read(py, |state, graph| graph.values(&state.model().bodies[self.body]).collect::<Vec<_>>())?;
        let mut seen = std::collections::HashSet::new();
        PyList::new(
            py,
            values.into_iter().filter(|value| seen.insert(*value)).map(|v| self.value(v)).collect::<Vec<_>>(),
        )
    }

    /// The value of a name that the graph defines. Raises `KeyError` if there is none.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.value_named("h").producer().op_type
    /// 'Neg'
    fn value_named(&self, py: Python<'_>, name: &str) -> PyResult<PyValue> {
        let found = self.read(py, |state, graph| {
            let (model, body) = (state.model(), &state.model().bodies[self.body]);
            let named = model.names.find(name)?;
            graph.values(body).find(|&value| body.values[value].name == named)
        })?;
        found.map(|value| self.value(value)).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// The node of a name, or the one that computes the value of this name. Raises `KeyError` if there is none.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.nodes[0].name = "first"
    /// >>> model.graph.node_named("first").op_type
    /// 'Neg'
    fn node_named(&self, py: Python<'_>, name: &str) -> PyResult<PyNode> {
        let found = self.read(py, |state, graph| {
            let (model, body) = (state.model(), &state.model().bodies[self.body]);
            let named = model.names.find(name).filter(|name| !name.is_empty())?;
            let is_named = |node: &&NodeId| body.nodes[**node].name == Some(named);
            let computes = |node: &&NodeId| {
                body.nodes[**node].outputs.iter().flatten().any(|&value| body.values[value].name == named)
            };
            graph.nodes.iter().find(is_named).or_else(|| graph.nodes.iter().find(computes)).copied()
        })?;
        found.map(|node| self.node(node)).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// The node whose attribute holds the graph; `None` for the main graph and for functions.
    #[getter]
    fn owner(&self, py: Python<'_>) -> PyResult<Option<PyNode>> {
        Ok(self.read(py, |_, graph| graph.owner)?.map(|owner| self.node(owner)))
    }

    /// Appends a node and returns it.
    ///
    /// `inputs` are values, names of values, arrays, numbers, and `None` for an optional operand that is left out. Arrays and numbers become
    /// initializers; a number gets the element type that the operator requires. `attributes` is a dict; values are converted to the types that
    /// the operator declares. `outputs` is a list of names or a number of outputs with made-up names; as many as the operator has at least by
    /// default.
    ///
    /// Raises `ValueError` if the operator, an attribute or a name is unknown, or a name is taken.
    ///
    /// >>> import numpy as np, onnxtxt
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu(x) }')
    /// >>> node = model.graph.append("Mul", ["x", np.array([1, 2], np.float32)], outputs=["t"])
    /// >>> print(node)
    /// t = Mul(x, constant)
    #[pyo3(signature = (op_type, inputs = None, attributes = None, *, outputs = None, domain = "", name = "", overload = ""))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn append(
        &self,
        py: Python<'_>,
        op_type: &str,
        inputs: Option<&Bound<'_, PyAny>>,
        attributes: Option<&Bound<'_, PyDict>>,
        outputs: Option<&Bound<'_, PyAny>>,
        domain: &str,
        name: &str,
        overload: &str,
    ) -> PyResult<PyNode> {
        self.read(py, |_, _| ())?;
        let new = NewNode { op_type, inputs, attributes, outputs, domain, name, overload };
        new.insert(py, &self.shared, self.generation, (self.body, self.graph), Place::End)
    }

    /// Inserts a node before the one at `index` and returns it. The other parameters are those of `append`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.insert(0, "Abs", ["x"])
    /// <onnxtxt.Node abs = Abs(x)>
    #[pyo3(signature = (index, op_type, inputs = None, attributes = None, *, outputs = None, domain = "", name = "", overload = ""))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn insert(
        &self,
        py: Python<'_>,
        index: isize,
        op_type: &str,
        inputs: Option<&Bound<'_, PyAny>>,
        attributes: Option<&Bound<'_, PyDict>>,
        outputs: Option<&Bound<'_, PyAny>>,
        domain: &str,
        name: &str,
        overload: &str,
    ) -> PyResult<PyNode> {
        let nodes = self.read(py, |_, graph| graph.nodes.clone())?;
        // As `list.insert`: beyond the ends is at the ends.
        let at =
            if index < 0 { nodes.len().saturating_sub(index.unsigned_abs()) } else { index.unsigned_abs() };
        let place = nodes.get(at).map_or(Place::End, |&node| Place::Before(node));
        let new = NewNode { op_type, inputs, attributes, outputs, domain, name, overload };
        new.insert(py, &self.shared, self.generation, (self.body, self.graph), place)
    }

    /// Adds an input and returns its value. `type` is a text such as `float[N,3]`; functions have inputs without types.
    ///
    /// Raises `ValueError` if the type cannot be read or the name is taken.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.add_input("bias", "float[1]")
    /// <onnxtxt.Value float[1] bias>
    #[pyo3(signature = (name, r#type = None), text_signature = "($self, name, type=None)")]
    fn add_input(&self, py: Python<'_>, name: &str, r#type: Option<&str>) -> PyResult<PyValue> {
        let value = self.shared.write(py, |state| {
            self.get(state)?;
            if find_value(state.model(), self.body, name).is_some() {
                return Err(PyValueError::new_err(format!("a value has the name `{name}` already")));
            }
            let model = state.edit()?;
            let ty = r#type.map(|text| type_of(model, text)).transpose()?;
            let name = model.names.intern(name);
            let body = &mut model.bodies[self.body];
            let value = body.values.push(Value { name, def: ValueDef::Input(self.graph) });
            let port = Port { name: Some(name), value: Some(value), ty, ..Port::default() };
            body.graphs[self.graph].inputs.push(port);
            Ok(value)
        })?;
        Ok(self.value(value))
    }

    /// Adds an output: a value, under a name if one is given, and returns it. The value is renamed, or an `Identity` passes it on if its name
    /// is needed. Without a type, `Model.infer` declares one.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.add_output("h")
    /// <onnxtxt.Value h>
    /// >>> [value.name for value in model.graph.outputs]
    /// ['y', 'h']
    #[pyo3(signature = (value, name = None, r#type = None), text_signature = "($self, value, name=None, type=None)")]
    fn add_output(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        name: Option<&str>,
        r#type: Option<&str>,
    ) -> PyResult<PyValue> {
        let given = operands(value, &self.shared)?;
        let value = self.shared.write(py, |state| {
            self.get(state)?;
            let values = Operand::resolve_all(given, state, self.generation, (self.body, self.graph), None)?;
            let [Some(value)] = values[..] else { return Err(PyValueError::new_err("expected one value")) };
            self.put_output(state, value, name, r#type)
        })?;
        Ok(self.value(value))
    }

    /// Removes the output at `index`; its value stays.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> value = model.graph.add_output("h")
    /// >>> model.graph.remove_output(1)
    /// >>> [value.name for value in model.graph.outputs]
    /// ['y']
    fn remove_output(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        self.shared.write(py, |state| {
            let count = self.get(state)?.outputs.len();
            if index >= count {
                return Err(PyIndexError::new_err(format!(
                    "the graph has {count} outputs, not {}",
                    index + 1
                )));
            }
            state.edit()?.bodies[self.body].graphs[self.graph].outputs.remove(index);
            Ok(())
        })
    }

    /// Removes the input at `index`. Raises `ValueError` if something reads it, unless it is an initializer as well.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> value = model.graph.add_input("bias", "float[1]")
    /// >>> model.graph.remove_input(1)
    /// >>> [value.name for value in model.graph.inputs]
    /// ['x']
    fn remove_input(&self, py: Python<'_>, index: usize) -> PyResult<()> {
        self.shared.write(py, |state| {
            let inputs = &self.get(state)?.inputs;
            let Some(port) = inputs.get(index) else {
                let count = inputs.len();
                return Err(PyIndexError::new_err(format!(
                    "the graph has {count} inputs, not {}",
                    index + 1
                )));
            };
            let value = port.value;
            let stored = value.and_then(|value| tensor_of(state, self.body, value));
            let model = state.model();
            if let (Some(value), None) = (value, stored)
                && !state.uses(self.body).is_unused(value)
            {
                let name = &model.names[model.bodies[self.body].values[value].name];
                let message = format!("input `{name}` is read: replace its uses before it is removed");
                return Err(PyValueError::new_err(message));
            }
            let body = &mut state.edit()?.bodies[self.body];
            body.graphs[self.graph].inputs.remove(index);
            if let Some(value) = value {
                body.values[value].def = match stored {
                    Some(_) => ValueDef::Initializer(self.graph),
                    None => ValueDef::Unbound(self.graph),
                };
            }
            if let (Some(value), None) = (value, stored) {
                let name = state.model().names[state.model().bodies[self.body].values[value].name].to_owned();
                state.note_removed(Removed::Value(self.body, value), format!("input `{name}`"));
            }
            Ok(())
        })
    }

    /// A name that nothing in the model has: `stem`, or `stem_1` and so on.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.fresh_name("h"), model.graph.fresh_name("new")
    /// ('h_1', 'new')
    fn fresh_name(&self, py: Python<'_>, stem: &str) -> PyResult<String> {
        self.shared.write(py, |state| {
            self.get(state)?;
            let model = state.edit()?;
            let name: Name = model.names.fresh(stem);
            Ok(model.names[name].to_owned())
        })
    }

    /// The graph as text. Raises `onnxtxt.Error` for a graph in a node, which the text of its node has.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> print(model.graph.text())
    /// g (float[N] x) => (float[N] y)
    /// {
    ///     h = Neg(x)
    ///     y = Relu(h)
    /// }
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.shared.read_long(py, |state| {
            self.get(state)?;
            if state.model().bodies[self.body].root() != Some(self.graph) {
                return Err(failed("a graph in a node has no text of its own: see Node.text"));
            }
            Ok(print_graph(state.model(), self.body, &RaiseOptions::default()))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let shown =
            self.read(py, |state, graph| (state.model().text(graph.name).to_owned(), graph.nodes.len()));
        match shown {
            Ok((name, nodes)) => {
                format!("<onnxtxt.Graph {name} with {nodes} node{}>", if nodes == 1 { "" } else { "s" })
            }
            Err(_) => "<onnxtxt.Graph that was removed>".to_owned(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyGraph>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.shared, &other.shared)
                && (self.generation, self.body, self.graph) == (other.generation, other.body, other.graph)
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.shared).addr(), self.generation, self.body.index(), self.graph.index())
            .hash(&mut hasher);
        hasher.finish()
    }
}
