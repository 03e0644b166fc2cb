//! The kinds of files, and their detection.

use crate::wire::{self, Cursor, Kind, MAX_DEPTH, Message, Reason, Repeat, WireType};
use onnx_ir::TypeKind;

/// The kind of a file: its root message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FileKind {
    /// `ModelProto`: `model.onnx`.
    Model,
    /// `TensorProto`: `input_0.pb`.
    Tensor,
    /// `SequenceProto`
    Sequence,
    /// `OptionalProto`
    Optional,
    /// `MapProto`
    Map,
    /// `SparseTensorProto`
    SparseTensor,
    /// `GraphProto`
    Graph,
    /// `FunctionProto`
    Function,
    /// `OperatorSetProto`
    OperatorSet,
    /// `NodeProto`
    Node,
    /// `TypeProto`
    Type,
    /// `ValueInfoProto`
    ValueInfo,
    /// `AttributeProto`
    Attribute,
}

impl FileKind {
    /// All kinds; if two fit a file equally well, [`sniff`] returns the first one here.
    pub const ALL: [FileKind; 13] = [
        FileKind::Model,
        FileKind::Tensor,
        FileKind::Sequence,
        FileKind::Optional,
        FileKind::Map,
        FileKind::SparseTensor,
        FileKind::Graph,
        FileKind::Function,
        FileKind::OperatorSet,
        FileKind::Node,
        FileKind::Type,
        FileKind::ValueInfo,
        FileKind::Attribute,
    ];

    /// The message's name, such as `ModelProto`.
    pub fn name(self) -> &'static str {
        self.message().name
    }

    /// Whether the message is a part of a model, which has no header of its own: [`read_part`](crate::read_part) reads it.
    pub fn is_part(self) -> bool {
        match self {
            FileKind::Graph
            | FileKind::Function
            | FileKind::Node
            | FileKind::Type
            | FileKind::ValueInfo
            | FileKind::Attribute => true,
            FileKind::Model
            | FileKind::Tensor
            | FileKind::Sequence
            | FileKind::Optional
            | FileKind::Map
            | FileKind::SparseTensor
            | FileKind::OperatorSet => false,
        }
    }

    pub(crate) fn message(self) -> &'static Message {
        match self {
            FileKind::Model => &wire::MODEL_PROTO,
            FileKind::Tensor => &wire::TENSOR_PROTO,
            FileKind::Sequence => &wire::SEQUENCE_PROTO,
            FileKind::Optional => &wire::OPTIONAL_PROTO,
            FileKind::Map => &wire::MAP_PROTO,
            FileKind::SparseTensor => &wire::SPARSE_TENSOR_PROTO,
            FileKind::Graph => &wire::GRAPH_PROTO,
            FileKind::Function => &wire::FUNCTION_PROTO,
            FileKind::OperatorSet => &wire::OPERATOR_SET_PROTO,
            FileKind::Node => &wire::NODE_PROTO,
            FileKind::Type => &wire::TYPE_PROTO,
            FileKind::ValueInfo => &wire::VALUE_INFO_PROTO,
            FileKind::Attribute => &wire::ATTRIBUTE_PROTO,
        }
    }

    /// Numbers of fields without one of which such a message makes no sense; empty if any message does.
    fn essential(self) -> &'static [u32] {
        match self {
            FileKind::Map => &[2, 5],                            // key_type, values
            FileKind::SparseTensor => &[3],                      // dims
            FileKind::OperatorSet => &[2, 5, 8],                 // ir_version, opset_version, operator
            FileKind::Function => &[7, 9],                       // node, opset_import
            FileKind::Node => &[4],                              // op_type
            FileKind::ValueInfo => &[2],                         // type
            FileKind::Attribute => &[2, 3, 4, 5, 6, 14, 20, 21], // a value, type or ref_attr_name
            FileKind::Model
            | FileKind::Tensor
            | FileKind::Sequence
            | FileKind::Optional
            | FileKind::Graph
            | FileKind::Type => &[],
        }
    }
}

impl From<&TypeKind> for FileKind {
    /// The kind of a file with a value of a type.
    fn from(kind: &TypeKind) -> FileKind {
        match kind {
            TypeKind::Sequence(_) => FileKind::Sequence,
            TypeKind::Map { .. } => FileKind::Map,
            TypeKind::Optional(_) => FileKind::Optional,
            TypeKind::SparseTensor(_) => FileKind::SparseTensor,
            TypeKind::Unset | TypeKind::Tensor(_) | TypeKind::Opaque { .. } => FileKind::Tensor,
        }
    }
}

