//! The commands in README.md have the output that it shows, and the examples are valid.

use crate::Folder;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_first_command_reads_a_digit_with_the_model_that_follows_it() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut blocks = readme.split("```").skip(1).step_by(2);
    let output = |arguments: &str| {
        let done = crate::onnxtxt().current_dir(root()).args(arguments.split(' ')).output().unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let command = blocks.next().unwrap().strip_prefix("sh\n").unwrap().trim();
    let read = output(command.strip_prefix("cargo run --release -p onnx-cli -- ").unwrap());
    // The last bits of probabilities are those of the processor.
    assert_eq!(read.lines().last(), blocks.next().unwrap().trim().lines().last());
    assert_eq!(output("print --elide 4 examples/digits.onnxtxt"), blocks.next().unwrap().trim());
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
