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

#[test]
fn types_of_results_go_to_the_declarations() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x) => (y)\n\
        {\n    float[N] t = Abs(x)\n    float[N] u = t * 2\n    float[N] y = Neg(u)\n}\n";
    let plain = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N] x) => (float[N] y) <float[N] t, float[N] u>\n\
        {\n    t = Abs(x)\n    c_2 = Constant <value = float {2}> ()\n    u = Mul(t, c_2)\n    y = Neg(u)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    folder.run(&["check", "--profile", "reference", "m.onnxtxt"]).expect(1);
    // All in one round, though all of them change one list.
    folder.run(&["check", "--profile", "reference", "--fix", "m.onnxtxt"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), plain);
}

#[test]
fn expressions_in_dimensions_are_quoted_for_other_readers() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[P] a, float[S] b) => (float[P+S] y)\n{\n    y = Concat <axis = 0> (a, b)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    let done = folder.run(&["check", "--profile", "reference", "m.onnxtxt"]).expect(1);
    assert!(done.said().contains("rejects an expression in a dimension"), "{}", done.said());
    folder.run(&["check", "--profile", "reference", "--fix", "m.onnxtxt"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), text.replace("[P+S]", "[\"P+S\"]"));
    assert!(folder.run(&["print", "m.onnxtxt"]).expect(0).text().contains("[\"P+S\"] y"));
}

#[test]
fn inferred_types_are_comments() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[N,2] x) => (float[A,N] y)\n{\n    t = Transpose(x)\n    a, b = Split <num_outputs = 2> (t)  # halves\n    \
        y = If(c) <then_branch = p () => (q) {\n        q = Flatten(a)\n    }, else_branch = r () => (s) { s = Flatten(b) }>\n}\n";
    let text = text.replace("(float[N,2] x)", "(bool c, float[N,2] x)");
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let commented = folder.run(&["infer", "--comments", "m.onnxtxt"]).expect(0).text().to_owned();
    for line in [
        "    t = Transpose(x)  #: float[2,N]\n",
        "    a, b = Split <num_outputs = 2> (t)  # halves  #: a float[1,N], b float[1,N]\n",
        "        q = Flatten(a)  #: float[1,N]\n",
    ] {
        assert!(commented.contains(line), "{commented}");
    }
    // The comments are those of the last time, and nothing else changes.
    folder.run(&["infer", "--comments", "m.onnxtxt", "--in-place"]).expect(0);
    folder.run(&["infer", "--comments", "m.onnxtxt", "--in-place"]).expect(0);
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), commented);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    let printed = folder.run(&["infer", "--comments", "m.onnx"]).expect(0);
    assert!(printed.text().contains("t = Transpose(x)  #: float[2,N]\n"), "{}", printed.text());
    folder.run(&["infer", "--comments", "m.onnx", "-o", "typed.onnx"]).expect(2);
}
