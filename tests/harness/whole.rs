//! Properties of the suite as a whole.

use libtest_mimic::Trial;
use onnx_ir::diag;
use onnxtxt::golden::Case;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Codes that no file here can have, with where they are shown instead.
const NOT_IN_TEXT: &[(&str, &str)] = &[
    ("E0119", "not UTF-8, so no file here: crates/onnx-cli/tests"),
    ("E0120", "takes 4 GiB of text"),
    ("E0131", "about files that cannot be read: crates/onnx-cli/tests"),
    ("E0123", "takes a thousand mistakes: crates/onnx-text/src/parse/tests.rs"),
    ("W0106", "about printing: the snapshots of `#! print --profile reference`"),
    ("E0301", "about binary files: crates/onnx-cli/tests"),
    ("W0306", "about binary files: crates/onnx-cli/tests"),
    ("E0603", "about files beside the model: crates/onnx-cli/tests"),
    ("E0604", "about files beside the model: crates/onnx-cli/tests"),
    ("E0607", "about files beside the model: crates/onnx-cli/tests"),
    ("E0608", "about files beside the model: crates/onnx-cli/tests"),
    ("E0610", "about files beside the model: crates/onnx-cli/tests"),
    ("W1214", "takes 2 GB of weights: crates/onnx-ops/src/check/lints/stored.rs"),
    ("E0711", "about values in files of their own"),
    ("E1509", "about commands that edit: crates/onnx-cli/tests/cli/edits_extract.rs"),
    ("E1510", "about commands that edit: crates/onnx-cli/tests/cli/edits_rename.rs"),
    ("E1511", "about commands that edit: crates/onnx-cli/tests/cli/edits_shapes.rs"),
    ("E1513", "about commands that edit: crates/onnx-cli/tests/cli/edits_weights.rs"),
    ("E1514", "about commands that edit: crates/onnx-cli/tests/cli/edits_concat.rs"),
    ("E1520", "about a command that edits: crates/onnx-cli/tests/cli/train.rs"),
    ("E1512", "about commands that edit: crates/onnx-cli/tests/cli/edits_shapes.rs"),
    ("W1605", "about running a model: crates/onnx-cli/tests/cli/inputs.rs"),
    ("E1601", "about running a model: crates/onnx-cli/tests/cli/run.rs"),
    ("E1602", "about running a model: crates/onnx-cli/tests/cli/run.rs"),
    ("E1603", "about running a model: crates/onnx-cli/tests/cli/run.rs"),
    ("E1604", "about running a model: crates/onnx-cli/tests/cli/run.rs"),
    ("E1611", "about schedules: crates/onnx-cli/tests/cli/schedules.rs"),
    ("E1612", "about schedules: crates/onnx-cli/tests/cli/schedules.rs"),
    ("E1613", "about schedules: crates/onnx-cli/tests/cli/schedules.rs"),
    ("E1614", "about schedules: crates/onnx-cli/tests/cli/schedules.rs"),
];

/// Rules whose files cannot be text, or need files beside them: the tests that have a right and a wrong one.
const RULES_NOT_IN_TEXT: &[(&str, &str)] = &[
    ("M01", "about binary files: crates/onnx-cli/tests"),
    ("M06", "about binary files: crates/onnx-cli/tests"),
    ("X03", "about files beside the model: crates/onnx-cli/tests, crates/onnx-proto/src/external"),
    ("X04", "about files beside the model: crates/onnx-cli/tests, crates/onnx-proto/src/external"),
    ("X07", "about files beside the model: crates/onnx-cli/tests, crates/onnx-proto/src/external"),
    ("X08", "about files beside the model: crates/onnx-cli/tests, crates/onnx-proto/src/external"),
    ("X10", "about files beside the model: crates/onnx-cli/tests, crates/onnx-proto/src/external"),
];

pub(crate) fn trials(cases: &[Case], snapshots: PathBuf) -> Vec<Trial> {
    let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let claims: BTreeMap<String, String> =
        cases.iter().map(|case| (case.name.clone(), case.text.clone())).collect();
    let texts: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
    vec![
        Trial::test("whole/every_snapshot_has_its_file", move || {
            used(&snapshots, &names).map_err(Into::into)
        }),
        Trial::test("whole/every_rule_has_a_wrong_and_a_right_file", move || {
            ruled(&claims).map_err(Into::into)
        }),
        Trial::test("whole/every_code_is_shown", move || shown(&texts).map_err(Into::into)),
    ]
}

/// A snapshot whose file is gone is never compared again.
fn used(snapshots: &Path, names: &[String]) -> Result<(), String> {
    let mut found = Vec::new();
    files(snapshots, "", &mut found);
    let is_used = |snapshot: &String| {
        let stem = snapshot.rsplit_once('.').map_or(snapshot.as_str(), |(stem, _)| stem);
        names.iter().any(|name| name == stem)
    };
    let unused: Vec<String> = found.into_iter().filter(|snapshot| !is_used(snapshot)).collect();
    if unused.is_empty() { Ok(()) } else { Err(format!("snapshots of no file: {unused:#?}")) }
}

fn files(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            files(&entry.path(), &format!("{prefix}{name}/"), found);
        } else if let Some(stem) = name.strip_suffix(".snap") {
            found.push(format!("{prefix}{stem}"));
        }
    }
}

/// Every rule of the specification has `check/RULE-*`, which claims one of its codes, and `check/ok/RULE-*`, which is
/// right.
fn ruled(texts: &BTreeMap<String, String>) -> Result<(), String> {
    let rules: BTreeSet<&str> = diag::ALL.iter().filter_map(|code| code.rule).collect();
    let mut problems = String::new();
    for rule in rules {
        let is_exempt = RULES_NOT_IN_TEXT.iter().any(|(exempt, _)| *exempt == rule);
        let of = |folder: &str| {
            let prefix = format!("{folder}{rule}-");
            texts.range(prefix.clone()..).take_while(move |(name, _)| name.starts_with(&prefix))
        };
        let is_of_rule = |text: &str| {
            let mut codes = diag::ALL.iter().filter(|code| code.rule == Some(rule));
            codes.any(|code| text.contains(&format!("[{}]", code.id)))
        };
        let is_shown = of("check/").any(|(_, text)| is_of_rule(text));
        let is_kept = of("check/ok/").any(|(_, text)| !is_of_rule(text));
        if is_exempt == (is_shown && is_kept) {
            let what =
                if is_exempt { "is exempt and has its files" } else { "wants a wrong and a right file" };
            _ = writeln!(problems, "{rule} {what}");
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Every code has a file that claims it.
fn shown(texts: &[String]) -> Result<(), String> {
    let is_claimed = |id: &str| texts.iter().any(|text| text.contains(&format!("[{id}]")));
    let is_exempt = |id: &str| NOT_IN_TEXT.iter().any(|(code, _)| *code == id);
    let missing: Vec<String> = diag::ALL
        .iter()
        .filter(|code| !is_claimed(code.id) && !is_exempt(code.id))
        .map(|code| format!("{} {}", code.id, code.name))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no file of the suite shows {missing:#?}")) }
}
