//! Nodes of a model.

mod edit;
mod new;

pub(crate) use new::{NewNode, Place, new_domain};

use super::graph::PyGraph;
use super::state::{Removed, Shared, State};
use super::value::PyValue;
use crate::finding::failed;
use crate::model::attributes::{PyAttributes, schema_of};
use crate::model::header::pairs_of;
use crate::model::operand::{Operand, operands};
use onnx_ir::{BodyId, EntityId as _, GraphId, Model, Name, Node, NodeId, ValueId};
use onnx_text::{RaiseOptions, print_node};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyMappingProxy, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

/// A node of a graph: a view that stays valid while its node is part of the model. Two views of one node are equal.
#[pyclass(name = "Node", module = "onnxtxt", frozen, weakref)]
#[derive(Clone)]
pub(crate) struct PyNode {
    shared: Arc<Shared>,
    generation: u64,
    body: BodyId,
    node: NodeId,
}

impl PyNode {
    pub(crate) fn new(shared: &Arc<Shared>, generation: u64, body: BodyId, node: NodeId) -> PyNode {
        PyNode { shared: shared.clone(), generation, body, node }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn body(&self) -> BodyId {
        self.body
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn id(&self) -> NodeId {
        self.node
    }

    /// The node in the model, if it is still there.
    pub(crate) fn get<'s>(&self, state: &'s State) -> PyResult<&'s Node> {
        state.ensure_generation(self.generation, "node")?;
        state.ensure_there(Removed::Node(self.body, self.node))?;
        Ok(&state.model().bodies[self.body].nodes[self.node])
    }

    /// A graph that is nested in the node.
    pub(crate) fn nested(&self, graph: GraphId) -> PyGraph {
        PyGraph::new(&self.shared, self.generation, self.body, graph)
    }

    fn value(&self, value: ValueId) -> PyValue {
        PyValue::new(&self.shared, self.generation, self.body, value)
    }

    /// The graph that lists the node.
    pub(crate) fn home(&self, state: &State) -> PyResult<GraphId> {
        self.get(state)?;
        state.graph_of(self.body, self.node).ok_or_else(|| failed("the node is not in a graph"))
    }

    fn text_of(&self, py: Python<'_>, of: impl FnOnce(&Node) -> Option<Name>) -> PyResult<String> {
        self.shared.read(py, |state| Ok(state.model().text(of(self.get(state)?)).to_owned()))
    }

    fn set(&self, py: Python<'_>, set: impl FnOnce(&mut Node, &mut Model) + Send) -> PyResult<()> {
        self.shared.write(py, |state| {
            self.get(state)?;
            let model = state.edit()?;
            let mut node = std::mem::take(&mut model.bodies[self.body].nodes[self.node]);
            set(&mut node, model);
            model.bodies[self.body].nodes[self.node] = node;
            Ok(())
        })
    }
}

/// The name of an optional text: none if it is empty.
pub(crate) fn optional_name(model: &mut Model, text: &str) -> Option<Name> {
    (!text.is_empty()).then(|| model.names.intern(text))
}

#[pymethods]
impl PyNode {
    /// The operator, such as `Relu`, or the name of a function of the model.
    #[getter]
    fn op_type(&self, py: Python<'_>) -> PyResult<String> {
        self.text_of(py, |node| node.op)
    }

    #[setter]
    fn set_op_type(&self, py: Python<'_>, op_type: &str) -> PyResult<()> {
        self.set(py, |node, model| node.op = Some(model.names.intern(op_type)))
    }

    /// The domain of the operator; `""` is ai.onnx.
    #[getter]
    fn domain(&self, py: Python<'_>) -> PyResult<String> {
        self.text_of(py, |node| node.domain)
    }

    #[setter]
    fn set_domain(&self, py: Python<'_>, domain: &str) -> PyResult<()> {
        self.set(py, |node, model| node.domain = optional_name(model, domain))
    }

