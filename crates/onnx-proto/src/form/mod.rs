//! The other two forms of a message, JSON and textproto: both are read into wire format and written from it.
//!
//! This is done over the walker's table of fields. Messages built from descriptors at run time would do it too, but they
//! take a hundred bytes for a number, read the largest float from JSON as an error and others one bit off, and do not
//! say where a text is wrong.

#[cfg(feature = "forms")]
mod build;
#[cfg(feature = "forms")]
pub mod json;
#[cfg(feature = "forms")]
mod number;
#[cfg(feature = "forms")]
pub mod textproto;

use crate::wire::Malformed;
#[cfg(feature = "forms")]
use crate::{
    FileKind,
    wire::{self, Look, What},
};
#[cfg(feature = "forms")]
use std::borrow::Cow;

/// Why a JSON or textproto document, or the message for one, cannot be converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// Where in the input, in bytes; `None` where no place is known.
    pub offset: Option<usize>,
    /// What is wrong, lower case, no full stop.
    pub message: String,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

impl From<Malformed> for FormatError {
    fn from(malformed: Malformed) -> Self {
        FormatError { offset: Some(malformed.offset), message: malformed.to_string() }
    }
}

#[cfg(feature = "forms")]
/// The message with its fields in order, lists in one piece, and nothing twice: usually the bytes as they are.
fn in_order(bytes: &[u8], kind: FileKind) -> Result<Cow<'_, [u8]>, FormatError> {
    let mut in_order = true;
    wire::walk(bytes, kind.message(), Look::Numbers, &mut |finding| {
        in_order &= finding.what == What::Unknown
    })?;
    if in_order {
        return Ok(Cow::Borrowed(bytes));
    }
    let canonical = wire::canonical(bytes, kind.message());
    canonical.map(Cow::Owned).map_err(|reason| FormatError { offset: None, message: reason.to_string() })
}

#[cfg(feature = "forms")]
/// The input as text.
fn utf8(input: &[u8]) -> Result<&str, FormatError> {
    std::str::from_utf8(input).map_err(|error| FormatError {
        offset: Some(error.valid_up_to()),
        message: "the file is not UTF-8".to_owned(),
    })
}
