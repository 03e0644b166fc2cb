//! Runs a model in ONNX Runtime, by way of Python.

use crate::npy;
use crate::output::results::{self, Results};
use crate::programs::scratch::Scratch;
use anyhow::{Context as _, ensure};
use onnx_ir::Model;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Its arguments are the model, the inputs, the names of the requested results, and the output file.
const SCRIPT: &str = include_str!("onnx_runtime.py");

/// The file that the script writes.
const RESULTS: &str = "results.npz";

/// The interpreter. A path is relative to the folder of the user, not to that where the interpreter runs.
fn python() -> anyhow::Result<PathBuf> {
    let named = std::env::var_os("ONNXTXT_PYTHON").unwrap_or_else(|| "python3".into());
    let path = PathBuf::from(named);
    if path.components().count() == 1 {
        return Ok(path);
    }
    std::path::absolute(&path).with_context(|| format!("cannot run {}", path.display()))
}

/// The results of the main graph, or only those of these names, as far as they are arrays, and the name of the runtime.
pub(crate) fn run(
    model: &Model,
    inputs: &Results,
    names: Option<&HashSet<&str>>,
) -> anyhow::Result<(Results, String)> {
    let scratch = Scratch::new()?;
    let encoded =
        onnx_proto::write(model).context("the model is too large for ONNX Runtime with its weights in it")?;
    scratch.write("model.onnx", &encoded)?;
    results::to_archive(&scratch.path().join("inputs.npz"), inputs, false)?;
    let names = serde_json::to_vec(&names).context("the names of results cannot be written")?;
    scratch.write("names.json", &names)?;
    let python = python()?;
    // Isolated, and in a folder with these files alone: modules in the folder of a model are not imported.
    let done = Command::new(&python)
        .args(["-I", "-c", SCRIPT, "model.onnx", "inputs.npz", "names.json", RESULTS])
        .current_dir(scratch.path())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    ensure!(
        !last.starts_with("ModuleNotFoundError"),
        "{} (run in isolated mode) cannot import ONNX Runtime: {last}",
        python.display()
    );
    ensure!(done.status.success(), "ONNX Runtime cannot run the model: {last}");
    let bytes = std::fs::read(scratch.path().join(RESULTS)).context("ONNX Runtime returned no results")?;
    let arrays = npy::read_all(&bytes, |_| npy::Wanted::As(None));
    let arrays = arrays.context("the results of ONNX Runtime cannot be read")?.read;
    let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    let results = arrays.into_iter().map(|(name, tensor)| (name, tensor.into())).collect();
    Ok((results, format!("ONNX Runtime {version}")))
}
