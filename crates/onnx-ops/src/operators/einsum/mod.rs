//! `Einsum`: an equation over the axes of its inputs.

mod cost;
mod gradient;
mod infer;
mod meaning;

use super::{Operator, op};
use crate::derivative::Derivative::Build;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[op("Einsum")
    .infer(infer::einsum)
    .define(meaning::einsum)
    .unchanged(&[28])
    .work(Work::Products(cost::einsum, None))
    .derivative(Build(gradient::einsum))];
