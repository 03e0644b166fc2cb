//! `cargo xtask editors`: the language server in editors that others wrote, driven by keys in a terminal.
//!
//! A script starts Neovim with the configuration of `docs/editors.md`, and waits until the screen shows findings, hints, hover, a fix, a
//! rename and completions. The screens are in `target/editors` as text. Neovim is a package of the Python registry, because that of
//! Debian is too old for hints; `NVIM` names another one.

use crate::venv::{self, Env};
use crate::{bench, dirs, process};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program `onnxtxt`, instead of one that is compiled first
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let python = venv::ensure(Env::Editors)?;
    let packaged = || python.with_file_name("nvim");
    let neovim = std::env::var_os("NVIM").map_or_else(packaged, PathBuf::from);
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            process::run(
                Command::new(env!("CARGO")).current_dir(dirs::root()).args(["build", "-p", "onnx-cli"]),
            )?;
            bench::built("onnxtxt", "dev")?
        }
    };
    let script = dirs::root().join("tests/editors/neovim.py");
    let screens = dirs::root().join("target/editors");
    process::run(Command::new(&python).arg(script).arg(neovim).arg(program).arg(screens))
}
