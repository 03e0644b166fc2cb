//! `onnxtxt diff`: what is different between two models.

use crate::{Folder, SOUND, binary};
use serde_json::Value;

const OLD: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,4] x) => (float[N,4] y)
<float[4] w = {1, 2, 3, 4}>
{
    [scale] t = Mul(x, w)
    h = Cast <to = 10> (t)
    f = Cast <to = 1> (h)
    y = LeakyRelu <alpha = 0.1> (f)
}
";

fn compared(changes: &[(&str, &str)], arguments: &[&str], code: i32) -> String {
    let new = changes.iter().fold(OLD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let folder = Folder::new(&[("a.onnxtxt", OLD.as_bytes()), ("b.onnxtxt", new.as_bytes())]);
    folder.run(&["convert", "a.onnxtxt", "-o", "a.onnx"]).expect(0);
    let of_text =
        folder.run(&[arguments, &["diff", "a.onnxtxt", "b.onnxtxt"]].concat()).expect(code).text().to_owned();
    let of_binary =
        folder.run(&[arguments, &["diff", "a.onnx", "b.onnxtxt"]].concat()).expect(code).text().to_owned();
    assert_eq!(of_text.replace("a.onnxtxt", "a.onnx"), of_binary);
    of_text
}

#[test]
fn equal_models_are_silent() {
    assert_eq!(compared(&[], &[], 0), "");
    // Layout, comments and the order of attributes do not count.
    assert_eq!(compared(&[("    h = ", "  # half\n  h = ")], &[], 0), "");
}

#[test]
fn each_part_has_its_section() {
    let changes = [
        ("\"\": 21", "\"\": 22"),
        ("float[N,4] y)", "float[N,4] y, float16[N,4] h)"),
        ("{1, 2, 3, 4}", "{1, 2, 3, 6}"),
        ("[scale]", "[scaled]"),
        ("to = 10", "to = 16"),
        ("alpha = 0.1", "alpha = 0.25"),
        ("(f)\n", "(e)\n    e = Exp(f)\n"),
    ];
    let text = compared(&changes, &["--color", "never"], 1);
    for line in [
        "--- a.onnxtxt\n+++ b.onnxtxt\n",
        "interface\n  + output h: float16[N,4]\n",
        "opsets\n  ~ ai.onnx: 21 → 22\n",
        "  ~ t = Mul [scaled]\n    ~ name: scale → scaled\n",
        "  ~ h = Cast\n    ~ to: 10 (float16) → 16 (bfloat16)\n",
        "  ~ y = LeakyRelu\n    ~ inputs[0]: f → e\n    ~ alpha: 0.1 → 0.25\n",
        "  + e = Exp(f)\n",
        "1 element differs, largest difference 2, mean 0.5\n",
        "version: minor\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let colored = compared(&changes, &["--color", "always"], 1);
    assert!(colored.contains("\x1b[32m  + e = Exp(f)") || colored.contains("\x1b[32m"), "{colored}");
    let stat = compared(&changes, &["--color", "never"], 1);
    assert!(stat.ends_with(
        "interface: 1 added · opsets: 1 changed · nodes: 1 added, 3 changed · weights: 1 changed · version: minor\n"
    ), "{stat}");
    assert_eq!(compared(&changes, &["-q"], 1), "");
}

#[test]
fn json_is_one_object() {
    let text = compared(&[("alpha = 0.1", "alpha = 0.25")], &["--format", "json"], 1);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["equal"], false);
    assert_eq!(found["bump"], "patch");
    let node = &found["graph"]["nodes"][0];
    assert_eq!(
        (&node["kind"], &node["new"]["op"], &node["new"]["index"]),
        (&"changed".into(), &"LeakyRelu".into(), &3.into())
    );
    assert_eq!(node["attributes"][0]["name"], "alpha");
    assert_eq!(
        (&node["attributes"][0]["old"], &node["attributes"][0]["new"]),
        (&"0.1".into(), &"0.25".into())
    );
    let same: Value = serde_json::from_str(&compared(&[], &["--format", "json"], 0)).unwrap();
    assert_eq!((&same["equal"], &same["bump"]), (&true.into(), &Value::Null));
}

#[test]
fn comments_and_pages_stand_alone() {
    let change = [("alpha = 0.1", "alpha = 0.25")];
    let comment = compared(&change, &["--format", "markdown"], 1);
    assert!(
        comment
            .starts_with("### `a.onnxtxt` → `b.onnxtxt`\n\n- **nodes**: 1 changed\n- **version**: patch\n"),
        "{comment}"
    );
    assert!(
        comment.contains("```diff\n! y = LeakyRelu\n!   alpha: 0.1 → 0.25\n```\n</details>"),
        "{comment}"
    );
    let page = compared(&change, &["--format", "html"], 1);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("prefers-color-scheme: dark"));
    assert!(!page.contains("http") && !page.contains("<script"), "{page}");
    assert!(compared(&[], &["--format", "markdown"], 0).contains("The models are the same."));
}

