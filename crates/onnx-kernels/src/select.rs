//! Kernels with data-dependent result sizes: NonZero, Compress.

use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_loops::budget::{BETWEEN, spend};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::Listed as _;
use onnx_loops::tensor::{Tensor, advance, width};

pub(crate) const ROWS: &[Row] = &[row("", "Compress", compress), row("", "NonZero", non_zero)];

/// The positions of nonzero elements as columns, in row-major order.
fn non_zero(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    spend(x.len())?;
    let found = match width(x.elem()) {
        Some(1) => positions_in::<u8>(x),
        Some(2) => positions_in::<u16>(x),
        Some(4) => positions_in::<u32>(x),
        Some(8) => positions_in::<u64>(x),
        Some(16) => positions_in::<u128>(x),
        Some(_) | None => positions(x.dims(), x.string_slice()?, |string| !string.is_empty()),
    };
    Ok(vec![found?.into()])
}

/// The positions of nonzero elements that have the width of `T`.
fn positions_in<T: bytemuck::Pod + Into<u128>>(x: &Tensor) -> Result<Tensor, Failure> {
    let negative_zero = negative_zero(x.elem());
    positions(x.dims(), x.words::<T>(), |&word| word.into() & !negative_zero != 0)
}

/// The bits of a negative zero, in both parts of a complex number. All bits are 0 where there is none.
fn negative_zero(elem: ElemType) -> u128 {
    match elem {
        ElemType::COMPLEX64 => negative_zero(ElemType::FLOAT) * (1 | 1 << 32),
        ElemType::COMPLEX128 => negative_zero(ElemType::DOUBLE) * (1 | 1 << 64),
        _ => Number::Float(-0.0).to_bits(elem).unwrap_or(0).into(),
    }
}

/// The positions of the elements that `is_kept`: a column for each, with one row per axis.
fn positions<T>(dims: &[usize], elements: &[T], is_kept: impl Fn(&T) -> bool) -> Result<Tensor, Failure> {
    let mut count = 0;
    for part in elements.chunks(BETWEEN) {
        spend(0)?;
        count += part.iter().filter(|&element| is_kept(element)).count();
    }
    let mut positions = Tensor::zeros(ElemType::INT64, &[dims.len(), count])?;
    let Some((&extent, outer)) = dims.split_last().filter(|_| count > 0) else { return Ok(positions) };
    let (to_outer, to_last) = positions.words_mut::<i64>()?.split_at_mut(outer.len() * count);
    let mut at = vec![0; outer.len()];
    let (mut end, mut done) = (0, 0);
    for row in elements.chunks(extent) {
        let start = end;
        for (first, part) in (0..).step_by(BETWEEN).zip(row.chunks(BETWEEN)) {
            done += part.len();
            if done >= BETWEEN {
                spend(0)?;
                done = 0;
            }
            for (i, _) in (first..).zip(part).filter(|(_, element)| is_kept(element)) {
                to_last[end] = i;
                end += 1;
            }
        }
        for (to, &index) in to_outer.chunks_mut(count).zip(&at) {
            to[start..end].fill(i64::try_from(index).unwrap_or(i64::MAX));
        }
        advance(&mut at, outer);
    }
    Ok(positions)
}

/// The slices for which the condition is true; without an axis, the elements.
fn compress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (x, condition) = (call.tensor(0)?, call.tensor(1)?.words::<u8>());
    let x = if call.attrs.has("axis") { x.clone() } else { x.reshaped(&[x.len()])? };
    let axis = resolve_axis(call.attrs.int("axis").unwrap_or(0), x.rank())?;
    let kept = (0..condition.len()).filter(|&i| condition[i] != 0).listed()?;
    let extent = x.dims()[axis];
    if let Some(outside) = kept.last().filter(|&&i| i >= extent) {
        fail!("slice {outside} is wanted of {extent}");
    }
    let inner: usize = x.dims()[axis + 1..].iter().product();
    let outer: usize = x.dims()[..axis].iter().product();
    let mut dims = x.dims().to_vec();
    dims[axis] = kept.len();
    let starts = (0..outer).flat_map(|o| kept.iter().map(move |&i| (o * extent + i) * inner));
    Ok(vec![x.picked_runs(&dims, starts, inner)?.into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::ElemType as E;

    #[test]
    fn only_signs_do_not_matter() {
        for elem in [E::BOOL, E::UINT8, E::INT8, E::INT16, E::INT32, E::INT64, E::UINT64] {
            assert_eq!(negative_zero(elem), 0, "{elem:?}");
        }
        for (elem, width) in [(E::FLOAT16, 2), (E::BFLOAT16, 2), (E::FLOAT, 4), (E::DOUBLE, 8)] {
            assert_eq!(negative_zero(elem), 1 << (8 * width - 1), "{elem:?}");
        }
        assert_eq!(negative_zero(E::COMPLEX64), 1 << 63 | 1 << 31);
        assert_eq!(negative_zero(E::COMPLEX128), 1 << 127 | 1 << 63);
        let negative_zeros = Tensor::of(&[4], &[-0.0f32, 1e-45, 0.0, f32::NAN]).unwrap();
        assert_eq!(positions_in::<u32>(&negative_zeros).unwrap().words::<i64>(), [1, 3]);
    }

    #[test]
    fn positions_are_in_row_major_order() {
        for dims in [&[][..], &[0], &[7], &[1, 7], &[7, 1], &[3, 5], &[2, 0, 3], &[2, 3, 1, 4], &[1, 1, 1]] {
            let len: usize = dims.iter().product();
            let elements: Vec<usize> = (0..len).map(|i| (i * 2_654_435_761) >> 16 & 1).collect();
            let found = positions(dims, &elements, |&element| element != 0).unwrap();
            let kept: Vec<usize> = (0..len).filter(|&i| elements[i] != 0).collect();
            assert_eq!(found.dims(), [dims.len(), kept.len()]);
            let expected = (0..dims.len()).flat_map(|axis| {
                let stride: usize = dims[axis + 1..].iter().product();
                kept.iter().map(move |at| (at / stride % dims[axis]) as i64)
            });
            assert_eq!(found.words::<i64>(), expected.collect::<Vec<_>>(), "{dims:?}");
        }
    }
}
