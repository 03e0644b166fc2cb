//! One test per file of `tests/suite/**.onnxtxt`.
//!
//! `#` begins a comment in ONNX text, so a test is a model file. Its leading comment lines that begin with `#!` are what
//! is done with it:
//!
//! | directive | passes if |
//! | --- | --- |
//! | `#! check [--level L]` | what is found is what the carets of the file claim |
//! | `#! render [--level L]` | the findings as people see them are the snapshot |
//! | `#! fix [--level L] [--unsafe]` | the text with the fixes of its findings applied is the snapshot |
//! | `#! fmt` | the formatted text is the snapshot; formatting it again changes nothing, nor does formatting change the model |
//! | `#! print [--profile P] [--elide N] [--no-metadata]` | the model as text is the snapshot |
//! | `#! infer` | the model with its inferred types is the snapshot |
//! | `#! schedule` | the kernels by which the model is run are the snapshot |
//! | `#! target NAME` | what this runtime does not take is what the carets of the file claim |
//! | `#! pass NAME...` | what these passes make of the model is the snapshot, and doing it again changes nothing; what they say is claimed |
//! | `#! inline [--only F]... [--depth N] [--limit N] [--schema]` | likewise, for the calls of functions, and the nodes of operators that have one |
//! | `#! outline DOMAIN.NAME VALUE...` | likewise, for a function of the nodes that compute these values; inlining it gives the model back |
//! | `#! json` | the findings as JSON are the snapshot |
//! | `#! roundtrip` | text → model → bytes → model → text → model → bytes gives the same bytes |
//! | `#! finds error[E0303]: message` | there is this finding, which has no place |
//!
//! A file that holds a value instead of a model (`seq(tensor) s = […]`) can be checked, rendered and formatted, one that
//! holds an operator set also printed and converted.
//!
//! A claim is a comment line under the line that it is about. Its `^` stands under the first character of the finding;
//! `#<` stands for the column of its own `#`. The message is claimed from its beginning, as far as it is written:
//!
//! ```text
//! y = Add(x, nowhere)
//! #          ^ error[E0203]: use of undefined value
//! ```
//!
//! Snapshots lie in `snapshots/`, under the path of the file. `INSTA_UPDATE=always cargo test --test suite` writes them.
//! Beside the files, the examples of the code table are tests: the first of a code has a finding of it, the second none.

mod claims;
mod directives;
mod examples;
mod fixes;
mod opsets;
mod passes;
mod run;
mod schedules;
mod whole;

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A file of the suite.
#[derive(Clone, Debug)]
struct Case {
    /// `check/G03-value-undefined`
    name: String,
    text: String,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = Vec::new();
    collect(&root.join("suite"), "", &mut cases);
    cases.sort_by(|a, b| a.name.cmp(&b.name));

    let mut trials: Vec<Trial> = Vec::new();
    for case in &cases {
        let case = case.clone();
        trials.push(Trial::test(case.name.clone(), move || run::run(&case).map_err(Into::into)));
    }
    trials.extend(examples::trials());
    trials.extend(fixes::trials(&cases));
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
            cases.push(Case { name: format!("{prefix}{stem}"), text });
        }
    }
}
