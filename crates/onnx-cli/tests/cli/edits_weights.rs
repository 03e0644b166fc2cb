//! `weights`, `stats` and `simplify`: what a model stores, what it costs, and what it can do without.

use crate::{Folder, binary};

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,2] x) => (float[N,2] y)
<float[2,2] w = {1, 2, 3, 4}, float[2] b = {0.5, -0.5}>
{
    t = MatMul(x, w)
    s = Add(t, b) # biased
    i = Identity(s)
    y = Relu(i)
}
";

fn folder() -> Folder {
    Folder::new(&[("m.onnx", &binary(MODEL)), ("m.onnxtxt", MODEL.as_bytes())])
}

#[test]
fn weights_are_listed_and_come_back_from_other_tools() {
    let folder = folder();
    let listed = folder.run(&["weights", "list", "m.onnx"]).expect(0).text().to_owned();
    assert!(listed.contains('w') && listed.contains("float") && listed.contains("16"), "{listed}");
    for file in ["w.npz", "w.safetensors"] {
        folder.run(&["weights", "export", "m.onnx", "-o", file]).expect(0);
        folder.run(&["weights", "import", "m.onnx", file, "-o", "again.onnx"]).expect(0);
        // Weights that are the same stay as they are stored.
        assert!(folder.read("again.onnx") == folder.read("m.onnx"));
        folder.run(&["weights", "external", "m.onnx", "-o", "out.onnx"]).expect(0);
        folder.run(&["weights", "import", "out.onnx", file, "-o", "again.onnx"]).expect(0);
        assert!(folder.read("again.onnx") == folder.read("out.onnx"));
        std::fs::remove_file(folder.path("again.onnx")).unwrap();
    }
    let other =
        MODEL.replace("float[2,2] w = {1, 2, 3, 4}", "float[2,3] w = {1, 2, 3, 4, 5, 6}").replace("b", "c");
    folder.write("other.onnx", &binary(&other));
    let refused = folder.run(&["weights", "import", "other.onnx", "w.npz", "-o", "again.onnx"]).expect(1);
    assert!(refused.said().contains("E1513"), "{}", refused.said());
    assert!(!folder.names().contains(&"again.onnx".to_owned()));
}

#[test]
fn weights_move_and_become_narrow() {
    let folder = folder();
    folder.run(&["weights", "external", "m.onnx", "-o", "out.onnx"]).expect(0);
    folder.run(&["weights", "internal", "out.onnx", "-o", "in.onnx"]).expect(0);
    folder.run(&["compare", "m.onnx", "in.onnx", "-D", "N=3"]).expect(0);
    folder
        .run(&["weights", "cast", "m.onnx", "--to", "float16", "--at-least", "1", "-o", "half.onnx"])
        .expect(0);
    let listed = folder.run(&["weights", "list", "half.onnx"]).expect(0).text().to_owned();
    assert!(listed.contains("float16"), "{listed}");
    folder.run(&["compare", "m.onnx", "half.onnx", "-D", "N=3", "--rtol", "0.01"]).expect(0);
}

#[test]
fn costs_are_counted_with_symbols() {
    let folder = folder();
    let shown = folder.run(&["stats", "m.onnx"]).expect(0).text().to_owned();
    // Four products for each row.
    assert!(shown.contains("N*4"), "{shown}");
    let shown =
        folder.run(&["stats", "m.onnx", "-D", "N=10", "--format", "json"]).expect(0).text().to_owned();
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(json.to_string().contains("40"), "{json}");
    let parameters = |node: &serde_json::Value| node["parameters"].as_u64() > Some(0);
    assert!(
        json["nodes"].as_array().unwrap().iter().any(parameters) && json["activation_bytes"].is_u64(),
        "{json}"
    );
    let shown = folder.run(&["stats", "m.onnx", "--weights"]).expect(0).text().to_owned();
    assert!(shown.contains("-0.5"), "{shown}");
}

#[test]
fn fusions_keep_results_and_comments() {
    let folder = folder();
    let done = folder.run(&["simplify", "m.onnxtxt", "--verify", "-D", "N=3", "-o", "s.onnxtxt"]).expect(0);
    let text = String::from_utf8(folder.read("s.onnxtxt")).unwrap();
    assert!(
        text.contains("Gemm") && !text.contains("Identity") && !text.contains("Add"),
        "{text} {}",
        done.said()
    );
    folder.run(&["compare", "m.onnxtxt", "s.onnxtxt", "-D", "N=3"]).expect(0);
}
