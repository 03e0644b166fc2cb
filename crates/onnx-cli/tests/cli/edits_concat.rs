//! `concat`: concatenates models.

use crate::{Folder, binary};

const FIRST: &str = "<ir_version: 10, opset_import: [\"\": 20]>
g (float[N,2] x) => (float[N,2] y)
{
    t = Abs(x) # first
    y = Neg(t)
}
";
const SECOND: &str = "<ir_version: 10, opset_import: [\"\": 21]>
h (float[N,2] y) => (float[N,2] z)
{
    t = Exp(y)
    z = Relu(t)
}
";

#[test]
fn outputs_become_the_inputs_of_the_same_names() {
    let folder = Folder::new(&[("a.onnxtxt", FIRST.as_bytes()), ("b.onnx", &binary(SECOND))]);
    folder.run(&["concat", "a.onnxtxt", "b.onnx", "-o", "ab.onnxtxt"]).expect(0);
    let text = String::from_utf8(folder.read("ab.onnxtxt")).unwrap();
    assert!(text.contains("(float[N,2] x) => (float[N,2] z)") && text.contains("# first"), "{text}");
    folder.run(&["check", "ab.onnxtxt"]).expect(0);
    let input = ["run", "ab.onnxtxt", "-D", "N=1", "--random"];
    folder.run(&input).expect(0);
}

#[test]
fn outputs_become_the_inputs_that_are_named() {
    let other = SECOND.replace("float[N,2] y", "float[N,2] in").replace("Exp(y)", "Exp(in)");
    let folder = Folder::new(&[("a.onnxtxt", FIRST.as_bytes()), ("b.onnxtxt", other.as_bytes())]);
    let refused = folder.run(&["concat", "a.onnxtxt", "b.onnxtxt", "-o", "ab.onnxtxt"]).expect(1);
    assert!(refused.said().contains("E1514"), "{}", refused.said());
    assert_eq!(folder.names(), ["a.onnxtxt", "b.onnxtxt"]);
    folder.run(&["concat", "a.onnxtxt", "b.onnxtxt", "--map", "y=in", "-o", "ab.onnxtxt"]).expect(0);
    folder.run(&["check", "ab.onnxtxt"]).expect(0);
}
