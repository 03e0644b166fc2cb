//! Tensors in files, as programs pass them on: the bytes of their elements, little-endian.

use anyhow::{Context as _, Result, anyhow, ensure};
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where a tensor is, and what it is.
pub(crate) struct Stored {
    pub(crate) name: String,
    elem: ElemType,
    dims: Vec<usize>,
    file: PathBuf,
}

impl Stored {
    /// The tensors of a list.
    pub(crate) fn all(list: &Value) -> Result<Vec<Stored>> {
        list.as_array()
            .context("a list of tensors")?
            .iter()
            .map(|value| Stored::of(value).context("no tensor"))
            .collect()
    }

    fn of(value: &Value) -> Option<Stored> {
        let extent = |value: &Value| usize::try_from(value.as_u64()?).ok();
        Some(Stored {
            name: value["name"].as_str()?.to_owned(),
            elem: ElemType::from_name(value["type"].as_str()?)?,
            dims: value["dims"].as_array()?.iter().map(extent).collect::<Option<_>>()?,
            file: PathBuf::from(value["file"].as_str()?),
        })
    }

    pub(crate) fn json(&self) -> Value {
        json!({"name": self.name, "type": self.elem.name(), "dims": self.dims, "file": self.file})
    }

    /// Writes a tensor, whose name is omitted.
    pub(crate) fn write(tensor: &Tensor, file: PathBuf) -> Result<Stored> {
        std::fs::write(&file, tensor.bytes()).with_context(|| file.display().to_string())?;
        Ok(Stored { name: String::new(), elem: tensor.elem(), dims: tensor.dims().to_vec(), file })
    }

    pub(crate) fn read(&self) -> Result<Tensor> {
        let bytes = std::fs::read(&self.file).with_context(|| self.file.display().to_string())?;
        Tensor::of_raw(self.elem, &self.dims, &bytes).map_err(|why| anyhow!("{why}"))
    }

    /// The largest difference to another one, as a part of the largest magnitude. Runtimes without a type give a near one.
    pub(crate) fn apart(&self, from: &Tensor) -> Result<f64> {
        ensure!(self.dims == from.dims(), "its output is {:?}, ours {:?}", self.dims, from.dims());
        distance(&self.read()?, from)
    }
}

/// The largest difference of two tensors, as a part of the largest magnitude.
pub(crate) fn distance(theirs: &Tensor, ours: &Tensor) -> Result<f64> {
    Ok(apart(&numbers(theirs)?, &numbers(ours)?))
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    let ints = || Ok::<_, onnx_exec::Failure>(tensor.ints()?.iter().map(|n| *n as f64).collect());
    tensor.floats().map(|floats| floats.to_vec()).or_else(|_| ints()).map_err(|why| anyhow!("{why}"))
}

/// The largest difference, as a part of the largest magnitude; without end where only one of two numbers is finite.
fn apart(theirs: &[f64], ours: &[f64]) -> f64 {
    let (mut difference, mut magnitude) = (0.0f64, 0.0f64);
    for (a, b) in theirs.iter().zip(ours) {
        if a.is_finite() != b.is_finite() {
            return f64::INFINITY;
        }
        if b.is_finite() {
            difference = difference.max((a - b).abs());
            magnitude = magnitude.max(b.abs());
        }
    }
    if difference == 0.0 { 0.0 } else { difference / magnitude.max(f64::MIN_POSITIVE) }
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn differences_are_parts_of_the_largest_magnitude() {
        assert_eq!(apart(&[1.0, -3.0], &[1.0, -4.0]), 0.25);
        assert_eq!(apart(&[0.0, f64::INFINITY], &[0.0, f64::INFINITY]), 0.0);
        assert_eq!(apart(&[0.0, f64::NAN], &[0.0, 1.0]), f64::INFINITY);
    }
}
