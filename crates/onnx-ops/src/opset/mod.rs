//! Operator sets in files of their own, as schemas and back (`grammar/opsets.md`).
//!
//! [`load()`] makes of a set what a [`Registry`](crate::schema::Registry) takes: so models of custom domains are checked
//! and inferred. [`document`] is the reverse: the built-in operators of a domain as a set. [`contributed()`] has the
//! operators that ONNX Runtime adds to the standard, from documents of this crate.

mod contributed;
mod export;
mod load;
mod types;

pub(crate) use contributed::CONTRIBUTED;
pub use contributed::{contributed, contributed_set, contributed_sets, registry_of, whole_registry};
pub use export::document;
pub use load::{Loaded, load, schemas};
