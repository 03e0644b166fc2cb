//! `cargo xtask python`: builds the extension module of the Python package `onnxtxt`, and tests the package beside the reference
//! implementation.
//!
//! `target/python/module` has the package, for `PYTHONPATH`. `pip install ./python` builds and installs it for other environments.
//! With `--dev`, the module is compiled as tests are, with the profile of the workspace: then it shares the other packages that
//! the tests have compiled.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only build it
    #[arg(long)]
    pub(crate) no_test: bool,
    /// Run programs of users of torch, transformers and scikit-learn instead, in environments with these packages (a download of some
    /// hundred megabytes)
    #[arg(long)]
    pub(crate) users: bool,
    /// Run only the tests whose names match this expression of pytest (`-k`)
    #[arg(long, value_name = "EXPRESSION")]
    pub(crate) only: Option<String>,
    /// Compile it as tests are compiled: slower to run, faster to compile where the tests have been
    #[arg(long)]
    pub(crate) dev: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (source, target) = (dirs::root().join("python"), dirs::root().join("target/python"));
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(&source).args(["build", "--locked"]);
    let built_in = if args.dev {
        // Of the file, cargo reads the profiles.
        build.arg("--config").arg(dirs::root().join("Cargo.toml"));
        let shared = dirs::root().join("target");
        build.arg("--target-dir").arg(&shared);
        shared.join("debug")
    } else {
        build.arg("--release").arg("--target-dir").arg(&target);
        target.join("release")
    };
    process::run(&mut build)?;
    let (built, name) = if cfg!(windows) {
        ("onnxtxt_python.dll", "_native.pyd")
    } else if cfg!(target_os = "macos") {
        ("libonnxtxt_python.dylib", "_native.abi3.so")
    } else {
        ("libonnxtxt_python.so", "_native.abi3.so")
    };
    let module = target.join("module");
    let package = module.join("onnxtxt");
    copy_package(&source.join("onnxtxt"), &package)
        .and_then(|()| {
            // The old one may be loaded by a program: it is replaced, not overwritten.
            let new = package.join(format!("{name}.new"));
            fs::copy(built_in.join(built), &new)?;
            fs::rename(&new, package.join(name))
        })
        .with_context(|| format!("cannot write {}", package.display()))?;
    println!("{}", module.display());
    if args.no_test {
        return Ok(());
    }
    if args.users {
        for (env, name) in [
            (Env::Sklearn, "test_sklearn.py"),
            (Env::Torch, "test_torch.py"),
            (Env::Torch, "test_transformers.py"),
        ] {
            match venv::ensure(env) {
                Ok(python) => test(&python, &format!("python/tests/users/{name}"), args, &module)?,
                Err(error) => eprintln!("*** USERS MISSING: {name} is not run: {error:#}"),
            }
        }
        return Ok(());
    }
    test(&venv::ensure(Env::Reference)?, "python/tests", args, &module)
}

/// Runs tests with the module.
fn test(python: &Path, tests_of: &str, args: &Args, module: &Path) -> Result<()> {
    let mut tests = Command::new(python);
    // From the root: beside the sources, `onnxtxt` would be the package without its extension module.
    tests.args(["-m", "pytest", "--quiet", "-c", "python/pyproject.toml", tests_of]);
    tests.current_dir(dirs::root()).env("PYTHONPATH", module);
    if let Some(only) = &args.only {
        tests.args(["-k", only]);
    }
    process::run(&mut tests)
}

/// Copies the files of the package, and removes those that are gone.
fn copy_package(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "__pycache__" {
            continue;
        }
        if path.is_dir() {
            copy_package(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
