//! Compares `info` and `check` on the same files.

use crate::onnxtxt;
use conformance::corpus::{folder, left_out};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Errors and warnings.
type Counts = (u64, u64);

/// How many findings `check` has in each file below a folder, none left out.
fn checked(folder: &Path) -> BTreeMap<String, Counts> {
    let done = onnxtxt().args(["check", "--format", "json"]).arg(folder).output().unwrap();
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        let finding: Value = serde_json::from_str(line).unwrap();
        let file = finding["file"].as_str().expect("each finding names its file");
        let (errors, warnings) = counts.entry(file.to_owned()).or_default();
        match finding["severity"].as_str().unwrap() {
            "error" => *errors += 1,
            _ => *warnings += 1,
        }
    }
    counts
}

/// How many problems `info` tells of a file.
fn told(file: &Path) -> Counts {
    let done = onnxtxt().args(["info", "--format", "json"]).arg(file).output().unwrap();
    let object: Value = serde_json::from_slice(&done.stdout).unwrap();
    let number = |key: &str| object["problems"][key].as_u64();
    number("errors").zip(number("warnings")).unwrap_or_else(|| panic!("{}: {object}", file.display()))
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|e| e == "onnx" || e == "onnxtxt") {
            files.push(path);
        }
    }
}

fn ensure_agreement(folder: &Path, least: usize) {
    let counts = checked(folder);
    let mut files = Vec::new();
    files_below(folder, &mut files);
    assert!(files.len() >= least, "{} files in {}", files.len(), folder.display());
    let differing: Vec<String> = (files.iter())
        .filter_map(|file| {
            let found = counts.get(&file.display().to_string()).copied().unwrap_or_default();
            let told = told(file);
            (told != found).then(|| format!("{}: {told:?}, and {found:?}", file.display()))
        })
        .collect();
    assert!(differing.is_empty(), "info, and check, have errors and warnings:\n{}", differing.join("\n"));
}

#[test]
fn info_and_check_agree_on_every_text_of_the_suite() {
    ensure_agreement(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/suite"), 500);
}

#[test]
fn info_and_check_agree_on_models_of_others() {
    let Some(corpus) = folder() else {
        left_out("info beside check on models of others: they are not there (`cargo xtask corpus`)");
        return;
    };
    for (part, least) in [("simple", 5), ("pytorch-operator", 5), ("pytorch-converted", 20)] {
        ensure_agreement(&corpus.join("backend").join(part), least);
    }
}

#[test]
fn onnxruntime_is_not_said_to_refuse_what_it_runs() {
    let models = folder().map(|corpus| corpus.join("models")).filter(|models| models.is_dir());
    let Some(models) = models else {
        left_out("which models ONNX Runtime takes: there are none (`cargo xtask corpus`)");
        return;
    };
    let arguments = ["check", "--target", "ort", "--select", "E1022", "--format", "short"];
    let done = onnxtxt().args(arguments).arg(models).output().unwrap();
    let (found, said) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8_lossy(&done.stderr));
    // It runs all of them but one, whose operators are of another domain.
    let wrong: Vec<&str> = found.lines().filter(|line| !line.contains("`onnx.brevitas.Quant`")).collect();
    assert!(wrong.is_empty(), "{}\n{}: {said}", wrong.join("\n"), done.status);
}
