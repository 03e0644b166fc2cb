//! `cargo xtask bench profiles`: five kernels in programs that are built with different profiles.
//!
//! A program that embeds the executor chooses how it is compiled, and so does the profile of the installed program. All builds run by
//! turns on one thread, and are compared with cargo's own `release` profile. A build that is slower by more than a tenth is a fault.

use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The models of `benches/embedded`.
const KERNELS: [&str; 5] = ["product", "softmax", "elementwise", "stencil", "quantize"];

/// A program and how it is built.
#[derive(Clone, Copy)]
enum Build {
    /// The program of `benches/embedded`, by cargo's `release` profile with these settings, and with flags of the compiler.
    Embedded(&'static [&'static str], &'static str),
    /// The program `onnxtxt`, by this profile of the workspace.
    Program(&'static str),
}

/// The settings of a program at another level than the executor.
macro_rules! executor_at_3 {
    ($level:literal) => {
        [
            concat!("opt-level=", $level),
            "package.onnx-exec.opt-level=3",
            "package.onnx-kernels.opt-level=3",
            "package.onnx-loops.opt-level=3",
        ]
    };
}

/// The first is what the others are compared with.
const BUILDS: &[(&str, Build)] = &[
    ("cargo's release", Build::Embedded(&[], "")),
    ("onnxtxt, release", Build::Program("release")),
    ("onnxtxt, dist", Build::Program("dist")),
    ("one unit", Build::Embedded(&["codegen-units=1"], "")),
    ("16 units, no LTO", Build::Embedded(&["lto=\"off\""], "")),
    ("thin LTO", Build::Embedded(&["lto=\"thin\""], "")),
    ("thin LTO, one unit", Build::Embedded(&["lto=\"thin\"", "codegen-units=1"], "")),
    ("fat LTO", Build::Embedded(&["lto=\"fat\""], "")),
    ("opt-level 2, executor 3", Build::Embedded(&executor_at_3!("2"), "")),
    ("opt-level s, executor 3", Build::Embedded(&executor_at_3!("\"s\""), "")),
    ("panic = abort", Build::Embedded(&["panic=\"abort\""], "")),
    ("target-cpu=native", Build::Embedded(&[], "-C target-cpu=native")),
];

/// Slower by more than this is a fault.
const LIMIT: f64 = 1.1;

pub(super) fn run(names: &[String], runs: u32) -> Result<()> {
    let is_meant = |name: &str| names.is_empty() || names.iter().any(|part| name.contains(part.as_str()));
    let mut programs = Vec::new();
    for (i, (name, build)) in BUILDS.iter().enumerate() {
        if i == 0 || is_meant(name) {
            programs.push((*name, Started::new(name, *build)?, [f64::MAX; KERNELS.len()]));
        }
    }
    for _ in 0..runs {
        for (_, program, least) in &mut programs {
            for (least, time) in least.iter_mut().zip(program.times()?) {
                *least = least.min(time);
            }
        }
    }
    let plain = programs[0].2;
    println!("{:<26}{}", "least time, µs, and ratio", KERNELS.map(|name| format!("{name:>18}")).concat());
    let mut slow = Vec::new();
    for (name, _, least) in &programs {
        let mut line = format!("{name:<26}");
        for ((kernel, time), plain) in KERNELS.iter().zip(least).zip(plain) {
            let ratio = time / plain;
            line += &format!("{:>11.1}{ratio:>7.2}", time * 1e6);
            if ratio > LIMIT {
                slow.push(format!("{name}: {kernel} {ratio:.2}"));
            }
        }
        println!("{line}");
    }
    ensure!(slow.is_empty(), "slower than {LIMIT} times cargo's release: {}", slow.join(", "));
    Ok(())
}

/// A program that answers with times.
enum Started {
    Embedded { child: Child, ask: ChildStdin, answers: BufReader<ChildStdout> },
    Program(PathBuf),
}

impl Started {
    fn new(name: &str, build: Build) -> Result<Started> {
        let program = build.build(name)?;
        let Build::Embedded(..) = build else { return Ok(Started::Program(program)) };
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let ask = child.stdin.take().context("a pipe to the program")?;
        let answers = BufReader::new(child.stdout.take().context("a pipe from the program")?);
        Ok(Started::Embedded { child, ask, answers })
    }

    /// The least time of each kernel, in seconds.
    fn times(&mut self) -> Result<[f64; KERNELS.len()]> {
        let mut times = [0.0; KERNELS.len()];
        match self {
            Started::Embedded { ask, answers, .. } => {
                writeln!(ask)?;
                let mut line = String::new();
                answers.read_line(&mut line)?;
                let words: Vec<&str> = line.split_whitespace().collect();
                ensure!(words.len() == times.len(), "the program answered `{line}`");
                for (time, word) in times.iter_mut().zip(words) {
                    *time = word.parse()?;
                }
            }
            Started::Program(program) => {
                for (time, kernel) in times.iter_mut().zip(KERNELS) {
                    *time = bench(program, kernel)?;
                }
            }
        }
        Ok(times)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Started::Embedded { child, .. } = self {
            // It may have ended by itself.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// The least time of `onnxtxt bench`, in seconds.
fn bench(program: &Path, kernel: &str) -> Result<f64> {
    let model = dirs::root().join(format!("benches/embedded/models/{kernel}.onnxtxt"));
    let mut command = Command::new(program);
    command.arg("bench").arg(model).args(["--threads", "1", "--runs", "60", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&process::output(&mut command)?)?;
    answer["min_seconds"].as_f64().with_context(|| format!("no least time in {answer}"))
}

impl Build {
    /// Builds the program, each build in a folder of its own, and returns its path.
    fn build(self, name: &str) -> Result<PathBuf> {
        let folder: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let target = dirs::root().join("target/profiles").join(folder);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(dirs::root()).arg("build").arg("--target-dir").arg(&target);
        let (profile, file) = match self {
            Build::Embedded(settings, flags) => {
                cargo.args(["--release", "--manifest-path", "benches/embedded/Cargo.toml"]);
                for setting in settings {
                    cargo.arg("--config").arg(format!("profile.release.{setting}"));
                }
                cargo.env("RUSTFLAGS", flags);
                ("release", "embedded")
            }
            Build::Program(profile) => {
                cargo.args(["--package", "onnx-cli", "--profile", profile]);
                (profile, "onnxtxt")
            }
        };
        process::run(&mut cargo)?;
        Ok(target.join(profile).join(format!("{file}{}", std::env::consts::EXE_SUFFIX)))
    }
}
