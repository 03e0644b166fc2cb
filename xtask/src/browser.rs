//! `cargo xtask browser`: pages of `onnxtxt draw`, looked at in a headless browser.
//!
//! Models of 12, 170 and 5,000 nodes are drawn; a script clicks, searches, opens and closes groups in both themes, and looks for boxes
//! that overlap and texts that are cut or faint. Screenshots are in `target/browser/screenshots`. The browser is Chromium of the system
//! (on Debian: `apt-get install chromium`), or what `CHROMIUM` names.

use crate::venv::{self, Env};
use crate::{dirs, doctor, process};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program `onnxtxt`, instead of one that is compiled first
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
}

/// Names of the browser, in the order of preference.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// A drawing: a model, the name of the drawing, and options.
const DRAWINGS: &[(&str, &str, &[&str])] = &[
    ("small", "small.html", &[]),
    ("small", "small.svg", &[]),
    ("middle", "middle.html", &[]),
    ("middle", "middle.svg", &["--collapse", "none"]),
    ("middle", "near.svg", &["--around", "/layer2/layer2.0/conv2/Conv", "--depth", "3"]),
    ("large", "large.html", &[]),
    ("flat", "flat.html", &[]),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(browser) = find() else {
        bail!("{}, or set CHROMIUM", doctor::hint("Chromium"));
    };
    let python = venv::ensure(Env::Browser)?;
    let program = match &args.program {
        Some(program) => program.clone(),
        None => program()?,
    };
    let scripts = dirs::root().join("tests/browser");
    let folder = dirs::root().join("target/browser");
    process::run(Command::new(&python).arg(scripts.join("models.py")).arg(&folder))?;
    for (model, out, options) in DRAWINGS {
        let model = folder.join(format!("{model}.onnxtxt"));
        process::run(
            Command::new(&program).arg("draw").arg(model).arg("-o").arg(folder.join(out)).args(*options),
        )?;
    }
    changed(&program, &folder)?;
    process::run(
        Command::new(&python)
            .arg(scripts.join("pages.py"))
            .arg(browser)
            .arg(&folder)
            .arg(folder.join("screenshots")),
    )
}

/// The browser, if there is one.
pub(crate) fn find() -> Option<String> {
    let named = std::env::var("CHROMIUM").ok();
    let names = named.into_iter().chain(NAMES.iter().map(|name| (*name).to_owned()));
    let on_path = |name: String| {
        let found = process::output(Command::new("sh").args(["-c", "command -v \"$0\"", &name])).ok()?;
        (!found.is_empty()).then_some(found)
    };
    names.into_iter().find_map(on_path)
}

/// The program, compiled like the tests.
fn program() -> Result<PathBuf> {
    process::run(Command::new(env!("CARGO")).current_dir(dirs::root()).args(["build", "-p", "onnx-cli"]))?;
    let name = if cfg!(windows) { "onnxtxt.exe" } else { "onnxtxt" };
    Ok(dirs::root().join("target/debug").join(name))
}

/// Draws the differences between the small model and a changed one.
fn changed(program: &Path, folder: &Path) -> Result<()> {
    let old = folder.join("small.onnxtxt");
    let text = std::fs::read_to_string(&old)?;
    let new = folder.join("changed.onnxtxt");
    let text = text.replace("Sigmoid", "HardSigmoid").replace("axis = -1", "axis = 0");
    std::fs::write(&new, text.replace("\"a\" = Relu  (\"u\")", "\"c\" = Abs (\"u\") \"a\" = Relu  (\"c\")"))?;
    for out in ["diff.html", "diff.svg"] {
        let mut command = Command::new(program);
        command.arg("diff").arg("--stat").arg(&old).arg(&new).arg("--draw").arg(folder.join(out));
        // Models that differ are a finding.
        if command.status()?.code() != Some(1) {
            bail!("the changed model does not differ");
        }
    }
    Ok(())
}
