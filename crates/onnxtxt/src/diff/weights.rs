//! Compares elements of weights: equality, digest, distance.

use onnx_exec::Tensor as Elements;
use onnx_ir::{Payload, Tensor};
use sha2::{Digest as _, Sha256};

/// Whether two tensors have the same type, shape and elements, however they are stored. NaNs are compared by their bits.
pub fn same_elements(x: &Tensor, y: &Tensor) -> bool {
    if (x.elem, &x.dims) != (y.elem, &y.dims) {
        return false;
    }
    let is_same_storage = x.data == y.data && x.is_external() == y.is_external();
    if is_same_storage && !x.is_external() {
        return true;
    }
    if let ([Payload::Entries { field: f, .. }], [Payload::Entries { field: g, .. }]) =
        (&x.data[..], &y.data[..])
        && f == g
        && *f == onnx_ir::Field::Raw
    {
        return false;
    }
    match (Elements::stored(x), Elements::stored(y)) {
        (Ok(x), Ok(y)) => match (x.string_slice(), y.string_slice()) {
            (Ok(x), Ok(y)) => x == y,
            _ => x.bytes() == y.bytes(),
        },
        // External data that was not read is equal if its location is.
        (Err(_), Err(_)) => is_same_storage,
        _ => false,
    }
}

/// SHA-256 of the elements in little-endian order, as `raw_data` would have them, in hexadecimal digits; `None` for elements that
/// cannot be read. Of strings, each is preceded by its length in 8 bytes.
#[must_use]
pub fn digest(tensor: &Tensor) -> Option<String> {
    let mut hasher = Sha256::new();
    match &tensor.data[..] {
        [Payload::Entries { field: onnx_ir::Field::Raw, bytes }] if !tensor.is_external() => {
            hasher.update(bytes)
        }
        _ => {
            let elements = Elements::stored(tensor).ok()?;
            match elements.string_slice() {
                Ok(strings) => strings.iter().for_each(|string| {
                    hasher.update((string.len() as u64).to_le_bytes());
                    hasher.update(string);
                }),
                Err(_) => {
                    let stored = elements.to_stored().ok()?;
                    if let Some(Payload::Entries { bytes, .. }) = stored.data.first() {
                        hasher.update(bytes);
                    }
                }
            }
        }
    }
    Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The distance between the elements of two tensors.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// How many differ.
    pub differing: u64,
    /// The largest absolute difference.
    pub largest: Option<f64>,
    /// The mean absolute difference of all elements.
    pub mean: Option<f64>,
}

/// The distance of tensors of one shape; `None` where shapes differ or elements cannot be read.
pub fn distance(x: &Tensor, y: &Tensor) -> Option<Distance> {
    if x.dims != y.dims {
        return None;
    }
    let (x, y) = (Elements::stored(x).ok()?, Elements::stored(y).ok()?);
    if let (Ok(x), Ok(y)) = (x.string_slice(), y.string_slice()) {
        let differing = x.iter().zip(y).filter(|(x, y)| x != y).count() as u64;
        return Some(Distance { differing, largest: None, mean: None });
    }
    let (x, y) = (x.floats().ok()?, y.floats().ok()?);
    let (mut differing, mut largest, mut sum) = (0u64, 0f64, 0f64);
    for (&x, &y) in x.iter().zip(y.iter()) {
        if x.to_bits() == y.to_bits() {
            continue;
        }
        differing += 1;
        let gap = (x - y).abs();
        // Infinities of the same sign, and zeros of both signs.
        let gap = if x == y { 0.0 } else { gap };
        largest = if gap.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(gap) };
        sum += gap;
    }
    #[allow(clippy::cast_precision_loss, reason = "a mean is rounded anyway")]
    let mean = if x.is_empty() { 0.0 } else { sum / x.len() as f64 };
    Some(Distance { differing, largest: Some(largest), mean: Some(mean) })
}
