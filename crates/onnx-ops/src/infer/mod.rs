//! Type and shape inference for every value of a model, and checks of its nodes.
//!
//! [`infer`] walks the bodies of a model in order. For each node it looks up the schema, checks the node against it
//! (`signature`), and runs the rule of the operator (`crate::rules`), which returns the types, shapes and, if they are small, the
//! elements of the outputs. Nested graphs are walked by the rule of their node, functions at each call with the facts of the call,
//! once for equal calls.
//!
//! The model does not change: the results are in [`Facts`]. Declared types are compared with inferred ones; the more precise
//! dimension of the two is used downstream.
//!
//! A rule accesses its node through [`NodeCx`] and describes dimensions in [`Dims`](crate::dims::Dims):
//!
//! ```text
//! g (float[N,3] x) => (y, s)
//! {
//!    t = Concat <axis = 0> (x, x)     float[N*2,3]
//!    s = Shape (t)                    int64[2], and its elements are N*2 and 3
//!    y = Reshape (t, s2)              the known elements of s2
//! }
//! ```

mod alike;
mod apply;
pub(crate) mod attrs;
mod blame;
mod call;
mod callee;
mod declared;
mod engine;
mod facts;
mod findings;
mod fitting;
mod formulas;
mod literals;
mod merge;
mod node;
pub(crate) mod rule;
mod signature;
mod small_tensor;
mod stepwise;
mod trace;
mod ty;
mod why;
mod words;

pub use apply::{Applied, Refined, apply, declared_type};
pub use attrs::ResolvedAttrs;
pub(crate) use attrs::{Given, NO_BINDINGS, Scope};
pub use engine::{InferOptions, Inference, infer};
pub use facts::{Fact, FactSource, Facts};
pub(crate) use formulas::formulas_that_differ;
pub(crate) use literals::infer_literals;
pub use node::{Infer, NodeCx};
pub(crate) use signature::allows;
pub(crate) use small_tensor::is_float;
pub use small_tensor::{Elem, Elems, Ints, SmallTensor};
pub use stepwise::Stepwise;
pub use trace::{By, Looked};
pub use ty::{Shape, TensorTy, Ty, dim_text, elem_text};
pub use why::{Declared, Derivation, How, Symbol, Used, Why, why};
pub use words::attribute_words;
