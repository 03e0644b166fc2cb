//! Comments stay with what they are about where a command changes a model and writes text again.

use crate::Folder;

const MODEL: &str = "\
# of the file
<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
# of the graph
g (
    # of x
    float[N] x
) => (float[N] y)
<
    float[1] w = {1},  # behind w
    # of u, which goes
    float[1] u = {2}  # behind u
>
{
    # of y
    y = Add(b, w)  # behind y
    # of b
    b = l.f(a)
    # of d, which goes
    d = Neg(a)  # behind d
    # of a
    a = Abs(x)
    # the end
}

# of f
<domain: \"l\", opset_import: [\"\": 21]>
f (p) => (q)
{
    # of q
    q = Exp(p)
    # the end of f
}
# the end of the file
";

#[test]
fn comments_move_with_what_they_stand_before() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    let made = folder.run(&["pass", "dead-code", "topological-sort", "m.onnxtxt"]).expect(0);
    let expected = "\
# of the file
<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
# of the graph
g (
    # of x
    float[N] x
) => (float[N] y)
<
    float[1] w = {1}  # behind w
>
{
    # of a
    a = Abs(x)
    # of b
    b = l.f(a)
    # of y
    y = Add(b, w)  # behind y
    # the end
}

# of f
<domain: \"l\", opset_import: [\"\": 21]>
f (p) => (q)
{
    # of q
    q = Exp(p)
    # the end of f
}
# the end of the file
";
    assert_eq!(made.text(), expected);
}

#[test]
fn what_is_allowed_by_a_comment_stays_allowed() {
    let text = "#! not a directive\n<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[N] x) => (float[N] y)\n{\n    y = Relu(t)\n    # onnxtxt: allow(no-op)\n    t = Identity(x)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["pass", "topological-sort", "m.onnxtxt", "-o", "o.onnxtxt"]).expect(0);
    let found = folder.run(&["check", "--level", "strict", "--select", "no-op", "o.onnxtxt"]).expect(0);
    assert!(!found.text().contains("W1201"), "{}", found.text());
    assert!(
        folder
            .run(&["convert", "o.onnxtxt", "--to", "text", "-o", "-"])
            .expect(0)
            .text()
            .contains("# onnxtxt: allow(no-op)")
    );
}
