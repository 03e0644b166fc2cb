//! Type and shape inference for every value of a model, and checks of its nodes.
//!
//! [`infer()`] walks the bodies of a model in order. For each node it looks up the schema, checks the node against it,
//! and runs the rule of the operator, which its row names, and which returns the types, shapes and, if they are small, the
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

mod apply;
mod formulas;
mod stepwise;
mod why;
mod words;

pub use crate::engine::{By, Infer, InferOptions, Inference, Looked, NodeCx, Stepwise};
pub use crate::facts::{
    Elem, Elems, Fact, FactSource, Facts, Ints, ResolvedAttrs, Shape, SmallTensor, TensorTy, Ty, dim_text,
    elem_text,
};
pub use apply::{Applied, Refined, apply, declared_type};
pub(crate) use formulas::formulas_that_differ;
pub use why::{Declared, Derivation, How, Symbol, Used, Why, why};
pub use words::attribute_words;

use crate::engine;
use crate::operators::ROWS;
use crate::schema::Registry;
use onnx_ir::Model;

/// Infers the types and shapes of all values of a model, and checks its nodes against their schemas.
///
/// Time is linear in the size of the model, and in the number of different calls of functions, up to a limit.
pub fn infer(model: &Model, registry: &Registry, options: &InferOptions) -> Inference {
    engine::infer(model, registry, &ROWS, options)
}
