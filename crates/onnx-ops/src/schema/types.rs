//! Sets of types that a parameter allows.

use super::{List, Str};
use onnx_ir::ElemType;

/// A set of element types: bit `n` is the type of number `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct ElemSet(pub u32);

impl ElemSet {
    /// No element type.
    pub const NONE: ElemSet = ElemSet(0);

    /// Whether `elem` is one of them.
    pub const fn contains(self, elem: ElemType) -> bool {
        elem.0 > 0 && elem.0 < 32 && self.0 & (1 << elem.0) != 0
    }

    /// The element types, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = ElemType> {
        (1..32).filter(move |n| self.0 & (1 << n) != 0).map(ElemType)
    }

    /// The only one.
    pub fn single(self) -> Option<ElemType> {
        (self.0.count_ones() == 1).then(|| ElemType(self.0.trailing_zeros().cast_signed()))
    }
}

/// A set of types.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TypeSet {
    /// `tensor(T)`
    pub tensors: ElemSet,
    /// `sparse_tensor(T)`
    pub sparse_tensors: ElemSet,
    /// `seq(tensor(T))`
    pub sequences: ElemSet,
    /// `optional(tensor(T))`
    pub optionals: ElemSet,
    /// `optional(seq(tensor(T)))`
    pub optional_sequences: ElemSet,
    /// Every other type, as the schema writes it without blanks: `map(string,tensor(int64))`.
    pub others: List<Str>,
}
