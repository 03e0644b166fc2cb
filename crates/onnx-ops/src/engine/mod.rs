//! The inference engine: walks the bodies of a model, and runs the rules of operators, which callers hand down as [`Rows`].
//!
//! For each node it looks up the schema, checks the node against it (`signature`), and runs the rule, which sees its node
//! through [`NodeCx`]. Nested graphs are walked by the rule of their node, functions at each call with the facts of the call,
//! once for equal calls.

mod alike;
mod blame;
mod call;
mod callee;
mod declared;
mod findings;
mod fitting;
pub(crate) mod literal;
mod literals;
mod node;
pub(crate) mod rule;
mod signature;
mod stepwise;
mod trace;
mod walk;

use crate::bodies::BodyOf;
use crate::schema::{Schema, SchemaId};
pub(crate) use literals::infer_literals;
pub use node::{Infer, NodeCx};
pub(crate) use signature::allows;
pub use stepwise::Stepwise;
pub(crate) use trace::Trace;
pub use trace::{By, Looked};
pub use walk::{InferOptions, Inference};
pub(crate) use walk::{infer, traced};

/// Infers the outputs of a node. Types that follow from the type variables of the schema (most element types) are set before;
/// see [`NodeCx`] for what a rule can do.
pub(crate) type Rule = fn(&mut NodeCx<'_, '_>) -> Infer;

/// The operators, as inference sees them. Their rows lie above it, so callers hand them down.
pub(crate) struct Rows {
    /// The rule of the operator of a schema.
    pub(crate) rule: fn(SchemaId, &Schema) -> Option<Rule>,
    /// The function body of the operator of a node.
    pub(crate) body: BodyOf,
}
