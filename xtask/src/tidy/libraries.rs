//! Allowed dependencies: each library has one home, crates use only the layers below them, the IR does no I/O.

use super::Finding;
use super::source::File;

/// A library and the directory (or file) that alone may name it, so that replacing it means editing one place.
const HOMES: &[(&str, &str)] = &[
    ("logos", "crates/onnx-text/src/lex"),
    ("chumsky", "crates/onnx-text/src/parse"),
    ("dagre", "crates/onnxtxt/src/draw"),
    ("ariadne", "crates/onnx-text/src/render"),
    ("hayro_jpeg2000", "crates/onnx-images/src"),
    ("libjpeg_turbo_rs", "crates/onnx-images/src"),
    ("pretty", "crates/onnx-text/src/print"),
    ("prost", "crates/onnx-proto/src"),
    ("prost_reflect", "crates/onnx-proto/src"),
    ("lsp_server", "crates/onnxtxt-lsp"),
    ("gen_lsp_types", "crates/onnxtxt-lsp"),
    ("toml", "crates/onnxtxt/src/config"),
];

/// A crate and what neither its manifest nor its code may name.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "crates/onnx-ir",
        &[
            "onnx-text",
            "onnx-proto",
            "onnx-ops",
            "onnx-cli",
            "logos",
            "chumsky",
            "ariadne",
            "pretty",
            "prost",
            "prost-reflect",
            "serde_json",
        ],
    ),
    ("crates/onnx-text", &["onnx-proto", "onnx-ops", "onnx-cli", "prost", "prost-reflect"]),
    (
        "crates/onnx-formula",
        &[
            "onnx-text",
            "onnx-proto",
            "onnx-ops",
            "onnx-loops",
            "onnx-kernels",
            "onnx-exec",
            "onnx-cli",
            "logos",
            "chumsky",
            "ariadne",
            "pretty",
            "prost",
        ],
    ),
    (
        "crates/onnx-loops",
        &[
            "onnx-text",
            "onnx-proto",
            "onnx-ops",
            "onnx-kernels",
            "onnx-exec",
            "onnx-cli",
            "logos",
            "chumsky",
            "ariadne",
            "pretty",
            "prost",
        ],
    ),
    (
        "crates/onnx-kernels",
        &["onnx-proto", "onnx-exec", "onnx-cli", "logos", "chumsky", "ariadne", "pretty", "prost"],
    ),
    ("crates/onnxtxt", &["onnx-cli", "onnxtxt-lsp"]),
    (
        "crates/onnxtxt-lsp",
        &["onnx-cli", "onnx-proto", "onnx-exec", "clap", "logos", "chumsky", "ariadne", "pretty", "prost"],
    ),
    ("crates/onnx-ops", &["onnx-proto", "onnx-cli", "logos", "chumsky", "ariadne", "pretty", "prost"]),
    ("crates/onnx-proto", &["onnx-text", "onnx-ops", "onnx-cli", "logos", "chumsky", "ariadne", "pretty"]),
];

const IO: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "dbg!",
];

pub(super) fn one_home(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (library, home) in HOMES {
        let path = format!("{library}::");
        for file in in_crates(files).filter(|file| !is_home(file, home)) {
            for line in file.lines_with(&path) {
                findings.push(Finding::new(&file.path, line, format!("`{library}` is named outside {home}")));
            }
        }
    }
    findings
}

fn is_home(file: &File, home: &str) -> bool {
    file.is_in(home) || file.path == format!("{home}.rs")
}

pub(super) fn layers(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, forbidden) in LAYERS {
        for file in files.iter().filter(|file| file.is_in(folder)) {
            for &name in *forbidden {
                let message = format!("{folder} must not know `{name}`");
                if file.path.ends_with("/Cargo.toml") {
                    findings.extend(
                        dependency_lines(&file.text, name).map(|l| Finding::new(&file.path, l, &message)),
                    );
                }
                for line in file.lines_with(&format!("{}::", name.replace('-', "_"))) {
                    findings.push(Finding::new(&file.path, line, &message));
                }
            }
        }
    }
    findings
}

/// Lines of a manifest that begin a dependency on `name`.
fn dependency_lines(manifest: &str, name: &str) -> impl Iterator<Item = usize> {
    let starts = [format!("{name}."), format!("{name} "), format!("{name}=")];
    let mut section = "";
    manifest.lines().enumerate().filter_map(move |(at, line)| {
        if line.starts_with('[') {
            section = line;
        }
        let is_dependency = section == "[dependencies]" && starts.iter().any(|start| line.starts_with(start));
        is_dependency.then_some(at + 1)
    })
}

pub(super) fn no_io_in_ir(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_in("crates/onnx-ir")) {
        for word in IO {
            for line in file.lines_with(word) {
                findings.push(Finding::new(&file.path, line, format!("onnx-ir does no IO, and `{word}` is")));
            }
        }
    }
    findings
}

fn in_crates(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.is_in("crates") && file.is_rust())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> Vec<File> {
        vec![File::new(path, text.to_owned())]
    }

    #[test]
    fn a_library_outside_its_home_is_found() {
        assert_eq!(one_home(&file("crates/onnx-text/src/ast.rs", "use logos::Logos;")).len(), 1);
        assert!(one_home(&file("crates/onnx-text/src/lex/token.rs", "use logos::Logos;")).is_empty());
        assert!(one_home(&file("crates/onnx-text/src/lex.rs", "use logos::Logos;")).is_empty());
        assert!(one_home(&file("crates/onnx-text/src/ast.rs", "// use logos::Logos;")).is_empty());
    }

    #[test]
    fn the_ir_knows_no_format_and_does_no_io() {
        assert_eq!(layers(&file("crates/onnx-ir/src/a.rs", "use onnx_text::parse;")).len(), 1);
        assert_eq!(
            layers(&file("crates/onnx-ir/Cargo.toml", "[dependencies]\nprost.workspace = true")).len(),
            1
        );
        assert!(
            layers(&file("crates/onnx-ir/Cargo.toml", "[dev-dependencies]\nprost.workspace = true"))
                .is_empty()
        );
        assert_eq!(no_io_in_ir(&file("crates/onnx-ir/src/a.rs", "fn f() { println!() }")).len(), 1);
        assert!(no_io_in_ir(&file("crates/onnx-ir/src/a.rs", "/// println!()\nfn f() {}")).is_empty());
    }
}
