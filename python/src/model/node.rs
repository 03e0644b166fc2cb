//! Nodes of a model.

use super::attributes::{Given, PyAttributes, attr_type, schema_of};
use super::graph::PyGraph;
use super::header::pairs_of;
use super::operand::{Operand, operands};
use super::state::{Removed, Shared, State};
use super::value::{PyValue, find_value};
use crate::finding::failed;
use onnx_ir::{
    BodyId, Cursor, EntityId as _, GraphId, Model, Name, Node, NodeId, NodeSpec, Use, ValueDef, ValueId,
};
use onnx_text::{RaiseOptions, print_node};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMappingProxy, PyString, PyTuple};
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

    fn spec(&self, py: Python<'_>, new: &NewNode<'_, '_>, is_after: bool) -> PyResult<PyNode> {
        let home = self.shared.read(py, |state| self.home(state))?;
        let place = if is_after { Place::After(self.node) } else { Place::Before(self.node) };
        new.insert(py, &self.shared, self.generation, (self.body, home), place)
    }
}

/// The name of an optional text: none if it is empty.
pub(crate) fn optional_name(model: &mut Model, text: &str) -> Option<Name> {
    (!text.is_empty()).then(|| model.names.intern(text))
}

/// The domain of a new node: an empty one is stated if the other nodes of the body state theirs, as those of a text do.
pub(crate) fn new_domain(model: &mut Model, body: BodyId, domain: &str) -> Option<Name> {
    if !domain.is_empty() {
        return Some(model.names.intern(domain));
    }
    let first = model.bodies[body].nodes.values().next();
    first.is_none_or(|node| node.domain.is_some()).then(Name::empty)
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

    /// The metadata of the node as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let pairs = self.shared.read(py, |state| {
            Ok::<_, PyErr>(super::header::pairs(state.model(), &self.get(state)?.extra().metadata))
        })?;
        super::header::proxy(py, pairs)
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
        let metadata = pairs_of::<String>(metadata)?;
        self.set(py, |node, model| node.extra_mut().metadata = super::header::entries(model, metadata))
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

    /// Inserts a node before this one and returns it. The parameters are those of `Graph.append`.
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

    /// The node as text, with the graphs in it.
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

/// Where a node is inserted.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    Before(NodeId),
    After(NodeId),
    End,
}

/// A node that is going to be inserted, as Python describes it.
pub(crate) struct NewNode<'a, 'py> {
    pub(crate) op_type: &'a str,
    pub(crate) inputs: Option<&'a Bound<'py, PyAny>>,
    pub(crate) attributes: Option<&'a Bound<'py, PyDict>>,
    /// A number, a list of names, or nothing for as many as the operator has at least.
    pub(crate) outputs: Option<&'a Bound<'py, PyAny>>,
    pub(crate) domain: &'a str,
    pub(crate) name: &'a str,
    pub(crate) overload: &'a str,
}

/// The outputs of a new node.
enum Outputs {
    Fresh(usize),
    Named(Vec<Option<String>>),
}

impl NewNode<'_, '_> {
    fn outputs(&self, least: usize) -> PyResult<Outputs> {
        let Some(outputs) = self.outputs else { return Ok(Outputs::Fresh(least)) };
        if let Ok(name) = outputs.cast::<PyString>() {
            return Ok(Outputs::Named(vec![Some(name.to_str()?.to_owned())]));
        }
        if let Ok(count) = outputs.extract::<usize>() {
            return Ok(Outputs::Fresh(count));
        }
        let names = outputs.extract::<Vec<Option<String>>>().map_err(|_| {
            let message = format!(
                "outputs: expected a number of outputs or a list of names, not {}",
                super::attributes::type_name(outputs)
            );
            pyo3::exceptions::PyTypeError::new_err(message)
        })?;
        Ok(Outputs::Named(names))
    }

    /// Inserts the node, after a check of its operator, operands and attributes against the schema.
    pub(crate) fn insert(
        &self,
        py: Python<'_>,
        shared: &Arc<Shared>,
        generation: u64,
        (body, graph): (BodyId, GraphId),
        place: Place,
    ) -> PyResult<PyNode> {
        // The operator.
        let given = self.inputs.map_or_else(|| Ok(Vec::new()), |inputs| operands(inputs, shared))?;
        let schema = shared.read(py, |state| {
            state.ensure_generation(generation, "graph")?;
            let schema = schema_of(state.model(), body, self.domain, self.op_type);
            if schema.is_none() {
                super::operand::ensure_known(state.model(), body, self.domain, self.op_type)?;
            }
            Ok::<_, PyErr>(schema)
        })?;
        // Attributes, of the types that the operator declares.
        let mut attributes = Vec::new();
        for (name, value) in self.attributes.into_iter().flat_map(|dict| dict.iter()) {
            let name: String = name.extract()?;
            // As an operator has it: `None` is an attribute that is left out.
            if value.is_none() {
                continue;
            }
            attributes.push((name.clone(), Given::of(&name, &value, attr_type(schema, &name)?)?));
        }
        // Numbers of operands and results.
        if let Some(schema) = schema {
            let most = schema.input_range().1;
            if most.is_some_and(|most| given.len() > most) {
                let (most, count) = (most.unwrap_or_default(), given.len());
                let message =
                    format!("`{}` expects at most {most} inputs, but {count} were given", self.op_type);
                return Err(PyValueError::new_err(message));
            }
        }
        let least = schema.map_or(1, |schema| schema.output_range().0.max(1));
        let outputs = self.outputs(least)?;
        let (op_type, domain, name, overload) = (self.op_type, self.domain, self.name, self.overload);
        let node = shared.write(py, |state| {
            state.ensure_generation(generation, "graph")?;
            let inputs = Operand::resolve_all(given, state, generation, (body, graph), schema)?;
            if let Outputs::Named(names) = &outputs {
                for name in names.iter().flatten() {
                    if find_value(state.model(), body, name).is_some() {
                        let message = format!("a value has the name `{name}` already");
                        return Err(PyValueError::new_err(message));
                    }
                }
            }
            let model = state.edit()?;
            let spec = NodeSpec {
                op: Some(model.names.intern(op_type)),
                domain: new_domain(model, body, domain),
                name: optional_name(model, name),
                overload: optional_name(model, overload),
                ..NodeSpec::default()
            };
            let names: Vec<Name> = match outputs {
                Outputs::Fresh(count) => {
                    let stem = op_type.to_ascii_lowercase();
                    (0..count).map(|_| model.names.fresh(&stem)).collect()
                }
                Outputs::Named(names) => names
                    .into_iter()
                    .map(|name| name.map_or_else(Name::empty, |name| model.names.intern(&name)))
                    .collect(),
            };
            // The place of the node.
            let mut cursor = Cursor::new(model, body);
            let is_found = match place {
                Place::Before(node) | Place::After(node) => cursor.goto_node(graph, node),
                Place::End => {
                    cursor.goto_graph(graph);
                    cursor.goto_end();
                    true
                }
            };
            if !is_found {
                return Err(failed("the node is not in its graph"));
            }
            let node = match place {
                Place::Before(_) | Place::End => cursor.insert(spec, inputs, names),
                Place::After(_) => cursor.insert_after(spec, inputs, names),
            };
            drop(cursor);
            for (name, given) in attributes {
                given.put(model, body, node, &name)?;
            }
            Ok(node)
        })?;
        Ok(PyNode::new(shared, generation, body, node))
    }
}
