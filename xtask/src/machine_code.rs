//! `cargo xtask machine-code`: whether the loops of the installed program are vectorized.
//!
//! Multiversioned functions (`onnx-exec/src/loops/lanes/multiversion.rs`) are in sections of their own. A loop that was not vectorized has
//! scalar instructions there, and a part that was not inlined is missing there, so the share of instructions in vector
//! registers of the full width tells. The program needs no symbols.

use crate::{bench, dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program; by default, `onnxtxt` is built by the profile `dist`, as it is installed
    program: Option<PathBuf>,
}

/// A section, the names of its registers, and the least share of instructions that have one.
///
/// With vectorized loops, they are 19 % and 21 %; the rest addresses operands and computes what is left of the last register. A loop that is
/// not vectorized has none.
const SECTIONS: [(&str, &str, f64); 2] = [("onnxtxt.avx512", "%zmm", 0.12), ("onnxtxt.avx2", "%ymm", 0.12)];

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => installed()?,
    };
    check(&program)
}

/// Builds the program as it is installed.
fn installed() -> Result<PathBuf> {
    let build = ["build", "--profile", "dist", "--package", "onnx-cli"];
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(build))?;
    bench::built("onnxtxt", "dist")
}

/// Whether this program can be looked into: only on Linux functions have sections, and only for x86-64 several versions.
pub(crate) const IS_POSSIBLE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Looks into a program.
pub(crate) fn check(program: &Path) -> Result<()> {
    for (section, register, least) in SECTIONS {
        let mut objdump = Command::new("objdump");
        objdump.args(["--disassemble", "--no-show-raw-insn", "--section", section]).arg(program);
        let code = process::output(&mut objdump).context("looking into machine code (package binutils)")?;
        // An instruction is a line `  address:\tinstruction`.
        let instructions: Vec<&str> = code.lines().filter(|line| line.contains(":\t")).collect();
        ensure!(!instructions.is_empty(), "{} has no section {section}", program.display());
        let wide = instructions.iter().filter(|line| line.contains(register)).count();
        let share = wide as f64 / instructions.len() as f64;
        println!(
            "{section}: {wide} of {} instructions use {register} ({:.0} %)",
            instructions.len(),
            share * 100.0
        );
        ensure!(
            share >= least,
            "the loops of {} are not vectorized: {:.0} % of the instructions in {section} use {register}, expected at least {:.0} %",
            program.display(),
            share * 100.0,
            least * 100.0
        );
    }
    Ok(())
}
