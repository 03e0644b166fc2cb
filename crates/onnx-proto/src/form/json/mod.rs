//! JSON as protobuf defines it, compatible with Python's `google.protobuf.json_format`.
//!
//! Field names in camel case, 64-bit integers as strings, bytes in Base64, enums by name, NaN and infinities as strings.
//! Fields that are set are written, also empty ones. Unknown fields and NaN payloads are lost.

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
