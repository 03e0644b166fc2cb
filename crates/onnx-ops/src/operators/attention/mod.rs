//! Attention and related operators.

mod bodies;
pub(super) mod cost;
mod infer;
pub(super) mod linear;
mod rotary;

use super::{Operator, of_preview, op};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Attention")
        .infer(infer::attention)
        .body(23, bodies::attention)
        .unchanged(&[24, 25])
        .work(Work::Products(cost::attention, None)),
    of_preview("FlexAttention").infer(infer::flex).body(15, bodies::flex_attention),
    op("LinearAttention").infer(infer::linear).body(27, linear::linear_attention),
    op("RotaryEmbedding").infer(infer::rotary).body(23, rotary::rotary_embedding),
    op("SwiGLU").infer(infer::swiglu),
];
