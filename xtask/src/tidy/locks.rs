//! The workspaces beside the main one lock the versions that it locks, so that no package is compiled, and none is reviewed, in two versions
//! for one machine.

use super::Finding;
use super::source::File;
use crate::test::OTHER_WORKSPACES;
use std::collections::BTreeSet;

/// A package of a lock file: its name, its version and its line.
type Locked<'t> = (&'t str, &'t str, usize);

pub(super) fn versions_agree(files: &[File]) -> Vec<Finding> {
    let lock = |path: &str| files.iter().find(|file| file.path == path);
    let Some(main) = lock("Cargo.lock") else { return Vec::new() };
    let known: BTreeSet<(&str, &str)> =
        packages(&main.text).map(|(name, version, _)| (name, version)).collect();
    let mut findings = Vec::new();
    for folder in OTHER_WORKSPACES {
        let path = format!("{folder}/Cargo.lock");
        let Some(other) = lock(&path) else { continue };
        for (name, version, line) in packages(&other.text) {
            let same =
                known.iter().find(|(of, in_main)| *of == name && compatible(in_main) == compatible(version));
            let Some((_, in_main)) = same.filter(|(_, in_main)| *in_main != version) else { continue };
            let message = format!(
                "`{name}` is {version}, and {in_main} in Cargo.lock: \
                 cargo update --manifest-path {folder}/Cargo.toml {name}@{version} --precise {in_main}"
            );
            findings.push(Finding::new(&path, line, message));
        }
    }
    findings
}

/// The packages of a lock file.
fn packages(lock: &str) -> impl Iterator<Item = Locked<'_>> {
    let versions = lock.lines().skip(1).enumerate();
    lock.lines().zip(versions).filter_map(|(name, (at, version))| {
        Some((field(name, "name = \"")?, field(version, "version = \"")?, at + 2))
    })
}

/// The text of a field that begins like this.
fn field<'l>(line: &'l str, start: &str) -> Option<&'l str> {
    line.strip_prefix(start)?.strip_suffix('"')
}

/// The part of a version that compatible ones share: up to the first number that is not zero.
fn compatible(version: &str) -> &str {
    let mut end = 0;
    for number in version.split('.') {
        end += number.len() + 1;
        if number.bytes().any(|digit| digit != b'0') {
            break;
        }
    }
    &version[..(end - 1).min(version.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, packages: &[(&str, &str)]) -> File {
        let package = |(name, version): &(&str, &str)| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n")
        };
        File::new(path, packages.iter().map(package).collect())
    }

    #[test]
    fn compatible_versions_are_the_same_one() {
        let main = [("syn", "2.0.1"), ("syn", "3.0.1"), ("half", "0.2.3")];
        let found = |other: &[(&str, &str)]| {
            versions_agree(&[file("Cargo.lock", &main), file("fuzz/Cargo.lock", other)]).len()
        };
        assert_eq!(found(&main), 0);
        assert_eq!(found(&[("syn", "3.0.2"), ("half", "0.2.4")]), 2);
        // Others that nothing of ours needs.
        assert_eq!(found(&[("syn", "1.0.9"), ("half", "0.3.0"), ("arbitrary", "1.0.0")]), 0);
    }

    #[test]
    fn the_message_says_how() {
        let files = [file("Cargo.lock", &[("syn", "3.0.1")]), file("capi/Cargo.lock", &[("syn", "3.0.2")])];
        let found = versions_agree(&files);
        assert_eq!((found[0].path.as_str(), found[0].line), ("capi/Cargo.lock", 3));
        assert!(found[0].message.ends_with("syn@3.0.2 --precise 3.0.1"), "{}", found[0].message);
    }
}
