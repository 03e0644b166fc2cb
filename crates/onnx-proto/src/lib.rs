//! The ONNX wire format, read and written without loss.
//!
//! - [`read()`] and [`write()`]: bytes to the IR and back. On what a standard encoder wrote, the bytes come back.
//! - [`read_data`] and [`write_data`]: the same for values in files of their own, such as `input_0.pb`.
//! - [`read_operator_set`] and [`write_operator_set`]: files of operators.
//! - [`read_graph`], [`write_graph`], [`read_function`], [`write_function`]: the same for parts of a model.
//! - [`json`] and [`textproto`]: the other two forms of a message.
//! - [`walk`]: unusual encodings in a message. [`sniff`]: the kind of message.
//! - [`mod@file`]: bytes from a file, mapped if it is large. [`external`]: tensors whose data is in files beside the model. No
//!   other part reads files.
//!
//! ```
//! let bytes = bytes::Bytes::from_static(&[0x08, 10]); // ir_version: 10
//! assert_eq!(onnx_proto::sniff(&bytes), Some(onnx_proto::FileKind::Model));
//! let model = onnx_proto::read(bytes.clone()).into_result().unwrap();
//! assert_eq!(model.header.ir_version, Some(10));
//! assert_eq!(onnx_proto::write(&model)?, bytes);
//! # Ok::<(), onnx_proto::TooLarge>(())
//! ```

pub mod external;
pub mod file;
mod form;
mod kind;
mod pb;
mod read;
mod wire;
mod write;

pub use form::FormatError;
#[cfg(feature = "forms")]
pub use form::{json, textproto};
pub use kind::{FileKind, foreign, sniff};
pub use read::{read, read_data, read_function, read_graph, read_operator_set, read_part};
pub use wire::{Anomaly, AnomalyKind, MAX_DEPTH, Malformed, Path, Reason, ScanDepth, WireType};
pub use write::{TooLarge, write, write_data, write_function, write_graph, write_operator_set, write_part};

/// Walks over a message and reports what a decoder drops and what a standard encoder would have encoded differently, in the order
/// of the bytes.
///
/// Reads keys and lengths, without allocation: in a large mapped model it touches only pages with structure. With
/// [`ScanDepth::Numbers`] it also reads the integers in packed lists.
///
/// # Errors
///
/// The first place where the bytes are not a message of this kind; earlier findings have been reported.
pub fn walk(
    bytes: &[u8],
    kind: FileKind,
    scan: ScanDepth,
    found: &mut dyn FnMut(Anomaly<'_>),
) -> Result<(), Malformed> {
    wire::walk(bytes, kind.message(), scan, found)
}

/// How a message differs from what standard encoders write, so that it does not come back byte for byte from the IR or another form:
/// the first place. `None`: it comes back byte for byte, as far as it can be decoded.
///
/// ```
/// use onnx_proto::FileKind;
///
/// let in_order = b"\x0a\x01x\x22\x04Relu"; // input: "x" op_type: "Relu"
/// assert_eq!(onnx_proto::unusual(in_order, FileKind::Node), None);
/// let out_of_order = b"\x22\x04Relu\x0a\x01x";
/// assert_eq!(onnx_proto::unusual(out_of_order, FileKind::Node).as_deref(), Some("field `input` of `NodeProto` is out of order"));
/// ```
pub fn unusual(bytes: &[u8], kind: FileKind) -> Option<String> {
    let mut first = None;
    let mut look = |anomaly: Anomaly<'_>| {
        let how = match anomaly.kind {
            // Readers report these.
            AnomalyKind::Unknown | AnomalyKind::WrongType => return,
            AnomalyKind::OutOfOrder => "is out of order",
            AnomalyKind::Again => "occurs twice",
            AnomalyKind::OtherAlternative => "replaces another alternative",
            AnomalyKind::Unpacked => "is a list that is not packed",
            AnomalyKind::Packed => "is a packed list",
            AnomalyKind::Pieces => "is a packed list in several pieces",
            AnomalyKind::EmptyPacked => "is an empty packed list",
            AnomalyKind::LongNumber => "has a number in more bytes than necessary",
        };
        if first.is_none() {
            let message =
                if anomaly.path.is_root() { kind.name().to_owned() } else { anomaly.path.to_string() };
            first = Some(format!("field `{}` of `{message}` {how}", anomaly.field.unwrap_or("?")));
        }
    };
    // Readers report messages that cannot be decoded.
    _ = walk(bytes, kind, ScanDepth::Numbers, &mut look);
    first
}
