//! Operators of com.microsoft (ONNX Runtime) that no function body can express, because operands are optional or elements are
//! packed. Their definition is the behaviour of that runtime.

mod attention;
mod blobs;
mod blocks;
mod crop;
mod experts;
mod few;
mod grouped;
mod heads;
mod inverse;
mod masked;
mod ngrams;
mod norm;
mod packed;
mod paths;
mod quantized;
mod rotary;
mod sparse;
mod words;

use super::Row;

pub(super) use heads::{Attend, KeyValueBlocks};
pub(super) use quantized::through_bytes;

/// The kernels of each family.
pub(super) const FAMILIES: &[&[Row]] = &[
    attention::ROWS,
    blobs::ROWS,
    blocks::ROWS,
    crop::ROWS,
    experts::ROWS,
    grouped::ROWS,
    inverse::ROWS,
    masked::ROWS,
    ngrams::ROWS,
    norm::ROWS,
    packed::ROWS,
    paths::ROWS,
    rotary::ROWS,
    sparse::ROWS,
    words::ROWS,
];
