//! The ONNX wire format, read and written without loss.

pub mod file;
pub mod json;
mod kind;
mod pb;
mod reflect;
pub mod textproto;
mod wire;

pub use kind::{FileKind, sniff};
pub use reflect::FormatError;
pub use wire::{Finding, MAX_DEPTH, Malformed, Path, Reason, What, WireType};

/// Walks over a message and reports what a decoder drops and what a standard encoder would have written otherwise, in
/// the order of the bytes.
///
/// Reads keys and lengths only, without allocation: of a large mapped model it touches the pages that hold structure.
/// Numbers inside packed lists are not looked at.
///
/// # Errors
///
/// The first place where the bytes are no message of this kind; what was found before has been reported.
pub fn walk(bytes: &[u8], kind: FileKind, found: &mut dyn FnMut(Finding<'_>)) -> Result<(), Malformed> {
    wire::walk(bytes, kind.message(), found)
}
