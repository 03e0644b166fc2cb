//! Values in directives, and comparison with a tolerance.

use onnx_exec::{Failure, Value};
use onnx_ir::{ElemType, Names};
use onnx_text::read_value;

/// The tolerance of a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tolerance {
    /// Relative to the expected number.
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { relative: 1e-4, absolute: 1e-6 }
    }
}

/// `float[2] y = {1, 2}` as a name and a value.
pub(crate) fn literal(text: &str) -> Result<(String, Value), String> {
    let mut names = Names::new();
    let (data, diagnostics) = read_value(text, &mut names).into_parts();
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return Err(format!("`{text}` is not a value: {}", error.message));
    }
    let data = data.ok_or_else(|| format!("`{text}` is not a value (`float[2] x = {{1, 2}}`)"))?;
    let name = data.name().map(|name| names[name].to_owned()).unwrap_or_default();
    if name.is_empty() {
        return Err(format!("the value `{text}` needs the name of an input or output"));
    }
    let value = Value::stored(data.data_ref()).map_err(|why| why.to_string())?;
    Ok((name, value))
}

/// The element type of a value by its name, or of the only one if the name is empty; an array of a sequence has the name of the value
/// and a number.
pub(crate) fn elem_of<'v>(
    mut known: impl Iterator<Item = (&'v str, &'v Value)> + Clone,
    name: &str,
) -> Option<ElemType> {
    let of = |whole: &str| known.clone().find(|(known, _)| *known == whole);
    let found = of(name).or_else(|| of(name.split_once('.')?.0));
    let found = found.or_else(|| known.next().filter(|_| name.is_empty() && known.next().is_none()));
    let mut value = found?.1;
    loop {
        match value {
            Value::Tensor(tensor) => return Some(tensor.elem()),
            Value::Sequence(values) => value = values.first()?,
            Value::Optional(inner) => value = inner.as_deref()?,
            Value::Map(_) => return None,
        }
    }
}

/// A description of the difference from the expected value, if there is one.
pub(crate) fn difference(
    actual: &Value,
    expected: &Value,
    tolerance: Tolerance,
) -> Result<Option<String>, Failure> {
    let (Value::Tensor(actual), Value::Tensor(expected)) = (actual, expected) else {
        let message = || "is another value than the expected one".to_owned();
        return Ok((actual != expected).then(message));
    };
    if (actual.elem(), actual.dims()) != (expected.elem(), expected.dims()) {
        return Ok(Some(format!("is {}, but {} is expected", actual.type_text(), expected.type_text())));
    }
    if actual.is_strings() {
        let pairs = actual.string_slice()?.iter().zip(expected.string_slice()?);
        let first = pairs.enumerate().find(|(_, (a, b))| a != b);
        return Ok(first.map(|(at, (a, b))| format!("element {at} is {a:?}, but {b:?} is expected")));
    }
    if actual.bytes() == expected.bytes() {
        return Ok(None);
    }
    let (Ok(a), Ok(b)) = (actual.floats(), expected.floats()) else {
        return Ok(Some("has other elements than expected".to_owned()));
    };
    let differing: Vec<(usize, f64, f64)> = a
        .iter()
        .zip(b.iter())
        .enumerate()
        .filter(|(_, (a, b))| !is_close(**a, **b, tolerance))
        .map(|(at, (a, b))| (at, *a, *b))
        .collect();
    let Some(&(at, a, b)) = differing.first() else { return Ok(None) };
    let largest = differing.iter().map(|(_, a, b)| (a - b).abs()).fold(0.0, f64::max);
    Ok(Some(format!(
        "{} of {} elements differ, by up to {largest:.3e}; element {at} is {a}, but {b} is expected",
        differing.len(),
        actual.len()
    )))
}

fn is_close(a: f64, b: f64, tolerance: Tolerance) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance.absolute + tolerance.relative * b.abs()
}
