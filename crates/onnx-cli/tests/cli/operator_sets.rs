//! Operator sets in files of their own, in every form.

use crate::Folder;

const SET: &str = r#"#@ onnxtxt 1
operator_set <ir_version: 10, domain: "com.acme", opset_version: 2>

## Adds it to itself.
<since_version: 1, opset_import: ["": 21]>
operator Twice <by: int = 2> (T x) => (T y)
where T: {float, float16}
{
    y = Add(x, x)
}

<since_version: 2, status: experimental>
operator Other (T x, T? scale) => (T... y)
where T: {float, seq(int64)}
"#;

#[test]
fn every_form_is_converted_to_every_other() {
    let folder = Folder::new(&[("s.onnxtxt", SET.as_bytes())]);
    folder.run(&["convert", "s.onnxtxt", "-o", "s.onnx"]).expect(0);
    let binary = folder.read("s.onnx");
    assert!(binary.starts_with(b"\x0a\x09ONNXOPSET"));
    for name in ["s.json", "s.txtpb", "again.onnxtxt"] {
        folder.run(&["convert", "s.onnx", "-o", name]).expect(0);
        folder.run(&["check", name]).expect(0);
        folder.run(&["convert", name, "-o", "back.onnx"]).expect(0);
        assert_eq!(folder.read("back.onnx"), binary, "{name}");
    }
    assert_eq!(folder.read("again.onnxtxt"), SET.as_bytes());
    assert_eq!(folder.run(&["print", "s.json"]).expect(0).text(), SET);
    folder.run(&["fmt", "--check", "s.onnxtxt"]).expect(0);
    let json = folder.read("s.json");
    assert!(String::from_utf8_lossy(&json).contains("```onnxtxt"));
}

#[test]
fn info_says_what_is_in_it() {
    let folder = Folder::new(&[("s.onnxtxt", SET.as_bytes())]);
    let info = folder.run(&["info", "s.onnxtxt"]).expect(0);
    for text in ["operator set as text", "com.acme", "2 operators, 1 with a body", "Twice, Other"] {
        assert!(info.text().contains(text), "{text}: {}", info.text());
    }
}

/// A finding has its place in the text, or in the printed form of a file.
#[test]
fn findings_have_places() {
    let wrong = SET.replace("(T... y)", "(U... y)");
    let folder = Folder::new(&[("s.onnxtxt", wrong.as_bytes())]);
    folder.run(&["convert", "s.onnxtxt", "-o", "s.onnx"]).expect(0);
    let message = "error[E1105]: `U` is neither a type nor a type variable of the operator";
    for name in ["s.onnxtxt", "s.onnx"] {
        let found = folder.run(&["check", "--format", "short", name]).expect(1);
        assert_eq!(found.text().trim_end(), format!("{name}:13:36: {message}"));
        folder.run(&["check", "--level", "syntax", name]).expect(0);
        folder.run(&["check", "--ignore", "E1105", name]).expect(0);
    }
}

#[test]
fn what_cannot_be_read_is_reported() {
    let folder = Folder::new(&[("s.onnxtxt", b"operator_set <domain: \"d\"\noperator A (T x) =>")]);
    folder.run(&["convert", "s.onnxtxt", "-o", "s.onnx"]).expect(1);
    folder.run(&["fmt", "s.onnxtxt"]).expect(1);
    assert_eq!(folder.names(), ["s.onnxtxt"]);
    folder.write("s.onnx", b"\x0a\x09ONNXOPSET\x42\x7f\x0a\x01A");
    let found = folder.run(&["check", "s.onnx"]).expect(1);
    let cut = "the file is truncated or corrupt: 140 bytes announced, 16 bytes present";
    assert!(found.text().contains(cut), "{}", found.text());
    // An operator that is longer than its set, which is all there.
    folder.write("s.onnx", b"\x0a\x09ONNXOPSET\x42\x03\x0a\x05A");
    let found = folder.run(&["check", "s.onnx"]).expect(1);
    assert!(found.text().contains("`operator[0]` cannot be decoded"), "{}", found.text());
    folder.run(&["infer", "s.onnx"]).expect(2);
    // A field that the format does not know.
    folder.write("s.onnx", b"\x0a\x09ONNXOPSET\xa2\x06\x01x");
    folder.run(&["convert", "s.onnx", "-o", "s.json"]).expect(1);
    folder.run(&["convert", "s.onnx", "-o", "s.json", "--drop-unknown"]).expect(0);
}

#[test]
fn a_document_bounds_the_versions_of_its_domain() {
    let set = "operator_set <ir_version: 10, domain: \"com.acme\", opset_version: 2>\n\
               <since_version: 1> operator Scale (T x) => (T y) where T: {float}\n";
    let folder = Folder::new(&[("s.onnxtxt", set.as_bytes())]);
    for (version, code) in [(1, 0), (2, 0), (3, 1)] {
        let model = format!(
            "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": {version}]>\n\
             g (float[N] x) => (float[N] y) {{ y = com.acme.Scale(x) }}"
        );
        folder.write("m.onnxtxt", model.as_bytes());
        let found = folder.run(&["check", "--opset", "s.onnxtxt", "m.onnxtxt"]).expect(code);
        let message = "unknown version 3 of `com.acme`: its operator-set document has version 2";
        assert_eq!(found.text().contains(message), code == 1, "{}", found.text());
    }
}

/// The model that a command makes has the operators of `--opset`, too.
#[test]
fn commands_that_run_two_models_know_the_operators_of_a_document() {
    let set = "operator_set <ir_version: 10, domain: \"com.acme\", opset_version: 1>\n\
               <since_version: 1, opset_import: [\"\": 21]> operator Twice (T x) => (T y) where T: {float} { y = Add(x, x) }\n";
    let model = "<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 1]>\n\
                 g (float[2,4] x) => (float[2,4] y)\n<float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>\n\
                 { t = com.acme.Twice(x) u = Identity(t) y = MatMul(u, w) }\n";
    let folder = Folder::new(&[("s.onnxtxt", set.as_bytes()), ("m.onnxtxt", model.as_bytes())]);
    let commands = [
        ("verify m.onnxtxt m.onnxtxt", "equal"),
        ("compare m.onnxtxt m.onnxtxt", "3 of 3 results agree"),
        ("simplify m.onnxtxt --verify -o small.onnxtxt", "simplify:"),
        ("quantize m.onnxtxt -o quantized.onnxtxt", "error of `y`: max"),
    ];
    for (command, expected) in commands {
        let arguments: Vec<&str> = command.split(' ').chain(["--opset", "s.onnxtxt"]).collect();
        let done = folder.run(&arguments).expect(0);
        assert!(
            done.text().contains(expected) || done.stderr.contains(expected),
            "{command}: {}",
            done.stderr
        );
    }
}
