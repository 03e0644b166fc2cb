//! Runs a model in ONNX Runtime, by way of Python.

use crate::feed::npy;
use crate::results::{self, Results};
use anyhow::{Context as _, ensure};
use onnx_ir::Model;
use std::collections::HashSet;
use std::process::{Command, Stdio};

/// Its arguments are the model, the inputs, the names of the requested results, and the output file.
const SCRIPT: &str = include_str!("ort.py");

/// The results of the main graph, or only those of these names, as far as they are arrays, and the name of the runtime.
pub(in crate::cmd) fn run(
    model: &Model,
    inputs: &Results,
    names: Option<&HashSet<&str>>,
) -> anyhow::Result<(Results, String)> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let place = |name: &str| folder.path().join(name);
    let encoded =
        onnx_proto::write(model).context("the model is too large for ONNX Runtime with its weights in it")?;
    std::fs::write(place("model.onnx"), encoded).context("cannot write the model for ONNX Runtime")?;
    results::to_archive(&place("inputs.npz"), inputs, false)?;
    let names = serde_json::to_vec(&names).context("the names of results cannot be written")?;
    std::fs::write(place("names.json"), names).context("cannot write the names for ONNX Runtime")?;
    let python = std::env::var_os("ONNXTXT_PYTHON").unwrap_or_else(|| "python3".into());
    let done = Command::new(&python)
        .args(["-c", SCRIPT])
        .args(["model.onnx", "inputs.npz", "names.json", "results.npz"].map(place))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    ensure!(done.status.success(), "ONNX Runtime cannot run the model: {last}");
    let bytes = std::fs::read(place("results.npz")).context("ONNX Runtime returned no results")?;
    let arrays = npy::read_all(&bytes, |_| None).context("the results of ONNX Runtime cannot be read")?;
    let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    let results = arrays.into_iter().map(|(name, tensor)| (name, tensor.into())).collect();
    Ok((results, format!("ONNX Runtime {version}")))
}
