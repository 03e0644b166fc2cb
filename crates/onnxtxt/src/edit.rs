//! Edits of models: extract and replace a part, concatenate, rename, change shapes and weights, quantize, strip.
//!
//! Each edit changes a model and reports what it did. If an edit is not possible, it returns the reasons and leaves the model in
//! an unspecified state: work on a copy, as the program does. Edits do no I/O and keep what they do not change, so a text keeps
//! its comments and a binary model the bytes of its weights.

#[cfg(feature = "run")]
mod anonymize;
mod concat;
mod extract;
mod incoming;
mod kept;
mod metadata;
mod quantize;
mod relocate;
mod rename;
mod replace;
mod selection;
mod set_shape;
mod strip;
mod types;
mod weights;

#[cfg(feature = "run")]
pub use anonymize::{Anonymize, anonymize, randomized};
pub use concat::{Concat, concat};
pub use extract::{extract, extract_nodes};
pub use incoming::Incoming;
pub use kept::KeptWeights;
pub use metadata::{Metadata, set_metadata};
pub use quantize::{Quantize, Scheme, quantize};
pub use rename::{Rename, Rule, rename};
pub use replace::{PartMap, insert, nodes_between, replace};
pub use selection::{Selection, SelectionError};
pub use set_shape::{SetShape, set_shape};
pub use strip::{Strip, strip};
pub use weights::{
    Cast, Weight, cast_weights, forget_known_weights, no_weights, set_weights, share_weights, weight_name,
    weights,
};

pub use relocate::relocate;

use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::pass::Report;
use onnx_ir::{Body, BodyId, GraphId, Model, NodeId, ValueDef, ValueId, VerifyOptions};
use onnx_ops::opset::registry_of;
use std::collections::HashMap;

/// The report of an edit, or the reasons why it is not possible.
pub type Edited = Result<Report, Vec<Diagnostic>>;

/// Errors of a model that another one does not have, and those that both have.
#[must_use]
pub fn new_errors(old: &Model, new: &Model) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
    let errors = |model: &Model| {
        let options = VerifyOptions { level: Level::Types, payloads: false };
        let mut found = onnx_ops::check::check(model, registry_of(model), &options);
        found.retain(Diagnostic::is_error);
        found
    };
    let found = errors(new);
    if found.is_empty() {
        return (found, Vec::new());
    }
    let mut known: HashMap<&'static str, usize> = HashMap::new();
    for diagnostic in errors(old) {
        *known.entry(diagnostic.code.id).or_default() += 1;
    }
    let mut counts: HashMap<&'static str, usize> = HashMap::new();
    found.iter().for_each(|d| *counts.entry(d.code.id).or_default() += 1);
    found.into_iter().partition(|d| counts[d.code.id] > known.get(d.code.id).copied().unwrap_or(0))
}

/// The main graph of a model.
pub fn main_graph(model: &Model) -> Option<(BodyId, GraphId)> {
    let body = model.main?;
    Some((body, model.bodies[body].root()?))
}

/// The value of the main graph that has a name.
pub fn main_value(model: &Model, name: &str) -> Option<ValueId> {
    let (id, graph) = main_graph(model)?;
    let (body, name) = (&model.bodies[id], model.names.find(name)?);
    body.graphs[graph].values(body).find(|&v| body.values[v].name == name)
}

/// The values that a node reads, with all that is nested in it.
pub(crate) fn reads(body: &Body, node: NodeId) -> Vec<ValueId> {
    let mut values = Vec::new();
    for inner in body.walk_nodes(&[node]).nodes() {
        values.extend(body.nodes[inner].inputs.iter().flatten());
        for graph in body.subgraphs(inner) {
            values.extend(body.graphs[graph].outputs.iter().filter_map(|port| port.value));
        }
    }
    values
}

/// The place where a value is defined.
fn definition(model: &Model, id: BodyId, value: ValueId) -> onnx_ir::diag::Place {
    use onnx_ir::diag::{Entity, Place};
    let body = &model.bodies[id];
    let position = |i: Option<usize>| i.and_then(|i| u32::try_from(i).ok());
    let entity = match body.values[value].def {
        ValueDef::Input(g) => position(body.graphs[g].inputs.iter().position(|p| p.value == Some(value)))
            .map(|i| Entity::Input(id, g, i)),
        ValueDef::Initializer(g) => {
            let graph = &body.graphs[g];
            let dense = position(graph.initializers.iter().position(|i| i.value == value));
            let sparse = position(graph.sparse_initializers.iter().position(|i| i.value == value));
            dense
                .map(|i| Entity::Initializer(id, g, i))
                .or(sparse.map(|i| Entity::SparseInitializer(id, g, i)))
        }
        ValueDef::Output(node, i) => Some(Entity::NodeOutput(id, node, i)),
        ValueDef::Unbound(_) => None,
    };
    entity.map_or(Place::Nowhere, Place::Entity)
}

/// Names as a sentence lists them: `` `a`, `b` and `c` ``.
fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.pop() {
        None => String::new(),
        Some(last) if quoted.is_empty() => last,
        Some(last) => format!("{} and {last}", quoted.join(", ")),
    }
}
