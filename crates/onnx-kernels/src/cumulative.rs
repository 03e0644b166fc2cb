//! Cumulative sums and products: CumSum, CumProd.

use crate::arithmetic::{Arithmetic, for_elements};
use crate::axis_split::AxisSplit;
use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_loops::budget::{BETWEEN, spend};
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[
    row("", "CumProd", |call| cumulate(call, Operation::Product)),
    row("", "CumSum", |call| cumulate(call, Operation::Sum)),
];

#[derive(Clone, Copy)]
enum Operation {
    Sum,
    Product,
}

/// Cumulates along an axis; `exclusive` leaves out the element itself, `reverse` starts from the end.
fn cumulate(call: &mut Call<'_>, operation: Operation) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let axis = match call.tensor(1)?.ints()?[..] {
        [axis] => resolve_axis(axis, x.rank())?,
        _ => fail!("the axis is one number, not {}", call.tensor(1)?.len()),
    };
    let split = AxisSplit::of(x.dims(), axis)?;
    let mut result = x.clone();
    let (is_exclusive, is_reverse) = (call.attrs.flag("exclusive"), call.attrs.flag("reverse"));
    for_elements!(x.elem(), along(&mut result, split, operation, is_exclusive, is_reverse))?;
    Ok(vec![result.into()])
}

fn along<T: Arithmetic>(
    x: &mut Tensor,
    split: AxisSplit,
    operation: Operation,
    is_exclusive: bool,
    is_reverse: bool,
) -> Result<(), Failure> {
    let elements = x.words_mut::<T>()?;
    let slices = Slices { split, is_exclusive, is_reverse };
    match operation {
        Operation::Sum => slices.cumulate(elements, T::ZERO, T::plus),
        Operation::Product => slices.cumulate(elements, T::ONE, T::times),
    }
}

/// Slices across an axis, of which each becomes the combination of those before it.
struct Slices {
    split: AxisSplit,
    is_exclusive: bool,
    is_reverse: bool,
}

impl Slices {
    /// In place. Whole slices are combined, so that adjacent elements are read together.
    fn cumulate<T: Arithmetic>(
        &self,
        elements: &mut [T],
        none: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Failure> {
        let AxisSplit { extent, inner, .. } = self.split;
        let step = |kept: &mut T, element: &mut T| {
            let next = combine(*kept, *element);
            *element = if self.is_exclusive { *kept } else { next };
            *kept = next;
        };
        let mut kept = filled(inner, none)?;
        let mut done = 0;
        let mut spent = |count: usize| {
            done += count;
            if done < BETWEEN {
                return Ok(());
            }
            done = 0;
            spend(0)
        };
        for run in elements.chunks_exact_mut((extent * inner).max(1)) {
            kept.fill(none);
            if let ([kept], false) = (&mut kept[..], self.is_reverse) {
                for part in run.chunks_mut(BETWEEN) {
                    part.iter_mut().for_each(|element| step(kept, element));
                    spent(part.len())?;
                }
                continue;
            }
            if let [kept] = &mut kept[..] {
                for part in run.rchunks_mut(BETWEEN) {
                    part.iter_mut().rev().for_each(|element| step(kept, element));
                    spent(part.len())?;
                }
                continue;
            }
            for i in 0..extent {
                let i = if self.is_reverse { extent - 1 - i } else { i };
                let slice = run[i * inner..][..inner].chunks_mut(BETWEEN);
                for (part, kept) in slice.zip(kept.chunks_mut(BETWEEN)) {
                    part.iter_mut().zip(kept).for_each(|(element, kept)| step(kept, element));
                    spent(part.len())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_cumulated_by_itself() {
        let dims = [2, 4, 3];
        let numbers: Vec<i64> = (0..24).map(|i| i * i % 11 - 4).collect();
        for (axis, is_exclusive, is_reverse) in
            (0..12).map(|case| (case % 3, case / 3 % 2 == 1, case / 6 == 1))
        {
            let split = AxisSplit::of(&dims, axis).unwrap();
            let mut expected = numbers.clone();
            for start in split.lines() {
                let mut kept = 0;
                for i in 0..split.extent {
                    let at = start + split.inner * if is_reverse { split.extent - 1 - i } else { i };
                    let next = kept + numbers[at];
                    expected[at] = if is_exclusive { kept } else { next };
                    kept = next;
                }
            }
            let mut found = Tensor::of(&dims, &numbers).unwrap();
            along::<i64>(&mut found, split, Operation::Sum, is_exclusive, is_reverse).unwrap();
            assert_eq!(found.words::<i64>(), expected, "axis {axis}");
        }
    }
}
