//! The messages as structs, generated from `proto/` by `cargo xtask codegen`.
//!
//! Strings and packed lists are `Bytes`, and the alternatives of a type are plain optional fields; the generator says
//! why. What the structs encode is still the published format, byte for byte as the C++ encoder writes it: fields by
//! number, presence kept, lists packed only where the format says so.

#[rustfmt::skip]
#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::doc_markdown,
    clippy::enum_variant_names,
    clippy::large_enum_variant,
    reason = "generated code"
)]
mod onnx;
pub(crate) use onnx::*;
