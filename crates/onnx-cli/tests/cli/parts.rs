//! Parts of models in files of their own.

use crate::{Folder, SOUND};

/// Texts of parts, the message of each, and whether the text alone shows it.
const PARTS: &[(&str, &str, bool)] = &[
    ("g (float[N] x) => (float[N] y) { y = Relu(x) }", "GraphProto", false),
    (
        "<domain: \"l\", opset_import: [\"\": 21]> f <a, b: int = 1> (x) => (y) { y = Relu(x) }",
        "FunctionProto",
        true,
    ),
    (
        "<domain: \"l\", overload: \"o\", opset_import: [\"\": 21]> f (x) => (y) { y = Relu(x) }",
        "FunctionProto",
        true,
    ),
    ("y = LeakyRelu <alpha = 0.1> (x)", "NodeProto", true),
    ("a, b = com.acme.F:o (x, , z)", "NodeProto", true),
    (
        "[n] y = If (c) <then_branch = a () => (t) { t = Relu(x) }, else_branch = b () => (t) { t = Abs(x) }>",
        "NodeProto",
        true,
    ),
    ("float[N,3]", "TypeProto", true),
    ("float", "TypeProto", true),
    ("map(int64, seq(optional(float[2])))", "TypeProto", true),
    ("float[N,3] x", "ValueInfoProto", true),
    ("seq(float) \"x y\"", "ValueInfoProto", true),
    ("alpha = 0.5", "AttributeProto", true),
    ("axes = [0, -1]", "AttributeProto", true),
    ("axes: ints = []", "AttributeProto", true),
    ("value = float[2] {1, 2}", "AttributeProto", true),
    ("body = g (x) => (y) { y = Relu(x) }", "AttributeProto", true),
    ("t = seq(float[N])", "AttributeProto", true),
    ("a: float = @b", "AttributeProto", true),
];

#[test]
fn every_part_comes_back_from_every_form() {
    for &(text, message, is_clear) in PARTS {
        let mark = if is_clear { String::new() } else { format!("# proto-message: onnx.{message}\n") };
        let folder = Folder::new(&[("p.onnxtxt", format!("{mark}{text}").as_bytes())]);
        folder.run(&["convert", "p.onnxtxt", "-o", "p.pb"]).expect(0);
        let part = folder.read("p.pb");
        let info = folder.run(&["info", "p.pb"]).expect(0);
        assert!(info.text().contains(message), "{text}: {}", info.text());
        for form in ["q.onnxtxt", "q.json", "q.txtpb"] {
            folder.run(&["convert", "p.pb", "-o", form]).expect(0);
            folder.run(&["convert", form, "-o", "back.pb"]).expect(0);
            assert!(folder.read("back.pb") == part, "{text} through {form}");
        }
        let printed = folder.run(&["print", "p.pb"]).expect(0);
        folder.write("printed.onnxtxt", &printed.stdout);
        folder.run(&["convert", "printed.onnxtxt", "-o", "back.pb"]).expect(0);
        assert!(folder.read("back.pb") == part, "{text}: {}", printed.text());
        folder.run(&["fmt", "p.onnxtxt"]).expect(0);
        folder.run(&["fmt", "--check", "p.onnxtxt"]).expect(0);
        folder.run(&["convert", "p.onnxtxt", "-o", "back.pb"]).expect(0);
        assert!(folder.read("back.pb") == part, "{text} formatted");
        // No part is taken for a model.
        for command in [&["run", "p.pb"][..], &["infer", "p.pb", "-o", "m.onnx"], &["diff", "p.pb", "p.pb"]] {
            let refused = folder.run(command).expect(2);
            assert!(refused.stderr.contains(message), "{text}: {}", refused.stderr);
        }
        let loaded = onnxtxt::open(folder.path("p.pb")).unwrap();
        assert!(loaded.diagnostics[0].message.contains(message), "{text}");
    }
}

#[test]
fn parts_are_checked_in_every_form() {
    for (text, code) in [
        ("# proto-message: onnx.GraphProto\ng (float[N] x) => (float[N] y) { y = Add(x, z) }", "E0203"),
        (
            "# proto-message: onnx.GraphProto\ng (float[N] x) => (float[N] y) { y = Add(x, t) t = Neg(y) }",
            "E0213",
        ),
        ("<domain: \"l\", opset_import: [\"\": 21]> f (x, x) => (y) { y = Relu(x) }", "E0805"),
        ("<domain: \"l\", opset_import: [\"\": 21]> f (x) => (y) { y = Relu(x, x) }", "E1004"),
        ("y = Relu <a = 1, a = 2> (x)", "E0408"),
        ("map(float, float[N])", "E0705"),
        ("float[-3] x", "W0707"),
        ("value = float[2] {raw_data: b\"\\x00\"}", "E0505"),
    ] {
        let folder = Folder::new(&[("p.onnxtxt", text.as_bytes())]);
        for form in ["p.pb", "p.json", "p.txtpb"] {
            folder.run(&["convert", "p.onnxtxt", "-o", form]).expect(0);
        }
        let expected = i32::from(code.starts_with('E'));
        for form in ["p.onnxtxt", "p.pb", "p.json", "p.txtpb"] {
            let found = folder.run(&["check", "--format", "short", form]).expect(expected);
            assert!(found.text().contains(code), "{text} as {form}: {}", found.said());
            assert_eq!(found.text().lines().count(), 1, "{text} as {form}: {}", found.text());
        }
    }
}

#[test]
fn an_encoding_that_does_not_come_back_is_noted() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    let quiet = folder.run(&["convert", "m.onnx", "-o", "m.json"]).expect(0);
    assert!(!quiet.stderr.contains("byte for byte"), "{}", quiet.stderr);
    // `op_type` before `input`; `ints` of an attribute, packed.
    let node = b"\x22\x04Relu\x0a\x01x\x12\x01y";
    let attribute = b"\x0a\x04axes\x42\x02\x01\x02\xa0\x01\x07";
    for (bytes, how) in
        [(&node[..], "field `input` of `NodeProto` is out of order"), (attribute, "is a packed list")]
    {
        folder.write("p.pb", bytes);
        let noted = folder.run(&["convert", "p.pb", "-o", "p.onnxtxt"]).expect(0);
        assert!(noted.stderr.contains(how), "{}", noted.stderr);
        assert!(noted.stderr.contains("an equal message, not byte for byte"), "{}", noted.stderr);
    }
}
