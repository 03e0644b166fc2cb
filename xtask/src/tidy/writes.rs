//! Files are written in one folder of the library, and a caller says whether the user gave the name.
//!
//! `files::write` follows links and replaces what is there, as a user who types a name wants; every other name goes through
//! `files::Derived`, which does neither. Each call of the former is listed here with the option that names the file.

use super::Finding;
use super::source::File;

/// Folders and files with code that opens files for writing, changes names, or makes folders.
const HOMES: &[(&str, &str)] = &[
    ("crates/onnxtxt/src/files", "the files of the user"),
    ("crates/onnx-cli/src/programs/scratch.rs", "temporary folders, which only the user can read"),
    ("crates/onnxtxt-lsp/src/client/log.rs", "the log, which the user names and which only grows"),
];

/// Calls that change a file system.
const CHANGES: &[&str] = &[
    "File::create",
    "File::create_new",
    "File::options",
    "OpenOptions",
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::remove_file",
    "fs::remove_dir",
    "fs::remove_dir_all",
    "fs::create_dir",
    "fs::create_dir_all",
    "fs::hard_link",
    "fs::set_permissions",
    "fs::soft_link",
    "DirBuilder",
    "symlink",
    "set_len",
    "tempfile",
    "OFlags::CREATE",
    "OFlags::WRONLY",
    "OFlags::RDWR",
    "mkdirat",
    "renameat",
    "linkat",
    "unlinkat",
];

/// Calls that write a file of a name that the user gave.
const NAMED: &[&str] = &[
    "files::write(",
    "output::to_file(",
    "output::rewrite(",
    "output::put(",
    "results::to_archive(",
    "write_weights(",
    "save_with(",
    "save(path)",
];

/// Those that there are: a file of the program, the number of calls, and where the name is from.
const CALLS: &[(&str, usize, &str)] = &[
    ("crates/onnx-cli/src/cmd/backend_test.rs", 1, "--junit"),
    ("crates/onnx-cli/src/cmd/bench.rs", 1, "--trace"),
    ("crates/onnx-cli/src/comparison/onnx_runtime.rs", 1, "a temporary folder"),
    ("crates/onnx-cli/src/cmd/convert.rs", 1, "-o, or the input in place"),
    ("crates/onnx-cli/src/cmd/diff.rs", 1, "-o"),
    ("crates/onnx-cli/src/cmd/draw.rs", 1, "-o"),
    ("crates/onnx-cli/src/cmd/edit.rs", 1, "-o, or the input"),
    ("crates/onnx-cli/src/cmd/git.rs", 1, "core.attributesFile in the configuration of the user"),
    ("crates/onnx-cli/src/cmd/infer.rs", 1, "-o, or the input in place"),
    ("crates/onnx-cli/src/cmd/lower.rs", 1, "-o"),
    ("crates/onnx-cli/src/cmd/merge.rs", 2, "-o"),
    ("crates/onnx-cli/src/cmd/ops/export.rs", 1, "--export"),
    ("crates/onnx-cli/src/cmd/reduce.rs", 2, "-o, and candidates in a temporary folder"),
    ("crates/onnx-cli/src/cmd/repro.rs", 5, "-o, and a folder that the command has made"),
    ("crates/onnx-cli/src/cmd/run.rs", 1, "-o"),
    ("crates/onnx-cli/src/cmd/test.rs", 1, "--junit"),
    ("crates/onnx-cli/src/cmd/train.rs", 1, "-o"),
    ("crates/onnx-cli/src/cmd/train/history.rs", 1, "--history"),
    ("crates/onnx-cli/src/cmd/train/saved.rs", 1, "--state"),
    ("crates/onnx-cli/src/cmd/weights/transfer.rs", 4, "-o"),
    ("crates/onnx-cli/src/emit.rs", 1, "-o, or the input in place"),
    ("crates/onnx-cli/src/output/mod.rs", 2, "the callers of the functions above"),
    ("crates/onnx-cli/src/output/results.rs", 1, "-o"),
    ("crates/onnxtxt-lsp/src/virtual_text.rs", 1, "the document that the client writes back"),
    ("crates/onnxtxt/src/golden/folder.rs", 1, "a test that the command line names"),
    ("crates/onnxtxt/src/save.rs", 2, "the caller of the library"),
    ("python/src/model/mod.rs", 1, "the caller of the module"),
    ("python/src/model/module.rs", 1, "the caller of the module"),
    ("python/src/trainer.rs", 1, "the caller of the module"),
];

