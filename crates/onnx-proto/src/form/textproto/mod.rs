//! The text form that protobuf defines, as Python's `google.protobuf.text_format` writes and reads it.
//!
//! Fields that are set are written, empty ones too. What it cannot say is lost: unknown fields, and which NaN it was.

mod read;
mod write;

pub use read::from_text;
pub use write::to_text;
