//! Random models with any contents in any field.
//!
//! The fields are those of `proto/`, so none is forgotten. A model is built from [`Choices`], a byte string that a test generates
//! and shrinks: a zero byte, and everything after the end of the string, selects the simplest choice. The result is in the
//! standard encoding.

mod choices;
mod message;
mod schema;
mod values;

pub use choices::{Choices, Random};
pub use message::Generator;
pub use schema::Schema;

/// How far values may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wildness {
    /// Models that the syntax of the reference can express, except annotations.
    Plain,
    /// Models that JSON can express: UTF-8 strings, a single NaN.
    Tame,
    /// Anything that the wire format can hold.
    Wild,
}
