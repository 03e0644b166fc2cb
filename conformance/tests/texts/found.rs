//! Models that once did not come back from text: the smallest of each, as textproto.

use conformance::convert::round_trip;
use onnx_proto::{FileKind, textproto};

const FOUND: &[(&str, &str)] = &[
    ("no graph, nothing else to annotate", "ir_version: 0"),
    (
        "an import without a version, nothing else to annotate",
        r#"graph { name: "g" } opset_import { domain: "" }"#,
    ),
    (
        "a device configuration, nothing else to annotate",
        r#"graph { name: "g" } configuration { name: "c" }"#,
    ),
    ("a denotation of a type that is not set", r#"graph { output { name: "x" type { denotation: "d" } } }"#),
    ("a domain that is not UTF-8", r#"graph { node { op_type: "F" domain: "\377" } }"#),
    (
        "annotations of the first part of a sparse tensor",
        r#"graph { sparse_initializer { values { name: "s" metadata_props { key: "k" } } } }"#,
    ),
    (
        "annotations of the first part of a sparse tensor of an attribute",
        r#"graph { node { attribute { name: "a" type: SPARSE_TENSOR sparse_tensor { values { doc_string: "d" } } } } }"#,
    ),
    (
        "an element type that is not set, in a sparse type",
        r#"graph { input { name: "x" type { sparse_tensor_type { shape { } } } } }"#,
    ),
];

/// NaNs that textproto cannot say: `floats` and `double_data` of several in one attribute.
const NANS: &[&[u8]] = &[
    // graph { node { attribute { f: 0 floats: nan } } }
    &[0x3a, 14, 0x0a, 12, 0x2a, 10, 0x15, 0, 0, 0, 0, 0x3d, 1, 0, 0x80, 0x7f],
    // graph { initializer { raw_data: "x" double_data: nan } }
    &[0x3a, 15, 0x2a, 13, 0x4a, 1, b'x', 0x52, 8, 1, 0, 0, 0, 0, 0, 0xf0, 0x7f],
];

#[test]
fn models_that_did_not_come_back() {
    for (what, text) in FOUND {
        let wire = textproto::from_text(text.as_bytes(), FileKind::Model).expect(what);
        if let Err(why) = round_trip(wire.into()) {
            panic!("{what}: {why}");
        }
    }
    for wire in NANS {
        round_trip(bytes::Bytes::from_static(wire)).unwrap();
    }
}
