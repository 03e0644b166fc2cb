//! `cargo xtask bench`: builds the program and `benches/` for release, and runs the latter beside the Python package, or whole
//! models beside other runtimes.
//!
//! Beside the package it makes no environment: without one, our figures are printed alone, and that is said. The runtimes that models
//! are timed beside are installed and built; one that cannot be is said, and named in the table.

mod profiles;
mod rebuilds;

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Cases: those whose name has one of these; without any, all
    names: Vec<String>,
    /// Pairs of runs of each case, or turns of each model; slow ones make do with three
    #[arg(long, global = true, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// One JSON object a line, with the times of each run in seconds
    #[arg(long, global = true)]
    json: bool,
    /// Name the cases and do nothing
    #[arg(long)]
    list: bool,
    /// The profile that our side is built with
    #[arg(long, global = true, default_value = "dist")]
    profile: String,
}

#[derive(clap::Subcommand)]
enum What {
    /// Measure whole models and single operators beside ONNX Runtime, OpenVINO, tract and rten, by turns
    Models {
        #[command(flatten)]
        models: ModelArgs,
        /// Take what this build has measured before, and measure only the rest
        #[arg(long)]
        reuse: bool,
        /// Write docs/performance.md and its picture
        #[arg(long)]
        write: bool,
    },
    /// Name the kernels that are slower fused than their nodes are one by one
    Fusion {
        #[command(flatten)]
        models: ModelArgs,
    },
    /// Sum up the time that kernels lose to the peaks of the processor, by class, on models that a seed draws
    Roofline {
        /// Options of the census, and names or files of models: `-- --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        census: Vec<std::ffi::OsString>,
    },
    /// Measure the Python package beside onnxruntime and onnx, in one process: cases whose name has one of these words; without any, all
    Python { names: Vec<String> },
    /// Measure how long an editor waits for the language server: numbers of nodes, or `weights`; without any, all
    Lsp {
        names: Vec<String>,
        /// Write the table of docs/editors.md
        #[arg(long, conflicts_with = "names")]
        write: bool,
    },
    /// Compare builds with different profiles: those whose name has one of these words; without any, all. Takes an hour of compiling
    Profiles { names: Vec<String> },
    /// Measure how long cargo compiles after a change of a kernel, an operator, a command or a message: those whose name has one of
    /// these words; without any, all
    Rebuilds { names: Vec<String> },
}

#[derive(clap::Args)]
struct ModelArgs {
    /// Models: those whose name has one of these; without any, those of the set
    names: Vec<String>,
    /// How many threads, one after the other
    #[arg(long, default_value = "1,2")]
    threads: String,
    /// A few models of each kind, patterns of a few operators, all, or none but those that are drawn
    #[arg(long, default_value = "small", value_parser = ["small", "patterns", "all", "none"])]
    set: String,
    /// Number of networks that a seed draws, as for the census of `roofline`
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    drawn: usize,
    /// The seed of the networks that are drawn; without it, a new one
    #[arg(long, requires = "drawn")]
    seed: Option<u64>,
    /// Hold this file locked while a model is timed, so that several that measure on one machine wait for one another
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,
}

impl ModelArgs {
    /// The arguments of the benchmark program.
    fn arguments(&self) -> Vec<std::ffi::OsString> {
        let mut words = vec!["--threads".into(), (&self.threads).into(), "--set".into(), (&self.set).into()];
        words.extend(["--drawn".into(), self.drawn.to_string().into()]);
        if let Some(seed) = self.seed {
            words.extend(["--seed".into(), seed.to_string().into()]);
        }
        if let Some(lock) = &self.lock {
            words.extend(["--lock".into(), lock.into()]);
        }
        words.extend(self.names.iter().map(Into::into));
        words
    }
}

