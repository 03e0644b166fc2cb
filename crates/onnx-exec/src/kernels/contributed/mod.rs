//! Operators of com.microsoft (ONNX Runtime) that no function body can express, because operands are optional or elements are
//! packed. Their definition is the behaviour of that runtime.

mod attention;
mod blocks;
mod crop;
mod experts;
mod few;
mod grouped;
mod heads;
mod inverse;
mod norm;
mod packed;
mod quantized;
mod rotary;
mod words;

use super::Row;

pub(super) use heads::{Look, Memory};
pub(super) use quantized::through_bytes;

/// The kernels of each family.
pub(super) const FAMILIES: &[&[Row]] = &[
    attention::ROWS,
    blocks::ROWS,
    crop::ROWS,
    experts::ROWS,
    grouped::ROWS,
    inverse::ROWS,
    norm::ROWS,
    packed::ROWS,
    rotary::ROWS,
    words::ROWS,
];