    /// The name of the node; `""` if it has none. Values have names of their own.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.text_of(py, |node| node.name)
    }

    #[setter]
    fn set_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.set(py, |node, model| node.name = optional_name(model, name))
    }

    /// Which overload of a function of the model is called; `""` for operators.
    #[getter]
    fn overload(&self, py: Python<'_>) -> PyResult<String> {
        self.text_of(py, |node| node.overload)
    }

    #[setter]
    fn set_overload(&self, py: Python<'_>, overload: &str) -> PyResult<()> {
        self.set(py, |node, model| node.overload = optional_name(model, overload))
    }

    /// The documentation of the node.
    #[getter]
    fn doc_string(&self, py: Python<'_>) -> PyResult<String> {
        self.text_of(py, |node| node.extra().doc)
    }

    #[setter]
    fn set_doc_string(&self, py: Python<'_>, doc_string: &str) -> PyResult<()> {
        self.set(py, |node, model| node.extra_mut().doc = optional_name(model, doc_string))
    }

    /// The comment on the lines before the node in the text of the model, without its `#`; `""` if it has none. Files of other forms do not
    /// have comments.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    /// >>> model.graph.nodes[0].comment = "Keeps what is positive."
    /// >>> "# Keeps what is positive." in str(model)
    /// True
    #[getter]
    fn comment(&self, py: Python<'_>) -> PyResult<String> {
        self.shared.read(py, |state| {
            self.get(state)?;
            Ok(state.loaded().comment_of(self.body, self.node))
        })
    }

    #[setter]
    fn set_comment(&self, py: Python<'_>, comment: &str) -> PyResult<()> {
        self.shared.write(py, |state| {
            self.get(state)?;
            state.edit()?;
            state.loaded_mut().set_comment_of(self.body, self.node, comment);
            Ok(())
        })
    }

    /// The metadata of the node as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let pairs = self.shared.read(py, |state| {
            Ok::<_, PyErr>(crate::model::header::pairs(state.model(), &self.get(state)?.extra().metadata))
        })?;
        crate::model::header::proxy(py, pairs)
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
        let metadata = pairs_of::<String>(metadata)?;
        self.set(py, |node, model| node.extra_mut().metadata = crate::model::header::entries(model, metadata))
    }

    /// The operands as a tuple of values; `None` is an optional one that is left out. Assign a list of values, names, arrays or `None` to
    /// change them.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = self.shared.read(py, |state| Ok::<_, PyErr>(self.get(state)?.inputs.clone()))?;
        PyTuple::new(py, inputs.into_iter().map(|value| value.map(|value| self.value(value))))
    }

    #[setter]
    fn set_inputs(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = operands(inputs, &self.shared)?;
        self.shared.write(py, |state| {
            let home = self.home(state)?;
            let inputs = Operand::resolve_all(given, state, self.generation, (self.body, home), None)?;
            state.edit()?.bodies[self.body].nodes[self.node].inputs = inputs.into();
            Ok(())
        })
    }

    /// Replaces operand `index`: a value, a name, an array (which becomes an initializer), or `None` to leave it out.
    ///
    /// Raises `IndexError` if the node has no such operand.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.nodes[1].set_input(0, "x")
    /// >>> model.graph.nodes[1].inputs
    /// (<onnxtxt.Value float[N] x>,)
    fn set_input(&self, py: Python<'_>, index: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = Operand::of(value, &self.shared)?;
        self.shared.write(py, |state| {
            let home = self.home(state)?;
            let count = self.get(state)?.inputs.len();
            if index >= count {
                let message = format!("the node has {count} inputs, not {}", index + 1);
                return Err(pyo3::exceptions::PyIndexError::new_err(message));
            }
            let values = Operand::resolve_all(vec![given], state, self.generation, (self.body, home), None)?;
            state.edit()?.bodies[self.body].nodes[self.node].inputs[index] =
                values.first().copied().flatten();
            Ok(())
        })
    }

    /// The results as a tuple of values; `None` is an omitted one.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let outputs = self.shared.read(py, |state| Ok::<_, PyErr>(self.get(state)?.outputs.clone()))?;
        PyTuple::new(py, outputs.into_iter().map(|value| value.map(|value| self.value(value))))
    }

    /// The only result. Raises `ValueError` if the node has none or several.
    #[getter]
    fn output(&self, py: Python<'_>) -> PyResult<PyValue> {
        let outputs = self.shared.read(py, |state| Ok::<_, PyErr>(self.get(state)?.outputs.clone()))?;
        match outputs[..] {
            [Some(value)] => Ok(self.value(value)),
            _ => Err(PyValueError::new_err(format!("the node has {} outputs, not one", outputs.len()))),
        }
    }

    /// The attributes, a mapping from names to typed values.
    #[getter]
    fn attributes(&self, py: Python<'_>) -> PyResult<PyAttributes> {
        self.shared.read(py, |state| self.get(state).map(|_| ()))?;
        Ok(PyAttributes::new(self.clone()))
    }

    /// The graph that the node is in.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<PyGraph> {
        let home = self.shared.read(py, |state| self.home(state))?;
        Ok(self.nested(home))
    }

    /// The graphs in the attributes of the node: branches of `If`, bodies of `Loop` and `Scan`.
    #[getter]
    fn graphs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let graphs: Vec<GraphId> = self.shared.read(py, |state| {
            self.get(state)?;
            Ok::<_, PyErr>(state.model().bodies[self.body].subgraphs(self.node).collect())
        })?;
        PyTuple::new(py, graphs.into_iter().map(|graph| self.nested(graph)))
    }

    /// The version of the operator that applies: the one of its last change; `None` for functions and unknown operators.
    #[getter]
    fn since_version(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.shared.read(py, |state| {
            let (node, model) = (self.get(state)?, state.model());
            let schema = schema_of(model, self.body, model.text(node.domain), model.text(node.op));
            Ok(schema.map(|schema| schema.since))
        })
    }

    /// The node as text, with the graphs in it.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.nodes[0].text()
    /// 'h = Neg(x)'
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.shared.read_long(py, |state| {
            self.get(state)?;
            Ok(print_node(state.model(), self.body, self.node, &RaiseOptions::default()))
        })
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let text = self.shared.read(py, |state| {
            self.get(state)?;
            let options = RaiseOptions { elide: Some(4), ..RaiseOptions::default() };
            Ok::<_, PyErr>(print_node(state.model(), self.body, self.node, &options))
        });
        match text {
            Ok(text) => {
                let mut lines = text.trim().lines();
                let first = lines.next().unwrap_or_default();
                format!("<onnxtxt.Node {first}{}>", if lines.next().is_some() { " …" } else { "" })
            }
            Err(_) => "<onnxtxt.Node that was removed>".to_owned(),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyNode>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.shared, &other.shared)
                && (self.generation, self.body, self.node) == (other.generation, other.body, other.node)
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (Arc::as_ptr(&self.shared).addr(), self.generation, self.body.index(), self.node.index())
            .hash(&mut hasher);
        hasher.finish()
    }
}
