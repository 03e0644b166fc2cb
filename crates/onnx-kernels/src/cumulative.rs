//! Cumulative sums and products: CumSum, CumProd.

use crate::arithmetic::{Arithmetic, for_elements};
use crate::axis_split::AxisSplit;
use crate::value::Value;
use crate::{Call, Row, resolve_axis, row};
use onnx_loops::budget::{BETWEEN, spend};
use onnx_loops::failure::{Failure, fail};
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
    let (none, combine) = match operation {
        Operation::Sum => (T::ZERO, T::plus as fn(T, T) -> T),
        Operation::Product => (T::ONE, T::times as fn(T, T) -> T),
    };
    let elements = x.words_mut::<T>()?;
    let mut done = 0;
    for start in split.lines() {
        let mut kept = none;
        for part in (0..split.extent).step_by(BETWEEN) {
            done += BETWEEN.min(split.extent - part);
            if done >= BETWEEN {
                spend(0)?;
                done = 0;
            }
            for i in part..split.extent.min(part + BETWEEN) {
                let i = if is_reverse { split.extent - 1 - i } else { i };
                let element = &mut elements[start + i * split.inner];
                let next = combine(kept, *element);
                *element = if is_exclusive { kept } else { next };
                kept = next;
            }
        }
    }
    Ok(())
}
