//! What mends a finding: edits of a text, or changes of a model that whoever owns its text turns into edits.
//!
//! The parser knows the text and makes edits. The verifier and inference know entities only, so they say what is to
//! change, and `onnx_text::SourceMap::edits` finds the places:
//!
//! ```text
//! y = Rleu(x)              Rename(NodeOp(y), "Relu")
//! dead = Abs(x)            Remove(Node(dead))
//! z = Add(x, i)            Cast(NodeInput(z, 1), FLOAT)
//! ```

use super::place::{Entity, Span};
use crate::body::{GraphId, NodeId};
use crate::model::{BodyId, FunctionId};
use crate::types::ElemType;

/// A change of the source that mends a finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Fix {
    /// What it does, as an imperative.
    pub title: String,
    /// Replacements, in order, that do not overlap.
    pub edits: Vec<Edit>,
    /// What changes in the model. Who owns the text makes edits of it; for a model without a text it stays as it is.
    pub changes: Vec<Change>,
    /// Whether the fix is certain to keep what the author meant.
    pub safe: bool,
}

/// Replaces a span of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What is replaced; empty to insert.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// A change of a model, in terms of its entities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Puts another name in the place of the one that an operator, an operand or an attribute has there.
    Rename(Entity, String),
    /// Takes a node, a function, or an entry of a list out.
    Remove(Entity),
    /// Lets a node read an operand through a `Cast` to this element type, in a node of its own.
    Cast(Entity, ElemType),
    /// Imports a domain, into a function or the model.
    Import(Option<FunctionId>, String, i64),
    /// Puts the nodes of a graph into this order.
    Order(BodyId, GraphId, Vec<NodeId>),
}
