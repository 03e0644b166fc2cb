//! `--opset FILE`: models of domains that the program does not know by itself.

use crate::Folder;

const SET: &str = "#@ onnxtxt 1\noperator_set <ir_version: 10, domain: \"com.acme\", opset_version: 1>\n\
    ## Adds it to itself.\n<since_version: 1, opset_import: [\"\": 21]>\n\
    operator Twice <by: int = 2> (T x) => (T y) where T: {float, float16}\n{ y = Concat <axis = 0> (x, x) }\n";
const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 1]>\n\
    g (float[3,N] x) => (float[M,N] y)\n{\n    t = com.acme.Twice(x)\n    y = Relu(t)\n}\n";

fn folder() -> Folder {
    let folder = Folder::new(&[("s.onnxtxt", SET.as_bytes()), ("m.onnxtxt", MODEL.as_bytes())]);
    for form in ["s.onnx", "s.json", "s.txtpb"] {
        folder.run(&["convert", "s.onnxtxt", "-o", form]).expect(0);
    }
    folder
}

#[test]
fn models_are_checked_and_inferred_with_a_set_in_any_form() {
    let folder = folder();
    let unchecked = folder.run(&["check", "m.onnxtxt"]).expect(0);
    assert!(unchecked.text().contains("unknown domain"), "{}", unchecked.text());
    for set in ["s.onnxtxt", "s.onnx", "s.json", "s.txtpb"] {
        let found = folder.run(&["check", "--opset", set, "--deny", "warnings", "m.onnxtxt"]).expect(0);
        assert!(!found.text().contains("unknown domain"), "{}", found.text());
        // Through the body.
        let typed = folder.run(&["infer", "--opset", set, "m.onnxtxt"]).expect(0);
        assert!(typed.text().contains("float[6,N] t"), "{}", typed.text());
    }
    let wrong = MODEL.replace("Twice(x)", "Twice <to = 1> (x)").replace("float[3,N]", "int64[3,N]");
    folder.write("m.onnxtxt", wrong.as_bytes());
    let found = folder.run(&["check", "--opset", "s.onnx", "--format", "short", "m.onnxtxt"]).expect(1);
    for message in ["m.onnxtxt:4:25: error[E1006]: `Twice` has no attribute `to`", "error[E1011]"] {
        assert!(found.text().contains(message), "{}", found.text());
    }
    folder.run(&["check", "m.onnxtxt"]).expect(0);
}

/// An operator may be without an input that its body needs all the same.
#[test]
fn an_input_that_a_body_needs_is_told_at_the_node_that_leaves_it_out() {
    let folder = folder();
    folder
        .write("s.onnxtxt", SET.replace("(T x) =>", "(T x, T? z) =>").replace("(x, x)", "(x, z)").as_bytes());
    let run = |model: &str| {
        folder.write("m.onnxtxt", model.as_bytes());
        folder.run(&["check", "--opset", "s.onnxtxt", "m.onnxtxt"])
    };
    run(&MODEL.replace("Twice(x)", "Twice(x, x)")).expect(0);
    let human = run(MODEL).expect(1).text().to_owned();
    assert!(human.contains("`Twice` omits `z`, which its body requires"), "{human}");
    assert!(human.contains("in the body of `Twice`, `y = Concat (x, z)`"), "{human}");
}

/// The body is in another file, so it is reported at the node that stands for it.
#[test]
fn what_a_body_of_a_set_does_not_take_is_told_at_the_node() {
    let folder = folder();
    let reported = |model: &str| {
        folder.write("m.onnxtxt", model.as_bytes());
        folder
            .run(&["check", "--opset", "s.onnxtxt", "--format", "short", "m.onnxtxt"])
            .expect(1)
            .text()
            .to_owned()
    };
    let found = reported(&MODEL.replace("float[3,N]", "float"));
    assert!(
        found.starts_with("m.onnxtxt:4:9: error[E1010]: axis 0 is out of range for a scalar\n"),
        "{found}"
    );
    assert_eq!(found.matches("error[").count(), 1, "{found}");
    let human = folder.run(&["check", "--opset", "s.onnx", "m.onnxtxt"]).expect(1).text().to_owned();
    assert!(human.contains("in the body of `Twice`, `y = Concat (x, x)`: the rank is 0"), "{human}");
    // Through another operator of the set.
    let more = "## Twice.\n<since_version: 1, opset_import: [\"\": 21, \"com.acme\": 1]>\n\
        operator Again (T x) => (T y) where T: {float, float16}\n{ y = com.acme.Twice (x) }\n";
    folder.write("s.onnxtxt", format!("{SET}{more}").as_bytes());
    reported(&MODEL.replace("float[3,N]", "float").replace("Twice", "Again"));
    let human = folder.run(&["check", "--opset", "s.onnxtxt", "m.onnxtxt"]).expect(1).text().to_owned();
    assert!(human.contains("in the body of `Twice`, `y = Concat (x, x)`: the rank is 0"), "{human}");
}

