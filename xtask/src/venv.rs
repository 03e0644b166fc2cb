//! `cargo xtask venv`: Python environments with pinned packages, under `target/`.
//!
//! The reference environment is what differential tests need. Two others build parts of the corpus and are made when `cargo xtask
//! corpus` first wants them, one has the runtimes of `cargo xtask bench models`. Each keeps a stamp with the requirements that it was made from, so a
//! second call costs nothing.

use crate::{dirs, doctor, process};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Env {
    /// The `onnx` package and ONNX Runtime
    Reference,
    /// Packages that drive a browser
    Browser,
    /// Readers of Markdown and HTML, and a renderer of SVG
    Docs,
    /// Editors, and a terminal to drive them in
    Editors,
    /// Classical-ML exporters on top
    Sklearn,
    /// Runtimes to be timed beside
    Peers,
    /// torch, without the GPU libraries that it is linked to
    Torch,
    /// The builder of wheels
    Wheel,
    /// The builder of programs in C++
    Cmake,
    /// Engines of clusters
    Cluster,
    /// JAX on the processor
    Jax,
}

impl Env {
    fn folder(self) -> &'static str {
        match self {
            Self::Reference => "target/venv",
            Self::Browser => "target/venv-browser",
            Self::Docs => "target/venv-docs",
            Self::Editors => "target/venv-editors",
            Self::Sklearn => "target/venv-sklearn",
            Self::Peers => "target/venv-peers",
            Self::Torch => "target/venv-torch",
            Self::Wheel => "target/venv-wheel",
            Self::Cmake => "target/venv-cmake",
            Self::Cluster => "target/venv-cluster",
            Self::Jax => "target/venv-jax",
        }
    }

    /// The requirement files that are installed, in order, with pip's extra flags.
    fn requirements(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::Reference => &[("reference.txt", &[])],
            Self::Browser => &[("browser.txt", &[])],
            Self::Docs => &[("docs.txt", &[])],
            Self::Editors => &[("editors.txt", &[])],
            Self::Sklearn => &[("sklearn.txt", &[])],
            Self::Peers => &[("peers.txt", &[])],
            Self::Torch => &[("torch-nodeps.txt", &["--no-deps"]), ("torch.txt", &[])],
            Self::Wheel => &[("wheel.txt", &[])],
            Self::Cmake => &[("cmake.txt", &[])],
            Self::Cluster => &[("cluster.txt", &[])],
            Self::Jax => &[("jax.txt", &[])],
        }
    }
}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{}", ensure(Env::Reference)?.display());
    Ok(())
}

/// The environment's interpreter; makes or updates the environment if its stamp is not current.
pub(crate) fn ensure(env: Env) -> Result<PathBuf> {
    let folder = dirs::root().join(env.folder());
    let python = interpreter(&folder);
    let stamp = folder.join(".stamp");
    let wanted = wanted(env)?;
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    if !python.exists() {
        process::run(Command::new(system_python()?).args(["-m", "venv"]).arg(&folder))
            .with_context(|| format!("cannot make a Python environment: {}", doctor::hint("python3")))?;
    }
    for (file, flags) in env.requirements() {
        process::run(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(*flags)
                .arg("--requirement")
                .arg(requirement_file(file)),
        )?;
    }
    if env == Env::Torch {
        process::run(Command::new(&python).arg(dirs::corpus_script("torch_stubs.py")).arg(&folder))
            .context("the stand-ins for torch's GPU libraries need Linux on x86-64, gcc and readelf")?;
        process::run(Command::new(&python).args(["-c", "import torch, torchvision"]))?;
    }
    if env == Env::Reference {
        let script = dirs::root().join("xtask/py/fetch_tests.py");
        let fetch =
            process::run(Command::new(&python).arg(script).arg(dirs::root().join("target/onnx-source")));
        if let Err(error) = fetch {
            eprintln!("*** TESTS MISSING: those of the onnx package cannot be fetched: {error:#}");
        }
    }
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The environment's interpreter, if there is one, whatever state it is in.
pub(crate) fn existing(env: Env) -> Option<PathBuf> {
    Some(interpreter(&dirs::root().join(env.folder()))).filter(|python| python.exists())
}

/// The stamp's content: every requirement that goes in (`-r` lines pull in the reference's).
fn wanted(env: Env) -> Result<String> {
    let mut text = fs::read_to_string(requirement_file("reference.txt"))?;
    for (file, flags) in env.requirements() {
        text += &flags.join(" ");
        text += &fs::read_to_string(requirement_file(file))?;
    }
    Ok(text)
}

fn requirement_file(name: &str) -> PathBuf {
    dirs::root().join("xtask/requirements").join(name)
}

fn interpreter(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// `$PYTHON`, or the first Python 3 on the path.
fn system_python() -> Result<String> {
    if let Ok(python) = std::env::var("PYTHON") {
        return Ok(python);
    }
    for name in ["python3", "python"] {
        let is_3 = "import sys; sys.exit(sys.version_info < (3, 10))";
        if process::works(Command::new(name).args(["-c", is_3])) {
            return Ok(name.to_owned());
        }
    }
    bail!("no Python 3.10 or newer on the path; {}", doctor::hint("python3"))
}
