//! Sequences of tensors.

mod infer;

use super::{Operator, op};
use crate::cost::Work;
use crate::gradient::{Derivative::None as Nothing, SEQUENCES};

pub(super) const ROWS: &[Operator] = &[
    op("ConcatFromSequence").infer(infer::concat).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceAt").infer(infer::at).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceConstruct").infer(infer::construct).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceEmpty").infer(infer::empty).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceErase").infer(infer::erase).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceInsert").infer(infer::insert).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SequenceLength").infer(infer::length).work(Work::Moves).derivative(Nothing(SEQUENCES)),
    op("SplitToSequence")
        .infer(infer::split)
        .reads(&[1])
        .unchanged(&[24])
        .work(Work::Moves)
        .derivative(Nothing(SEQUENCES)),
];
