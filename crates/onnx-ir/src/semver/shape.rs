//! Whether shapes allow more or fewer tensors than before. Symbols are compared by the dimensions that they equate, not by name.

use crate::ids::TypeId;
use crate::model::Model;
use crate::names::Name;
use crate::types::{DimValue, TypeKind};
use std::collections::HashMap;

/// The difference of a value's shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShapeChange {
    /// Some allowed shapes are not allowed any more.
    Fewer,
    /// Some are allowed that were not.
    More,
    /// Both, or neither.
    Other,
}

/// The shapes of the inputs, or of the outputs, of two graphs.
pub(super) struct Shapes<'m> {
    old: &'m Model,
    new: &'m Model,
    /// The first counterpart of each symbol.
    of_old: HashMap<Name, DimValue>,
    of_new: HashMap<Name, DimValue>,
}

impl<'m> Shapes<'m> {
    pub(super) fn new(old: &'m Model, new: &'m Model) -> Self {
        Shapes { old, new, of_old: HashMap::new(), of_new: HashMap::new() }
    }

    /// The difference of a value's shape; `None` if there is none, or if its type has another kind.
    pub(super) fn compare(&mut self, old: Option<TypeId>, new: Option<TypeId>) -> Option<ShapeChange> {
        let (TypeKind::Tensor(a), TypeKind::Tensor(b)) =
            (&self.old.types[old?].kind, &self.new.types[new?].kind)
        else {
            return None;
        };
        let (a, b) = match (&a.shape, &b.shape) {
            (None, None) => return None,
            (Some(_), None) => return Some(ShapeChange::More),
            (None, Some(_)) => return Some(ShapeChange::Fewer),
            (Some(a), Some(b)) if a.len() != b.len() => return Some(ShapeChange::Other),
            (Some(a), Some(b)) => (a, b),
        };
        let mut all = None;
        for (a, b) in a.iter().zip(b) {
            all = match (all, self.dim(a.value, b.value)) {
                (all, None) => all,
                (None, change) => change,
                (Some(all), Some(change)) if all == change => Some(all),
                (Some(_), Some(_)) => Some(ShapeChange::Other),
            };
        }
        all
    }

    fn dim(&mut self, old: DimValue, new: DimValue) -> Option<ShapeChange> {
        match (old, new) {
            (DimValue::Value(a), DimValue::Value(b)) => (a != b).then_some(ShapeChange::Other),
            (DimValue::Value(_), DimValue::Unknown | DimValue::Param(_)) => Some(ShapeChange::More),
            (DimValue::Unknown | DimValue::Param(_), DimValue::Value(_)) => Some(ShapeChange::Fewer),
            (DimValue::Unknown, DimValue::Unknown) => None,
            (DimValue::Unknown, DimValue::Param(b)) => {
                // A symbol that is met for the first time ties nothing.
                let is_tied = self.of_new.insert(b, old).is_some();
                is_tied.then_some(ShapeChange::Fewer)
            }
            (DimValue::Param(a), DimValue::Unknown) => {
                let was_tied = self.of_old.insert(a, new).is_some();
                was_tied.then_some(ShapeChange::More)
            }
            (DimValue::Param(a), DimValue::Param(b)) => {
                let was = *self.of_old.entry(a).or_insert(new);
                let is = *self.of_new.entry(b).or_insert(old);
                match (was == new, is == old) {
                    (true, true) => None,
                    (false, true) => Some(ShapeChange::More),
                    (true, false) => Some(ShapeChange::Fewer),
                    (false, false) => Some(ShapeChange::Other),
                }
            }
        }
    }
}
