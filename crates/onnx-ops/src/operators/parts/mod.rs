//! Operators that concatenate, split, slice, pad and crop tensors.

mod bodies;
mod gradient;
mod infer;
mod join;
mod lints;
mod meaning;
mod slice;

use super::{Operator, op};
use crate::check::idle;
use crate::convert::{self, Conversion::By, down, step, up};
use crate::cost::Work;
use crate::gradient::Derivative::Build;

pub(super) const ROWS: &[Operator] = &[
    op("CenterCropPad").infer(infer::center_crop_pad).reads(&[1]).body(18, bodies::center_crop_pad),
    op("Concat")
        .infer(infer::concat)
        .define(join::concat)
        .converted(&[up(4, convert::values::concat_up), down(11, convert::values::axis_down)])
        .unchanged(&[13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::concat)),
    op("Pad")
        .infer(infer::pad)
        .define(meaning::pad)
        .reads(&[1, 3])
        .converted(&[
            up(2, convert::values::paddings_up),
            step(11, By(convert::inputs::pad_up), By(convert::inputs::pad_down)),
            down(18, convert::inputs::pad_axes_down),
        ])
        .unchanged(&[13, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle, lints::pad])
        .derivative(Build(gradient::pad)),
    op("Slice")
        .infer(slice::slice)
        .define(meaning::slice)
        .reads(&[1, 2, 3, 4])
        .converted(&[step(10, By(convert::inputs::slice_up), By(convert::inputs::slice_down))])
        .unchanged(&[11, 13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::slice)),
    op("Split")
        .infer(infer::split)
        .define(meaning::split)
        .reads(&[1])
        .converted(&[
            up(2, convert::broadcast::split_up),
            down(11, convert::values::axis_down),
            step(13, By(convert::inputs::split_up), By(convert::inputs::split_down)),
            step(18, By(convert::inputs::split_count_up), By(convert::inputs::split_count_down)),
        ])
        .work(Work::Moves)
        .derivative(Build(gradient::split)),
];
