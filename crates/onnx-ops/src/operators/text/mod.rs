//! String operators.

mod infer;

use super::{Operator, elementwise, op};
use crate::infer::rule::broadcast::broadcast;

pub(super) const ROWS: &[Operator] = &[
    op("RegexFullMatch").infer(elementwise::infer::same_shape),
    op("StringConcat").infer(broadcast),
    op("StringNormalizer").infer(infer::normalize),
    op("StringSplit").infer(infer::split),
    op("TfIdfVectorizer").infer(infer::count_grams),
];
