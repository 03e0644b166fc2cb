//! A node with its context, as lints see it.

use crate::facts::{Fact, Facts, ResolvedAttrs, SmallTensor, Ty};
use crate::schema::Schema;
use onnx_ir::diag::{Code, Diagnostic, Entity, ModelChange};
use onnx_ir::{Body, BodyId, ElemType, Model, Name, Node, NodeId, Use, Uses, ValueDef, ValueId};
use std::collections::HashSet;

/// A node with its facts.
pub(crate) struct LintSite<'a> {
    pub(crate) model: &'a Model,
    pub(crate) body_id: BodyId,
    pub(crate) body: &'a Body,
    pub(crate) id: NodeId,
    pub(crate) node: &'a Node,
    pub(crate) schema: &'a Schema,
    pub(crate) facts: &'a Facts,
    pub(crate) uses: &'a Uses,
    /// Functions of the model, which can shadow operators.
    pub(crate) local: &'a HashSet<(String, Name)>,
}

impl<'a> LintSite<'a> {
    pub(crate) fn input(&self, i: usize) -> Option<ValueId> {
        self.node.inputs.get(i).copied().flatten()
    }

    pub(crate) fn output(&self, i: usize) -> Option<ValueId> {
        self.node.outputs.get(i).copied().flatten()
    }

    pub(crate) fn fact(&self, value: Option<ValueId>) -> Option<&'a Fact> {
        value.map(|v| self.facts.get(self.body_id, v))
    }

    pub(crate) fn ty(&self, i: usize) -> Option<&'a Ty> {
        self.fact(self.input(i)).map(|fact| &fact.ty)
    }

    pub(crate) fn elem(&self, i: usize) -> Option<ElemType> {
        self.ty(i).and_then(Ty::elem)
    }

    /// The facts about the elements of an input.
    pub(crate) fn value(&self, i: usize) -> Option<&'a SmallTensor> {
        self.fact(self.input(i))?.value.as_deref()
    }

    /// The elements of an input, if all are known numbers.
    pub(crate) fn numbers(&self, i: usize) -> Option<Vec<f64>> {
        self.value(i)?.numbers()
    }

    /// The only element of an input, if it is known.
    pub(crate) fn number(&self, i: usize) -> Option<f64> {
        self.value(i)?.single()?.number()
    }

    pub(crate) fn attrs(&self) -> ResolvedAttrs<'a> {
        ResolvedAttrs::of(&self.model.names, self.body, self.node, self.schema)
    }

    pub(crate) fn at_op(&self) -> Entity {
        Entity::NodeOp(self.body_id, self.id)
    }

    pub(crate) fn at_input(&self, i: usize) -> Entity {
        Entity::NodeInput(self.body_id, self.id, index(i))
    }

    /// The place of an attribute, or of the operator if the node does not have it.
    pub(crate) fn at_attr(&self, name: &str) -> Entity {
        let at = self.node.attrs.iter().position(|a| self.model.text(a.name) == name);
        at.map_or(self.at_op(), |at| Entity::Attr(self.body_id, self.id, index(at)))
    }

    /// A finding about the node.
    pub(crate) fn finding(&self, code: &'static Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.at_op(), message)
    }

    pub(crate) fn op(&self) -> &'a str {
        &self.schema.name
    }

    /// The name of a value.
    pub(crate) fn name(&self, value: ValueId) -> &'a str {
        &self.model.names[self.body.values[value].name]
    }

    /// The node that computes an input.
    pub(crate) fn producer(&self, i: usize) -> Option<(NodeId, &'a Node)> {
        match self.body.values[self.input(i)?].def {
            ValueDef::Output(node, _) => Some((node, &self.body.nodes[node])),
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
        }
    }

    /// Whether an input is stored in the model.
    pub(crate) fn is_stored(&self, i: usize) -> bool {
        match self.input(i).map(|v| self.body.values[v].def) {
            Some(ValueDef::Initializer(_)) => true,
            Some(ValueDef::Output(node, _)) => self.model.text(self.body.nodes[node].op) == "Constant",
            Some(ValueDef::Input(_) | ValueDef::Unbound(_)) | None => false,
        }
    }

    /// Whether a graph returns the first output.
    pub(crate) fn is_returned(&self) -> bool {
        let uses = self.output(0).map(|v| self.uses.of_value(v)).unwrap_or_default();
        uses.iter().any(|u| matches!(u, Use::Output(..)))
    }

    /// The changes that make readers of the first output read another value and remove the node. Empty if the output must exist.
    pub(crate) fn bypass(&self, same: ValueId) -> Vec<ModelChange> {
        let Some(output) = self.output(0) else { return Vec::new() };
        let is_read = |v: &ValueId| *v != output && !self.uses.is_unused(*v);
        let is_annotated = self.body.graphs.values().any(|graph| !graph.quantization.is_empty());
        if self.is_returned() || is_annotated || self.node.outputs.iter().flatten().any(is_read) {
            return Vec::new();
        }
        let mut changes = vec![ModelChange::Remove(Entity::Node(self.body_id, self.id))];
        for used in self.uses.of_value(output) {
            if let Use::Input(node, at) = *used {
                let place = Entity::NodeInput(self.body_id, node, at);
                changes.push(ModelChange::Rename(place, self.name(same).to_owned()));
            }
        }
        changes
    }
}

pub(crate) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
