//! Whether two values are close enough.

use anyhow::Context as _;
use onnx_exec::{Tensor, Value};
use onnx_ir::ElemType;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// How far apart numbers may be.
#[derive(Clone, Debug)]
pub(crate) struct Tolerance {
    /// Of the expected number.
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    /// Of the expected number, where it is a bfloat16 and this is more.
    pub(crate) of_bfloat16: f64,
    /// Whether the numbers are random, so that only their type and shape count.
    pub(crate) is_random: bool,
}

/// What ONNX's own runner allows for results of bfloat16, whatever a test says: two steps between such numbers.
pub(crate) const TWO_STEPS_OF_BFLOAT16: f64 = 1.0 / 64.0;

impl Tolerance {
    /// That of numbers of a type.
    fn of(&self, elem: ElemType) -> Tolerance {
        let least = if elem == ElemType::BFLOAT16 { self.of_bfloat16 } else { 0.0 };
        Tolerance { relative: self.relative.max(least), ..self.clone() }
    }

    /// Whether a number is close enough to the expected one.
    pub(crate) fn allows(&self, x: f64, expected: f64) -> bool {
        x == expected
            || x.is_nan() && expected.is_nan()
            || (x - expected).abs() <= self.absolute + self.relative * expected.abs()
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

/// The tolerances of an index.
pub(crate) fn read_index(path: &Path) -> anyhow::Result<Vec<(PathBuf, Tolerance)>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows: Vec<Row> =
        serde_json::from_str(&text).with_context(|| format!("{} is no index", path.display()))?;
    let tolerance = |row: Row| Tolerance {
        relative: row.rtol,
        absolute: row.atol,
        of_bfloat16: TWO_STEPS_OF_BFLOAT16,
        is_random: row.random,
    };
    Ok(rows.into_iter().map(|row| (row.path.clone(), tolerance(row))).collect())
}

/// How two values differ, if they do.
pub(crate) fn difference(result: &Value, expected: &Value, tolerance: &Tolerance) -> Option<String> {
    match (result, expected) {
        (Value::Tensor(a), Value::Tensor(b)) => tensors(a, b, tolerance),
        (Value::Sequence(a), Value::Sequence(b)) => {
            if a.len() != b.len() {
                return Some(format!("{} elements, expected are {}", a.len(), b.len()));
            }
            a.iter().zip(b.iter()).find_map(|(a, b)| difference(a, b, tolerance))
        }
        (Value::Map(a), Value::Map(b)) => {
            let keys = tensors(&a.keys, &b.keys, tolerance);
            keys.or_else(|| a.values.iter().zip(&b.values).find_map(|(a, b)| difference(a, b, tolerance)))
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => difference(a, b, tolerance),
        (Value::Optional(None), Value::Optional(None)) => None,
        (a, Value::Optional(Some(b))) => difference(a, b, tolerance),
        (a, b) => Some(format!("{}, expected is {}", a.kind(), b.kind())),
    }
}

fn tensors(a: &Tensor, b: &Tensor, tolerance: &Tolerance) -> Option<String> {
    let name = |t: &Tensor| t.elem().name().unwrap_or("?");
    if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
        return Some(format!("{}{:?}, expected is {}{:?}", name(a), a.dims(), name(b), b.dims()));
    }
    if tolerance.is_random {
        return None;
    }
    if let (Ok(a), Ok(b)) = (a.string_slice(), b.string_slice()) {
        let at = (0..a.len()).find(|&i| a[i] != b[i])?;
        return Some(format!("element {at} is {:?}, expected is {:?}", a[at], b[at]));
    }
    let (Ok(xs), Ok(ys)) = (a.floats(), b.floats()) else {
        let at = a.bytes().iter().zip(b.bytes()).position(|(a, b)| a != b)?;
        return Some(format!("byte {at} is {:#04x}, expected is {:#04x}", a.bytes()[at], b.bytes()[at]));
    };
    let tolerance = tolerance.of(b.elem());
    let at = (0..xs.len()).find(|&i| !tolerance.allows(xs[i], ys[i]))?;
    let worst = xs.iter().zip(&ys).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    Some(format!("element {at} is {}, expected is {}; the largest difference is {worst:e}", xs[at], ys[at]))
}

/// The differences that commands allow between what two models compute.
#[derive(clap::Args)]
pub(crate) struct ToleranceArgs {
    /// Relative difference that is allowed
    #[arg(long, value_name = "X", default_value_t = 1e-3)]
    rtol: f64,
    /// Absolute difference that is allowed
    #[arg(long, value_name = "X", default_value_t = 1e-5)]
    atol: f64,
}

impl ToleranceArgs {
    pub(crate) fn tolerance(&self) -> Tolerance {
        Tolerance { relative: self.rtol, absolute: self.atol, of_bfloat16: 0.0, is_random: false }
    }
}
