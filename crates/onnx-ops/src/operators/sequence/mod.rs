//! Sequences of tensors.

mod gradient;
mod infer;

use super::{Operator, op};
use crate::derivative::{
    Derivative::{Build, Zero},
    GENERATED, NOT_NUMBERS,
};
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("ConcatFromSequence").infer(infer::concat).work(Work::Moves).derivative(Build(gradient::concat)),
    op("SequenceAt").infer(infer::at).work(Work::Moves).derivative(Build(gradient::at)),
    op("SequenceConstruct").infer(infer::construct).work(Work::Moves).derivative(Build(gradient::construct)),
    op("SequenceEmpty").infer(infer::empty).work(Work::Moves).derivative(Zero(GENERATED)),
    op("SequenceErase").infer(infer::erase).work(Work::Moves).derivative(Build(gradient::erase)),
    op("SequenceInsert").infer(infer::insert).work(Work::Moves).derivative(Build(gradient::insert)),
    op("SequenceLength").infer(infer::length).work(Work::Moves).derivative(Zero(NOT_NUMBERS)),
    op("SplitToSequence")
        .infer(infer::split)
        .reads(&[1])
        .unchanged(&[24])
        .work(Work::Moves)
        .derivative(Build(gradient::split)),
];
