//! Expressions: read by all commands, kept by `fmt` and edits of the text, written by none.

use crate::Folder;

const SUGAR: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    # the model\n\
    g (float[N,2] x) => (float[N] y)\n\
    {\n    t = Abs(x)  # plain\n    y = Relu(-t[:, 0] * 2) + 1\n}\n";

const PLAIN: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    # the model\n\
    g (float[N,2] x) => (float[N] y)\n\
    {\n    t = Abs(x)  # plain\n    \
    c_0 = Constant <value = int64 {0}> ()\n    \
    y_1 = Gather <axis = 1> (t, c_0)\n    \
    y_2 = Neg(y_1)\n    \
    c_2 = Constant <value = float {2}> ()\n    \
    y_3 = Mul(y_2, c_2)\n    \
    y_4 = Relu(y_3)\n    \
    c_1 = Constant <value = float {1}> ()\n    \
    y = Add(y_4, c_1)\n}\n";

fn folder() -> Folder {
    Folder::new(&[("m.onnxtxt", SUGAR.as_bytes())])
}

#[test]
fn it_is_no_finding_for_us_and_an_error_for_other_readers() {
    let folder = folder();
    let done = folder.run(&["check", "m.onnxtxt"]).expect(0);
    assert!(!done.said().contains("warning"), "{}", done.said());
    let done = folder.run(&["check", "--profile", "reference", "m.onnxtxt"]).expect(1);
    assert!(done.said().contains("the reference parser rejects expressions"), "{}", done.said());
    folder.run(&["check", "--profile", "reference", "--fix", "m.onnxtxt"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), PLAIN);
}

#[test]
fn fmt_keeps_it_or_expands_it() {
    let folder = folder();
    folder.run(&["fmt", "--check", "m.onnxtxt"]).expect(0);
    folder.run(&["fmt", "--check", "--expand", "m.onnxtxt"]).expect(1);
    folder.run(&["fmt", "--expand", "m.onnxtxt"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), PLAIN);
    folder.run(&["fmt", "--check", "--expand", "m.onnxtxt"]).expect(0);
}

#[test]
fn what_writes_models_writes_plain_text() {
    let folder = folder();
    let plain = PLAIN.replace("# the model\n", "").replace("  # plain", "");
    assert_eq!(folder.run(&["print", "m.onnxtxt"]).expect(0).text(), plain);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    assert_eq!(folder.run(&["print", "m.onnx"]).expect(0).text(), plain);
    let run = folder.run(&["run", "m.onnxtxt", "--random", "-D", "N=3"]).expect(0);
    assert!(run.text().contains("float[3] y"), "{}", run.text());
}
