//! Commands that cut: extract.

use crate::{Folder, binary};

const CHAIN: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] x, float[N] m) => (float[N] y)
<float[1] w = {2}, float[1] unused = {3}>
{
    a = Abs(x)
    b = Neg(a) # the cut
    c = Mul(b, w)
    d = Add(c, m)
    y = Relu(d)
}
";

#[test]
fn a_part_between_values_is_a_model() {
    let folder = Folder::new(&[("m.onnxtxt", CHAIN.as_bytes()), ("m.onnx", &binary(CHAIN))]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let done = folder.run(&["extract", file, "--from", "b", "--to", "c"]).expect(0);
        assert!(done.text().contains("g (float[N] b) => (float[N] c)"), "{}", done.text());
        assert!(done.text().contains("w = {2}") && !done.text().contains("unused"), "{}", done.text());
        assert!(!done.text().contains("Abs") && !done.text().contains("Relu"), "{}", done.text());
        folder.write("part.onnxtxt", done.text().as_bytes());
        folder.run(&["check", "part.onnxtxt"]).expect(0);
        let first = folder.run(&["extract", file, "--to", "op:Neg"]).expect(0);
        assert!(first.text().contains("g (float[N] x) => (float[N] b)"), "{}", first.text());
        let nodes = folder.run(&["extract", file, "--nodes", "op:Mul", "op:Add"]).expect(0);
        assert!(nodes.text().contains("g (float[N] b, float[N] m) => (float[N] d)"), "{}", nodes.text());
    }
}

#[test]
fn what_does_not_cut_names_the_inputs_that_are_missing() {
    let folder = Folder::new(&[("m.onnxtxt", CHAIN.as_bytes())]);
    let done =
        folder.run(&["--format", "short", "extract", "m.onnxtxt", "--from", "b", "--to", "y"]).expect(1);
    assert!(done.stderr.contains("2:16: error[E1509]: `y` also needs `m`"), "{}", done.stderr);
    assert!(done.text().is_empty());
    let done = folder.run(&["extract", "m.onnxtxt", "--from", "m", "--to", "a"]).expect(1);
    assert!(done.stderr.contains("`a` does not depend on `m`"), "{}", done.stderr);
    let done = folder.run(&["extract", "m.onnxtxt", "--to", "yy"]).expect(2);
    assert!(done.stderr.contains("did you mean"), "{}", done.stderr);
}

#[test]
fn what_nested_graphs_capture_comes_along() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
g (bool c, float[N] x) => (float[N] y) {
    a = Abs(x)
    e = Exp(x)
    b = If(c) <then_branch = t () => (float[N] p) { p = Neg(a) }, else_branch = f () => (float[N] q) { q = Neg(x) }>
    y = Add(b, e)
}
";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let done = folder.run(&["extract", "m.onnxtxt", "--to", "b"]).expect(0);
    assert!(done.text().contains("a = Abs(x)") && !done.text().contains("Exp"), "{}", done.text());
    let done = folder.run(&["extract", "m.onnxtxt", "--from", "c", "a", "--to", "b"]).expect(1);
    assert!(done.stderr.contains("`b` also needs `x`"), "{}", done.stderr);
}

#[test]
fn a_dry_run_shows_what_would_change() {
    let folder = Folder::new(&[("m.onnxtxt", CHAIN.as_bytes())]);
    let done = folder.run(&["extract", "m.onnxtxt", "--to", "b", "--dry-run", "-o", "out.onnx"]).expect(0);
    assert!(
        done.text().contains("-    y = Relu(d)") && done.text().contains("+    b = Neg(a)  # the cut"),
        "{}",
        done.text()
    );
    assert_eq!(folder.names(), ["m.onnxtxt"]);
}
