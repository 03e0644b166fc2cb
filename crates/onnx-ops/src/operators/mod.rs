//! The operators: a folder for each family, whose rows state everything about an operator in one place.
//!
//! ```text
//! op("Relu").infer(same_shape).define(meaning::relu).converted(&[up(6, values::consumed)]).unchanged(&[13, 14])
//! ```
//!
//! Some parts are found by name and not in the rows: the signature ([`schema`](crate::schema)), a function body in ONNX text
//! (`bodies/text`) and the example (`docs`). Engines (inference, definitions, costs, conversion, derivatives, lints) ask
//! [`find()`] or [`of_schema`] and have no lists of operators of their own.
//!
//! An operator without a rule that a function body defines is inferred through that body.

mod activation;
mod attention;
mod bodies;
mod cast;
mod contributed;
mod control;
mod conv;
mod einsum;
mod elementwise;
mod find;
mod gather;
mod loss;
mod matmul;
mod ml;
mod norm;
mod optional;
mod parts;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod row;
mod scatter;
mod select;
mod sequence;
mod shape;
mod signal;
mod softmax;
mod text;
mod training;
mod view;

pub use bodies::{body_of, has_body};
pub(crate) use find::{all, derivative_of, find, of_schema};
pub use find::{family, refusal};
pub use recurrent::activation::{CellActivation, CellParameters};
pub(crate) use row::Operator;
use row::{of_ml, of_preview, of_runtime, of_training, op};

/// The rows, for inference, which lies below them.
pub(crate) static ROWS: crate::engine::Rows =
    crate::engine::Rows { rule: |id, schema| of_schema(id, schema)?.rule(schema.since), body: bodies::of };

/// The families, under the names of their folders.
const FAMILIES: &[(&str, &[Operator])] = &[
    ("activation", activation::ROWS),
    ("attention", attention::ROWS),
    ("cast", cast::ROWS),
    ("contributed", contributed::ROWS),
    ("control", control::ROWS),
    ("conv", conv::ROWS),
    ("einsum", einsum::ROWS),
    ("elementwise", elementwise::ROWS),
    ("gather", gather::ROWS),
    ("loss", loss::ROWS),
    ("matmul", matmul::ROWS),
    ("ml", ml::ROWS),
    ("norm", norm::ROWS),
    ("optional", optional::ROWS),
    ("parts", parts::ROWS),
    ("pool", pool::ROWS),
    ("quantize", quantize::ROWS),
    ("random", random::ROWS),
    ("recurrent", recurrent::ROWS),
    ("reduce", reduce::ROWS),
    ("reshape", reshape::ROWS),
    ("resize", resize::ROWS),
    ("scatter", scatter::ROWS),
    ("select", select::ROWS),
    ("sequence", sequence::ROWS),
    ("shape", shape::ROWS),
    ("signal", signal::ROWS),
    ("softmax", softmax::ROWS),
    ("text", text::ROWS),
    ("training", training::ROWS),
    ("view", view::ROWS),
];
