//! The result of compiling a model, which never changes: the nodes in order, the action of each, and the stored values.
//!
//! Planning and running take a `&Program`; what runs learn is in their caches.

mod compile;
mod control;
mod interface;
mod invariant;
mod liveness;

pub use compile::is_run;
pub(crate) use control::{Control, Kind};
use interface::DeclaredValue;
pub(crate) use interface::SymbolSizes;
pub use interface::misfit;
pub(crate) use liveness::Liveness;

use crate::custom::CustomKernel;
use crate::options::CompileOptions;
use onnx_ir::diag::{Code, Diagnostic, Entity, Place};
use onnx_ir::{Body, BodyId, GraphId, Model, NodeId, Port, SecondaryMap, ValueDef, ValueId};
use onnx_kernels::Value;
use onnx_kernels::{Attributes, Kernel};
use onnx_ops::schema::{Registry, SchemaId};
use std::sync::Arc;

/// A compiled model.
pub(crate) struct Program<'r> {
    pub(crate) model: Model,
    pub(crate) registry: &'r Registry,
    pub(crate) body: BodyId,
    pub(crate) root: GraphId,
    /// The main graph of the model that was compiled, for places of its inputs and outputs.
    interface: Option<(BodyId, GraphId)>,
    /// The values inside the main graph whose declared types have symbols.
    declared: Vec<DeclaredValue>,
    /// The action of each node.
    pub(crate) actions: SecondaryMap<NodeId, Option<Action>>,
    /// The values that the model stores.
    pub(crate) stored: SecondaryMap<ValueId, Option<Value>>,
    pub(crate) liveness: Liveness,
    /// The nodes of the original model, indexed by the origins of this one.
    places: Vec<Entity>,
    pub(crate) options: CompileOptions,
}

/// How a node is run.
#[derive(Clone)]
pub(crate) enum Action {
    /// The result is a constant.
    Constant(Value),
    /// The node runs subgraphs.
    Control(Control),
    /// The node is a call of a kernel.
    Kernel(SchemaId, Kernel),
    /// The caller of `compile` has provided the operator.
    Custom(Arc<dyn CustomKernel>),
    /// The formula of the operator if it has one for the types of the inputs, otherwise its function body.
    Formula(SchemaId),
}

impl Program<'_> {
    /// The body of the model that is run.
    pub(crate) fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    /// The inputs of the model, in order.
    pub(crate) fn inputs(&self) -> &[Port] {
        &self.body().graphs[self.root].inputs
    }

    /// The outputs of the model, in order.
    pub(crate) fn outputs(&self) -> &[Port] {
        &self.body().graphs[self.root].outputs
    }

    /// Whether the model stores a default for an input.
    pub(crate) fn has_default(&self, input: &Port) -> bool {
        input.value.is_some_and(|value| self.stored[value].is_some())
    }

    /// A finding about a node, placed where the node is in the original model.
    pub(crate) fn failed(&self, node: NodeId, code: &'static Code, why: &str) -> Box<Diagnostic> {
        let n = &self.body().nodes[node];
        let op = self.model.text(n.op);
        let which = match self.model.text(n.name) {
            "" => match n.outputs.iter().flatten().next() {
                Some(&value) => format!("`{op}`, which computes `{}`", self.value_name(value)),
                None => format!("`{op}`"),
            },
            name => format!("`{op}` (node `{name}`)"),
        };
        let origin = self.body().origins[node];
        let place = self.places.get(origin.0 as usize).map_or(Place::Nowhere, |&node| node.into());
        Box::new(Diagnostic::new(code, place, format!("{which}: {why}")))
    }

    /// Whether a value is the same in every run.
    pub(crate) fn is_constant(&self, value: ValueId) -> bool {
        self.stored[value].is_some() && !matches!(self.body().values[value].def, ValueDef::Input(_))
    }

    /// Which inputs of a node are constant.
    pub(crate) fn constants(&self, node: NodeId) -> Vec<bool> {
        let inputs = self.body().nodes[node].inputs.iter();
        inputs.map(|value| value.is_some_and(|value| self.is_constant(value))).collect()
    }

    /// The name of a value.
    pub(crate) fn value_name(&self, value: ValueId) -> &str {
        &self.model.names[self.body().values[value].name]
    }

    /// The operator name of a node.
    pub(crate) fn op(&self, node: NodeId) -> &str {
        self.model.text(self.body().nodes[node].op)
    }

    /// The attributes of a node, with the defaults of its schema.
    pub(crate) fn attributes(&self, node: NodeId, schema: SchemaId) -> Attributes<'_> {
        let schema = self.registry.get(schema);
        Attributes { model: &self.model, body: self.body(), node: &self.body().nodes[node], schema }
    }
}
