//! Commands in the documentation have the outputs that it shows.
//!
//! A block of the language `console` has lines `$ COMMAND`, each followed by its output. The commands of a page run one after the other
//! in a folder with the examples. A line `…` stands for any lines; a status other than 0 is announced by `# exit status 1` after the
//! command.

use super::{Checkout, compare, root};

/// The pages with commands, and the fewest commands that they have: a page whose blocks are not found must not pass.
const PAGES: &[(&str, usize)] = &[("README.md", 8), ("docs/tour.md", 20), ("docs/first-ten-minutes.md", 15)];

/// A line of a page that is not an output, or a command with its output.
#[derive(PartialEq, Eq, Debug)]
enum Part<'t> {
    Line(&'t str),
    Command { line: &'t str, output: Vec<&'t str> },
}

/// The parts of a page.
fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if is_inside && line.starts_with("$ ") {
            parts.push(Part::Command { line, output: Vec::new() });
            continue;
        } else if is_inside && let Some(Part::Command { output, .. }) = parts.last_mut() {
            output.push(line);
            continue;
        }
        parts.push(Part::Line(line));
    }
    parts
}

/// The status that a command announces.
fn status(line: &str) -> i32 {
    line.split_once("# exit status ").map_or(0, |(_, status)| status.trim().parse().expect("a number"))
}

/// Whether lines are the expected ones, where `…` is any number of lines.
fn is_like(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|skipped| is_like(rest, &lines[skipped..])),
        Some((first, rest)) => lines.first() == Some(first) && is_like(rest, &lines[1..]),
    }
}

/// Runs the commands of a page, and returns the page with their outputs.
fn run(page: &str, text: &str, least: usize) -> String {
    let checkout = Checkout::new();
    let mut renewed = String::new();
    let mut commands = 0;
    for part in parts(text) {
        match part {
            Part::Line(line) => renewed += &format!("{line}\n"),
            Part::Command { line, output } => {
                commands += 1;
                let (code, actual) = checkout.shell(&line[2..]);
                assert_eq!(code, status(line), "{page}: {line}\n{actual}");
                let actual: Vec<&str> = actual.lines().map(str::trim_end).collect();
                let shown = if is_like(&output, &actual) { output } else { actual };
                renewed += &format!("{line}\n");
                shown.iter().for_each(|line| renewed += &format!("{line}\n"));
            }
        }
    }
    assert!(commands >= least, "{page} has {commands} commands, expected at least {least}");
    renewed
}

#[test]
fn pages_show_what_their_commands_print() {
    for (page, least) in PAGES {
        let path = root().join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        compare(&path, &run(page, &text, *least));
    }
}

/// The two commands that a clone begins with, and the output of the first. The second one is what CI runs.
#[test]
fn the_first_command_reads_a_digit() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    let shell: Vec<&str> = blocks.iter().filter_map(|block| block.strip_prefix("sh\n")).collect();
    let first = shell[0].trim().strip_prefix("cargo run --release -p onnx-cli -- ").unwrap();
    assert_eq!(shell[1].trim(), "cargo xtask test");
    let at = blocks.iter().position(|block| block.starts_with("sh\n")).unwrap();
    let read = Checkout::new().output(&format!("onnxtxt {first}"));
    // The last bits of probabilities are those of the processor.
    assert_eq!(read.lines().last(), blocks[at + 1].trim().lines().last());
    assert_eq!(blocks[at + 1].trim().lines().last(), Some("int64[1] digit = {4}"));
}

/// The example in Rust is one that is compiled and run: that of the library's documentation.
#[test]
fn the_example_in_rust_is_a_documentation_test() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let code = readme.split("```").find_map(|block| block.strip_prefix("rust\n")).unwrap();
    let library = std::fs::read_to_string(root().join("crates/onnxtxt/src/lib.rs")).unwrap();
    let documented: String =
        code.lines().map(|line| format!("//! {line}").trim_end().to_owned() + "\n").collect();
    assert!(library.contains(&documented), "the documentation of the library does not have\n{documented}");
}

#[test]
fn outputs_are_compared_line_by_line() {
    let page = "a\n```console\n$ x # exit status 1\n1\n…\n3\n$ y\n```\nb\n";
    let found = parts(page);
    assert_eq!(found[2], Part::Command { line: "$ x # exit status 1", output: vec!["1", "…", "3"] });
    assert_eq!((found.len(), status("$ x # exit status 1"), status("$ y")), (6, 1, 0));
    for (expected, lines, is) in [
        (&["1", "…", "3"][..], &["1", "2", "2", "3"][..], true),
        (&["1", "…", "3"], &["1", "3"], true),
        (&["1", "…", "3"], &["1", "2"], false),
        (&["1"], &["1", "2"], false),
        (&[], &[], true),
        (&["…"], &["1", "2"], true),
    ] {
        assert_eq!(is_like(expected, lines), is, "{expected:?} {lines:?}");
    }
}