pub(super) fn files_are_written_in_one_place(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in program(files).filter(|file| !is_home(file)) {
        for change in CHANGES {
            for line in file.lines_with(change) {
                let message = format!(
                    "`{change}` changes files outside crates/onnxtxt/src/files: use `files::write` for a name that the \
                     user gives, `files::Derived` for any other, and `scratch` for temporary files"
                );
                findings.push(Finding::new(&file.path, line, message));
            }
        }
        // Names that are imported alone could not be distinguished from others.
        for (at, line) in file.code.lines().enumerate() {
            let imported = |of: &str| line.split(&format!("{of}::{{")).nth(1).unwrap_or("");
            let is_named = |of: &str, list: &[&str]| {
                let names = imported(of).split(|c: char| !(c.is_alphanumeric() || c == '_'));
                names.into_iter().any(|name| {
                    !name.is_empty()
                        && list.iter().any(|word| word.trim_end_matches('(') == format!("{of}::{name}"))
                })
            };
            for of in ["fs", "files", "output", "results"] {
                if is_named(of, CHANGES) || is_named(of, NAMED) {
                    let message =
                        format!("call what writes files as `{of}::…`, so that calls can be counted");
                    findings.push(Finding::new(&file.path, at + 1, message));
                }
            }
        }
    }
    findings
}

pub(super) fn names_are_the_users(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in program(files).filter(|file| !is_home(file)) {
        let lines: Vec<usize> = NAMED.iter().flat_map(|call| file.lines_with(call)).collect();
        let known = CALLS.iter().find(|(path, ..)| *path == file.path).map_or(0, |(_, number, _)| *number);
        if lines.len() != known {
            let message = format!(
                "{} calls write files of names that the user gave, {known} are listed in xtask/src/tidy/writes.rs: list \
                 a new one with the origin of its name, or use `files::Derived` and add it to \
                 crates/onnx-cli/tests/cli/derived.rs",
                lines.len()
            );
            findings.push(Finding::new(&file.path, lines.last().copied().unwrap_or(0), message));
        }
    }
    let exists = |path: &str| files.iter().any(|file| file.path == path);
    let gone = CALLS.iter().filter(|(path, ..)| !exists(path));
    findings.extend(gone.map(|(path, ..)| {
        Finding::new(path, 0, "is listed in xtask/src/tidy/writes.rs, and does not exist")
    }));
    findings
}

/// The code that users run.
fn program(files: &[File]) -> impl Iterator<Item = &File> {
    let is_source =
        |file: &&File| file.path.contains("/src/") && (file.is_in("crates") || file.is_in("python"));
    files.iter().filter(is_source).filter(|file| file.is_rust())
}

fn is_home(file: &File) -> bool {
    HOMES.iter().any(|(home, _)| file.path == *home || file.is_in(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(path: &str, text: &str) -> usize {
        files_are_written_in_one_place(&[File::new(path, text.to_owned())]).len()
    }

    #[test]
    fn a_file_that_is_written_elsewhere_is_found() {
        let path = "crates/onnx-cli/src/cmd/new.rs";
        for text in [
            "std::fs::write(path, text)?;",
            "fs::remove_file(path)?;",
            "let file = File::create(path)?;",
            "let file = File::options().append(true).open(path)?;",
            "use std::fs::{self, write};",
            "use std::fs::write;",
            "use crate::output::{OutputTarget, to_file};",
            "use onnxtxt::files::{Guard, write};",
            "let folder = tempfile::tempdir()?;",
            "std::os::unix::fs::symlink(a, b)?;",
        ] {
            assert_eq!(changes(path, text), 1, "{text}");
            assert_eq!(changes("crates/onnxtxt/src/files/new.rs", text), 0, "{text}");
            assert_eq!(changes("crates/onnx-cli/tests/cli/new.rs", text), 0, "{text}");
        }
        for text in
            ["fs::read(path)?;", "use std::fs::{self, File};", "// fs::write", "path.symlink_metadata()"]
        {
            assert_eq!(changes(path, text), 0, "{text}");
        }
    }

    #[test]
    fn a_new_call_is_counted() {
        let found = |path: &str, text: &str| {
            let found = names_are_the_users(&[File::new(path, text.to_owned())]);
            found.iter().filter(|finding| finding.path == path && finding.line > 0).count()
        };
        let call = "output::to_file(&path.with_extension(\"new\"), |out| write(out))?;\n";
        assert_eq!(found("crates/onnx-cli/src/cmd/new.rs", call), 1);
        assert_eq!(found("crates/onnx-cli/src/cmd/lower.rs", call), 0);
        assert_eq!(found("crates/onnx-cli/src/cmd/lower.rs", &call.repeat(2)), 1);
    }
}
