//! Block-quantized tables and weights: GatherBlockQuantized, MatMulBnb4.

use super::packed::code;
use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::Matrix;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "GatherBlockQuantized", gather_block_quantized),
    row("com.microsoft", "MatMulBnb4", mat_mul_bnb4),
];

/// Codes, one or several per byte along the last axis.
struct Codes<'c> {
    bytes: &'c [u8],
    elem: ElemType,
    bits: usize,
    /// Codes, and bytes, along the last axis.
    row: usize,
    stored: usize,
}

impl<'c> Codes<'c> {
    fn of(tensor: &'c Tensor, bits: usize, row: usize) -> Codes<'c> {
        let stored = tensor.dims().last().copied().unwrap_or(1);
        Codes { bytes: tensor.words::<u8>(), elem: tensor.elem(), bits, row, stored }
    }

    fn get(&self, at: usize) -> f64 {
        match self.elem {
            ElemType::INT4 => f64::from(self.bytes[at] as i8),
            ElemType::UINT8 => code(&self.bytes[at / self.row * self.stored..], at % self.row, self.bits),
            _ => f64::from(self.bytes[at]),
        }
    }
}

/// Gathers rows of a table along an axis and dequantizes them.
fn gather_block_quantized(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (data, indices, scales) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let bits = match (data.elem(), call.attrs.int("bits")) {
        (ElemType::INT4 | ElemType::UINT4, _) | (ElemType::UINT8, Some(4)) => 4,
        (ElemType::UINT8, Some(8)) => 8,
        _ => fail!("a table of such elements cannot be unpacked"),
    };
    let per_byte = if data.elem() == ElemType::UINT8 { 8 / bits } else { 1 };
    let mut dims = data.dims().to_vec();
    match dims.last_mut() {
        Some(last) => *last = last.saturating_mul(per_byte),
        None => fail!("the table is a scalar"),
    }
    let axis = |name: &str| resolve_axis(call.attrs.int(name).unwrap_or(0), dims.len());
    let (gathered, quantized) = (axis("gather_axis")?, axis("quantize_axis")?);
    let block = call.attrs.int("block_size").and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let Some(block) = block else { fail!("blocks have no size") };
    let mut of_scales = dims.clone();
    of_scales[quantized] = dims[quantized].div_ceil(block);
    if scales.dims() != of_scales {
        fail!("scales of shape {:?} do not fit a table of {dims:?}", scales.dims());
    }
    let zeros = call.optional_tensor(3)?;
    let row = of_scales.last().copied().unwrap_or(1);
    let mut of_zeros = of_scales.clone();
    of_zeros.iter_mut().rev().take(1).for_each(|last| *last = last.div_ceil(per_byte));
    if zeros.is_some_and(|zeros| zeros.elem() != data.elem() || zeros.dims() != of_zeros) {
        fail!("zero points do not fit a table of {dims:?}");
    }
    let zeros = zeros.map(|zeros| Codes::of(zeros, bits, row.max(1)));
    // For bytes, the default zero point is the middle code.
    let middle = if per_byte > 1 || bits == 8 { f64::from(1u8 << (bits - 1)) } else { 0.0 };
    let codes = Codes::of(data, bits, dims.last().copied().unwrap_or(1).max(1));
    let numbers = scales.floats()?;
    let extent = dims[gathered];
    let inner = count_of(&dims[gathered + 1..])?;
    let behind = count_of(&dims[quantized + 1..])?;
    let picked = indices.ints()?.into_iter().map(|i| {
        let from_start = if i < 0 { i.saturating_add_unsigned(extent as u64) } else { i };
        usize::try_from(from_start).ok().filter(|&i| i < extent)
    });
    let outside = || Failure::new(format!("an index is outside of an axis of {extent}"));
    let picked = picked.map(|at| at.ok_or_else(outside)).try_listed()?;
    let shape = [&dims[..gathered], indices.dims(), &dims[gathered + 1..]].concat();
    let count = call.has_room(scales.elem(), &shape)?;
    spend(count)?;
    let mut y = List::with_room(count)?;
    let outer = if count == 0 { 0 } else { count_of(&dims[..gathered])? };
    for (outer, &i) in (0..outer).flat_map(|outer| picked.iter().map(move |i| (outer, i))) {
        let first = (outer * extent + i) * inner;
        for at in first..first + inner {
            let (line, place) = (at / behind / dims[quantized], at / behind % dims[quantized]);
            let scale = (line * of_scales[quantized] + place / block) * behind + at % behind;
            let zero = zeros.as_ref().map_or(middle, |zeros| zeros.get(scale));
            y.push((codes.get(at) - zero) * numbers[scale])?;
        }
    }
    Ok(vec![Tensor::of_floats(scales.elem(), &shape, &y)?.into()])
}

/// The values of 4-bit float codes in bitsandbytes: sign, exponent and fraction bits.
const FLOATS: [f32; 16] = [
    0.0,
    5.208_333e-3,
    0.666_666_7,
    1.0,
    0.333_333_34,
    0.5,
    0.166_666_67,
    0.25,
    0.0,
    -5.208_333e-3,
    -0.666_666_7,
    -1.0,
    -0.333_333_34,
    -0.5,
    -0.166_666_67,
    -0.25,
];

/// The values of NF4 codes: equally likely for normally distributed weights.
const NORMAL: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// A product with a matrix stored column by column, with a scale per block of elements, independent of column boundaries.
fn mat_mul_bnb4(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let a = call.tensor(0)?;
    let size = |name: &str| call.attrs.int(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (k, n, block) = (size("K"), size("N"), size("block_size"));
    let Some((&last, outer)) = a.dims().split_last() else { fail!("the first operand is a scalar") };
    if last != k || block == 0 || !call.attrs.flag("transB") {
        fail!("rows of {last} are not multiplied with columns of {k}, in blocks of {block}");
    }
    let table = match call.attrs.int("quant_type") {
        Some(0) => &FLOATS,
        Some(1) => &NORMAL,
        _ => fail!("weights of such a kind cannot be unpacked"),
    };
    let weights = call.kept(&[1, 2], |store| {
        let (packed, largest) = (call.tensor(1)?, f32::numbers(call.tensor(2)?)?);
        let count = count_of(&[n, k])?;
        if packed.len() != count.div_ceil(2) || largest.len() != count.div_ceil(block) {
            fail!(
                "{} and {} are none of {n} by {k}",
                counted(packed.len(), "byte"),
                counted(largest.len(), "scale")
            );
        }
        let bytes = packed.words::<u8>();
        let mut weights = filled(count, 0.0f32)?;
        for (i, weight) in weights.iter_mut().enumerate() {
            // The first of two codes is in the high bits.
            let code = bytes[i / 2] >> (4 * (1 - i % 2)) & 15;
            *weight = table[usize::from(code)] * largest[i / block];
        }
        Matrix::of_columns(&weights, k, store)
    })?;
    products(call, outer, &weights, [k, n])
}

/// The products of the rows of the first operand, `outer` of them, with a matrix of `n` columns of `k` elements.
pub(super) fn products(
    call: &Call<'_>,
    outer: &[usize],
    weights: &Matrix,
    [k, n]: [usize; 2],
) -> Result<Vec<Value>, Failure> {
    let a = call.tensor(0)?;
    let dims = [outer, &[n]].concat();
    let count = call.has_room(a.elem(), &dims)?;
    spend(count.saturating_mul(k))?;
    let mut y = filled(count, 0.0)?;
    weights.add_products(&f32::numbers(a)?, &mut y)?;
    Ok(vec![f32::tensor(a.elem(), &dims, &y)?.into()])
}