/// Each operator does twice what the one before does, and no two results have the same extent.
#[test]
fn bodies_that_stand_for_too_many_nodes_end_inference_with_a_warning() {
    let operator = |i: usize, body: &str| {
        format!(
            "\n## Operator.\n<since_version: 1, opset_import: [\"\": 21, \"com.acme\": 1]>\noperator A{i} (T x) => (T y)\n\
             where T: {{int64}}\n{{ {body} }}\n"
        )
    };
    let twice = |i: usize| operator(i + 1, &format!("t = com.acme.A{i} (x)  y = com.acme.A{i} (t)"));
    let mut set =
        "#@ onnxtxt 1\noperator_set <ir_version: 10, domain: \"com.acme\", opset_version: 1>\n".to_owned();
    set += &operator(0, "y = NonZero (x)");
    set.extend((0..24).map(twice));
    let folder = Folder::new(&[
        ("s.onnxtxt", set.as_bytes()),
        ("m.onnxtxt", MODEL.replace("Twice", "A24").replace("float[3,N]", "int64[3,N]").as_bytes()),
    ]);
    let found = folder.run(&["check", "--opset", "s.onnxtxt", "--format", "short", "m.onnxtxt"]).expect(0);
    assert!(found.text().contains("m.onnxtxt:4:5: warning[W1021]"), "{}", found.text());
}

#[test]
fn operators_of_a_set_have_cards() {
    let folder = folder();
    for command in ["ops", "explain"] {
        let card = folder.run(&[command, "--opset", "s.onnx", "Twice"]).expect(0);
        for part in
            ["com.acme.Twice, version 1\n", "defined by a function body", "Adds it to itself.", "by  int = 2"]
        {
            assert!(card.text().contains(part), "{part}: {}", card.text());
        }
    }
    let listed = folder.run(&["ops", "--opset", "s.onnxtxt", "--domain", "com.acme"]).expect(0);
    assert_eq!(listed.text().lines().count(), 2);
    let added = folder.run(&["ops", "com.microsoft.FusedMatMul"]).expect(0);
    assert!(added.text().contains("transBatchA"), "{}", added.text());
}

#[test]
fn sets_that_are_none_or_have_errors_are_refused() {
    let folder = folder();
    let found = folder.run(&["check", "--opset", "m.onnxtxt", "m.onnxtxt"]).expect(2);
    assert!(found.stderr.contains("m.onnxtxt is not an operator set"), "{}", found.stderr);
    folder.write("bad.onnxtxt", SET.replace("(T y)", "(U y)").as_bytes());
    for command in ["check", "infer"] {
        let found =
            folder.run(&[command, "--opset", "bad.onnxtxt", "--format", "short", "m.onnxtxt"]).expect(1);
        assert!(found.stderr.starts_with("bad.onnxtxt:5:40: error[E1105]"), "{}", found.stderr);
        assert!(found.stdout.is_empty());
    }
    folder.run(&["ops", "--opset", "missing.onnxtxt"]).expect(2);
}

/// On the wire, a signature may be missing: then nothing is known against a node.
#[test]
fn operators_without_a_signature_are_not_unknown() {
    let folder = folder();
    let unsigned = String::from_utf8(folder.read("s.json")).unwrap();
    let start = unsigned.find("```onnxtxt").unwrap();
    let end = start + unsigned[start..].rfind("```").unwrap() + 3;
    let unsigned = format!("{}{}", &unsigned[..start], &unsigned[end..]).replace("Twice", "Thrice");
    folder.write("u.json", unsigned.as_bytes());
    let other = MODEL.replace("y = Relu(t)", "y = com.acme.Thrice(t)");
    folder.write("other.onnxtxt", other.as_bytes());
    folder.run(&["check", "--opset", "u.json", "--opset", "s.onnx", "other.onnxtxt"]).expect(0);
    let found = folder.run(&["check", "--opset", "s.onnx", "--format", "short", "other.onnxtxt"]).expect(1);
    assert!(
        found.text().contains("error[E1001]: version 1 of com.acme has no operator `Thrice`"),
        "{}",
        found.text()
    );
}

#[test]
fn bodies_of_a_set_are_inlined_and_its_import_goes() {
    let folder = folder();
    let flat = folder.run(&["inline", "--opset", "s.onnx", "m.onnxtxt"]).expect(0);
    assert!(flat.text().contains("t = Concat <axis = 0> (x, x)"), "{}", flat.text());
    assert!(!flat.text().contains("com.acme"), "{}", flat.text());
    assert!(flat.stderr.contains("inline operators: 1 node expanded"), "{}", flat.stderr);
    let stays = folder.run(&["inline", "--opset", "s.onnx", "--only", "Relu", "m.onnxtxt"]).expect(0);
    assert!(stays.text().contains("com.acme.Twice(x)"), "{}", stays.text());
    let schema = folder.run(&["inline", "--schema", "m.onnxtxt"]).expect(0);
    assert!(
        schema.text().contains("com.acme.Twice(x)") && schema.text().contains("Max("),
        "{}",
        schema.text()
    );
    let one =
        folder.run(&["inline", "--schema", "--only", "ai.onnx.Relu", "--depth", "1", "m.onnxtxt"]).expect(0);
    assert_eq!(one.text(), schema.text());
    let said = |arguments: &[&str]| folder.run(arguments).expect(2).stderr;
    assert!(said(&["inline", "--only", "Relu", "m.onnxtxt"]).contains("`--schema` expands operators"));
    assert!(said(&["inline", "--schema", "--only", "Reluu", "m.onnxtxt"]).contains("did you mean `Relu`?"));
}
