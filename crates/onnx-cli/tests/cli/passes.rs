//! Commands that change a model: pass, inline, outline.

use crate::{Folder, SOUND, binary};

const FUNCTIONS: &str = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
g (float[N] x) => (float[N] y) { t = l.f(x) y = l.h(t) }
<domain: \"l\", opset_import: [\"\": 21, \"l\": 1]> f (a) => (b) { c = Abs(a) b = l.h(c) }
<domain: \"l\", opset_import: [\"\": 21]> h (a) => (b) { b = Neg(a) }
";

/// Sixteen functions that each call the one before eight times.
fn bomb() -> String {
    let mut text = "<ir_version: 10, opset_import: [\"\": 21, \"l\": 1]>
g (float[N] x) => (float[N] y) { y = l.f16(x) }
<domain: \"l\", opset_import: [\"\": 21]> f0 (a) => (b) { b = Neg(a) }
"
    .to_owned();
    for i in 0..16 {
        let calls: String = (1..8).map(|k| format!("v{k} = l.f{i}(v{}) ", k - 1)).collect();
        text += &format!(
            "<domain: \"l\", opset_import: [\"l\": 1]> f{} (v0) => (b) {{ {calls} b = l.f{i}(v7) }}\n",
            i + 1
        );
    }
    text
}

#[test]
fn passes_run_in_order_and_are_listed() {
    let text = SOUND.replace("t = Mul", "dead = Abs(x) dead2 = Abs(x)\n    t = Mul");
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("m.onnx", &binary(&text))]);
    let list = folder.run(&["pass", "--list"]).expect(0);
    assert!(list.text().lines().any(|line| line.starts_with("dead-code  ")), "{}", list.text());
    for file in ["m.onnxtxt", "m.onnx"] {
        let done = folder.run(&["pass", "common-subexpressions", "dead-code", file]).expect(0);
        assert!(!done.text().contains("dead"), "{}", done.text());
        assert!(done.stderr.contains("common-subexpressions: 1 node merged"), "{}", done.stderr);
        assert!(done.stderr.contains("dead-code: 1 node removed"), "{}", done.stderr);
    }
    let unknown = folder.run(&["pass", "dead-cod", "m.onnx"]).expect(2);
    assert!(unknown.stderr.contains("did you mean `dead-code`?"), "{}", unknown.stderr);
    for arguments in [&["pass"][..], &["pass", "m.onnx"], &["pass", "dead-code", "none.onnx"]] {
        folder.run(arguments).expect(2);
    }
    folder.run(&["pass", "dead-code", "m.onnxtxt", "-o", "m.onnxtxt"]).expect(2);
    folder.run(&["pass", "dead-code", "m.onnxtxt", "--in-place"]).expect(0);
    assert_eq!(folder.run(&["print", "m.onnxtxt"]).expect(0).text().matches("Abs").count(), 0);
}

#[test]
fn a_plan_says_what_a_conversion_does_to_which_nodes() {
    let text = "<ir_version: 7, opset_import: [\"\": 12]>
g (float[2,3] x) => (float[1,3] y, float[2,3] z) { y = ReduceSum <axes = [0]> (x) z = Relu(x) }
";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let plan = folder.run(&["pass", "--plan", "convert-opset=13", "m.onnxtxt"]).expect(0);
    assert_eq!(plan.text(), "y: ReduceSum 12 -> 13: `axes` becomes an input\n");
    let refused = folder.run(&["--format", "short", "pass", "convert-opset=99", "m.onnxtxt"]).expect(1);
    assert!(refused.stderr.contains("error[E1508]") && refused.text().is_empty(), "{}", refused.stderr);
    folder.run(&["pass", "convert-opset", "m.onnxtxt"]).expect(2);
    let done = folder.run(&["pass", "convert-opset=13", "m.onnxtxt"]).expect(0);
    assert!(done.text().contains("opset_import: [\"\": 13]"), "{}", done.text());
}

#[test]
fn findings_of_a_later_pass_are_in_the_model_as_it_was_then() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] x) => (float[N] y) { a = Abs(x) b = Abs(x) t = Add(a, u) u = Mul(t, b) y = Neg(u) }
";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let arguments = ["--format", "short", "pass", "common-subexpressions", "topological-sort", "m.onnxtxt"];
    let done = folder.run(&arguments).expect(1);
    assert!(done.stderr.contains("error[E0213]: this `Add` needs its own result"), "{}", done.stderr);
    assert!(done.text().contains("u = Mul(t, a)"), "{}", done.text());
}

