//! Node: packages of lock files, installed below `target/editors`, and scripts that use them.

use super::{NotHere, folder, is_on_path};
use crate::{dirs, doctor, process};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A copy of the lock file that a folder was installed from.
const STAMP: &str = ".installed-from";

/// The package manager, in a folder.
pub(super) fn npm(folder: &Path) -> Result<Command> {
    for program in ["node", "npm"] {
        if !is_on_path(program) {
            return Err(NotHere(doctor::hint("Node")).into());
        }
    }
    let mut command = Command::new("npm");
    command.current_dir(folder);
    Ok(command)
}

/// A script with the packages of `tests/editors`.
pub(super) fn script(script: &Path) -> Result<Command> {
    let packages = folder().join("node");
    fs::create_dir_all(&packages)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(dirs::root().join("tests/editors").join(file), packages.join(file)).context(file)?;
    }
    install(&packages)?;
    let mut command = Command::new("node");
    command.arg(script).env("NODE_PATH", packages.join("node_modules"));
    Ok(command)
}

/// Installs what the lock file of a folder names, if that has changed. Packages run no scripts of theirs.
pub(super) fn install(folder: &Path) -> Result<()> {
    let wanted = fs::read_to_string(folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules").join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(());
    }
    process::run(npm(folder)?.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// Installs what a package that was installed needs besides, as its own script would: what its lock file names, without what is optional.
pub(super) fn install_own(package: &Path) -> Result<()> {
    let wanted = fs::read_to_string(package.join("npm-shrinkwrap.json"))?;
    let stamp = package.join("node_modules").join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(());
    }
    let omitted = ["--omit=dev", "--omit=optional", "--no-audit", "--no-fund"];
    process::run(npm(package)?.args(["install", "--ignore-scripts"]).args(omitted))?;
    fs::write(stamp, wanted)?;
    Ok(())
}

/// Copies the files of a folder that are not there or differ.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