/// The most likely kind of the bytes. `None`: empty, text, or another format.
///
/// Protobuf is not self-describing, so each kind is matched against the first fields and scored by the fields that it knows.
/// Damaged and truncated files are recognized if their beginning is valid. Reads a bounded number of fields.
///
/// A sequence and an optional with at most one element have the same bytes; the result is then [`FileKind::Sequence`]. Callers
/// that know the declared type of the value should not use this.
pub fn sniff(bytes: &[u8]) -> Option<FileKind> {
    if is_text(bytes) {
        return None;
    }
    if bytes.starts_with(OPERATOR_SET) {
        return Some(FileKind::OperatorSet);
    }
    let mut best = (0, None);
    for kind in FileKind::ALL {
        let mut budget = FIELDS_TRIED;
        let mut seen = 0;
        let points = points(Cursor::new(bytes, 0), kind.message(), 0, &mut budget, &mut seen);
        let essential = kind.essential();
        let is_odd = !essential.is_empty() && !essential.iter().any(|number| seen & (1 << number) != 0);
        let points = points - i32::from(is_odd);
        if points > best.0 {
            best = (points, Some(kind));
        }
        // Nothing scores more: most large models are known after the first kind.
        if best.0 == MAX_POINTS {
            break;
        }
    }
    best.1
}

/// The format of a file that does not contain a message of this format, and what to do about it. `None`: not one of the formats
/// that are commonly mistaken for models.
pub fn foreign(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const WEIGHTS: &str =
        "weights alone are not a model: export the model with the framework that wrote them";
    let start = bytes.get(..bytes.len().min(256)).unwrap_or_default();
    let text = start.trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if first.starts_with(b"version http") && first.windows(7).any(|word| word == b"git-lfs") {
        return Some(("a Git LFS pointer, not the file itself", "run `git lfs pull`"));
    }
    if begins(b"<!doctype") || begins(b"<html") || begins(b"<head>") {
        let help = "the download returned a web page instead of the file: use the link to the raw file";
        return Some(("an HTML page", help));
    }
    if begins(b"<svg") {
        return Some(("an SVG picture", "pass the model itself"));
    }
    if begins(b"<?xml") {
        return Some((
            "an XML document",
            "the download may have returned an error page, or the file is an OpenVINO model",
        ));
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let start = bytes.get(..bytes.len().min(4096))?;
        return Some(if start.windows(8).any(|name| name == b"data.pkl") {
            ("a PyTorch file (a zip archive)", "export the model with `torch.onnx.export`")
        } else if start.windows(4).any(|name| name == b".npy") {
            ("an archive of NumPy arrays", "pass it to `run -i`")
        } else {
            ("a zip archive", "unpack it: the model may be inside")
        });
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some(("a TFLite model", "convert it with `tf2onnx`"));
    }
    if is_pickle(bytes) {
        return Some(("a Python pickle", "export the model with the framework that wrote it"));
    }
    let magic: [(&[u8], &str, &str); 9] = [
        (b"\x1f\x8b", "a gzip archive", "unpack it with `gunzip`"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with `unzstd`"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes", "convert the model with `tf2onnx`"),
        (b"GGUF", "a GGUF file", WEIGHTS),
        (b"\x93NUMPY", "a NumPy array", "pass it to `run -i`"),
        (b"%PDF-", "a PDF document", "pass the model itself"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture", "pass the model itself"),
        (b"\xff\xd8\xff", "a JPEG picture", "pass the model itself"),
    ];
    if let Some((_, what, help)) = magic.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return Some((what, help));
    }
    // The length of a header in JSON, and the header.
    let header = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    let is_safetensors =
        header.is_some_and(|length| (2..1 << 28).contains(&length)) && bytes.get(8..10) == Some(b"{\"");
    is_safetensors.then_some(("a safetensors file", WEIGHTS))
}

/// Whether a file begins with the mark of a protocol from 2 to 5 and ends with the operation that ends a pickle.
fn is_pickle(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 2..=5, .., b'.'])
        && matches!(bytes.get(2), Some(0x95 | b'}' | b']' | b'c' | b'(' | b'X' | b'K' | 0x8a | 0x8c))
}

/// The first field of an operator set, whose purpose is to identify such files.
const OPERATOR_SET: &[u8] = b"\x0a\x09ONNXOPSET";

/// The most fields that are tried per kind.
const FIELDS_TRIED: u32 = 200;
/// The most points of a kind: two for each field.
const MAX_POINTS: i32 = 2 * FIELDS_TRIED as i32;