#[test]
fn inline_replaces_calls() {
    let folder = Folder::new(&[("m.onnxtxt", FUNCTIONS.as_bytes()), ("m.onnx", &binary(FUNCTIONS))]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let flat = folder.run(&["inline", file]).expect(0);
        assert!(!flat.text().contains("l."), "{}", flat.text());
        let only = folder.run(&["inline", "--only", "l.f", file]).expect(0);
        assert_eq!(only.text().matches("= l.h(").count(), 2, "{}", only.text());
        let shallow = folder.run(&["inline", "--depth", "1", file]).expect(0);
        assert_eq!(shallow.text().matches("= l.h(").count(), 1, "{}", shallow.text());
    }
    let unknown = folder.run(&["inline", "--only", "l.g", "m.onnx"]).expect(2);
    assert!(unknown.stderr.contains("unknown function `l.g`"), "{}", unknown.stderr);
    folder.run(&["inline", "m.onnx", "-o", "flat.onnx"]).expect(0);
    folder.run(&["check", "flat.onnx"]).expect(0);
}

#[test]
fn a_bomb_of_functions_is_refused_at_once() {
    let folder = Folder::new(&[("m.onnxtxt", bomb().as_bytes())]);
    let refused = folder.run(&["inline", "m.onnxtxt", "-o", "out.onnx"]).expect(1);
    assert!(refused.stderr.contains("inlining would make 281474976710656 nodes"), "{}", refused.stderr);
    assert!(!folder.names().iter().any(|name| name == "out.onnx"));
}

#[test]
fn outline_makes_a_function_that_inline_takes_apart() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let arguments = ["outline", "m.onnxtxt", "--select", "t", "--select", "op:Relu", "--name", "local.f"];
    let outlined = folder.run(&arguments).expect(0);
    assert!(outlined.text().contains("y = local.f(x"), "{}", outlined.text());
    folder.write("o.onnxtxt", outlined.text().as_bytes());
    folder.run(&["check", "o.onnxtxt"]).expect(0);
    let back = folder.run(&["inline", "o.onnxtxt"]).expect(0);
    assert!(back.text().contains("y = Relu(f__t)"), "{}", back.text());
    for (code, select, name, message) in [
        (2, "nothing", "l.f", "no node matches `nothing`"),
        (2, "#9", "l.f", "no node #9"),
        (2, "t", "f", "domain.name"),
        (1, "t", "ai.onnx.f", "a domain of its own"),
    ] {
        let refused = folder.run(&["outline", "m.onnxtxt", "--select", select, "--name", name]).expect(code);
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
        assert!(refused.text().is_empty());
    }
}

#[test]
fn help_ends_with_examples() {
    let folder = Folder::new(&[]);
    for command in ["pass", "inline", "outline"] {
        let help = folder.run(&[command, "--help"]).expect(0);
        let (_, examples) = help.text().split_once("\nExample").unwrap_or_else(|| panic!("{command}"));
        assert!(examples.contains(&format!("onnxtxt {command}")), "{command}: {examples}");
    }
}

#[test]
fn simplify_relies_on_symbols_and_verifies_with_inputs_that_keep_them() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[N] x, float[N] y) => (bool[1] same) { a = Shape(x) b = Shape(y) same = Equal(a, b) }";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    folder.run(&["simplify", "m.onnxtxt", "--verify", "-D", "N=3", "-o", "s.onnxtxt"]).expect(0);
    let simple = String::from_utf8(folder.read("s.onnxtxt")).unwrap();
    assert!(!simple.contains("Equal"), "{simple}");
    // Without the rule, nothing is known.
    folder.run(&["set-shape", "m.onnxtxt", "--shape", "y=M", "-o", "o.onnxtxt"]).expect(0);
    folder.run(&["simplify", "o.onnxtxt", "--verify", "-D", "N=3", "-D", "M=2", "-o", "s.onnxtxt"]).expect(0);
    assert!(String::from_utf8(folder.read("s.onnxtxt")).unwrap().contains("Equal"));
}
