//! Tolerances on the command line and in files.

use crate::read_files::Unreadable;
use anyhow::Context as _;
use onnxtxt::compare::{TWO_STEPS_OF_BFLOAT16, Tolerance};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The allowed differences between the results of two models.
#[derive(clap::Args)]
pub(crate) struct ToleranceArgs {
    /// Allowed relative difference; default: 1e-3, and more for float16, bfloat16, float8 and quantized models
    #[arg(long, value_name = "X")]
    rtol: Option<f64>,
    /// Allowed absolute difference; default: 1e-5, and more for float16, bfloat16 and quantized models
    #[arg(long, value_name = "X")]
    atol: Option<f64>,
    /// Share of elements that may differ by more, such as 0.01; default: 0, and 0.01 for quantized models
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_differing: Option<f64>,
    /// Accept results with at least this cosine similarity, whatever single elements are; default: none, and 0.999 for
    /// float16, bfloat16 and quantized models if no difference exceeds a tenth of the largest number
    #[arg(long, value_name = "X", value_parser = share)]
    min_cosine: Option<f64>,
}

/// A number from 0 to 1.
fn share(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse().with_context(|| format!("`{text}` is not a number"))?;
    anyhow::ensure!((0.0..=1.0).contains(&number), "`{text}` is not between 0 and 1");
    Ok(number)
}

impl ToleranceArgs {
    pub(crate) fn tolerance(&self) -> Tolerance {
        let mut tolerance = Tolerance::new(self.rtol, self.atol);
        tolerance.differing = self.max_differing.unwrap_or(0.0);
        tolerance.cosine = self.min_cosine;
        tolerance
    }
}

#[derive(Deserialize)]
struct Row {
    path: PathBuf,
    rtol: f64,
    atol: f64,
    #[serde(default)]
    random: bool,
}

/// Reads the tolerances of an index file.
pub(crate) fn read_index(path: &Path) -> anyhow::Result<Vec<(PathBuf, Tolerance)>> {
    let text = std::fs::read_to_string(path).with_context(|| Unreadable::new(path))?;
    let rows: Vec<Row> =
        serde_json::from_str(&text).with_context(|| format!("{} is not an index", path.display()))?;
    let tolerance = |row: Row| {
        let mut tolerance = Tolerance::new(Some(row.rtol), Some(row.atol));
        (tolerance.of_bfloat16, tolerance.is_random) = (TWO_STEPS_OF_BFLOAT16, row.random);
        (row.path, tolerance)
    };
    Ok(rows.into_iter().map(tolerance).collect())
}
