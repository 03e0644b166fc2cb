//! `cargo xtask wheel`: the wheel of the Python package, with the program in it, built by maturin with the profile `dist` into `dist/`.
//!
//! With `--test`, it is installed into an environment that has nothing but NumPy, and tried there: its size, the time of the import, the
//! script, and the walkthrough of a new user.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Larger wheels are refused: what a download may cost.
const MAX_BYTES: u64 = 12 << 20;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install the wheel into a clean environment, and try it
    #[arg(long)]
    test: bool,
    /// Try this wheel, which was built elsewhere
    #[arg(long, value_name = "FILE", conflicts_with_all = ["test", "profile"])]
    built: Option<PathBuf>,
    /// The profile of the build
    #[arg(long, value_name = "NAME", default_value = "dist")]
    profile: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let python = venv::ensure(Env::Wheel)?;
    if let Some(wheel) = &args.built {
        return try_out(&python, wheel);
    }
    let out = dirs::root().join("dist");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    for old in wheels(&out)? {
        fs::remove_file(old)?;
    }
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--locked", "--compression-level", "9"]);
    maturin.args(["--profile", &args.profile, "--out"]).arg(&out);
    maturin.arg("--manifest-path").arg(dirs::root().join("python/Cargo.toml"));
    if cfg!(target_os = "linux") {
        // The tag of the wheel promises an old C library, which zig links against on machines with a newer one.
        maturin.arg("--zig").env("PATH", with_folder_of(&python)?);
    }
    maturin.env("CARGO_TARGET_DIR", dirs::root().join("target/python"));
    process::run(&mut maturin)?;
    let wheels = wheels(&out)?;
    let [wheel] = &wheels[..] else { bail!("{} wheels in {}, expected one", wheels.len(), out.display()) };
    let size = fs::metadata(wheel)?.len();
    println!("{}: {} KiB", wheel.display(), size >> 10);
    if args.profile == "dist" {
        ensure!(size <= MAX_BYTES, "the wheel has {size} bytes, more than {MAX_BYTES}");
    }
    if args.test { try_out(&python, wheel) } else { Ok(()) }
}

/// The search path of programs, with those that are installed beside this one first.
fn with_folder_of(program: &Path) -> Result<OsString> {
    let folder = program.parent().context("a program lies in a folder")?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths([dirs::root().join(folder)].into_iter().chain(std::env::split_paths(&paths)))?)
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect())
}

/// Installs a wheel into a clean environment, and uses it there.
fn try_out(python: &Path, wheel: &Path) -> Result<()> {
    let folder = dirs::root().join("target/venv-clean");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    process::run(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let clean = bin.join(if cfg!(windows) { "python.exe" } else { "python" });
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    process::run(Command::new(&clean).args(pip).arg(wheel))?;
    let program = bin.join(if cfg!(windows) { "onnxtxt.exe" } else { "onnxtxt" });
    let example = dirs::root().join("examples/softmax.onnxtxt");
    process::run(Command::new(&program).arg("check").arg(&example))?;
    process::run(Command::new(&clean).args(["-m", "onnxtxt", "check"]).arg(&example))?;
    as_hooks_do(python, wheel, &example)?;
    let import = "import numpy, time; start = time.perf_counter(); import onnxtxt; \
                  print(f'import: {(time.perf_counter() - start) * 1e3:.1f} ms')";
    process::run(Command::new(&clean).args(["-c", import]).current_dir(&folder))?;
    // The walkthrough needs them beside the package.
    process::run(Command::new(&clean).args(pip).args(["joblib", "pytest"]))?;
    let tests = dirs::root().join("python/tests");
    let mut walk = Command::new(&clean);
    walk.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(tests.join("test_walkthrough.py"));
    process::run(walk.current_dir(&folder))
}

/// Installs the wheel as the GitHub Action and pre-commit do, and runs the program. On Windows, the Action has other folders.
fn as_hooks_do(python: &Path, wheel: &Path, example: &Path) -> Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    let folder = dirs::root().join("target/wheel-hooks");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut install = Command::new("bash");
    install.arg(dirs::root().join(".ci/install")).env("WHEEL", wheel).env("RUNNER_TEMP", &folder);
    let program = process::output(&mut install)?;
    process::run(Command::new(program).arg("check").arg(example))?;
    // pre-commit installs the root of the repository; what is built there would be left in it.
    let (root, hooks) = (folder.join("root"), folder.join("hooks"));
    fs::create_dir_all(&root)?;
    fs::copy(dirs::root().join("pyproject.toml"), root.join("pyproject.toml"))?;
    process::run(Command::new(python).args(["-m", "venv"]).arg(&hooks))?;
    let mut pip = Command::new(hooks.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links"]);
    process::run(pip.arg(dirs::root().join("dist")).arg(&root))?;
    process::run(Command::new(hooks.join("bin/onnxtxt")).arg("fmt").arg("--check").arg(example))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new version of the workspace is a new version of each.
    #[test]
    fn the_version_is_the_same_everywhere() {
        let version = env!("CARGO_PKG_VERSION");
        for (file, line) in [
            ("pyproject.toml", format!("version = \"{version}\"")),
            ("pyproject.toml", format!("dependencies = [\"onnxtxt=={version}\"]")),
            ("python/pyproject.toml", format!("version = \"{version}\"")),
            ("CITATION.cff", format!("version: {version}")),
        ] {
            let text = fs::read_to_string(dirs::root().join(file)).unwrap();
            assert!(text.lines().any(|have| have == line), "{file} does not have {line}");
        }
    }

    /// Neither the Action nor the hooks compile.
    #[test]
    fn the_action_and_the_hooks_install_the_wheel() {
        let read = |file: &str| fs::read_to_string(dirs::root().join(file)).unwrap();
        for file in ["action.yml", ".pre-commit-hooks.yaml", ".ci/install"] {
            assert!(!read(file).contains("cargo"), "{file}");
        }
        assert!(read("action.yml").contains(".ci/install") && read(".ci/install").contains("--only-binary"));
        assert!(read(".pre-commit-hooks.yaml").contains("language: python"));
    }
}
