//! How Rust files look: documentation, names, length, and what does not belong outside tests.

use super::Finding;
use super::budget::{self, Budget};
use super::source::File;

/// Names that say nothing about what is inside.
const VAGUE: &[&str] = &["utils.rs", "util.rs", "common.rs", "helpers.rs", "misc.rs"];
/// Above this length, ask what the second idea is.
const LONG: usize = 600;
/// The files that may say `unsafe`, each with the reason. A path that ends with `/` is a folder.
const UNSAFE: &[(&str, &str)] = &[
    (
        "crates/onnx-loops/src/stencil/channels.rs",
        "loads numbers that were seen to be there, without looking at each again",
    ),
    (
        "crates/onnx-loops/src/epilogue/bytes/avx2.rs",
        "calls instructions that the processor was seen to have, and loads and stores what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/epilogue/bytes/avx512.rs",
        "calls instructions that the processor was seen to have, and loads and stores what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/product/micro/amx.rs",
        "asks the system for registers, and calls instructions that the processor was seen to have, on what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/product/micro/avx2.rs",
        "calls instructions that the processor was seen to have, and loads what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/product/micro/avx512.rs",
        "calls instructions that the processor was seen to have, and loads what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/product/micro/neon.rs",
        "calls instructions that every such processor has, and loads what was seen to be there",
    ),
    (
        "crates/onnx-loops/src/product/micro/tile.rs",
        "loads and stores through pointers, of places that were looked at before, by these instructions",
    ),
    ("crates/onnx-loops/src/copy/transpose.rs", "calls instructions that the processor was seen to have"),
    (
        "crates/onnx-loops/src/zip.rs",
        "reads and lends elements of two slices by an index that was compared with both lengths",
    ),
    (
        "crates/onnx-loops/src/lanes/multiversion.rs",
        "calls functions for registers that the processor was seen to have",
    ),
    ("capi/src/", "is called by C, whose pointers it checks for null and trusts to be what the header says"),
    ("crates/onnx-loops/src/pool.rs", "lends a task to threads that live longer, and waits for them"),
    ("crates/onnx-proto/src/file.rs", "maps files into memory, and ends the program when one is cut short"),
    (
        "python/src/array/memory.rs",
        "shares memory with arrays of NumPy, whose lengths are compared, and keeps its owners",
    ),
];

/// Limits with other names that are older than the rule.
const OLD_LIMITS: Budget = &[];

pub(super) fn opens_with_doc(files: &[File]) -> Vec<Finding> {
    // Files that are included are not modules, which alone have such comments.
    let modules = written(files).filter(|file| !file.path.ends_with(".in.rs"));
    let missing = modules.filter(|file| !file.text.starts_with("//!") && !file.text.trim().is_empty());
    missing.map(|file| Finding::new(&file.path, 1, "the file does not say what it is for (`//!`)")).collect()
}

pub(super) fn telling_names(files: &[File]) -> Vec<Finding> {
    let name = |file: &File| file.path.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let vague = written(files).filter(|file| VAGUE.contains(&name(file).as_str()));
    vague.map(|file| Finding::new(&file.path, 0, "a name that says nothing")).collect()
}

/// Limits are named `MAX_…` and `MIN_…`, like everywhere, with what they count.
pub(super) fn limits_are_max_and_min(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (at, line) in file.text.lines().enumerate() {
            let name = line.trim_start().split_once("const ").map_or("", |(_, rest)| rest);
            let name: &str = name.split([':', ' ']).next().unwrap_or("");
            let instead = match name.split('_').next() {
                Some("MOST") => "MAX",
                Some("LEAST") => "MIN",
                _ => continue,
            };
            let message = format!("the constant `{name}`: write `{instead}_` and what it counts");
            findings.push(Finding::new(&file.path, at + 1, message));
        }
    }
    budget::beyond("limits are MAX and MIN", findings, OLD_LIMITS)
}

pub(super) fn no_unwrap(files: &[File]) -> Vec<Finding> {
    each_line(written(files), ".unwrap()", "`unwrap` outside tests: use `expect(\"why this cannot happen\")`")
}

pub(super) fn no_ignored_test(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in written(files) {
        for (at, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("#[ignore") {
                findings.push(Finding::new(
                    &file.path,
                    at + 1,
                    "an ignored test: assert what is, with a FIXME",
                ));
            }
        }
    }
    findings
}

pub(super) fn unsafe_is_listed(files: &[File]) -> Vec<Finding> {
    let is_at =
        |file: &File, path: &str| file.path == path || (path.ends_with('/') && file.path.starts_with(path));
    let unlisted = written(files).filter(|file| !UNSAFE.iter().any(|(path, _)| is_at(file, path)));
    each_line(unlisted, "unsafe", "`unsafe` in a file that is not listed in xtask/src/tidy/layout.rs")
}

/// A report, not a finding: tables may be long.
pub(super) fn long_files(files: &[File]) -> Vec<Finding> {
    let lines = |file: &File| file.text.lines().count();
    let long = written(files).filter(|file| lines(file) > LONG);
    long.map(|file| {
        Finding::new(&file.path, 0, format!("{} lines: is there a second idea in it?", lines(file)))
    })
    .collect()
}

fn written(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.is_rust() && !file.is_generated())
}

fn each_line<'a>(files: impl Iterator<Item = &'a File>, word: &str, message: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        findings
            .extend(file.lines_with(word).into_iter().map(|line| Finding::new(&file.path, line, message)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<File> {
        vec![File::new(path, text.to_owned())]
    }

    #[test]
    fn each_rule_finds_its_case() {
        assert_eq!(opens_with_doc(&file("a/src/b.rs", "use x;")).len(), 1);
        assert_eq!(telling_names(&file("a/src/utils.rs", "//! x")).len(), 1);
        assert_eq!(no_unwrap(&file("a/src/b.rs", "x.unwrap();")).len(), 1);
        assert_eq!(no_ignored_test(&file("a/tests/b.rs", "#[test]\n#[ignore]\nfn f() {}")).len(), 1);
        assert_eq!(unsafe_is_listed(&file("a/src/b.rs", "unsafe { x }")).len(), 1);
        let limits =
            ["MOST_ROOMS", "LEAST", "MAX_ROOMS"].map(|name| format!("const {name}: u8 = 1;\n")).concat();
        assert_eq!(limits_are_max_and_min(&file("a/src/b.rs", &limits)).len(), 2);
        assert_eq!(long_files(&file("a/src/b.rs", &"x\n".repeat(601))).len(), 1);
    }

    #[test]
    fn what_is_allowed_is_not_found() {
        assert!(no_unwrap(&file("a/src/b.rs", "x.unwrap_or(1); // .unwrap()")).is_empty());
        assert!(unsafe_is_listed(&file("a/src/b.rs", "unsafe_code")).is_empty());
        assert!(opens_with_doc(&file("a/src/b.rs", "// @generated\nuse x;")).is_empty());
    }
}
