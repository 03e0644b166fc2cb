//! Fixes: edits of a text, or changes of a model that the owner of the text converts to edits.
//!
//! The parser knows the text and creates edits. The verifier and inference know only entities, so they create changes, and
//! `onnx_text::SourceMap::edits` finds the places:
//!
//! ```text
//! y = Rleu(x)              Rename(NodeOp(y), "Relu")
//! dead = Abs(x)            Remove(Node(dead))
//! z = Add(x, i)            Cast(NodeInput(z, 1), FLOAT)
//! ```

use super::place::{Entity, Span};
use crate::ids::{BodyId, FunctionId, GraphId, NodeId};
use crate::types::ElemType;

/// A fix of a finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Fix {
    /// An imperative description.
    pub title: String,
    /// Replacements, in order, that do not overlap.
    pub edits: Vec<Edit>,
    /// The changes of the model, which the owner of the text converts to edits.
    pub changes: Vec<ModelChange>,
    /// Whether the fix certainly keeps the intended meaning.
    pub safe: bool,
}

/// Replaces a span of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// The replaced span; empty for an insertion.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A change of a model, in terms of its entities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelChange {
    /// Puts another name in the place of the one that an operator, an operand or an attribute has there.
    Rename(Entity, String),
    /// Removes a node, a function, or an entry of a list.
    Remove(Entity),
    /// Lets a node read an operand through a `Cast` to this element type, in a node of its own.
    Cast(Entity, ElemType),
    /// Imports a domain, into a function or the model.
    Import(Option<FunctionId>, String, i64),
    /// Puts the nodes of a graph into this order.
    Order(BodyId, GraphId, Vec<NodeId>),
}
