//! The JSON and textproto forms of messages, converted to and from wire format.
//!
//! The conversion uses the walker's table of fields. Dynamic messages from descriptors would take a hundred bytes per number,
//! reject the largest float in JSON and read others one bit off, and report no places of errors.

#[cfg(feature = "forms")]
mod build;
#[cfg(feature = "forms")]
pub mod json;
#[cfg(feature = "forms")]
mod number;
#[cfg(feature = "forms")]
pub mod textproto;
#[cfg(feature = "forms")]
mod writer;

use crate::wire::Malformed;
#[cfg(feature = "forms")]
use crate::{
    FileKind,
    wire::{self, AnomalyKind, ScanDepth},
};
#[cfg(feature = "forms")]
use std::borrow::Cow;

/// Why a JSON or textproto document, or the message for one, cannot be converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// The byte offset in the input; `None` if unknown.
    pub offset: Option<usize>,
    /// The message, lower case, no full stop.
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
    wire::walk(bytes, kind.message(), ScanDepth::Numbers, &mut |finding| {
        in_order &= finding.kind == AnomalyKind::Unknown
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
