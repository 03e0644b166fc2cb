//! `cargo xtask miri` and `cargo xtask threads`: undefined behaviour and data races. They need a nightly compiler and take minutes, so that
//! `cargo xtask test` does not run them.
//!
//! Miri interprets the unit tests of the crates that every input goes through first. The pool of onnx-loops, the one place where a
//! borrow is lent to other threads, needs nothing but std; `threads/` compiles it alone, for Miri, which tries several orders
//! of its threads, and for ThreadSanitizer with a standard library that is instrumented too.

use crate::{dirs, doctor, process};
use anyhow::{Context as _, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct MiriArgs {
    /// Packages whose unit tests are interpreted
    #[arg(default_values = ["onnx-ir", "onnx-text"])]
    packages: Vec<String>,
    /// Only tests whose name has this
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(clap::Args)]
pub(crate) struct ThreadsArgs {
    /// How many orders of the threads Miri tries
    #[arg(long, default_value_t = 16)]
    seeds: u32,
}

/// Tests that draw at random draw this many cases: an interpreter is a hundred times slower.
const CASES: &str = "2";

pub(crate) fn miri(args: &MiriArgs) -> Result<()> {
    needs(&["miri", "rust-src"])?;
    for package in &args.packages {
        process::run(
            nightly(&["miri", "test", "--lib", "--package", package, &args.only])
                .env("PROPTEST_CASES", CASES)
                // Tests read files of the project, and the clock.
                .env("MIRIFLAGS", "-Zmiri-disable-isolation")
                .env("CARGO_TARGET_DIR", target("miri")),
        )?;
    }
    Ok(())
}

pub(crate) fn threads(args: &ThreadsArgs) -> Result<()> {
    needs(&["miri", "rust-src"])?;
    // Threads of the pool live as long as the program.
    let flags = format!("-Zmiri-ignore-leaks -Zmiri-many-seeds=0..{}", args.seeds);
    process::run(
        nightly(&["miri", "test", "--lib"])
            .current_dir(dirs::root().join("threads"))
            .env("MIRIFLAGS", flags)
            .env("CARGO_TARGET_DIR", target("threads")),
    )?;
    let host = process::host()?;
    process::run(
        nightly(&["test", "--lib", "-Zbuild-std", "--target", &host])
            .current_dir(dirs::root().join("threads"))
            .env("RUSTFLAGS", "-Zsanitizer=thread")
            .env("CARGO_TARGET_DIR", target("threads-sanitizer")),
    )
}

fn nightly(args: &[&str]) -> Command {
    // `rustup run`, since this program was started by a cargo that has chosen its toolchain.
    let mut command = Command::new("rustup");
    command.current_dir(dirs::root()).args(["run", "nightly", "cargo"]);
    command
        .args(args.iter().filter(|arg| !arg.is_empty()))
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN");
    command
}

fn needs(components: &[&str]) -> Result<()> {
    let mut add = Command::new("rustup");
    add.args(["component", "add", "--toolchain", "nightly"]).args(components);
    let done = add.output().context("cannot start `rustup`")?;
    ensure!(
        done.status.success(),
        "needs a nightly compiler with {} ({}): {}",
        components.join(" and "),
        doctor::hint("nightly Rust"),
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(())
}

fn target(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| dirs::root().join("target"), PathBuf::from).join(name)
}
