//! Commands that change shapes, metadata, versions, and what a model can do without.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,3] x) => (float[3,N] y)
<float[3,N] t, int64[2] dead = {1, 2}>
{
    t = Transpose(x) # turned
    z = Identity(t)
    y = Relu(z)
}
";

#[test]
fn shapes_of_inputs_are_set_and_the_others_follow() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let done = folder.run(&["set-shape", "m.onnxtxt", "-D", "N=4"]).expect(0);
    assert!(done.text().contains("(float[4,3] x) => (float[3,4] y)"), "{}", done.text());
    assert!(done.text().contains("float[3,4] t") && done.text().contains("# turned"), "{}", done.text());
    let done = folder.run(&["set-shape", "m.onnxtxt", "--shape", "x=5,7"]).expect(0);
    assert!(done.text().contains("(float[5,7] x) => (float[7,5] y)"), "{}", done.text());
    let done = folder.run(&["set-shape", "m.onnxtxt", "--dynamic", "batch=0"]).expect(0);
    assert!(done.text().contains("(float[batch,3] x) => (float[3,batch] y)"), "{}", done.text());
    for (arguments, message) in [
        (["-D", "M=4"], "no symbolic dimension `M`"),
        (["--shape", "x=4"], "has rank 2"),
        (["--shape", "w=4"], "no input `w`"),
    ] {
        let done = folder.run(&["set-shape", "m.onnxtxt", arguments[0], arguments[1]]).expect(1);
        assert!(done.stderr.contains(message), "{}", done.stderr);
    }
    folder.run(&["set-shape", "m.onnxtxt"]).expect(2);
    folder.run(&["set-shape", "m.onnxtxt", "-D", "N=-1"]).expect(2);
}

#[test]
fn a_shape_that_contradicts_the_graph_is_an_error() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, w) }
";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let done = folder.run(&["set-shape", "m.onnxtxt", "--shape", "x=2,4", "-o", "o.onnx"]).expect(1);
    assert!(done.stderr.contains("MatMul"), "{}", done.stderr);
    assert_eq!(folder.names(), ["m.onnxtxt"]);
}

#[test]
fn strip_and_simplify_leave_what_is_computed() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let done = folder.run(&["strip", "m.onnxtxt"]).expect(0);
    assert!(!done.text().contains("dead") && !done.text().contains("float[3,N] t"), "{}", done.text());
    assert!(done.text().contains("Identity"), "{}", done.text());
    let done = folder.run(&["simplify", "m.onnxtxt"]).expect(0);
    assert!(!done.text().contains("Identity") && !done.text().contains("dead"), "{}", done.text());
}

#[test]
fn headers_are_set() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let arguments = ["set-metadata", "m.onnxtxt", "author=ada", "--producer", "acme", "--in-place"];
    folder.run(&arguments).expect(0);
    let text = String::from_utf8(folder.read("m.onnxtxt")).unwrap();
    assert!(text.contains("\"author\": \"ada\"") && text.contains("\"acme\""), "{text}");
    folder.run(&["set-metadata", "m.onnxtxt", "--remove", "author", "--in-place"]).expect(0);
    assert!(!String::from_utf8(folder.read("m.onnxtxt")).unwrap().contains("ada"));
    folder.run(&["set-metadata", "m.onnxtxt", "--remove", "author"]).expect(1);
    let done = folder.run(&["set-opset", "m.onnxtxt", "22"]).expect(0);
    assert!(done.text().contains("\"\": 22"), "{}", done.text());
    folder.run(&["set-opset", "m.onnxtxt", "x"]).expect(2);
    folder.run(&["set-opset", "m.onnxtxt", "99"]).expect(1);
}

#[test]
fn help_of_edits_ends_with_examples() {
    let folder = Folder::new(&[]);
    for command in ["extract", "rename", "set-shape", "set-opset", "set-metadata", "strip", "simplify"] {
        let help = folder.run(&[command, "--help"]).expect(0);
        let (_, examples) = help.text().split_once("\nExample").unwrap_or_else(|| panic!("{command}"));
        assert!(examples.contains(&format!("onnxtxt {command}")), "{command}: {examples}");
    }
}
