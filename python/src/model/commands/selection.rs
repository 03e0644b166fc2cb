//! Nodes and values that a caller selects: objects, names, or selections of the program such as `op:Conv`.

use super::invalid;
use crate::model::PyModel;
use crate::model::attributes::type_name;
use crate::model::node::PyNode;
use crate::model::value::PyValue;
use onnx_ir::{Model, NodeId, ValueId};
use onnxtxt::edit::{Selection, main_value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// Nodes or values that a caller selects, independent of ids.
#[derive(Clone)]
pub(super) enum Chosen {
    /// A node by its place in the order of the text.
    Node(usize),
    Value(String),
    Text(Selection),
}

pub(super) fn chosen(
    py: Python<'_>,
    model: &PyModel,
    object: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Chosen>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let is_one = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyNode>()
        || object.is_instance_of::<PyValue>();
    let items: Vec<Bound<'_, PyAny>> =
        if is_one { vec![object.clone()] } else { object.try_iter()?.collect::<PyResult<_>>()? };
    items.iter().map(|item| one(py, model, item)).collect()
}

fn one(py: Python<'_>, model: &PyModel, object: &Bound<'_, PyAny>) -> PyResult<Chosen> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Chosen::Text(text.to_str()?.parse().map_err(invalid)?));
    }
    let elsewhere = || PyValueError::new_err("the node or value is not in the main graph of this model");
    model.shared.read(py, |state| {
        let main = state.model().main.ok_or_else(elsewhere)?;
        if let Ok(node) = object.cast::<PyNode>() {
            let node = node.get();
            node.get(state)?;
            let mut all = state.model().bodies[main].walk().nodes();
            let is_here = Arc::ptr_eq(node.shared(), &model.shared) && node.body() == main;
            let at = if is_here { all.position(|other| other == node.id()) } else { None };
            return at.map(Chosen::Node).ok_or_else(elsewhere);
        }
        let Ok(value) = object.cast::<PyValue>() else {
            let message =
                format!("expected a Node, a Value or a selection as text, not {}", type_name(object));
            return Err(PyTypeError::new_err(message));
        };
        let value = value.get();
        if !Arc::ptr_eq(value.shared(), &model.shared) || value.body() != main {
            return Err(elsewhere());
        }
        Ok(Chosen::Value(state.model().names[value.get(state)?.name].to_owned()))
    })
}

pub(super) fn nodes_of(model: &Model, chosen: &[Chosen]) -> PyResult<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for one in chosen {
        match one {
            Chosen::Node(at) => nodes.extend(Selection::Number(*at).nodes(model)),
            Chosen::Value(name) => nodes.extend(Selection::Name(name.clone()).nodes(model)),
            Chosen::Text(selection) => {
                selection.ensure_some(model).map_err(invalid)?;
                nodes.extend(selection.nodes(model));
            }
        }
    }
    Ok(nodes)
}

pub(super) fn values_of(model: &Model, chosen: &[Chosen]) -> PyResult<Vec<ValueId>> {
    let mut values = Vec::new();
    for one in chosen {
        match one {
            Chosen::Node(at) => values.extend(Selection::Number(*at).values(model).map_err(invalid)?),
            Chosen::Value(name) => {
                let value = main_value(model, name);
                values.push(value.ok_or_else(|| invalid(format!("no value of the main graph is `{name}`")))?);
            }
            Chosen::Text(selection) => values.extend(selection.values(model).map_err(invalid)?),
        }
    }
    Ok(values)
}
