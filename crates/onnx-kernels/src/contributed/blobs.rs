//! The MatMulFpQ4 kernel: a product with a matrix of 4-bit codes and their scales in one list of bytes.

use super::blocks::products;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::Matrix;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::count_of;

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "MatMulFpQ4", mat_mul_fp_q4)];

/// Codes are in groups: each byte has one of the first half of a group and one of the second.
const GROUP: usize = 32;

/// The layout of a block of a column: a scale, perhaps a zero point, and codes.
struct Layout {
    codes: usize,
    has_zero: bool,
}

impl Layout {
    fn bytes(&self) -> usize {
        size_of::<f32>() + usize::from(self.has_zero) + self.codes / 2
    }

    /// Unpacks a block to the weights that it has.
    fn unpack(&self, block: &[u8], weights: &mut [f32]) {
        let (scale, rest) = block.split_at(size_of::<f32>());
        let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
        let (zero, codes) = if self.has_zero { (f32::from(rest[0]), &rest[1..]) } else { (8.0, rest) };
        for (i, weight) in weights.iter_mut().enumerate() {
            let (group, at) = (i / GROUP, i % GROUP);
            let byte = codes[group * GROUP / 2 + at % (GROUP / 2)];
            let code = if at < GROUP / 2 { byte & 15 } else { byte >> 4 };
            *weight = (f32::from(code) - zero) * scale;
        }
    }
}

fn mat_mul_fp_q4(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, shape) = (call.tensor(0)?, call.tensor(2)?.ints()?);
    let layout = match call.attrs.int("blk_quant_type") {
        Some(0) => Layout { codes: 32, has_zero: false },
        None | Some(1) => Layout { codes: 32, has_zero: true },
        Some(2) => Layout { codes: 64, has_zero: false },
        Some(kind) => fail!("`blk_quant_type` is 0, 1 or 2, not {kind}"),
    };
    let sizes = match shape[..] {
        [k, n] => usize::try_from(k).ok().zip(usize::try_from(n).ok()),
        _ => None,
    };
    let Some((k, n)) = sizes else { fail!("{shape:?} is not the shape of a matrix") };
    let Some((&last, outer)) = a.dims().split_last() else { fail!("the first operand is a scalar") };
    if last != k {
        fail!("rows of {last} are not multiplied with columns of {k}");
    }
    let weights = call.kept(&[1, 2], |store| {
        let blocks = k.div_ceil(layout.codes);
        let (stored, bytes) = (call.tensor(1)?, layout.bytes());
        if count_of(&[n, blocks, bytes])? != stored.len() {
            fail!(
                "{} not {} of {} of {bytes}",
                counted_are(stored.len(), "byte"),
                counted(n, "column"),
                counted(blocks, "block")
            );
        }
        let mut weights = filled(count_of(&[n, k])?, 0.0f32)?;
        let columns = weights.chunks_exact_mut(k.max(1));
        let stored = stored.words::<u8>().chunks_exact((blocks * bytes).max(1));
        for (column, stored) in columns.zip(stored) {
            for (weights, block) in column.chunks_mut(layout.codes).zip(stored.chunks_exact(bytes)) {
                layout.unpack(block, weights);
            }
        }
        Matrix::of_columns(&weights, k, store)
    })?;
    products(call, outer, &weights, [k, n])
}
