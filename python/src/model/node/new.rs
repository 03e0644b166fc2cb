//! Nodes that are inserted, checked against their operator.

use super::{PyNode, optional_name};
use crate::finding::failed;
use crate::model::attributes::{Given, attr_type, schema_of};
use crate::model::operand::{Operand, operands};
use crate::model::state::Shared;
use crate::model::value::find_value;
use onnx_ir::{BodyId, Cursor, GraphId, Model, Name, NodeId, NodeSpec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::Arc;

/// The domain of a new node: an empty one is stated if the other nodes of the body state theirs, as those of a text do.
pub(crate) fn new_domain(model: &mut Model, body: BodyId, domain: &str) -> Option<Name> {
    if !domain.is_empty() {
        return Some(model.names.intern(domain));
    }
    let first = model.bodies[body].nodes.values().next();
    first.is_none_or(|node| node.domain.is_some()).then(Name::empty)
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
                crate::model::attributes::type_name(outputs)
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
                crate::model::operand::ensure_known(state.model(), body, self.domain, self.op_type)?;
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
