//! Models with anything in any field.
//!
//! The fields are those of `proto/`, so that none can be forgotten. A model is made of [`Choices`], a string of bytes
//! that a test makes at random and shrinks: a byte of zero, and everything behind the end of the string, chooses what
//! is simplest. What comes out is written as a standard encoder writes it.

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
    /// What the reference's text has a form for, annotations aside.
    Plain,
    /// What JSON can say: strings are UTF-8, there is one NaN.
    Tame,
    /// Anything that the wire format can hold.
    Wild,
}
