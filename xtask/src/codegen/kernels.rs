//! From the installed `onnxruntime` package to the table of what it runs.

use super::Output;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

const PATH: &str = "crates/onnx-ops/targets/ort.txt";
/// How the script ends where the package is not installed.
const NOT_INSTALLED: i32 = 3;

/// The table; `None` without the package.
pub(super) fn output(root: &Path, python: &Path) -> Result<Option<Output>> {
    let done = Command::new(python).arg(root.join("xtask/py/dump_kernels.py")).output()?;
    if done.status.code() == Some(NOT_INSTALLED) {
        return Ok(None);
    }
    ensure!(done.status.success(), "dump_kernels.py: {}", String::from_utf8_lossy(&done.stderr));
    let content = String::from_utf8(done.stdout).context("the table is text")?;
    Ok(Some(Output { path: PATH, content, source: "the onnxruntime package" }))
}
