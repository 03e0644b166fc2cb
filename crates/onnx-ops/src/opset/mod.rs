//! Operator sets in files, converted to and from schemas (`grammar/opsets.md`).
//!
//! [`load()`] converts a set for a [`Registry`](crate::schema::Registry), so that models of custom domains can be checked and
//! inferred. [`document`] is the reverse: the built-in operators of a domain as a set. [`contributed()`] has the operators of
//! ONNX Runtime, from documents of this crate.

mod compare;
mod contributed;
#[rustfmt::skip]
mod documents;
mod export;
mod load;
mod types;

pub use crate::schema::set::LoadedSet;
pub use compare::{SetDifference, compare};
pub(crate) use contributed::{CONTRIBUTED, is_added};
pub use contributed::{contributed, contributed_set, contributed_sets, registry_of, whole_registry};
pub use export::document;
pub use load::{load, schemas};
