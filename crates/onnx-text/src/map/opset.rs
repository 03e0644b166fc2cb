//! Finds the places of an operator set's entities in its text.

use super::SourceMap;
use super::index::Index;
use crate::ast::{self, OpsetItem};
use onnx_ir::OperatorSet;
use onnx_ir::diag::{Entity, Span};
use std::sync::Arc;

/// Finds entities of an operator set in the text that it was lowered from.
#[derive(Clone, Debug)]
pub struct OpsetMap<'a> {
    source: &'a str,
    tree: &'a ast::OperatorSet,
    /// The operators of the tree.
    operators: Vec<&'a ast::Operator>,
    set: &'a OperatorSet,
    /// The functions of the set, those that operators have as their body included.
    file: ast::File,
    index: Arc<Index>,
}

impl<'a> OpsetMap<'a> {
    /// A map from `set` to the tree that it was lowered from.
    pub fn new(source: &'a str, tree: &'a ast::OperatorSet, set: &'a OperatorSet) -> Self {
        let functions = tree.items.iter().filter_map(|item| match item {
            // Imports are found in the header of the operator.
            OpsetItem::Operator(operator) => operator.function(|_| true),
            OpsetItem::Function(function) => Some((**function).clone()),
        });
        let file = ast::File {
            notes: ast::Notes::default(),
            header: Some(tree.header.clone()),
            graph: None,
            functions: functions.collect(),
        };
        OpsetMap { source, tree, operators: tree.operators().collect(), set, file, index: Arc::default() }
    }

    /// The span of an entity, as small as possible.
    pub fn span(&self, entity: Entity) -> Option<Span> {
        let operator = |o: u32| self.operators.get(o as usize).copied();
        match entity {
            Entity::OpsetVersion => {
                let is_version = |f: &&ast::Field| &self.source[f.key.range()] == "opset_version";
                let field = self.tree.header.items.iter().find(is_version);
                Some(field.map_or(self.tree.header.span, |f| f.key.to(f.value.span())))
            }
            Entity::Operator(o) => operator(o).map(|o| o.name),
            Entity::OperatorInput(o, i) => {
                operator(o)?.signature.as_ref()?.inputs.items.get(i as usize).map(|f| f.span)
            }
            Entity::OperatorOutput(o, i) => {
                operator(o)?.signature.as_ref()?.outputs.items.get(i as usize).map(|f| f.span)
            }
            Entity::OperatorAttribute(o, i) => {
                let attrs = operator(o)?.signature.as_ref()?.attrs.as_ref()?;
                attrs.items.get(i as usize).map(|a| a.attr.span)
            }
            Entity::OperatorVariable(o, i) => {
                let clause = operator(o)?.signature.as_ref()?.variables.as_ref()?;
                clause.variables.get(i as usize).map(|v| v.name)
            }
            other => {
                let index = Arc::clone(&self.index);
                let map = SourceMap { source: self.source, file: &self.file, model: &self.set.model, index };
                map.span(other)
            }
        }
    }
}
