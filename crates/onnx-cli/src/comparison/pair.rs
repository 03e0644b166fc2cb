//! The two models that `verify` and `compare` compare.

use anyhow::bail;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct PairArgs {
    /// The model
    #[arg(value_name = "A")]
    pub(crate) one: PathBuf,
    /// Another model with inputs of the same names, or `ort`: the same model in ONNX Runtime
    #[arg(value_name = "B|ort", required_unless_present = "with", conflicts_with = "with")]
    other: Option<PathBuf>,
    /// Another way to give B
    #[arg(long, value_name = "B|ort")]
    with: Option<PathBuf>,
}

/// The model to compare with.
pub(crate) enum Other<'a> {
    Model(&'a Path),
    OnnxRuntime,
}

impl PairArgs {
    pub(crate) fn other(&self) -> anyhow::Result<Other<'_>> {
        match self.other.as_deref().or(self.with.as_deref()) {
            Some(other) if other == Path::new("ort") => Ok(Other::OnnxRuntime),
            Some(path) => Ok(Other::Model(path)),
            None => bail!("no model to compare with: add B or `--with B`"),
        }
    }
}
