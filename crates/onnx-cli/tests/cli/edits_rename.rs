//! Commands that rename.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (bool c, float[N] x) => (float[N] y)
<float[N] layer1>
{
    [layer1] layer1 = Abs(x)
    y = If(c) <then_branch = t () => (float[N] p) { p = Neg(layer1) }, else_branch = f () => (float[N] q) { q = Neg(x) }>
}
";

#[test]
fn names_change_wherever_they_stand() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let done = folder.run(&["rename", "m.onnxtxt", "x=image", "N=batch", r"/layer(\d+)/=block$1"]).expect(0);
    let text = done.text();
    assert!(text.contains("float[batch] image") && text.contains("[block1] block1 = Abs(image)"), "{text}");
    assert!(
        text.contains("p = Neg(block1)") && !text.contains("layer") && !text.contains("float[N]"),
        "{text}"
    );
    let nodes = folder.run(&["rename", "m.onnxtxt", "--nodes", "layer1=n"]).expect(0);
    assert!(nodes.text().contains("[n] layer1 = Abs(x)"), "{}", nodes.text());
}

#[test]
fn attributes_of_gradients_follow() {
    let model = "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.preview.training\": 1]>
g (float[2] x, float[2] w) => (float[2] d)
{
    loss = Mul(x, w)
    d = ai.onnx.preview.training.Gradient <xs = [\"w\"], zs = [\"x\"], y = \"loss\"> (w, x)
}
";
    let folder = Folder::new(&[("m.onnxtxt", model.as_bytes())]);
    let done = folder.run(&["rename", "m.onnxtxt", "w=weight", "loss=error"]).expect(0);
    let text = done.text();
    assert!(text.contains(r#"<xs = ["weight"], zs = ["x"], y = "error"> (weight, x)"#), "{text}");
}

#[test]
fn a_collision_is_an_error_with_both_places() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let done = folder.run(&["--format", "json", "rename", "m.onnxtxt", "x=y"]).expect(1);
    assert!(done.stderr.contains("`x` and `y` would both be named `y`"), "{}", done.stderr);
    assert!(done.stderr.contains("`x` becomes `y`"), "{}", done.stderr);
    assert!(done.stderr.contains("`y` keeps its name"), "{}", done.stderr);
    let done = folder.run(&["rename", "m.onnxtxt", "layer2=z"]).expect(1);
    assert!(done.stderr.contains("did you mean `layer1`?"), "{}", done.stderr);
    folder.run(&["rename", "m.onnxtxt", "/(/=z"]).expect(2);
}
