//! `cargo xtask doctor`: what this machine lacks, for which part of the project, and the command that installs it.
//!
//! Nothing here is needed to build and use the project: Rust alone is. Parts that cannot run say so with the hints of this table.

use crate::{browser, dirs, process};
use anyhow::Result;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {}

/// A tool that a part of the project needs.
struct Tool {
    name: &'static str,
    /// The commands and tests that need it.
    part: &'static str,
    is_there: fn() -> bool,
    /// The command that installs it on Debian and its relatives, and on macOS.
    debian: &'static str,
    mac: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "rustfmt and clippy",
        part: "cargo xtask test: format, clippy",
        is_there: || has("cargo", &["fmt", "--version"]) && has("cargo", &["clippy", "--version"]),
        debian: "rustup component add rustfmt clippy",
        mac: "rustup component add rustfmt clippy",
    },
    Tool {
        name: "aarch64",
        part: "cargo xtask test: the other processor",
        is_there: || {
            let list = process::output(Command::new("rustup").args(["target", "list", "--installed"]));
            list.is_ok_and(|list| list.contains("aarch64-unknown-linux-gnu"))
        },
        debian: "rustup target add aarch64-unknown-linux-gnu",
        mac: "rustup target add aarch64-unknown-linux-gnu",
    },
    Tool {
        name: "git",
        part: "tidy, the tests of `onnxtxt git`, and the tour",
        is_there: || has("git", &["--version"]),
        debian: "apt-get install git",
        mac: "xcode-select --install",
    },
    Tool {
        name: "python3",
        part: "everything that is compared with the packages onnx and onnxruntime, the corpus, the Python module, cargo xtask docs",
        is_there: || {
            let modules = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
            has("python3", &["-c", modules]) || has("python", &["-c", modules])
        },
        debian: "apt-get install python3 python3-venv",
        mac: "brew install python",
    },
    Tool {
        name: "reference packages",
        part: "tests beside the packages onnx and onnxruntime",
        is_there: || dirs::root().join("target/venv/.stamp").exists(),
        debian: "cargo xtask venv",
        mac: "cargo xtask venv",
    },
    Tool {
        name: "corpus",
        part: "tests with models of others",
        is_there: || dirs::corpus().join("backend").exists(),
        debian: "cargo xtask corpus",
        mac: "cargo xtask corpus",
    },
    Tool {
        name: "Chromium",
        part: "cargo xtask browser: pages of drawings",
        is_there: || browser::find().is_some(),
        debian: "apt-get install chromium",
        mac: "brew install --cask chromium",
    },
    Tool {
        name: "Node",
        part: "cargo xtask editors: grammars, a client of the protocol, the extension for Visual Studio Code (20 or newer, with npm)",
        is_there: || has("node", &["--version"]) && has("npm", &["--version"]),
        debian: "apt-get install nodejs npm",
        mac: "brew install node",
    },
    Tool {
        name: "C++ compiler",
        part: "cargo xtask capi, cargo xtask fuzz",
        is_there: || ["c++", "g++", "clang++"].iter().any(|name| has(name, &["--version"])),
        debian: "apt-get install g++",
        mac: "xcode-select --install",
    },
    Tool {
        name: "binutils",
        part: "cargo xtask machine-code (objdump, size), cargo xtask capi (nm), cargo xtask torch (readelf)",
        is_there: || ["objdump", "size", "nm", "readelf"].iter().all(|name| has(name, &["--version"])),
        debian: "apt-get install binutils",
        mac: "brew install binutils",
    },
    Tool {
        name: "Java",
        part: "cargo xtask cluster: Spark",
        is_there: || has("java", &["-version"]),
        debian: "apt-get install openjdk-17-jre-headless",
        mac: "brew install openjdk@17",
    },
    Tool {
        name: "valgrind",
        part: "cargo xtask capi: leaks (left out without it)",
        is_there: || has("valgrind", &["--version"]),
        debian: "apt-get install valgrind",
        mac: "echo 'there is no valgrind for macOS'",
    },
    Tool {
        name: "pkg-config",
        part: "cargo xtask capi: a program that is built by its flags (left out without it)",
        is_there: || has("pkg-config", &["--version"]),
        debian: "apt-get install pkg-config",
        mac: "brew install pkgconf",
    },
    Tool {
        name: "nightly Rust",
        part: "cargo xtask miri, cargo xtask threads",
        is_there: || has("rustup", &["run", "nightly", "rustc", "--version"]),
        debian: "rustup toolchain install nightly --component miri,rust-src",
        mac: "rustup toolchain install nightly --component miri,rust-src",
    },
];

fn has(program: &str, arguments: &[&str]) -> bool {
    process::works(Command::new(program).current_dir(dirs::root()).args(arguments))
}

impl Tool {
    fn install(&self) -> &'static str {
        if cfg!(target_os = "macos") { self.mac } else { self.debian }
    }
}

/// `no Chromium: apt-get install chromium`, of a tool in the table.
pub(crate) fn hint(name: &str) -> String {
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let install = tool.map_or("see `cargo xtask doctor`", Tool::install);
    format!("no {name}: {install}")
}

pub(crate) fn run(_: &Args) -> Result<()> {
    let width = TOOLS.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let mut missing = 0;
    for tool in TOOLS {
        if (tool.is_there)() {
            println!("there    {:<width$}  {}", tool.name, tool.part);
        } else {
            missing += 1;
            println!(
                "MISSING  {:<width$}  {}\n         {:<width$}    {}",
                tool.name,
                tool.part,
                "",
                tool.install()
            );
        }
    }
    println!(
        "\n{}",
        match missing {
            0 => "every part of the project can run here".to_owned(),
            _ => format!(
                "{missing} of {} missing: the parts beside them cannot run; building needs Rust alone",
                TOOLS.len()
            ),
        }
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_part_and_a_command() {
        for tool in TOOLS {
            assert!(
                !tool.part.is_empty() && tool.debian.contains(' ') && tool.mac.contains(' '),
                "{}",
                tool.name
            );
            assert!(hint(tool.name).contains(tool.install()));
        }
        // Hints of other tasks name these.
        for name in ["python3", "Chromium", "Node", "C++ compiler", "binutils", "aarch64", "nightly Rust"] {
            assert!(TOOLS.iter().any(|tool| tool.name == name), "{name}");
        }
    }
}
