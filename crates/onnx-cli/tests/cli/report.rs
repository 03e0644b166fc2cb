//! The table of all models of the corpus: how far their results are from those of ONNX Runtime, and what they are run by.

use crate::corpus::QUANTISED;
use serde_json::Value;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
The models of the corpus, with the inputs that are stored for them or made up. The difference is the largest to a result of ONNX
Runtime, as a part of the largest magnitude; of quantised models the root of the mean square instead. Kernels, operations and
bytes are what `onnxtxt lower --emit stats` counts: what loops repeat once.

| model | difference | allowed | kernels | other nodes | operations | moved, bytes | arena, bytes |
| --- | --: | --: | --: | --: | --: | --: | --: |
";

/// The counts, in the order of the columns.
const COUNTS: [&str; 5] = ["kernels", "other nodes", "operations", "bytes moved", "arena bytes"];

/// Writes the table of what `tests/python/runtimes.py` says into the folder of reports, which lies beside the corpus.
pub(crate) fn write(models: &Path, all: &[Value]) -> PathBuf {
    let folder = models.ancestors().nth(2).unwrap_or(models).join("report");
    std::fs::create_dir_all(&folder).expect("a folder for reports");
    let file = folder.join("models.md");
    std::fs::write(&file, table(all)).expect("the report can be written");
    file
}

fn table(all: &[Value]) -> String {
    HEAD.to_owned() + &all.iter().map(line).collect::<String>()
}

fn line(model: &Value) -> String {
    let name = model["name"].as_str().unwrap_or_default();
    if let Some(why) = reason(model) {
        return format!("| {name} | {} | | | | | | |\n", why.replace(['|', '\n'], " "));
    }
    let small = |key: &str| model[key].as_f64().map_or("?".to_owned(), |number| format!("{number:.1e}"));
    let (difference, allowed) = match model["rms"].is_null() {
        true => (small("worst"), small("allowed")),
        false => (format!("rms {}", small("rms")), format!("{QUANTISED:.1e}")),
    };
    let counts = COUNTS.map(|key| model[key].as_u64().map_or("?".to_owned(), |count| count.to_string()));
    format!("| {name} | {difference} | {allowed} | {} |\n", counts.join(" | "))
}

/// The reason for missing figures.
fn reason(model: &Value) -> Option<String> {
    let text = |key: &str| model[key].as_str().map(str::to_owned);
    let slow = model["slow"].as_f64().map(|seconds| format!("takes more than {seconds} s"));
    text("why").or(slow).or(text("unfit").map(|why| format!("ONNX Runtime: {why}")))
}

#[test]
fn a_model_is_a_line() {
    let all = [
        serde_json::json!({"name": "a", "worst": 1.5e-6, "allowed": 1e-4, "kernels": 3, "other nodes": 0,
            "operations": 12, "bytes moved": 8, "arena bytes": 4}),
        serde_json::json!({"name": "b", "why": "y: shape (1,)|\n(2,)"}),
        serde_json::json!({"name": "c", "worst": 0.0, "allowed": 1e-4, "rms": 0.01}),
    ];
    let text = table(&all);
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    assert_eq!(lines[2], "| a | 1.5e-6 | 1.0e-4 | 3 | 0 | 12 | 8 | 4 |");
    assert_eq!(lines[1], "| b | y: shape (1,)  (2,) | | | | | | |");
    assert_eq!(lines[0], "| c | rms 1.0e-2 | 2.0e-2 | ? | ? | ? | ? | ? |");
}