/// The comments around the table of docs/editors.md.
const LATENCY: (&str, &str) = ("<!-- cargo xtask bench lsp --write -->", "<!-- end of the table -->");

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.what {
        None => {
            let mut bench = bench(args)?;
            if let Some(python) = venv::existing(Env::Reference) {
                bench.arg("--python").arg(python);
            }
            process::run(bench.args(&args.names))
        }
        Some(What::Fusion { models }) => {
            let mut bench = bench(args)?;
            process::run(bench.arg("--python").arg(runtimes()?).arg("fusion").args(models.arguments()))
        }
        Some(What::Roofline { census }) => {
            let mut bench = bench(args)?;
            if census.iter().any(|word| word == "--all") {
                bench.arg("--python").arg(runtimes()?);
            }
            process::run(bench.arg("roofline").args(census))
        }
        Some(What::Models { models, reuse, write }) => {
            ensure!(
                !write || args.profile == "dist",
                "docs/performance.md has the times of the program as it is installed: write it with the profile dist"
            );
            let mut bench = bench(args)?;
            bench.arg("--python").arg(runtimes()?);
            match peers() {
                Ok(folder) => bench.arg("--peers").arg(folder),
                Err(error) => {
                    eprintln!("*** PEERS MISSING: those of benches/peers cannot be built: {error:#}");
                    &mut bench
                }
            };
            bench.arg("models").args(models.arguments()).args(reuse.then_some("--reuse"));
            if *write {
                bench.arg("--write").arg(dirs::root().join("docs"));
            }
            process::run(&mut bench)
        }
        Some(What::Python { names }) => python(names, args),
        Some(What::Lsp { names, write }) => lsp(names, *write, args),
        Some(What::Profiles { names }) => profiles::run(names, args.runs),
        Some(What::Rebuilds { names }) => rebuilds::run(names),
    }
}

/// Measures the latencies of the language server, and writes their table into its page.
fn lsp(names: &[String], write: bool, args: &Args) -> Result<()> {
    build(&args.profile, &["--package", "onnxtxt-lsp", "--bins", "--example", "latency"])?;
    let mut latency = Command::new(built("examples/latency", &args.profile)?);
    latency.current_dir(dirs::root()).args(names);
    if !write {
        return process::run(&mut latency);
    }
    let table = process::output(latency.arg("--markdown"))?;
    let page = dirs::root().join("docs/editors.md");
    let text = std::fs::read_to_string(&page)?;
    let (before, rest) = text.split_once(LATENCY.0).context("docs/editors.md has no place for the table")?;
    let (_, after) = rest.split_once(LATENCY.1).context("the table of docs/editors.md has no end")?;
    let text = format!("{before}{}\n{table}\n{}{after}", LATENCY.0, LATENCY.1);
    Ok(std::fs::write(page, text)?)
}

/// Builds the extension module and measures the package with it.
fn python(names: &[String], args: &Args) -> Result<()> {
    let module = crate::python::build(&args.profile)?;
    let mut bench = Command::new(venv::ensure(Env::Reference)?);
    bench.current_dir(dirs::root()).env("PYTHONPATH", module);
    bench.arg("benches/python.py").arg("--runs").arg(args.runs.to_string());
    process::run(bench.args(args.json.then_some("--json")).args(names))
}

/// Builds the program, `benches/`, and these targets, in one build: built apart, dependencies would have other features.
fn build(profile: &str, targets: &[&str]) -> Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(dirs::root()).args([
        "build",
        "--profile",
        profile,
        "--package",
        "onnx-cli",
        "--package",
        "bench",
    ]);
    process::run(cargo.args(targets))
}

/// Builds the program and `benches/`, and returns the latter with its options.
fn bench(args: &Args) -> Result<Command> {
    build(&args.profile, &[])?;
    let mut bench = Command::new(built("bench", &args.profile)?);
    // glibc then keeps memory that is freed. Otherwise a run takes new pages or old ones as it happens, and the peer's
    // decoder, for one, four times as long or not.
    bench.env("MALLOC_MMAP_MAX_", "0").env("MALLOC_TRIM_THRESHOLD_", (1_u64 << 40).to_string());
    bench.arg("--corpus").arg(dirs::corpus()).arg("--folder").arg(dirs::root().join("target/bench"));
    bench.arg("--runs").arg(args.runs.to_string());
    for (is_set, flag) in [(args.json, "--json"), (args.list, "--list")] {
        bench.args(is_set.then_some(flag));
    }
    Ok(bench)
}

/// The Python environment with the runtimes; where it cannot be made, that of the tests, which has some of them.
fn runtimes() -> Result<PathBuf> {
    venv::ensure(Env::Peers).or_else(|error| {
        eprintln!("*** PEERS MISSING: those in Python cannot be installed: {error:#}");
        venv::ensure(Env::Reference)
    })
}

/// Builds the programs of `benches/peers` for this processor, as their users would, and returns their folder.
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

/// A program of the build with a profile, whose folder lies beside that of the build that this program comes from.
pub(crate) fn built(name: &str, profile: &str) -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let target = this.ancestors().nth(2).context("this program lies in a folder of the build")?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
