//! The MatMulNBits kernel: a product with packed weights of few bits, with a scale per block.

use super::few::{Blocks, MAX_ROWS};
use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::{counted, counted_are};
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::count_of;
use onnx_loops::{Matrix, PackedStore};
use std::sync::OnceLock;

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "MatMulNBits", mat_mul_n_bits)];

/// A code of few bits; the first one is in the lowest bits of its byte.
pub(super) fn code(bytes: &[u8], i: usize, bits: usize) -> f64 {
    let per_byte = 8 / bits;
    let byte = bytes[i / per_byte] >> (i % per_byte * bits);
    f64::from(byte & (u8::MAX >> (8 - bits)))
}

/// The weights of a node.
struct Weights {
    k: usize,
    bits: usize,
    /// Weights per block, blocks per column, and bytes per block.
    block: usize,
    blocks: usize,
    bytes: usize,
    scales: List<f64>,
    zeros: List<f64>,
    /// The block of each row of weights, if blocks are not contiguous.
    groups: Option<List<i64>>,
    /// The stored form for products of few rows.
    few: Option<Blocks>,
    /// The dequantized weights.
    matrix: OnceLock<Matrix>,
}

fn weights(call: &Call<'_>, k: usize, n: usize) -> Result<Weights, Failure> {
    let number = |name: &str| usize::try_from(call.attrs.int(name).unwrap_or(0)).unwrap_or(0);
    let (bits, block) = (call.attrs.int("bits").unwrap_or(4), number("block_size"));
    let bits = match bits {
        2 | 4 | 8 => bits as usize,
        _ => fail!("weights of {} cannot be unpacked", counted(bits, "bit")),
    };
    if block == 0 || !block.is_multiple_of(8 / bits) || call.attrs.flag("weight_prepacked") {
        fail!("blocks of {} cannot be unpacked", counted(block, "weight"));
    }
    let blocks = k.div_ceil(block);
    let bytes = block / (8 / bits);
    let (packed, scales) = (call.tensor(1)?, call.tensor(2)?);
    if count_of(&[n, blocks, bytes])? != packed.len() || count_of(&[n, blocks])? != scales.len() {
        fail!(
            "weights of shape {:?} and scales of {:?} are none of {n} by {k}",
            packed.dims(),
            scales.dims()
        );
    }
    let scales = scales.floats()?;
    let middle = f64::from(1u8 << (bits - 1));
    let packed_zeros = count_of(&[blocks, bits])?.div_ceil(8);
    let zeros: List<f64> = match call.optional_tensor(3)? {
        None => filled(scales.len(), middle)?,
        Some(zeros) if zeros.elem() == ElemType::UINT8 && zeros.len() == n * packed_zeros => {
            let row = |i: usize| &zeros.words::<u8>()[i / blocks * packed_zeros..];
            (0..scales.len()).map(|i| code(row(i), i % blocks, bits)).listed()?
        }
        Some(zeros) if zeros.elem() != ElemType::UINT8 && zeros.len() == scales.len() => zeros.floats()?,
        Some(zeros) => fail!("zero points of shape {:?} do not fit", zeros.dims()),
    };
    let groups = match call.optional_ints(4)? {
        None => None,
        Some(groups) if groups.len() >= k => Some(groups),
        Some(groups) => fail!("{} given for {}", counted_are(groups.len(), "group index"), counted(k, "row")),
    };
    let is_whole = bits == 4 && groups.is_none();
    let few = if is_whole { Blocks::of(&scales, &zeros, blocks, block)? } else { None };
    let matrix = OnceLock::new();
    Ok(Weights { k, bits, block, blocks, bytes, scales, zeros, groups, few, matrix })
}

impl Weights {
    /// The dequantized weights, computed on demand.
    fn matrix(&self, packed: &[u8], store: Option<&dyn PackedStore>) -> Result<&Matrix, Failure> {
        if let Some(matrix) = self.matrix.get() {
            return Ok(matrix);
        }
        let made = self.unpacked(packed, store)?;
        Ok(self.matrix.get_or_init(|| made))
    }

    fn unpacked(&self, packed: &[u8], store: Option<&dyn PackedStore>) -> Result<Matrix, Failure> {
        let Weights { k, bits, block, blocks, bytes, scales, zeros, groups, .. } = self;
        let n = scales.len().checked_div(*blocks).unwrap_or(0);
        let mut weights = filled(count_of(&[n, *k])?, 0.0f32)?;
        for (row, weights) in weights.chunks_exact_mut((*k).max(1)).enumerate() {
            let codes = &packed[row * blocks * bytes..];
            for (i, weight) in weights.iter_mut().enumerate() {
                let group = match groups {
                    None => i / block,
                    Some(groups) => match usize::try_from(groups[i]) {
                        Ok(group) if group < *blocks => group,
                        Ok(_) | Err(_) => fail!("group {} is wanted of {blocks}", groups[i]),
                    },
                };
                let at = row * blocks + group;
                *weight = f32::of((code(codes, i, *bits) - zeros[at]) * scales[at]);
            }
        }
        Matrix::of_columns(&weights, *k, store)
    }

    /// Adds to each row of `out` the product of a row with the weights.
    fn add_products(
        &self,
        packed: &[u8],
        rows: &[f32],
        out: &mut [f32],
        store: Option<&dyn PackedStore>,
    ) -> Result<(), Failure> {
        match &self.few {
            Some(few) if rows.len() <= MAX_ROWS * self.k => few.add_products(packed, rows, self.k, out),
            _ => self.matrix(packed, store)?.add_products(rows, out),
        }
    }
}

fn mat_mul_n_bits(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let a = call.tensor(0)?;
    let size = |name: &str| usize::try_from(call.attrs.int(name).unwrap_or(0)).unwrap_or(0);
    let (k, n) = (size("K"), size("N"));
    let Some((&last, outer)) = a.dims().split_last() else { fail!("the first operand is a scalar") };
    if last != k {
        fail!("rows of {last} are multiplied with columns of {k}");
    }
    let constants = [1, 2, 3, 4];
    let weights = call.kept(&constants, |_| weights(call, k, n))?;
    let bias = match call.optional_tensor(5)? {
        Some(bias) if bias.len() == n => Some(f32::numbers(bias)?),
        Some(bias) => fail!("a bias of shape {:?} does not fit {}", bias.dims(), counted(n, "column")),
        None => None,
    };
    let mut dims = outer.to_vec();
    dims.push(n);
    let count = call.has_room(a.elem(), &dims)?;
    spend(count.saturating_mul(k))?;
    let mut y = filled(count, 0.0)?;
    if let Some(bias) = bias {
        y.chunks_exact_mut(n.max(1)).for_each(|row| row.copy_from_slice(&bias));
    }
    let store = call.store(&constants);
    weights.add_products(call.tensor(1)?.words::<u8>(), &f32::numbers(a)?, &mut y, store)?;
    Ok(vec![f32::tensor(a.elem(), &dims, &y)?.into()])
}
