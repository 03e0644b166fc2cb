//! Operators that concatenate, split, slice, pad and crop tensors.

mod bodies;
mod gradient;
mod infer;
mod join;
mod lints;
mod meaning;
mod slice;
mod versions;

use super::{Operator, op};
use crate::change::{Conversion::By, axis_down, down, step, up};
use crate::derivative::Derivative::Build;
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("CenterCropPad").infer(infer::center_crop_pad).reads(&[1]).body(18, bodies::center_crop_pad),
    op("Concat")
        .infer(infer::concat)
        .define(join::concat)
        .converted(&[up(4, versions::concat_up), down(11, axis_down)])
        .unchanged(&[13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::concat)),
    op("Pad")
        .infer(infer::pad)
        .define(meaning::pad)
        .reads(&[1, 3])
        .converted(&[
            step(2, By(versions::paddings_up), By(versions::paddings_down)),
            step(11, By(versions::pad_up), By(versions::pad_down)),
            down(18, versions::pad_axes_down),
        ])
        .unchanged(&[13, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle, lints::pad])
        .derivative(Build(gradient::pad)),
    op("Slice")
        .infer(slice::slice)
        .define(meaning::slice)
        .reads(&[1, 2, 3, 4])
        .converted(&[step(10, By(versions::slice_up), By(versions::slice_down))])
        .unchanged(&[11, 13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::slice)),
    op("Split")
        .infer(infer::split)
        .define(meaning::split)
        .reads(&[1])
        .converted(&[
            up(2, versions::split_1_up),
            down(11, axis_down),
            step(13, By(versions::split_up), By(versions::split_down)),
            step(18, By(versions::split_count_up), By(versions::split_count_down)),
        ])
        .work(Work::Moves)
        .derivative(Build(gradient::split)),
];
