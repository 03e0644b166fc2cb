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
        Operation::Sum if split.inner > 1 => slices.add(elements),
        Operation::Sum => slices.line_by_line(elements, T::ZERO, T::plus),
        Operation::Product => slices.line_by_line(elements, T::ONE, T::times),
    }
}

/// Slices across an axis, of which each becomes the combination of those before it, in place.
struct Slices {
    split: AxisSplit,
    is_exclusive: bool,
    is_reverse: bool,
}

impl Slices {
    /// The position along the axis that is the `i`th to be combined.
    #[inline]
    fn at(&self, i: usize) -> usize {
        if self.is_reverse { self.split.extent - 1 - i } else { i }
    }

    /// Element by element along each line.
    fn line_by_line<T: Arithmetic>(
        &self,
        elements: &mut [T],
        none: T,
        combine: impl Fn(T, T) -> T,
    ) -> Result<(), Failure> {
        let AxisSplit { extent, inner, .. } = self.split;
        let mut done = 0;
        for start in self.split.lines() {
            let mut kept = none;
            for first in (0..extent).step_by(BETWEEN) {
                let part = first..extent.min(first + BETWEEN);
                pause(&mut done, part.len())?;
                for i in part {
                    let element = &mut elements[start + self.at(i) * inner];
                    let next = combine(kept, *element);
                    *element = if self.is_exclusive { kept } else { next };
                    kept = next;
                }
            }
        }
        Ok(())
    }

    /// Adds whole slices, so that adjacent elements are read together.
    fn add<T: Arithmetic>(&self, elements: &mut [T]) -> Result<(), Failure> {
        let AxisSplit { extent, inner, .. } = self.split;
        let mut kept = filled(inner, T::ZERO)?;
        let mut done = 0;
        for run in elements.chunks_exact_mut((extent * inner).max(1)) {
            kept.fill(T::ZERO);
            for i in 0..extent {
                let slice = run[self.at(i) * inner..][..inner].chunks_mut(BETWEEN);
                for (part, kept) in slice.zip(kept.chunks_mut(BETWEEN)) {
                    pause(&mut done, part.len())?;
                    for (element, kept) in part.iter_mut().zip(kept) {
                        let next = kept.plus(*element);
                        *element = if self.is_exclusive { *kept } else { next };
                        *kept = next;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Looks whether the run is cancelled when enough elements are done.
fn pause(done: &mut usize, count: usize) -> Result<(), Failure> {
    *done += count;
    if *done < BETWEEN {
        return Ok(());
    }
    *done = 0;
    spend(0)
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
