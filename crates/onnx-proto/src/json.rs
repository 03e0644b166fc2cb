//! JSON in the form that protobuf defines, as Python's `google.protobuf.json_format` writes and reads it.
//!
//! Field names in camel case, 64-bit integers as strings, bytes in Base64, enums by name, NaN and infinities as strings.
//! Fields that are set are written, empty ones too. What JSON cannot say is lost: unknown fields, and which NaN it was.

use crate::FileKind;
use crate::reflect::{FormatError, Nesting, bounded_text, decode, descriptor};
use crate::wire::MAX_DEPTH;
use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, SerializeOptions};

/// An object and a list for each message.
const NESTING: Nesting =
    Nesting { open: b"{[", close: b"}]", quotes: b"\"", comment: None, limit: 2 * MAX_DEPTH + 1 };

/// The encoded message as JSON, indented by two spaces.
///
/// # Errors
///
/// The bytes are no message of this kind, or a string in them is not UTF-8.
pub fn to_json(message: Bytes, kind: FileKind) -> Result<String, FormatError> {
    let message = decode(message, kind)?;
    let mut out = serde_json::Serializer::pretty(Vec::new());
    let options = SerializeOptions::new();
    let failed = |message: String| FormatError { offset: None, message };
    message.serialize_with_options(&mut out, &options).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(out.into_inner()).map_err(|error| failed(error.to_string()))
}

/// The encoded message that a JSON document describes. Names may be in camel case or as in the .proto.
///
/// # Errors
///
/// The document is not JSON, has a field that the message has not, or a value of the wrong type; with its place.
pub fn from_json(json: &[u8], kind: FileKind) -> Result<Vec<u8>, FormatError> {
    let text = bounded_text(json, &NESTING)?;
    let failed = |error: &serde_json::Error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        FormatError { offset: offset(text, error.line(), error.column()), message }
    };
    let mut input = serde_json::Deserializer::from_str(text);
    input.disable_recursion_limit();
    let options = DeserializeOptions::new();
    let message = DynamicMessage::deserialize_with_options(descriptor(kind), &mut input, &options)
        .map_err(|error| failed(&error))?;
    input.end().map_err(|error| failed(&error))?;
    Ok(message.encode_to_vec())
}

/// The byte at a line and column, both counted from 1; the column may be 0.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let start = match line.checked_sub(2)? {
        0 if line < 2 => 0,
        newline => text.match_indices('\n').nth(newline)?.0 + 1,
    };
    Some((start + column.saturating_sub(1)).min(text.len()))
}
