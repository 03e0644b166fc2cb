//! Operators that run nested graphs.

pub(super) mod bodies;
pub(super) mod infer;
mod lints;
mod scan;
mod versions;

use super::{Operator, op};
use crate::change::{
    Conversion::{By, No},
    step,
};
use crate::derivative::Derivative::Graphs;

pub(super) const ROWS: &[Operator] = &[
    op("If")
        .infer(infer::branch)
        .unchanged(&[11, 13, 16, 19, 21, 23, 24, 25])
        .lints(&[lints::condition])
        .derivative(Graphs),
    op("Loop")
        .infer(infer::repeat)
        .unchanged(&[11, 13, 16, 19, 21, 23, 24, 25])
        .lints(&[lints::trips])
        .derivative(Graphs),
    op("Scan")
        .infer(scan::batched)
        .infer_from(9, scan::scan)
        .converted(&[step(9, By(versions::up), No("before version 9 it has a batch axis"))])
        .unchanged(&[11, 16, 19, 21, 23, 24, 25])
        .derivative(Graphs),
    op("SequenceMap").infer(infer::map).body(17, bodies::sequence_map).derivative(Graphs),
];
