//! Operators that write elements at indices. The output has the shape of the data.

mod gradient;
mod infer;
mod versions;

use super::{Operator, op};
use crate::change::{down, up};
use crate::derivative::Derivative::Build;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Scatter")
        .infer(infer::scatter_elements)
        .converted(&[up(11, versions::to_scatter_elements)])
        .work(Work::Moves),
    op("ScatterElements")
        .infer(infer::scatter_elements)
        .converted(&[down(11, versions::to_scatter)])
        .unchanged(&[13, 16, 18])
        .work(Work::Moves)
        .derivative(Build(gradient::scatter_elements)),
    op("ScatterND")
        .infer(infer::scatter_nd)
        .unchanged(&[13, 16, 18])
        .work(Work::Moves)
        .derivative(Build(gradient::scatter_nd)),
    op("TensorScatter")
        .infer(infer::tensor_scatter)
        .work(Work::Moves)
        .derivative(Build(gradient::tensor_scatter)),
];
