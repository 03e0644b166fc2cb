//! The contents of the documentation: commands with their outputs, pictures, and the examples.
//!
//! With `INSTA_UPDATE=always`, as for snapshots, pages and pictures are written as they should be.

mod figures;
mod pictures;
mod terminal;
mod transcripts;

use crate::Folder;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether documents are written as they should be, instead of compared.
fn is_update() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// Compares a document with what it should be, or writes it.
fn compare(path: &Path, expected: &str) {
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    if committed == expected {
        return;
    }
    assert!(
        is_update(),
        "{} is out of date: `cargo xtask docs --write` renews it\n{expected}",
        path.display()
    );
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, expected).unwrap();
}

/// A clone of the project as far as the documentation uses it: its examples, in a folder where commands run.
struct Checkout(Folder);

impl Checkout {
    fn new() -> Checkout {
        let checkout = Checkout(Folder::new(&[]));
        for entry in std::fs::read_dir(root().join("examples")).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("examples/{}", path.file_name().unwrap().to_str().unwrap());
            checkout.0.write(&name, &std::fs::read(path).unwrap());
        }
        checkout
    }

    /// Runs a line in a shell where the program is on the path. Returns the exit status, and stdout with stderr as a terminal would
    /// show them.
    fn shell(&self, line: &str) -> (i32, String) {
        let program = Path::new(env!("CARGO_BIN_EXE_onnxtxt"));
        let mut folders = vec![program.parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let home = self.0.path("");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec 2>&1; {line}")]).current_dir(&home).stdin(Stdio::null());
        shell.env("PATH", std::env::join_paths(folders).unwrap());
        // The user's own settings must not affect the commands.
        shell.env("HOME", &home).env("XDG_CONFIG_HOME", home.join("xdg")).env("GIT_CONFIG_NOSYSTEM", "1");
        shell.env("GIT_CONFIG_GLOBAL", home.join("global")).env("GIT_PAGER", "cat").env("TERM", "xterm");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            shell.env_remove(name);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.com");
        }
        let done = shell.output().unwrap();
        (done.status.code().unwrap_or(-1), String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// The output of a line that succeeds.
    fn output(&self, line: &str) -> String {
        let (status, output) = self.shell(line);
        assert_eq!(status, 0, "{line}: {output}");
        output
    }
}

#[test]
fn examples_have_no_findings_and_come_back() {
    let examples = root().join("examples");
    let examples = examples.to_str().unwrap();
    let folder = Folder::new(&[]);
    let set = format!("{examples}/acme-operators.onnxtxt");
    folder.run(&["check", "--level", "strict", "--deny", "warnings", "--opset", &set, examples]).expect(0);
    folder.run(&["fmt", "--check", examples]).expect(0);
    let digits = format!("{examples}/digits.onnxtxt");
    folder.run(&["convert", &digits, "-o", "digits.onnx"]).expect(0);
    folder.run(&["convert", "digits.onnx", "-o", "digits.onnxtxt"]).expect(0);
    assert!(folder.read("digits.onnxtxt") == std::fs::read(&digits).unwrap());
}

/// A new command needs a line in the list.
#[test]
fn every_command_is_in_the_list() {
    let list = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let alone = Folder::new(&[]).run(&[]).expect(0).text().to_owned();
    let groups = alone.split("\n\n").nth(1).unwrap();
    let names: Vec<&str> = groups.lines().flat_map(|line| line[11..].split_whitespace()).collect();
    assert!(names.len() > 44, "{names:?}");
    for name in names {
        assert!(
            list.contains(&format!("| `onnxtxt {name} ")) || list.contains(&format!("| `onnxtxt {name}`")),
            "docs/commands.md does not have `onnxtxt {name}`"
        );
    }
}
