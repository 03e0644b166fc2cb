//! `cargo xtask torch`: gradients, optimizers and the speed of training, compared with torch.
//!
//! The environment has torch without the libraries of GPUs (a download of some hundred megabytes), so CI does not run this.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only operators and networks whose names have this
    #[arg(value_name = "NAME", default_value = "")]
    only: String,
    /// Compare time and memory of training steps instead; compiles the program with optimizations
    #[arg(long)]
    speed: bool,
    /// A Python with torch, instead of the environment of this project
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
    /// The program `onnxtxt` for --speed, instead of one that is compiled first
    #[arg(long, value_name = "FILE", requires = "speed")]
    program: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let python = match &args.python {
        Some(python) => python.clone(),
        None => venv::ensure(Env::Torch)?,
    };
    if !args.speed {
        return process::run(
            Command::new(env!("CARGO"))
                .args(["test", "-p", "conformance", "--test", "rewrites", "torch", "--", "--nocapture"])
                .env("ONNXTXT_TORCH", python)
                .env("ONNXTXT_TORCH_OF", &args.only),
        );
    }
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            process::run(Command::new(env!("CARGO")).args(["build", "--release", "-p", "onnx-cli"]))?;
            dirs::root().join("target/release").join(format!("onnxtxt{}", std::env::consts::EXE_SUFFIX))
        }
    };
    let script = dirs::root().join("tests/python/torch_speed.py");
    let names = (!args.only.is_empty()).then_some(&args.only);
    process::run(Command::new(python).arg(script).arg(program).args(names))
}
