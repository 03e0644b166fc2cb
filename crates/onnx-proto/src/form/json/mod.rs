//! JSON in the form that protobuf defines, as Python's `google.protobuf.json_format` writes and reads it.
//!
//! Field names in camel case, 64-bit integers as strings, bytes in Base64, enums by name, NaN and infinities as strings.
//! Fields that are set are written, empty ones too. What JSON cannot say is lost: unknown fields, and which NaN it was.

mod read;
mod write;

pub use read::from_json;
pub use write::to_json;

/// `op_type` is `opType`.
fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => out.push(c.to_ascii_uppercase()),
            c => out.push(c),
        }
    }
    out
}
