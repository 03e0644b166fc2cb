//! One test per file of `tests/suite/**.onnxtxt`.
//!
//! `onnxtxt::golden` has the directives and runs them, as `onnxtxt test` does.
//!
//! Snapshots lie in `snapshots/`, under the path of the file. `INSTA_UPDATE=always cargo test --test suite` writes them.
//! Beside the files, the examples of the code table are tests: the first of a code has a finding of it, the second none.

mod examples;
mod expressions;
mod fixes;
mod operators;
mod whole;

use libtest_mimic::{Arguments, Trial};
use onnxtxt::golden::{self, Case};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = Vec::new();
    collect(&root.join("suite"), "", &mut cases);
    cases.sort_by(|a, b| a.name.cmp(&b.name));

    let mut trials: Vec<Trial> = Vec::new();
    for case in &cases {
        let case = case.clone();
        trials.push(Trial::test(case.name.clone(), move || golden::run(&case).map_err(Into::into)));
    }
    trials.extend(examples::trials());
    trials.extend(expressions::trials(&cases));
    trials.extend(fixes::trials(&cases));
    trials.extend(operators::trials(&cases));
    trials.extend(whole::trials(&cases, snapshots()));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Where snapshots lie.
fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots")
}

fn collect(folder: &Path, prefix: &str, cases: &mut Vec<Case>) {
    let entries = std::fs::read_dir(folder).expect("the suite is beside this file");
    for entry in entries {
        let path = entry.expect("a folder of this project can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), cases);
        } else if let Some(stem) = name.strip_suffix(".onnxtxt") {
            let text = std::fs::read_to_string(&path).expect("files of the suite are UTF-8");
            cases.push(Case { name: format!("{prefix}{stem}"), text, host: Arc::new(snapshot) });
        }
    }
}

/// Compares with the snapshot of a file; panics where they differ.
#[allow(clippy::unnecessary_wraps, reason = "insta panics where others return an error")]
fn snapshot(case: &Case, what: &str, content: &str) -> Result<(), String> {
    let (folder, stem) = case.name.rsplit_once('/').unwrap_or(("", &case.name));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(snapshots().join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_input_file(format!("suite/{}.onnxtxt", case.name));
    settings.bind(|| insta::assert_snapshot!(format!("{stem}.{what}"), content));
    Ok(())
}
