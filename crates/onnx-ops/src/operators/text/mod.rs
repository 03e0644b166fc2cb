//! String operators.

mod infer;

use super::elementwise::infer::same_shape;
use super::{Operator, op};
use crate::derivative::{Derivative::Zero, INTEGERS, NOT_NUMBERS};
use crate::engine::rule::broadcast::broadcast;

pub(super) const ROWS: &[Operator] = &[
    op("RegexFullMatch").infer(same_shape).derivative(Zero(NOT_NUMBERS)),
    op("StringConcat").infer(broadcast).derivative(Zero(INTEGERS)),
    op("StringNormalizer").infer(infer::normalize).derivative(Zero(NOT_NUMBERS)),
    op("StringSplit").infer(infer::split).derivative(Zero(NOT_NUMBERS)),
    op("TfIdfVectorizer").infer(infer::count_grams).derivative(Zero(NOT_NUMBERS)),
];
