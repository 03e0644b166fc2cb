//! Sequences of tensors.

mod infer;

use super::{Operator, op};
use crate::cost::Work;

pub(super) const ROWS: &[Operator] = &[
    op("ConcatFromSequence").infer(infer::concat).work(Work::Moves),
    op("SequenceAt").infer(infer::at).work(Work::Moves),
    op("SequenceConstruct").infer(infer::construct).work(Work::Moves),
    op("SequenceEmpty").infer(infer::empty).work(Work::Moves),
    op("SequenceErase").infer(infer::erase).work(Work::Moves),
    op("SequenceInsert").infer(infer::insert).work(Work::Moves),
    op("SequenceLength").infer(infer::length).work(Work::Moves),
    op("SplitToSequence").infer(infer::split).reads(&[1]).unchanged(&[24]).work(Work::Moves),
];
