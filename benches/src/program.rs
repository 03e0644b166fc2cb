//! Whole programs: wall time, CPU time and memory, from start to exit.
//!
//! A program is started by a process of its own (this one again, with [`MEASURE`]): what the kernel says of a child's
//! memory begins with that of its parent, which here holds large models.

use crate::clock::{self, Sample};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// First word of a command line that only starts another program.
pub(crate) const MEASURE: &str = "measure-program";

/// Starts the program that the words name and prints what it took.
pub(crate) fn measure(mut words: impl Iterator<Item = OsString>) -> Result<()> {
    let program = words.next().context("a program to measure")?;
    let start = Instant::now();
    let status = Command::new(&program).args(words).stdout(Stdio::null()).status()?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{} failed ({status})", program.display());
    let (cpu, memory) = clock::children();
    println!("{}", json!({"wall": wall, "cpu": cpu.as_secs_f64(), "memory": memory}));
    Ok(())
}

/// Runs a program and measures it. Its output is discarded.
pub(crate) fn run(command: &[OsString]) -> Result<Sample> {
    let output = Command::new(std::env::current_exe()?)
        // `cargo xtask bench` sets these for this program.
        .env_remove("MALLOC_MMAP_MAX_")
        .env_remove("MALLOC_TRIM_THRESHOLD_")
        .arg(MEASURE)
        .args(command)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start a process that measures")?;
    ensure!(output.status.success(), "a program that is measured failed");
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let seconds = |key: &str| answer[key].as_f64().context("the measuring process tells its times");
    Ok(Sample { wall: seconds("wall")?, cpu: seconds("cpu")?, memory: answer["memory"].as_u64() })
}

/// Our program, which is built beside this one.
pub(crate) fn onnxtxt() -> Result<PathBuf> {
    let name = format!("onnxtxt{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(path.exists(), "{} is not built", path.display());
    Ok(path)
}
