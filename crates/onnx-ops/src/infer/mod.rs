//! Types and shapes of every value of a model, and whether they fit.
//!
//! [`infer`] walks the bodies of a model in order. At each node it finds the schema, holds the node against it
//! (`signature`), and asks the rule of the operator (`crate::rules`) for the types, shapes and, where they are small, the
//! elements of the outputs. Nested graphs are walked by the rule of the node that has them, functions at each call with
//! what the call passes, once for equal calls.
//!
//! The model never changes: what is found out is in [`Facts`]. What the author declared is held against what is
//! inferred; where both know something of a dimension, the better known is used downstream.
//!
//! A rule sees a node through [`NodeCx`] and speaks of dimensions in terms of [`Dims`](crate::dims::Dims):
//!
//! ```text
//! g (float[N,3] x) => (y, s)
//! {
//!    t = Concat <axis = 0> (x, x)     float[N*2,3]
//!    s = Shape (t)                    int64[2], and its elements are N*2 and 3
//!    y = Reshape (t, s2)              whatever s2 is known to be
//! }
//! ```

mod alike;
mod apply;
pub(crate) mod attrs;
mod call;
mod callee;
mod declared;
mod engine;
mod facts;
mod findings;
mod fitting;
mod formulas;
mod merge;
mod node;
mod signature;
mod stepwise;
mod trace;
mod ty;
mod value;
mod why;

pub use apply::{Applied, Refined, apply, declared_type};
pub(crate) use attrs::{Bindings, Given, ResolvedAttrs, Scope};
pub use engine::{InferOptions, Inference, infer};
pub use facts::{Fact, Facts, Source};
pub(crate) use formulas::formulas_that_differ;
pub use node::{Infer, NodeCx};
pub(crate) use signature::allows;
pub use stepwise::Stepwise;
pub use trace::{By, Looked};
pub use ty::{Shape, TensorTy, Ty, dim_text, elem_text};
pub(crate) use value::is_float;
pub use value::{Elem, Elems, Ints, Value};
pub use why::{Declared, How, Step, Symbol, Used, Why, why};
