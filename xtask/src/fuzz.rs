//! `cargo xtask fuzz`: builds the targets of `fuzz/fuzz_targets` and runs each for a while.
//!
//! `fuzz/` has the layout of cargo-fuzz and works with it. cargo-fuzz itself wants a nightly compiler, for sanitizers; coverage,
//! which is what guides the fuzzer, needs only code-generation flags that the stable compiler takes, so this command
//! passes them itself. Address sanitizing would find nothing here that a panic does not: the code is safe Rust.
//!
//! Seeds lie in `fuzz/seeds/<target>/`, words worth trying in `fuzz/<target>.dict`, both committed; what a run learns goes to `fuzz/corpus/<target>/`, an input
//! that fails to `fuzz/artifacts/<target>/`.

use crate::{dirs, process};
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One target (default: all)
    pub(crate) target: Option<String>,
    /// How long each target runs; 0 only builds
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u64,
}

/// Coverage for libFuzzer, and the checks of a debug build.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
/// Folders that have good seeds for a target, beside its own, as `conformance::fuzz` has them too: an example of every operator, and
/// one of every mistake.
const BORROWED: &[(&str, &[&str])] = &[
    ("check", &["crates/onnx-ops/docs", "tests/suite"]),
    ("external", &["fuzz/seeds/convert"]),
    ("fixes", &["tests/suite"]),
    ("lexer", &["fuzz/seeds/text"]),
    ("passes", &["crates/onnx-ops/docs", "tests/suite"]),
    ("run", &["crates/onnx-ops/docs", "tests/suite/schedule"]),
    ("sugar", &["tests/suite/sugar"]),
];
/// One input may take this long, in seconds by the clock: slower is a finding, everything is meant to be linear. The worst
/// that is known, a bomb of functions that every pass works on to its limits, takes about 3 s where nothing else runs.
const INPUT_SECONDS: u32 = 30;
const MEMORY_MB: u32 = 2048;

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut targets = targets()?;
    if let Some(only) = &args.target {
        targets.retain(|target| target == only);
        ensure!(!targets.is_empty(), "no fuzz target `{only}`");
    }
    if targets.is_empty() {
        println!("no fuzz targets");
        return Ok(());
    }
    let folder = build(&targets)?;
    let mut failed = Vec::new();
    for target in targets.iter().filter(|_| args.seconds > 0) {
        if let Err(error) = fuzz(&folder, target, args.seconds) {
            println!("{target}: {error:#}");
            failed.push(target.as_str());
        }
    }
    ensure!(failed.is_empty(), "fuzzing found failures in {}", failed.join(", "));
    Ok(())
}

/// Names of the targets, sorted.
pub(crate) fn targets() -> Result<Vec<String>> {
    let mut targets = Vec::new();
    let Ok(folder) = fs::read_dir(dirs::root().join("fuzz/fuzz_targets")) else {
        return Ok(targets);
    };
    for entry in folder {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_stem().context("a file has a name")?;
            targets.push(name.to_string_lossy().into_owned());
        }
    }
    targets.sort();
    Ok(targets)
}

/// Builds the targets; gives the folder of the programs.
fn build(targets: &[String]) -> Result<PathBuf> {
    let host = process::host()?;
    let target_dir = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| dirs::root().join("target"), PathBuf::from)
        .join("fuzz");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["build", "--release", "--manifest-path"])
        .arg(dirs::root().join("fuzz/Cargo.toml"))
        // Naming the target keeps the flags away from build scripts and macros.
        .args(["--target", &host, "--target-dir"])
        .arg(&target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    for target in targets {
        command.args(["--bin", target]);
    }
    process::run(&mut command).context("cannot build the fuzz targets (libFuzzer needs a C++ compiler)")?;
    Ok(target_dir.join(host).join("release"))
}

fn fuzz(folder: &Path, target: &str, seconds: u64) -> Result<()> {
    let fuzz = dirs::root().join("fuzz");
    let (corpus, seeds) = (fuzz.join("corpus").join(target), fuzz.join("seeds").join(target));
    let artifacts = fuzz.join("artifacts").join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(folder.join(target));
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MB}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // Equal draws in every run, as far as time allows.
        .arg("-seed=1")
        .arg("-print_final_stats=1")
        .arg(&corpus);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let (_, others) = BORROWED.iter().find(|(name, _)| *name == target).unwrap_or(&("", &[]));
    for folder in others.iter().map(|folder| dirs::root().join(folder)) {
        ensure!(folder.is_dir(), "no folder {} with seeds for `{target}`", folder.display());
        command.arg(folder);
    }
    let mut words = fuzz.join(format!("{target}.dict"));
    if !words.is_file() && !others.is_empty() {
        words = fuzz.join("text.dict");
    }
    if words.is_file() {
        command.arg(format!("-dict={}", words.display()));
    }
    let output = command.stdin(Stdio::null()).output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<_> = log.lines().collect();
        for line in &lines[lines.len().saturating_sub(40)..] {
            println!("  {line}");
        }
        bail!("failed ({}), the input is in {}", output.status, artifacts.display());
    }
    let runs = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units: "));
    println!("{target}: {} inputs in {seconds} s, no failure", runs.unwrap_or("?").trim());
    Ok(())
}
