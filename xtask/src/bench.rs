//! `cargo xtask bench`: builds the program and `benches/` for release, and runs the latter beside the Python package, or whole
//! models beside other runtimes.
//!
//! It makes no environment: without one, our figures are printed alone, and that is said.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Cases: those whose name has one of these; without any, all
    names: Vec<String>,
    /// Pairs of runs of each case; slow ones make do with three
    #[arg(long, global = true, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// One JSON object a line, with the times of each run in seconds
    #[arg(long, global = true)]
    json: bool,
    /// Name the cases and do nothing
    #[arg(long)]
    list: bool,
}

#[derive(clap::Subcommand)]
enum What {
    /// Measure whole models beside ONNX Runtime, tract and rten, by turns
    Models {
        /// Models: those whose name has one of these; without any, all
        names: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // In one build: built apart, dependencies would have other features.
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args([
        "build",
        "--profile",
        "dist",
        "--package",
        "onnx-cli",
        "--package",
        "bench",
    ]))?;
    let mut bench = Command::new(built("bench")?);
    // glibc then keeps memory that is freed. Otherwise a run takes new pages or old ones as it happens, and the peer's
    // decoder, for one, four times as long or not.
    bench.env("MALLOC_MMAP_MAX_", "0").env("MALLOC_TRIM_THRESHOLD_", (1_u64 << 40).to_string());
    bench.arg("--corpus").arg(dirs::corpus()).arg("--folder").arg(dirs::root().join("target/bench"));
    if let Some(python) = venv::existing(Env::Reference) {
        bench.arg("--python").arg(python);
    }
    bench.arg("--runs").arg(args.runs.to_string());
    for (is_set, flag) in [(args.json, "--json"), (args.list, "--list")] {
        bench.args(is_set.then_some(flag));
    }
    if let Some(What::Models { names }) = &args.what {
        match peers() {
            Ok(folder) => bench.arg("--peers").arg(folder),
            Err(error) => {
                eprintln!("*** PEERS MISSING: those of benches/peers cannot be built: {error:#}");
                &mut bench
            }
        };
        return process::run(bench.arg("models").args(names));
    }
    process::run(bench.args(&args.names))
}

/// Builds the programs of `benches/peers`, for this processor as their users would, and says where they lie.
fn peers() -> Result<PathBuf> {
    let target = dirs::root().join("target/peers");
    let manifest = dirs::root().join("benches/peers/Cargo.toml");
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target);
    process::run(build.env("RUSTFLAGS", "-C target-cpu=native"))?;
    Ok(target.join("release"))
}

/// A program of the build with profile `dist`, which lies beside the build that this program comes from.
fn built(name: &str) -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let target = this.ancestors().nth(2).context("this program lies in a folder of the build")?;
    Ok(target.join("dist").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
