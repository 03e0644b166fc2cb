//! Placeholder calls for derivatives, which are inlined at the end.

use super::reverse::Refusal;
use crate::functions::FunctionBody;
use crate::schema::Registry;
use onnx_ir::pass::{self, Foreign, Inline};
use onnx_ir::{BodyId, Model, NodeId};

/// The domain of the calls, which never remain in a model.
pub(super) const DOMAIN: &str = "onnxtxt.derivative";

/// The functions of the calls; the operator of a call is an index.
#[derive(Default)]
pub(super) struct Calls(Vec<FunctionBody>);

impl Calls {
    /// Adds a function; returns the operator of its calls.
    pub(super) fn add(&mut self, function: FunctionBody) -> String {
        self.0.push(function);
        (self.0.len() - 1).to_string()
    }

    /// Inlines the functions.
    pub(super) fn inline(&self, model: &mut Model, registry: &Registry) -> Result<(), Refusal> {
        let mut others = |model: &Model, body: BodyId, node: NodeId| {
            let node = &model.bodies[body].nodes[node];
            (model.text(node.domain) == DOMAIN).then_some(())?;
            let function = self.0.get(model.text(node.op).parse::<usize>().ok()?)?;
            Some(Foreign { model: function.model.clone(), function: function.id })
        };
        let options =
            Inline { select: &|_, _| false, depth: Some(1), others: Some(&mut others), ..Inline::default() };
        let report = pass::inline(model, registry, options);
        let is_left = |body: &onnx_ir::Body| {
            let mut listed = body.graphs.values().flat_map(|graph| &graph.nodes);
            listed.any(|&node| model.text(body.nodes[node].domain) == DOMAIN)
        };
        match model.bodies.values().any(is_left) {
            false => Ok(()),
            true => {
                let why = report.diagnostics.first().map(|found| format!(": {}", found.message));
                Err(Refusal::of(format!(
                    "its derivative does not fit into the graph{}",
                    why.unwrap_or_default()
                )))
            }
        }
    }
}
