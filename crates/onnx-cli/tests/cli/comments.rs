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

const HEAD: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n";

/// The body of a model's main graph, from the first value or node on.
fn body(text: &str) -> &str {
    text.split_once("(float[N] y)").map_or(text, |(_, body)| body.trim())
}

#[test]
fn parts_and_further_models_bring_their_comments() {
    let model = format!(
        "{HEAD}g (float[N] x) => (float[N] y) <
    float[1] w = {{1}}  # of the model
> {{
    # first
    a = Abs(x)
    # goes
    b = Exp(a)  # goes too
    y = Mul(b, w)  # last
}}
"
    );
    let part = "# of the part
<ir_version: 10, opset_import: [\"\": 21]>
p (float[N] a) => (float[N] b) <
    float[1] w = {5},  # renamed
    # one half
    float[1] half = {0.5},
    bool c = {1}
> {
    # halved
    h = Mul(a, half)  # behind h
    b = If (c) <
        then_branch = t () => (float[N] s) {
            # soft
            s = Softplus(h)
        },
        else_branch = e () => (float[N] r) { r = Mul(h, w) }
    >
    # the end of the part
}
";
    let folder = Folder::new(&[("m.onnxtxt", model.as_bytes()), ("part.onnxtxt", part.as_bytes())]);
    let done = folder.run(&["replace", "m.onnxtxt", "--nodes", "op:Exp", "--with", "part.onnxtxt"]).expect(0);
    let expected = "<
    float[1] w = {1},  # of the model
    float[1] w_1 = {5},
    # one half
    float[1] half = {0.5},
    bool c = {1}
>
{
    # first
    a = Abs(x)
    # halved
    h = Mul(a, half)  # behind h
    b = If(c) <
        then_branch = t () => (float[N] s) {
            # soft
            s = Softplus(h)
        },
        else_branch = e () => (float[N] r) {
            r = Mul(h, w_1)
        }
    >
    y = Mul(b, w)  # last
}";
    assert_eq!(body(done.text()), expected);

    // A part on a value, a part of the same length as the model, and models one after another.
    let part = |name: &str| {
        format!("{HEAD}p (float[N] in) => (float[N] out) {{\n    # {name}\n    out = Neg(in)\n}}\n")
    };
    folder.write("in.onnxtxt", part("negated").as_bytes());
    let done = folder.run(&["insert", "m.onnxtxt", "--at", "a", "--with", "in.onnxtxt"]).expect(0);
    assert!(
        done.text().contains("a = Abs(x)\n    # negated\n    out = Neg(a)\n    # goes\n"),
        "{}",
        done.text()
    );
    folder.write("one.onnxtxt", part("one").as_bytes());
    folder.write("two.onnxtxt", part("two").replace("(in)", "(in) # behind two").as_bytes());
    folder.write(
        "none.onnxtxt",
        format!("{HEAD}p (float[N] in) => (float[N] out) {{\n\n\n out = Abs(in)}}\n").as_bytes(),
    );
    let files = ["concat", "one.onnxtxt", "none.onnxtxt", "two.onnxtxt"];
    // Names of outputs and inputs differ.
    let first = folder.run(&["concat", "one.onnxtxt", "none.onnxtxt", "--map", "out=in", "-o", "a.onnxtxt"]);
    first.expect(0);
    let done = folder.run(&["concat", "a.onnxtxt", files[3], "--map", "out=in"]).expect(0);
    let text = done.text();
    assert!(text.contains("# one\n") && text.contains("# two\n"), "{text}");
    assert!(text.contains("# behind two") && text.matches('#').count() == 3, "{text}");
}
