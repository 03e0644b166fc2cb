//! Kernels of whole operators: those whose output shapes depend on data, or that are not formulas of single elements (sorting,
//! recurrences, strings, random numbers, decoding).
//!
//! A kernel receives a [`Call`] and returns the outputs of its node in order. It checks types and shapes itself and fails with a
//! reason. A file has the kernels of a family with their rows; [`table`] lists the families. [`Call::since`] tells versions of an
//! operator apart.

mod arithmetic;
mod attention;
mod axis_split;
mod broadcast;
mod call;
mod columns;
mod contributed;
mod cumulative;
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
mod scatter;
mod select;
mod sequence;
mod sort;
mod sorted;
mod structure;
mod table;
mod text;
mod tokens;
mod unpool;
mod window;

pub(crate) use attention::Given;
pub(crate) use call::{Attributes, Call, resolve_axis};
pub(crate) use keep::Keep;
pub(crate) use table::{Kernel, Nodes, choose, find, find_long};
use table::{Row, row};

#[cfg(test)]
mod tests;
