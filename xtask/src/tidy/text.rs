//! Contents that no committed file may have: paths of one machine, addresses of package registries.

use super::Finding;
use super::source::File;

/// Hosts that an address in a committed file may name. Package registries are not among them: which one is used is the
/// configuration of pip, npm and cargo.
const HOSTS: &[&str] = &[
    "apache.org",
    "contributor-covenant.org",
    "doc.rust-lang.org",
    "docs.oasis-open.org",
    "docs.rs",
    "docs.github.com",
    "git-lfs.github.com",
    "example.com",
    "github.com",
    "json-schema.org",
    "json.schemastore.org",
    "keepachangelog.com",
    "llvm.org",
    "no-color.org",
    "onnx.ai",
    "opensource.org",
    "protobuf.dev",
    "rust-lang.github.io",
    "semver.org",
    "tree-sitter.github.io",
    "www.apache.org",
    // The machine itself.
    "127.0.0.1",
    // The name of the namespace of SVG.
    "www.w3.org",
];

/// Places where only one machine keeps things. Written in two parts, so that this file does not hold them.
const MACHINE_PATHS: &[(&str, &str)] =
    &[("/wo", "rk/"), ("/ho", "me/"), ("/ro", "ot/"), ("/Us", "ers/"), ("C:\\Us", "ers\\")];

pub(super) fn no_machine_paths(files: &[File]) -> Vec<Finding> {
    let paths: Vec<String> = MACHINE_PATHS.iter().map(|(a, b)| format!("{a}{b}")).collect();
    let mut findings = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if paths.iter().any(|path| starts_a_word(line, path)) {
                findings.push(Finding::new(&file.path, at + 1, "the path of one machine"));
            }
        }
    }
    findings
}

/// Whether `path` stands in the line, not as the tail of a longer path.
fn starts_a_word(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-./}".contains(c))
    })
}

pub(super) fn known_hosts(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    // Lock files of npm name the sites of the packages' makers.
    for file in files.iter().filter(|file| !file.path.ends_with("package-lock.json")) {
        for (at, line) in file.text.lines().enumerate() {
            for host in hosts(line).filter(|host| !HOSTS.contains(host)) {
                let message = format!("the host `{host}` is not among those that committed files may name");
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    findings
}

fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").filter_map(|(at, mark)| {
        let is_web = line[..at].ends_with("http") || line[..at].ends_with("https");
        let rest = &line[at + mark.len()..];
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-')).unwrap_or(rest.len());
        (is_web && end > 0).then_some(rest[..end].trim_end_matches('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<File> {
        vec![File::new("a.md", text.to_owned())]
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let (a, b) = MACHINE_PATHS[0];
        assert_eq!(no_machine_paths(&file(&format!("see {a}{b}x"))).len(), 1);
        assert!(no_machine_paths(&file(&format!("see pkg{a}{b}x"))).is_empty());
    }

    #[test]
    fn unknown_hosts_are_found() {
        assert_eq!(known_hosts(&file(concat!("https:/", "/registry.invalid/simple"))).len(), 1);
        assert!(known_hosts(&file("https://github.com/onnx/onnx.")).is_empty());
    }
}
