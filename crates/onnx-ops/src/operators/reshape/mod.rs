//! Operators that change the shape but not the elements.

mod gradient;
mod infer;
mod lints;
mod versions;

use super::{Operator, op, view};
use crate::change::{Conversion::By, axis_down, down, step};
use crate::derivative::Derivative::Build;
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Flatten")
        .infer(infer::flatten)
        .define(view::meaning::same_order)
        .converted(&[down(11, axis_down)])
        .unchanged(&[9, 13, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::reshape)),
    op("Reshape")
        .infer(infer::reshape)
        .define(view::meaning::same_order)
        .reads(&[1])
        .converted(&[step(5, By(versions::reshape_up), By(versions::reshape_down))])
        .unchanged(&[13, 14, 19, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle, lints::batch])
        .derivative(Build(gradient::reshape)),
    op("Squeeze")
        .infer(infer::squeeze)
        .define(view::meaning::same_order)
        .reads(&[1])
        .converted(&[down(11, axis_down), step(13, By(versions::axes_up), By(versions::axes_down))])
        .unchanged(&[21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::reshape)),
    op("Unsqueeze")
        .infer(infer::unsqueeze)
        .define(view::meaning::same_order)
        .reads(&[1])
        .converted(&[
            down(11, versions::unsqueeze_axis_down),
            step(13, By(versions::axes_up), By(versions::axes_down)),
        ])
        .unchanged(&[21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::reshape)),
];
