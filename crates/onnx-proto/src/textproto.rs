//! The text form that protobuf defines, as Python's `google.protobuf.text_format` writes and reads it.
//!
//! Fields that are set are written, empty ones too. What it cannot say is lost: unknown fields, and which NaN it was.

use crate::FileKind;
use crate::reflect::{FormatError, Nesting, bounded_text, decode, descriptor};
use crate::wire::MAX_DEPTH;
use bytes::Bytes;
use miette::Diagnostic as _;
use prost::Message as _;
use prost_reflect::DynamicMessage;
use prost_reflect::text_format::FormatOptions;

/// Braces for each message, and brackets for a list of them.
const NESTING: Nesting =
    Nesting { open: b"{<[", close: b"}>]", quotes: b"\"'", comment: Some(b'#'), limit: 2 * MAX_DEPTH + 1 };

/// The encoded message as text, indented by two spaces.
///
/// # Errors
///
/// The bytes are no message of this kind, or a string in them is not UTF-8.
pub fn to_text(message: Bytes, kind: FileKind) -> Result<String, FormatError> {
    let mut text = decode(message, kind)?.to_text_format_with_options(&FormatOptions::new().pretty(true));
    text.push('\n');
    Ok(text)
}

/// The encoded message that a text describes.
///
/// # Errors
///
/// The text is malformed, has a field that the message has not, or a value of the wrong type; with its place.
pub fn from_text(text: &[u8], kind: FileKind) -> Result<Vec<u8>, FormatError> {
    let text = bounded_text(text, &NESTING)?;
    let message = DynamicMessage::parse_text_format(descriptor(kind), text).map_err(|error| {
        let offset = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
        FormatError { offset, message: error.to_string() }
    })?;
    Ok(message.encode_to_vec())
}
