//! Commands that put parts into models: replace, insert.

use crate::{Folder, binary};

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] x) => (float[N] y)
<float[1] w = {2}>
{
    a = Abs(x) # first
    t = Mul(a, w)
    b = Exp(t) # last
    y = Relu(b)
}
";

#[test]
fn what_was_extracted_and_edited_goes_back() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes()), ("m.onnx", &binary(MODEL))]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let part = folder.run(&["extract", file, "--from", "a", "--to", "b"]).expect(0);
        // The part as it is makes the same model.
        folder.write("part.onnxtxt", &part.stdout);
        let place = ["--from", "a", "--to", "b", "--with", "part.onnxtxt"];
        let same = folder.run(&[&["replace", file][..], &place].concat()).expect(0);
        assert!(
            same.text().contains("t = Mul(a, w)") && same.text().contains("b = Exp(t)"),
            "{}",
            same.text()
        );
        let edited = part.text().replace("Exp(t)", "Tanh(t)").replace("w = {2}", "w = {5}");
        folder.write("part.onnxtxt", edited.as_bytes());
        let done = folder.run(&[&["replace", file][..], &place].concat()).expect(0);
        assert!(done.stderr.contains("2 nodes removed, 2 nodes added"), "{}", done.stderr);
        assert!(done.text().contains("w = {5}") && done.text().contains("b = Tanh(t)"), "{}", done.text());
        assert_eq!(done.text().contains("# first"), file == "m.onnxtxt", "{}", done.text());
        folder.write("new.onnxtxt", &done.stdout);
        folder.run(&["check", "new.onnxtxt"]).expect(0);
    }
    let nodes = ["replace", "m.onnx", "--nodes", "op:Mul", "op:Exp", "--with", "part.onnxtxt", "--dry-run"];
    let done = folder.run(&nodes).expect(0);
    assert!(
        done.text().contains("-    b = Exp(t)") && done.text().contains("+    b = Tanh(t)"),
        "{}",
        done.text()
    );
}

#[test]
fn a_part_that_does_not_fit_changes_nothing() {
    let part =
        "<ir_version: 10, opset_import: [\"\": 21]>\np (float[N] in) => (float[N] out) { out = Neg(in) }";
    let wrong = "<ir_version: 10, opset_import: [\"\": 21]>\np (int64[N] a) => (int64[N] b) { b = Neg(a) }";
    let folder = Folder::new(&[
        ("m.onnxtxt", MODEL.as_bytes()),
        ("part.onnxtxt", part.as_bytes()),
        ("wrong.onnxtxt", wrong.as_bytes()),
    ]);
    let replace = ["replace", "m.onnxtxt", "--from", "a", "--to", "b", "-o", "new.onnx", "--with"];
    let done = folder.run(&[&replace[..], &["part.onnxtxt"]].concat()).expect(1);
    assert!(
        done.stderr.contains("no value is named `in`") && done.stderr.contains("has no output `b`"),
        "{}",
        done.stderr
    );
    let cast = "p (float[N] a) => (int64[N] b) { b = Cast <to = 7> (a) }";
    folder.write("cast.onnxtxt", format!("<ir_version: 10, opset_import: [\"\": 21]>\n{cast}").as_bytes());
    let done = folder.run(&[&replace[..], &["cast.onnxtxt"]].concat()).expect(1);
    assert!(done.stderr.contains("nothing written"), "{}", done.stderr);
    let done = folder.run(&[&replace[..], &["part.onnxtxt", "--map", "in"]].concat()).expect(2);
    assert!(done.stderr.contains("not of the form PART=MODEL"), "{}", done.stderr);
    assert_eq!(folder.names(), ["cast.onnxtxt", "m.onnxtxt", "part.onnxtxt", "wrong.onnxtxt"]);
    folder.run(&[&replace[..], &["part.onnxtxt", "--map", "in=a", "--map", "out=b"]].concat()).expect(0);
    folder.run(&["check", "new.onnx"]).expect(0);
}

#[test]
fn a_part_is_inserted_before_what_reads_a_value() {
    let part = "<ir_version: 10, opset_import: [\"\": 21]>\np (float[N] in) => (float[N] out) <float half = {0.5}> { out = Mul(in, half) }";
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes()), ("part.onnxtxt", part.as_bytes())]);
    let done = folder.run(&["insert", "m.onnxtxt", "--at", "t", "--with", "part.onnxtxt"]).expect(0);
    assert!(
        done.text().contains("out = Mul(t, half)") && done.text().contains("b = Exp(out)"),
        "{}",
        done.text()
    );
    let done = folder.run(&["insert", "m.onnxtxt", "--at", "op:Relu", "--with", "part.onnxtxt"]).expect(0);
    assert!(done.text().contains("y = Mul(y_1, half)"), "{}", done.text());
    let done = folder.run(&["insert", "m.onnxtxt", "--at", "nowhere", "--with", "part.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("no value of the main graph matches `nowhere`"), "{}", done.stderr);
}
