//! `cargo xtask docs`: everything that is shown is looked at.
//!
//! Markdown with its tables and links, HTML and SVG are parsed and rendered by libraries in a Python environment; drawings that the
//! program makes of the examples, too. What pages show of commands is compared by the tests of the program
//! (`crates/onnx-cli/tests/cli/documents`); `--write` renews outputs and pictures.

mod clone;

use crate::venv::{self, Env};
use crate::{bench, dirs, process};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the outputs of commands and the pictures as they should be
    #[arg(long)]
    write: bool,
    /// Clone the project, and run every command of README and the tour there, with times; takes minutes
    #[arg(long, conflicts_with = "write")]
    clone: bool,
    /// With --clone, commands: those that have one of these words; without any, all
    #[arg(requires = "clone")]
    words: Vec<String>,
    /// The program `onnxtxt`, instead of one that is compiled first
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.clone {
        return clone::run(&args.words);
    }
    if args.write {
        let tests = [
            "test",
            "--workspace",
            "--test",
            "cli",
            "--bin",
            "bench",
            "--",
            "--test-threads",
            "1",
            "documents",
            "picture",
        ];
        let mut write = Command::new(env!("CARGO"));
        process::run(write.current_dir(dirs::root()).args(tests).env("INSTA_UPDATE", "always"))?;
    }
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            let build = ["build", "-p", "onnx-cli"];
            process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(build))?;
            bench::built("onnxtxt", "dev")?
        }
    };
    look(&program)
}

/// Looks at the pages and pictures of the repository, and at those that a program makes.
pub(crate) fn look(program: &Path) -> Result<()> {
    let python = venv::ensure(Env::Docs)?;
    let mut pages = Command::new(&python);
    pages.arg(dirs::root().join("xtask/py/pages.py")).arg(dirs::root()).arg(dirs::root().join("target/docs"));
    process::run(pages.arg(program))
}
