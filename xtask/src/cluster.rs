//! `cargo xtask cluster`: the helpers of the Python package for Ray and Spark, tested with real ones on this machine.
//!
//! The environment has Ray and PySpark (a download of a gigabyte), so CI does not run this. Java is installed by the package manager of Debian and
//! Ubuntu, if there is none. `tests/cluster` has the tests; with `--tables` or `--starts`, tables of `docs/cluster.md` are measured
//! instead: jobs in the engines, and how a process starts with packed weights that were kept.

use crate::python;
use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the tests whose names match this expression of pytest (`-k`)
    #[arg(long, value_name = "EXPRESSION")]
    only: Option<String>,
    /// Measure the tables of docs/cluster.md, and write them there
    #[arg(long, conflicts_with = "only")]
    tables: bool,
    /// Measure the table of starts, and write it there
    #[arg(long, conflicts_with_all = ["only", "tables"])]
    starts: bool,
    /// The program whose starts are measured, instead of building it
    #[arg(long, value_name = "PROGRAM", requires = "starts")]
    program: Option<PathBuf>,
    /// A Python with the engines, instead of the environment of this project
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
    /// A folder with the package, built before, instead of building it
    #[arg(long, value_name = "DIR")]
    module: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.starts {
        return starts(args);
    }
    ensure_java()?;
    let interpreter = match &args.python {
        Some(python) => python.clone(),
        None => venv::ensure(Env::Cluster)?,
    };
    let module = match &args.module {
        // Workers run in other folders.
        Some(module) => std::path::absolute(module)?,
        None => {
            python::run(&python::Args { no_test: true, users: false, only: None, dev: false })?;
            dirs::root().join("target/python/module")
        }
    };
    let mut command = Command::new(interpreter);
    command.current_dir(dirs::root()).env("PYTHONPATH", module);
    if args.tables {
        command.args(["tests/cluster/tables.py", "--write"]);
    } else {
        command.args([
            "-m",
            "pytest",
            "--quiet",
            "-c",
            "python/pyproject.toml",
            "python/tests/test_arrow.py",
            "tests/cluster",
        ]);
        if let Some(only) = &args.only {
            command.args(["-k", only]);
        }
    }
    process::run(&mut command)
}

/// Measures how processes start. Neither engines nor Java are needed for it.
fn starts(args: &Args) -> Result<()> {
    let python = match &args.python {
        Some(python) => python.clone(),
        None => venv::ensure(Env::Reference)?,
    };
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            let build = ["build", "--locked", "--profile", "dist", "--package", "onnx-cli"];
            process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(build))?;
            dirs::root().join("target/dist/onnxtxt")
        }
    };
    let mut command = Command::new(python);
    command.current_dir(dirs::root()).arg("tests/cluster/starts.py").arg(program).arg("--write");
    process::run(&mut command)
}

/// Installs Java, which Spark runs on, if there is none.
fn ensure_java() -> Result<()> {
    if std::env::var_os("JAVA_HOME").is_some() || process::works(Command::new("java").arg("-version")) {
        return Ok(());
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "openjdk-17-jre-headless"]);
    process::run(&mut install).context("Spark needs Java 17 or newer: install it, or set JAVA_HOME")
}
