//! The protobuf text format, compatible with Python's `google.protobuf.text_format`.
//!
//! Fields that are set are written, also empty ones. Unknown fields and NaN payloads are lost.

mod read;
mod write;

pub use read::from_text;
pub use write::to_text;
