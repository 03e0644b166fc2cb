//! Edits around a node: others inserted beside it, graphs added to it, the node removed or replaced by values.

use super::PyNode;
use super::new::{NewNode, Place, new_domain};
use crate::finding::failed;
use crate::model::attributes::Given;
use crate::model::graph::PyGraph;
use crate::model::operand::{Operand, operands};
use crate::model::state::{Removed, State};
use onnx_ir::{BodyId, Cursor, GraphId, Model, NodeId, Use, ValueDef, ValueId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

impl PyNode {
    fn spec(&self, py: Python<'_>, new: &NewNode<'_, '_>, is_after: bool) -> PyResult<PyNode> {
        let home = self.shared.read(py, |state| self.home(state))?;
        let place = if is_after { Place::After(self.node) } else { Place::Before(self.node) };
        new.insert(py, &self.shared, self.generation, (self.body, home), place)
    }
}

#[pymethods]
impl PyNode {
    /// Inserts a node before this one and returns it. The parameters are those of `Graph.append`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> node = model.graph.nodes[1]
    /// >>> node.set_input(0, node.insert_before("Abs", ["h"]).output)
    /// >>> print(model.graph.text())
    /// g (float[N] x) => (float[N] y)
    /// {
    ///     h = Neg(x)
    ///     abs = Abs(h)
    ///     y = Relu(abs)
    /// }
    #[pyo3(signature = (op_type, inputs = None, attributes = None, *, outputs = None, domain = "", name = "", overload = ""))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn insert_before(
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
        self.spec(py, &NewNode { op_type, inputs, attributes, outputs, domain, name, overload }, false)
    }

    /// Inserts a node after this one and returns it. The parameters are those of `Graph.append`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> first, last = model.graph.nodes
    /// >>> last.set_input(0, first.insert_after("Mul", [first.output, 2.0]).output)
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Neg', 'Mul', 'Relu']
    #[pyo3(signature = (op_type, inputs = None, attributes = None, *, outputs = None, domain = "", name = "", overload = ""))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn insert_after(
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
        self.spec(py, &NewNode { op_type, inputs, attributes, outputs, domain, name, overload }, true)
    }

    /// Adds an empty graph as an attribute, such as `then_branch`, and returns it. It sees the values of the graphs around it.
    ///
    /// >>> model = onnxtxt.Model.new(21)
    /// >>> c, x = model.graph.add_input("c", "bool"), model.graph.add_input("x", "float")
    /// >>> node = model.graph.append("If", [c])
    /// >>> branch = node.add_graph("then_branch")
    /// >>> branch.add_output(branch.append("Neg", [x]).output)
    /// <onnxtxt.Value neg>
    #[pyo3(signature = (attribute, name = None))]
    fn add_graph(&self, py: Python<'_>, attribute: &str, name: Option<&str>) -> PyResult<PyGraph> {
        let graph = self.shared.write(py, |state| {
            self.get(state)?;
            let model = state.edit()?;
            let name = model.names.intern(name.unwrap_or(attribute));
            let graph =
                onnx_ir::Graph { name: Some(name), owner: Some(self.node), ..onnx_ir::Graph::default() };
            let graph = model.bodies[self.body].graphs.push(graph);
            Given::Graph(graph).put(model, self.body, self.node, attribute)?;
            Ok::<_, PyErr>(graph)
        })?;
        Ok(self.nested(graph))
    }

    /// Removes the node. Views of it become invalid.
    ///
    /// Raises `ValueError` if something reads its results: replace their uses first, by `Value.replace_all_uses_with`, or the node, by
    /// `Node.replace_with`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> node = model.graph.append("Abs", ["x"])
    /// >>> node.remove()
    /// >>> len(model.graph.nodes)
    /// 2
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, |state| {
            let home = self.home(state)?;
            let uses = state.uses(self.body);
            let (model, body) = (state.model(), &state.model().bodies[self.body]);
            for &value in body.nodes[self.node].outputs.iter().flatten() {
                if let Some(&user) = uses.of_value(value).first() {
                    let name = &model.names[body.values[value].name];
                    let reader = reader(model, self.body, user);
                    let message =
                        format!("`{name}` is read by {reader}: replace its uses before the node is removed");
                    return Err(PyValueError::new_err(message));
                }
            }
            remove(state, self.body, home, self.node)
        })
    }

    /// Lets the readers of the results read other values, one for each result, and removes the node. The outputs of graphs keep their names:
    /// the new values get them, or an `Identity` passes them on.
    ///
    /// Raises `ValueError` if the number of values is not that of the results.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> node = model.graph.nodes[0]
    /// >>> node.replace_with(node.insert_after("Abs", [node.inputs[0]]).output)
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Abs', 'Relu']
    #[pyo3(signature = (*values))]
    fn replace_with(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<()> {
        let given = operands(values.as_any(), &self.shared)?;
        self.shared.write(py, |state| {
            let home = self.home(state)?;
            let outputs = self.get(state)?.outputs.clone();
            if outputs.len() != given.len() {
                let message =
                    format!("the node has {} outputs, but {} values were given", outputs.len(), given.len());
                return Err(PyValueError::new_err(message));
            }
            let new = Operand::resolve_all(given, state, self.generation, (self.body, home), None)?;
            replace(state, self.body, home, self.node, &new)
        })
    }
}

