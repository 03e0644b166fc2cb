//! Messages without structs, for the formats that are defined by descriptors: JSON and textproto.

use crate::{FileKind, pb};
use bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::sync::LazyLock;

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

pub(crate) fn descriptor(kind: FileKind) -> MessageDescriptor {
    static POOL: LazyLock<DescriptorPool> =
        LazyLock::new(|| DescriptorPool::decode(pb::DESCRIPTORS).expect("the generator wrote them"));
    POOL.get_message_by_name(&format!("onnx.{}", kind.name()))
        .expect("the table and the pool have one source")
}

/// Decodes for a format whose strings are text: one that is not UTF-8 is an error that names its field.
pub(crate) fn decode(bytes: Bytes, kind: FileKind) -> Result<DynamicMessage, FormatError> {
    DynamicMessage::decode(descriptor(kind), bytes).map_err(|error| FormatError {
        offset: None,
        message: format!("cannot decode {}: {error}", kind.name()),
    })
}

/// The input as text that nests no deeper than messages may, so that readers that recurse stay within their stack.
pub(crate) fn bounded_text<'a>(input: &'a [u8], nesting: &Nesting) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(input).map_err(|error| FormatError {
        offset: Some(error.valid_up_to()),
        message: "the file is not UTF-8".to_owned(),
    })?;
    match nesting.first_beyond_limit(input) {
        None => Ok(text),
        Some(offset) => {
            let message = format!("more than {} brackets are nested", nesting.limit);
            Err(FormatError { offset: Some(offset), message })
        }
    }
}

/// How a format nests, as far as it takes to measure the depth.
pub(crate) struct Nesting {
    pub(crate) open: &'static [u8],
    pub(crate) close: &'static [u8],
    pub(crate) quotes: &'static [u8],
    /// Begins a comment up to the end of the line.
    pub(crate) comment: Option<u8>,
    pub(crate) limit: usize,
}

impl Nesting {
    fn first_beyond_limit(&self, text: &[u8]) -> Option<usize> {
        let mut depth = 0_usize;
        let mut quote = None;
        let mut bytes = text.iter().copied().enumerate();
        while let Some((at, byte)) = bytes.next() {
            if let Some(end) = quote {
                if byte == b'\\' {
                    bytes.next();
                } else if byte == end || (byte == b'\n' && end != b'"') {
                    quote = None;
                }
            } else if self.quotes.contains(&byte) {
                quote = Some(byte);
            } else if self.comment == Some(byte) {
                quote = Some(b'\n');
            } else if self.open.contains(&byte) {
                depth += 1;
                if depth > self.limit {
                    return Some(at);
                }
            } else if self.close.contains(&byte) {
                depth = depth.saturating_sub(1);
            }
        }
        None
    }
}
