//! Operators that are not formulas, computed as a whole: their output shapes depend on data, or their elements are not independent
//! (sorting, recurrences, strings, random numbers, decoding). Also the [`Value`]s that nodes exchange.
//!
//! This crate knows the attributes and inputs of a node, and no graph: `onnx-exec` runs models. Most of it is what that crate needs
//! and not an interface for others.
//!
//! A kernel receives a [`Call`] and returns the outputs of its node in order. It checks types and shapes itself and fails with a
//! reason. A file has the kernels of a family with their rows; `table` lists the families. [`Call::since`] tells versions of an
//! operator apart.

mod arithmetic;
mod attention;
mod axis_split;
mod broadcast;
mod call;
mod columns;
mod contributed;
mod cumulative;
mod data;
mod deform;
mod det;
mod dropout;
mod fourier;
mod grid;
mod image;
mod keep;
mod mel;
mod ml;
mod ngrams;
mod nms;
mod normalize;
mod optimize;
mod order;
mod pattern;
mod random;
mod real;
mod recurrent;
mod resize;
mod roi;
mod row;
mod scatter;
mod select;
mod sequence;
mod sort;
mod sorted;
mod structure;
mod table;
mod text;
mod tokens;
mod types;
mod unpool;
mod value;
mod window;

pub use call::{Attributes, Call, Given, resolve_axis};
pub use data::dense;
pub use keep::Keep;
pub use row::{Kernel, Nodes};
use row::{Row, row};
pub use table::{choose, find, find_long};
pub use types::extents_fit;
pub use value::{Map, Value};

#[cfg(test)]
mod tests;