/// The reader of a value, for messages.
fn reader(model: &Model, body: BodyId, user: Use) -> String {
    let b = &model.bodies[body];
    match user {
        Use::Output(graph, _) => match model.text(b.graphs[graph].name) {
            "" => "the outputs of the graph".to_owned(),
            name => format!("the outputs of `{name}`"),
        },
        Use::Input(node, _) => {
            let node = &b.nodes[node];
            let result =
                node.outputs.iter().flatten().next().map(|&value| &model.names[b.values[value].name]);
            let op = model.text(node.op);
            result.map_or_else(
                || format!("a node `{op}`"),
                |result| format!("the node `{op}` that computes `{result}`"),
            )
        }
    }
}

/// Removes a node, whose results nothing reads, with all that is nested in it.
fn remove(state: &mut State, body: BodyId, home: GraphId, node: NodeId) -> PyResult<()> {
    let model = state.model();
    let b = &model.bodies[body];
    let mut gone = Vec::new();
    for inner in b.walk_nodes(&[node]).nodes() {
        let op = model.text(b.nodes[inner].op);
        for &value in b.nodes[inner].outputs.iter().flatten() {
            let name = &model.names[b.values[value].name];
            gone.push((Removed::Value(body, value), format!("value `{name}`")));
        }
        let result = b.nodes[inner].outputs.iter().flatten().next();
        let result = result.map(|&value| format!(" that computed `{}`", &model.names[b.values[value].name]));
        let name = format!("node `{op}`{}", result.unwrap_or_default());
        gone.push((Removed::Node(body, inner), name));
    }
    let model = state.edit()?;
    let mut cursor = Cursor::new(model, body);
    if cursor.goto_node(home, node) {
        cursor.remove();
    }
    drop(cursor);
    gone.into_iter().for_each(|(part, name)| state.note_removed(part, name));
    Ok(())
}

/// Replaces a node by values.
fn replace(
    state: &mut State,
    body: BodyId,
    home: GraphId,
    node: NodeId,
    new: &[Option<ValueId>],
) -> PyResult<()> {
    let uses = state.uses(body);
    let outputs = state.model().bodies[body].nodes[node].outputs.clone();
    let op = state.model().text(state.model().bodies[body].nodes[node].op).to_owned();
    let model = state.edit()?;
    let domain = new_domain(model, body, "");
    let mut cursor = Cursor::new(model, body);
    if !cursor.goto_node(home, node) {
        return Err(failed("the node is not in its graph"));
    }
    for (&old, &new) in outputs.iter().zip(new) {
        let (Some(old), Some(new)) = (old, new) else { continue };
        if !cursor.replace_uses(&uses, old, new) {
            // An output of a graph whose name the new value cannot take.
            let identity = cursor.insert_node("Identity").input(new).id();
            cursor.body_mut().nodes[identity].domain = domain;
            let b = cursor.body_mut();
            b.nodes[identity].outputs.push(Some(old));
            b.values[old].def = ValueDef::Output(identity, 0);
        }
    }
    cursor.remove();
    drop(cursor);
    state.note_removed(Removed::Node(body, node), format!("node `{op}`"));
    let model = state.model();
    let removed: Vec<_> = outputs
        .iter()
        .flatten()
        .copied()
        .filter(|&value| matches!(model.bodies[body].values[value].def, ValueDef::Unbound(_)))
        .collect();
    for value in removed {
        let name = state.model().names[state.model().bodies[body].values[value].name].to_owned();
        state.note_removed(Removed::Value(body, value), format!("value `{name}`"));
    }
    Ok(())
}
