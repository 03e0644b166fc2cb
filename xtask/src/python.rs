//! `cargo xtask python`: builds the Python module `onnxtxt` of `python/`, and tests it beside the reference implementation.
//!
//! The module is a library that Python loads by its name; `target/python/module` has it, for `PYTHONPATH`. `pip install ./python` builds
//! and installs it for other environments.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result};
use std::fs;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only build it
    #[arg(long)]
    pub(crate) no_test: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (source, target) = (dirs::root().join("python"), dirs::root().join("target/python"));
    let build = ["build", "--release", "--locked", "--target-dir"];
    process::run(Command::new(env!("CARGO")).current_dir(&source).args(build).arg(&target))?;
    let (built, name) = if cfg!(windows) {
        ("onnxtxt_python.dll", "onnxtxt.pyd")
    } else if cfg!(target_os = "macos") {
        ("libonnxtxt_python.dylib", "onnxtxt.abi3.so")
    } else {
        ("libonnxtxt_python.so", "onnxtxt.abi3.so")
    };
    let module = target.join("module");
    fs::create_dir_all(&module)?;
    // The old one may be loaded by a program: it is replaced, not overwritten.
    let new = module.join(format!("{name}.new"));
    fs::copy(target.join("release").join(built), &new)
        .and_then(|_| fs::rename(&new, module.join(name)))
        .with_context(|| format!("cannot write {}", module.display()))?;
    println!("{}", module.display());
    if args.no_test {
        return Ok(());
    }
    let python = venv::ensure(Env::Reference)?;
    process::run(Command::new(python).arg(source.join("tests/test_module.py")).env("PYTHONPATH", &module))
}
