//! `cargo xtask python`: builds the extension module of the Python package `onnxtxt`, and tests the package beside the reference
//! implementation.
//!
//! `target/python/module` has the package, for `PYTHONPATH`. `pip install ./python` builds and installs it for other environments.
//! With `--dev`, the module is compiled as tests are: then it shares the packages that the tests have compiled, and only its own crate
//! is left.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only build it
    #[arg(long)]
    pub(crate) no_test: bool,
    /// Run programs of users of torch, transformers, JAX and scikit-learn instead, in environments with these packages (a download of some
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
    let module = build(if args.dev { "dev" } else { "release" })?;
    if args.no_test {
        return Ok(());
    }
    if args.users {
        for (env, name) in [
            (Env::Sklearn, "test_sklearn.py"),
            (Env::Jax, "test_jax.py"),
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

/// Changes of these may change the behaviour of the package; that of the crates below is tested beside them.
pub(crate) const PARTS: &[&str] = &[
    "python",
    "docs/python.md",
    "crates/onnx-cli/src",
    "crates/onnx-exec/src",
    "crates/onnxtxt/src",
    "xtask/src/python.rs",
];

/// Builds the package with a profile, and returns the folder of it for `PYTHONPATH`.
pub(crate) fn build(profile: &str) -> Result<PathBuf> {
    let (root, own) = (dirs::root(), dirs::root().join("target/python"));
    let mut build = Command::new(env!("CARGO"));
    build.current_dir(&root).args(["build", "--locked", "--lib", "--profile", profile]);
    let built_in = if profile == "dev" {
        // Packages have the features that all others together ask for, those of tests too: so all are selected, and the smallest test.
        build.args(["--workspace", "--test", "gradient_list"]);
        root.join("target/debug")
    } else {
        build.args(["--package", "onnxtxt-python", "--target-dir"]).arg(&own);
        own.join(profile)
    };
    process::run(&mut build)?;
    let (built, name) = if cfg!(windows) {
        ("onnxtxt_python.dll", "_native.pyd")
    } else if cfg!(target_os = "macos") {
        ("libonnxtxt_python.dylib", "_native.abi3.so")
    } else {
        ("libonnxtxt_python.so", "_native.abi3.so")
    };
    let module = own.join("module");
    let package = module.join("onnxtxt");
    copy_package(&root.join("python/onnxtxt"), &package)
        .and_then(|()| {
            // The old one may be loaded by a program: it is replaced, not overwritten.
            let new = package.join(format!("{name}.new"));
            fs::copy(built_in.join(built), &new)?;
            fs::rename(&new, package.join(name))
        })
        .with_context(|| format!("cannot write {}", package.display()))?;
    println!("{}", module.display());
    Ok(module)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that has moved would never change.
    #[test]
    fn the_parts_of_the_package_exist() {
        for part in PARTS {
            assert!(dirs::root().join(part).exists(), "{part}");
        }
    }
}
