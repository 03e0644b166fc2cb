//! Operators that ONNX Runtime adds, of the domain com.microsoft, and that no function body can say: with optional operands
//! that are added or not, or with elements that are packed. What they mean is what that runtime does with them.

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

/// The tables of the families.
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
