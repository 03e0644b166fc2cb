//! Kernels of whole operators: those whose output shapes depend on data, or that are not formulas of single elements (sorting,
//! recurrences, strings, random numbers, decoding).
//!
//! A kernel receives a [`Call`] and returns the outputs of its node in order. It checks types and shapes itself and fails with a
//! reason. A file has the kernels of a family; the table below lists their operators. [`Call::since`] tells versions of an
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
mod structure;
mod text;
mod tokens;
mod unpool;
mod window;

pub(crate) use attention::{Given, find_of_long};
pub(crate) use call::{Attributes, Call, resolve_axis};
pub(crate) use keep::Keep;

use crate::failure::Failure;
use crate::loops::MOST_PIECES;
use crate::value::Value;
use foldhash::HashMap;
use onnx_ir::ElemType;
use std::sync::LazyLock;

/// Computes the outputs of a node, in order. Outputs after the last used one may be missing.
pub(crate) type Kernel = fn(&mut Call<'_>) -> Result<Vec<Value>, Failure>;

/// The kernel of an operator.
pub(crate) fn find(domain: &str, op: &str) -> Option<Kernel> {
    static KERNELS: LazyLock<HashMap<(&str, &str), Kernel>> = LazyLock::new(|| {
        let rows = FAMILIES.iter().chain(contributed::FAMILIES).flat_map(|rows| rows.iter());
        rows.map(|row| ((row.0, row.1), row.2)).collect()
    });
    KERNELS.get(&(domain, op)).copied()
}

/// The kernel that replaces the formula of an operator for string inputs.
pub(crate) fn find_of_strings(domain: &str, op: &str) -> Option<Kernel> {
    let mut rows = structure::OF_STRINGS.iter().chain(text::OF_STRINGS);
    rows.find(|row| (row.0, row.1) == (domain, op)).map(|row| row.2)
}

/// The kernel that replaces the formula of a node that converts to strings.
pub(crate) fn find_to_strings(domain: &str, op: &str, attrs: &Attributes<'_>) -> Option<Kernel> {
    let makes_strings = text::target(attrs) == Some(ElemType::STRING);
    if makes_strings {
        text::OF_STRINGS.iter().find(|row| (row.0, row.1) == (domain, op)).map(|row| row.2)
    } else {
        None
    }
}

/// The kernel that replaces the formula of a training node: one with `training_mode`, or in versions without it, one with more
/// than its first output.
pub(crate) fn find_of_training(domain: &str, op: &str, attrs: &Attributes<'_>) -> Option<Kernel> {
    let is_training = match attrs.schema.attr("training_mode") {
        Some(_) => attrs.flag("training_mode"),
        None => !attrs.flag("is_test") && attrs.node.outputs.iter().skip(1).any(Option::is_some),
    };
    let row = normalize::OF_TRAINING.iter().find(|row| (row.0, row.1) == (domain, op))?;
    is_training.then_some(row.2)
}

/// The kernel that replaces the formula of a node with so many inputs that its loops would choose one of them for each element.
pub(crate) fn find_of_many(domain: &str, op: &str, inputs: usize) -> Option<Kernel> {
    let row = sequence::OF_MANY.iter().find(|row| (row.0, row.1) == (domain, op))?;
    (inputs > MOST_PIECES).then_some(row.2)
}

/// The kernel for nodes that the formula of their operator does not support: sequences, random numbers, other modes.
pub(crate) fn find_beside(domain: &str, op: &str) -> Option<Kernel> {
    let mut rows = BESIDE.iter().flat_map(|rows| rows.iter());
    rows.find(|row| (row.0, row.1) == (domain, op)).map(|row| row.2)
}

/// Domain, operator, kernel.
type Row = (&'static str, &'static str, Kernel);

/// The kernels of each family.
const FAMILIES: &[&[Row]] = &[
    nms::ROWS,
    columns::ROWS,
    cumulative::ROWS,
    deform::ROWS,
    det::ROWS,
    fourier::ROWS,
    grid::ROWS,
    image::ROWS,
    mel::ROWS,
    ml::ROWS,
    ngrams::ROWS,
    optimize::ROWS,
    pattern::ROWS,
    random::ROWS,
    recurrent::ROWS,
    roi::ROWS,
    scatter::ROWS,
    select::ROWS,
    sequence::ROWS,
    sort::ROWS,
    structure::ROWS,
    text::ROWS,
    tokens::ROWS,
    unpool::ROWS,
];

/// The kernels of families most of whose nodes have formulas.
const BESIDE: &[&[Row]] = &[dropout::BESIDE, resize::BESIDE, structure::BESIDE];

#[cfg(test)]
mod tests;
