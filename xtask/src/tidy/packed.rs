//! Crates as packages: nothing outside a crate's folder is needed to compile it, and its manifest describes it.
//!
//! A package holds the folder of its crate, so that a path out of it compiles in the workspace and nowhere else.
//! `cargo xtask package` compiles the packages themselves.

use super::Finding;
use super::source::File;

/// Code that reads a file while a crate is compiled; its first string is the path, or the beginning of one.
const READERS: &[&str] = &["include_str!(", "include_bytes!(", "include!(", "#[path = "];

/// The fields that a registry shows or checks.
const FIELDS: &[&str] = &["description", "license", "readme", "keywords", "categories", "rust-version"];

pub(super) fn stays_inside(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.is_in("crates")) {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        for (at, line) in file.text.lines().enumerate() {
            for path in READERS.iter().filter_map(|reader| read_by(line, reader)) {
                if leaves(folder, path) {
                    let message = format!("`{path}` is outside the crate of {name}, whose package lacks it");
                    findings.push(Finding::new(&file.path, at + 1, message));
                }
            }
        }
    }
    findings
}

pub(super) fn manifests_describe(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_in("crates") && file.path.ends_with("/Cargo.toml")) {
        let has =
            |field: &str| file.text.lines().any(|line| line.split([' ', '.', '=']).next() == Some(field));
        let missing = FIELDS.iter().filter(|field| !has(field));
        findings.extend(missing.map(|field| Finding::new(&file.path, 0, format!("`{field}` is missing"))));
        if file.text.lines().any(|line| line.starts_with("build ") || line.starts_with("build=")) {
            findings.push(Finding::new(&file.path, 0, "a build script: generated code is committed"));
        }
    }
    findings
}

/// The path that a reader on this line reads.
fn read_by<'l>(line: &'l str, reader: &str) -> Option<&'l str> {
    let (_, after) = line.split_once(reader)?;
    after.split('"').nth(1)
}

/// Whether a path from a folder of a crate leads out of `crates/<name>`.
fn leaves(folder: &str, path: &str) -> bool {
    // `crates` and the name of the crate.
    let mut depth = folder.split('/').count();
    path.split('/').any(|part| {
        match part {
            ".." => depth = depth.saturating_sub(1),
            "." | "" => {}
            _ => depth += 1,
        }
        depth < 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<File> {
        vec![File::new(path, text.to_owned())]
    }

    #[test]
    fn a_path_out_of_the_crate_is_found() {
        let path = "crates/onnx-ops/src/schema/docs.rs";
        assert!(stays_inside(&file(path, "const A: &str = include_str!(\"../../docs/a.txt\");")).is_empty());
        assert_eq!(stays_inside(&file(path, "const A: &str = include_str!(\"../../../a.txt\");")).len(), 1);
        assert_eq!(stays_inside(&file(path, "#[path = \"../../../x.rs\"]\nmod x;")).len(), 1);
        assert!(stays_inside(&file("tests/a.rs", "include_str!(\"../README.md\")")).is_empty());
    }

    #[test]
    fn a_manifest_without_a_field_is_found() {
        let all: String = FIELDS.iter().map(|field| format!("{field}.workspace = true\n")).collect();
        assert!(manifests_describe(&file("crates/a/Cargo.toml", &all)).is_empty());
        let without = all.replace("readme", "read-me");
        assert_eq!(manifests_describe(&file("crates/a/Cargo.toml", &without)).len(), 1);
    }
}