/// Text has no control characters but white space. Messages begin with one: a key of a low field number.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    start.iter().all(|&byte| byte >= b' ' || (b'\t'..=b'\r').contains(&byte))
}

/// A score for how well the fields match the message: points for each known field, minus points for wrong ones.
fn points(
    mut cursor: Cursor<'_>,
    message: &'static Message,
    depth: usize,
    budget: &mut u32,
    seen: &mut u32,
) -> i32 {
    let mut points = 0;
    while !cursor.is_at_end() && *budget > 0 {
        *budget -= 1;
        match field(&mut cursor, message, depth, budget, seen) {
            Ok(field) => points += field,
            // At the root the file may be truncated; inside, lengths are known and this is another message.
            Err(Reason::Truncated) if depth == 0 => return points,
            Err(_) => return points - 20,
        }
    }
    points
}

fn field(
    cursor: &mut Cursor<'_>,
    message: &'static Message,
    depth: usize,
    budget: &mut u32,
    seen: &mut u32,
) -> Result<i32, Reason> {
    let key = cursor.key()?;
    let Some(field) = message.field(key.number).filter(|field| field.fits(key.wire)) else {
        cursor.skip_value(key.number, key.wire, depth)?;
        return Ok(-10);
    };
    let is_again = *seen & (1 << field.number) != 0;
    *seen |= 1 << field.number;
    if key.wire != WireType::Bytes {
        cursor.skip_value(key.number, key.wire, depth)?;
        return Ok(if is_again && field.repeat == Repeat::Once { -2 } else { 2 });
    }
    let (length, _) = cursor.length()?;
    let value = cursor.split(length)?;
    let points = match field.kind {
        Kind::Message(inner) if depth < MAX_DEPTH => 2 + points(value, inner, depth + 1, budget, &mut 0),
        Kind::Message(_) => return Err(Reason::TooDeep),
        Kind::String if !is_text(value.rest()) => -2,
        Kind::String | Kind::Bytes => 2,
        // Numbers in a list that is not packed by rights.
        _ if field.repeat == Repeat::Each => -2,
        _ => 2,
    };
    Ok(if is_again && field.repeat == Repeat::Once { points.min(0) - 2 } else { points })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb;
    use prost::Message as _;

    fn bytes(text: &'static str) -> Option<bytes::Bytes> {
        Some(text.into())
    }

    fn tensor() -> pb::TensorProto {
        let raw_data = Some(bytes::Bytes::from_static(&[0, 0, 128, 63]));
        pb::TensorProto {
            dims: vec![1],
            data_type: Some(1),
            name: bytes("x"),
            raw_data,
            ..Default::default()
        }
    }

    #[test]
    fn kinds_are_told_apart() {
        let node = pb::NodeProto {
            input: vec!["x".into()],
            output: vec!["y".into()],
            op_type: bytes("Relu"),
            ..Default::default()
        };
        let sequence = pb::SequenceProto {
            elem_type: Some(1),
            tensor_values: vec![tensor(), tensor()],
            ..Default::default()
        };
        let map = pb::MapProto {
            name: bytes("m"),
            key_type: Some(7),
            keys: vec![1, 2],
            values: Some(sequence.clone()),
            ..Default::default()
        };
        let optional = pb::OptionalProto {
            name: bytes("o"),
            elem_type: Some(4),
            map_value: Some(map.clone()),
            ..Default::default()
        };
        let import = pb::OperatorSetIdProto { version: Some(21), ..Default::default() };
        let function = pb::FunctionProto {
            name: bytes("f"),
            domain: bytes("my.domain"),
            input: vec!["x".into()],
            output: vec!["y".into()],
            node: vec![node.clone()],
            opset_import: vec![import.clone()],
            ..Default::default()
        };
        let graph = pb::GraphProto { name: bytes("g"), node: vec![node], ..Default::default() };
        let model = pb::ModelProto {
            ir_version: Some(10),
            opset_import: vec![import],
            producer_name: bytes("someone"),
            graph: Some(graph.clone()),
            ..Default::default()
        };
        let sparse = pb::SparseTensorProto { values: Some(tensor()), dims: vec![8], indices: Some(tensor()) };
        let shape = pb::TensorShapeProto { dim: vec![pb::tensor_shape_proto::Dimension::default()] };
        let float = pb::type_proto::Tensor { elem_type: Some(1), shape: Some(shape) };
        let ty = pb::TypeProto { tensor_type: Some(float), ..Default::default() };
        let scalar = pb::type_proto::Tensor { elem_type: Some(1), shape: None };
        let scalar = pb::TypeProto { tensor_type: Some(scalar), ..Default::default() };
        let elem = Some(Box::new(ty.clone()));
        let list = pb::TypeProto {
            sequence_type: Some(Box::new(pb::type_proto::Sequence { elem_type: elem })),
            ..Default::default()
        };
        let info = pb::ValueInfoProto { name: bytes("x"), r#type: Some(ty.clone()), ..Default::default() };
        let alone = pb::NodeProto { input: vec!["x".into()], op_type: bytes("Print"), ..Default::default() };
        let attribute = |value: f32, r#type| pb::AttributeProto {
            name: bytes("alpha"),
            f: Some(value),
            r#type,
            ..Default::default()
        };
        let ints = pb::AttributeProto {
            name: bytes("axes"),
            ints: vec![1, 2],
            r#type: Some(7),
            ..Default::default()
        };
        let operators =
            pb::OperatorSetProto { magic: bytes("ONNXOPSET"), opset_version: Some(1), ..Default::default() };
        for (bytes, kind) in [
            (model.encode_to_vec(), FileKind::Model),
            (tensor().encode_to_vec(), FileKind::Tensor),
            (sequence.encode_to_vec(), FileKind::Sequence),
            // See `sniff`.
            (optional.encode_to_vec(), FileKind::Sequence),
            (map.encode_to_vec(), FileKind::Map),
            (sparse.encode_to_vec(), FileKind::SparseTensor),
            (function.encode_to_vec(), FileKind::Function),
            (graph.encode_to_vec(), FileKind::Graph),
            (graph.node[0].encode_to_vec(), FileKind::Node),
            (alone.encode_to_vec(), FileKind::Node),
            (ty.encode_to_vec(), FileKind::Type),
            (scalar.encode_to_vec(), FileKind::Type),
            (list.encode_to_vec(), FileKind::Type),
            (info.encode_to_vec(), FileKind::ValueInfo),
            (attribute(0.5, Some(1)).encode_to_vec(), FileKind::Attribute),
            (attribute(0.5, None).encode_to_vec(), FileKind::Attribute),
            (ints.encode_to_vec(), FileKind::Attribute),
            (operators.encode_to_vec(), FileKind::OperatorSet),
        ] {
            assert_eq!(sniff(&bytes), Some(kind), "{bytes:?}");
            // Truncated after the first fields.
            if kind == FileKind::Model {
                for length in 2..bytes.len() {
                    assert_eq!(sniff(&bytes[..length]), Some(kind), "the first {length} bytes");
                }
            }
        }
    }

    #[test]
    fn files_that_are_taken_for_models_are_known() {
        for (bytes, what) in [
            (
                &b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n"[..],
                "a Git LFS pointer",
            ),
            (b"\n<!DOCTYPE html>\n<html>", "an HTML page"),
            (b"<HTML><body>", "an HTML page"),
            (b"<?xml version=\"1.0\"?><Error>", "an XML document"),
            (b"<svg xmlns=\"x\">", "an SVG picture"),
            (b"PK\x03\x04\x14\0", "a zip archive"),
            (b"PK\x03\x04-\0\0\0\x05\0x.npy", "an archive of NumPy arrays"),
            (b"\x89PNG\r\n\x1a\n\0", "a PNG picture"),
            (b"\xff\xd8\xff\xe0", "a JPEG picture"),
            (b"PK\x03\x04\x14\0\0\0archive/data.pkl", "a PyTorch file"),
            (b"\x1c\0\0\0TFL3\x14\0", "a TFLite model"),
            (b"\x80\x04\x95\x0f\0.", "a Python pickle"),
            (b"\x80\x02}q\0.", "a Python pickle"),
            (b"\x1f\x8b\x08", "a gzip archive"),
            (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
            (b"\x10\0\0\0\0\0\0\0{\"w\":{}}", "a safetensors file"),
        ] {
            assert!(foreign(bytes).is_some_and(|(kind, _)| kind.starts_with(what)), "{what}");
        }
        for bytes in [&b""[..], b"<ir_version: 10>", b"\x08\x0a\x3a\0", b"version (float x) => () {}", b"PK"]
        {
            assert_eq!(foreign(bytes), None);
        }
    }

    #[test]
    fn what_is_no_message_has_no_kind() {
        for bytes in [
            &b""[..],
            b"<ir_version: 10>",
            b"Big (float[N] x) => ()",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0",
        ] {
            assert_eq!(sniff(bytes), None);
        }
    }
}
