//! The nodes of a graph as a sequence.

use super::node::PyNode;
use super::state::Shared;
use onnx_ir::{BodyId, NodeId};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice};
use std::sync::Arc;

/// The nodes of a graph in order, as they were when the graph was asked: a sequence that makes an object for a node when it is read. A graph
/// may have a million nodes, and an edit may need one.
#[pyclass(name = "Nodes", module = "onnxtxt", frozen, sequence)]
pub(crate) struct PyNodes {
    shared: Arc<Shared>,
    generation: u64,
    body: BodyId,
    nodes: Vec<NodeId>,
}

impl PyNodes {
    pub(crate) fn new(shared: &Arc<Shared>, generation: u64, body: BodyId, nodes: Vec<NodeId>) -> PyNodes {
        PyNodes { shared: shared.clone(), generation, body, nodes }
    }

    fn node(&self, node: NodeId) -> PyNode {
        PyNode::new(&self.shared, self.generation, self.body, node)
    }

    /// The position of a node, if it is one of these.
    fn find(&self, node: &Bound<'_, PyAny>) -> Option<usize> {
        let node = node.cast::<PyNode>().ok()?.get();
        let is_of_this = Arc::ptr_eq(&self.shared, node.shared())
            && (self.generation, self.body) == (node.generation(), node.body());
        self.nodes.iter().position(|&id| is_of_this && id == node.id())
    }
}

#[pymethods]
impl PyNodes {
    fn __len__(&self) -> usize {
        self.nodes.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.nodes.len();
        if let Ok(slice) = key.cast::<PySlice>() {
            let taken = slice.indices(length.cast_signed())?;
            let at = (0..taken.slicelength.cast_signed()).map(|i| taken.start + i * taken.step);
            let nodes = at.filter_map(|at| self.nodes.get(at.cast_unsigned()).copied()).collect();
            let part = PyNodes::new(&self.shared, self.generation, self.body, nodes);
            return Ok(part.into_pyobject(py)?.into_any());
        }
        let index: isize = key.extract().map_err(|_| {
            let ty = key.get_type();
            PyTypeError::new_err(format!("nodes are indexed by an integer or a slice, not by `{ty}`"))
        })?;
        let at = if index < 0 { length.checked_add_signed(index) } else { Some(index.cast_unsigned()) };
        let node = at.and_then(|at| self.nodes.get(at)).ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} of the nodes of a graph that has {length}"))
        })?;
        Ok(self.node(*node).into_pyobject(py)?.into_any())
    }

    fn __iter__(this: Py<Self>) -> NodesIterator {
        NodesIterator { nodes: this, next: 0 }
    }

    fn __contains__(&self, node: &Bound<'_, PyAny>) -> bool {
        self.find(node).is_some()
    }

    fn __reversed__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let reversed = PyList::new(py, self.nodes.iter().rev().map(|&node| self.node(node)))?;
        Ok(reversed.try_iter()?.into_any())
    }

    /// The list of these and of other nodes.
    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::new(py, self.nodes.iter().map(|&node| self.node(node)))?;
        list.call_method1("extend", (other,))?;
        Ok(list)
    }

    /// Equal to another sequence of the same nodes.
    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<PyNodes>() {
            let other = other.get();
            return Ok(Arc::ptr_eq(&self.shared, &other.shared)
                && (self.generation, self.body) == (other.generation, other.body)
                && self.nodes == other.nodes);
        }
        let Ok(other) = other.cast::<PyList>() else { return Ok(false) };
        PyList::new(py, self.nodes.iter().map(|&node| self.node(node)))?.eq(other)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let list = PyList::new(py, self.nodes.iter().map(|&node| self.node(node)))?;
        Ok(list.repr()?.to_string())
    }

    /// The position of a node. Raises `ValueError` if it is not one of these.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.nodes.index(model.graph.value_named("y").producer())
    /// 1
    fn index(&self, node: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.find(node).ok_or_else(|| PyValueError::new_err("the graph does not list this node"))
    }

    /// 1 for a node that is one of these, otherwise 0.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.nodes.count(model.graph.nodes[0])
    /// 1
    fn count(&self, node: &Bound<'_, PyAny>) -> usize {
        usize::from(self.find(node).is_some())
    }
}

/// Gives one node after the other.
#[pyclass(module = "onnxtxt")]
struct NodesIterator {
    nodes: Py<PyNodes>,
    next: usize,
}

#[pymethods]
impl NodesIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self) -> Option<PyNode> {
        let nodes = self.nodes.get();
        let node = *nodes.nodes.get(self.next)?;
        self.next += 1;
        Some(nodes.node(node))
    }
}