#[test]
fn other_commands_have_no_pages() {
    let folder = Folder::new(&[("a", SOUND.as_bytes())]);
    folder.run(&["check", "--format", "html", "a"]).expect(2);
    folder.run(&["diff", "a", "none"]).expect(2);
    folder.run(&["diff", "-", "-"]).expect(2);
    folder.write("broken.onnxtxt", b"<ir_version: 10> g (");
    folder.run(&["diff", "a", "broken.onnxtxt"]).expect(1);
}

#[test]
fn the_interface_alone_and_numbers_alone() {
    let inside = [("alpha = 0.1", "alpha = 0.25")];
    let folder = |arguments: &[&str], code: i32, changes: &[(&str, &str)]| {
        let new = changes.iter().fold(OLD.to_owned(), |text, (from, to)| text.replace(from, to));
        let folder = Folder::new(&[("a", OLD.as_bytes()), ("b", new.as_bytes())]);
        folder.run(&[&["diff"], arguments, &["a", "b"]].concat()).expect(code).text().to_owned()
    };
    assert_eq!(folder(&["--interface"], 0, &inside), "");
    assert_eq!(folder(&["--stat"], 1, &inside), "nodes: 1 changed · version: patch\n");
    assert!(folder(&["--interface"], 1, &[("float[N,4] x", "int8[N,4] x")]).contains("version: major"));
}

#[test]
fn weights_beside_a_model_are_read() {
    let list = |last: &str| format!("{}, {last}", vec!["1"; 9999].join(", "));
    let model = |last: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]> g (float[10000] x) => (float[10000] y) <float[10000] w = {{{}}}> {{ y = Add(x, w) }}",
            list(last)
        )
    };
    let folder = Folder::new(&[("a", model("1").as_bytes()), ("b", model("2").as_bytes())]);
    folder.run(&["convert", "a", "-o", "a.onnx", "--weights", "sidecar"]).expect(0);
    folder.run(&["diff", "a", "a.onnx"]).expect(0);
    let done = folder.run(&["diff", "a.onnx", "b"]).expect(1);
    let text = done.text();
    assert!(text.contains("1 element differs, largest difference 1, mean 1.00e-4"), "{text}");
    std::fs::remove_file(folder.path("a.onnx.data")).unwrap();
    let done = folder.run(&["diff", "a.onnx", "a.onnx"]).expect(0);
    assert!(done.stderr.contains("comparing file names and offsets"), "{}", done.stderr);
}

#[test]
fn binary_and_text_are_the_same_model() {
    let folder = Folder::new(&[("a.onnxtxt", SOUND.as_bytes()), ("b.onnx", &binary(SOUND))]);
    folder.run(&["diff", "a.onnxtxt", "b.onnx"]).expect(0);
}
