//! The files of the suite that demonstrate rules, checked by the reference checker: files that it accepts are counted, and it
//! must not reject what we accept.

use conformance::corpus::workspace;
use conformance::oracle::Oracle;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Level, Severity};
use onnx_ops::schema::Registry;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Right files that the reference refuses, with the reason.
const REFUSED: &[(&str, &str)] = &[
    (
        "F07-function-output-undefined",
        "its inference has no place for an output that is an input of the function",
    ),
    (
        "R04-sparse-state",
        "its inference gives an initializer in sparse format a sparse type, which no operator takes",
    ),
    ("S01-op-unknown", "it takes `ai.onnx` of a node for another domain than the import of the empty name"),
    (
        "S11-sparse-initializer",
        "its inference gives an initializer in sparse format a sparse type, which no operator takes",
    ),
    ("X02-location-outside", "it takes two dots within a file name for the folder above"),
];

/// Files that valid models refer to.
const BESIDE: &[&str] = &["w.bin", "w#.bin", "a/w..bin"];

/// It takes for ever over some equations of Einsum.
const PATIENCE: Duration = Duration::from_secs(20);

/// A file as a model, with the worst that we find in it.
struct Shown {
    name: String,
    wire: Vec<u8>,
    worst: Option<Severity>,
}

/// The models of a folder of `tests/suite`, without files that are not the text of a model, or that are too damaged.
fn shown(folder: &Path) -> Vec<Shown> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the suite is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "onnxtxt"))
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| one(path)).collect()
}

fn one(path: &Path) -> Option<Shown> {
    let text = std::fs::read_to_string(path).expect("it is text");
    if !text.starts_with("#! check\n") {
        return None;
    }
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    let checked = onnx_text::check_with(&text, Level::Types, |model| {
        onnx_ops::check::check(model, Registry::builtin(), &options)
    });
    checked.value.model.main?;
    Some(Shown {
        name: path.file_stem()?.to_str()?.to_owned(),
        wire: onnx_proto::write(&checked.value.model).ok()?,
        worst: checked.diagnostics.iter().map(|found| found.severity).min(),
    })
}

/// The answers of the reference: nothing, or the reason for a rejection. Tests run at the same time and have files of the same names, so
/// each has a folder of its own.
fn judged(oracle: &Oracle, folder: &str, files: &[Shown]) -> Vec<Option<String>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(folder.join("a")).expect("the folder can be made");
    for beside in BESIDE {
        std::fs::write(folder.join(beside), [0; 1 << 16]).expect("it can be written");
    }
    let requests: Vec<Value> = files
        .iter()
        .map(|file| {
            let path = folder.join(format!("{}.onnx", file.name));
            std::fs::write(&path, &file.wire).expect("it can be written");
            json!({"id": file.name, "op": "check", "full": true, "path": path})
        })
        .collect();
    let answers = oracle.ask_within(&requests, PATIENCE);
    let why = |answer: &Value| {
        let why = answer.get("error").or(answer.get("crash"))?;
        Some(why.to_string())
    };
    answers.iter().map(why).collect()
}

#[test]
fn what_the_reference_lets_pass_is_ours() {
    let Some(oracle) = Oracle::find("rules") else { return };
    let files = shown(&workspace().join("tests/suite/check"));
    let verdicts = judged(&oracle, "rules", &files);
    let is_ours =
        |file: &Shown, verdict: &Option<String>| file.worst == Some(Severity::Error) && verdict.is_none();
    let ours: Vec<&str> = files
        .iter()
        .zip(&verdicts)
        .filter(|(file, verdict)| is_ours(file, verdict))
        .map(|(file, _)| file.name.as_str())
        .collect();
    let table = ours.join("\n");
    let header = format!("{} files with errors that the reference accepts", ours.len());
    insta::assert_snapshot!("reference", format!("{header}\n\n{table}"));
}

#[test]
fn what_we_let_pass_the_reference_lets_pass() {
    let Some(oracle) = Oracle::find("rules") else { return };
    let files = shown(&workspace().join("tests/suite/check/ok"));
    let mut wrong = String::new();
    for (file, verdict) in files.iter().zip(judged(&oracle, "rules-ok", &files)) {
        let is_reviewed = REFUSED.iter().any(|(name, _)| *name == file.name);
        match (&verdict, is_reviewed) {
            (None, false) | (Some(_), true) => {}
            (None, true) => _ = writeln!(wrong, "{}: reviewed, but accepted", file.name),
            (Some(why), false) => _ = writeln!(wrong, "{}: {why}", file.name),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
