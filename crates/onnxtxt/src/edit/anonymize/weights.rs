//! Random numbers in place of weights.

use onnx_exec::{Random, Tensor};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{ElemType, Model};

/// Floats that are constants of formulas rather than weights.
const FEW_FLOATS: usize = 4;
/// Integers that are axes or shapes rather than weights.
const FEW_INTEGERS: usize = 64;

/// Makes weights random, and says how many.
pub(super) fn randomize(model: &mut Model, seed: u64) -> Result<usize, Vec<Diagnostic>> {
    let mut random = Random::new(seed);
    let mut count = 0;
    for body in model.bodies.values_mut() {
        for stored in body.tensors.values_mut().filter(|tensor| !tensor.is_external()) {
            // What cannot be read is not a tensor of numbers, or is an error that the report may be about.
            let Ok(tensor) = Tensor::stored(stored) else { continue };
            let is_few = match tensor.elem() {
                ElemType::INT64 | ElemType::INT32 | ElemType::UINT64 | ElemType::UINT32 | ElemType::BOOL => {
                    tensor.len() <= FEW_INTEGERS
                }
                _ => tensor.len() <= FEW_FLOATS,
            };
            if is_few || tensor.is_strings() {
                continue;
            }
            let failed = |error: onnx_exec::Failure| {
                vec![Diagnostic::new(
                    &code::WEIGHTS,
                    Place::Nowhere,
                    format!("cannot make weights random: {error}"),
                )]
            };
            let new = randomized(&tensor, &mut random).and_then(|new| new.to_stored()).map_err(failed)?;
            stored.data = new.data;
            count += 1;
        }
    }
    Ok(count)
}

/// A tensor of random numbers with about the same mean, spread and range, or of as many strings.
///
/// # Errors
/// There is not enough memory.
pub fn randomized(tensor: &Tensor, random: &mut Random) -> Result<Tensor, onnx_exec::Failure> {
    if let Ok(strings) = tensor.string_slice() {
        let texts = (0..strings.len()).map(|i| format!("text_{i}")).collect();
        return Tensor::of_strings(tensor.dims(), texts);
    }
    let Ok(numbers) = tensor.floats() else { return Ok(tensor.clone()) };
    let finite = || numbers.iter().copied().filter(|x| x.is_finite());
    let count = finite().count().max(1) as f64;
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if low >= high {
        return Ok(tensor.clone());
    }
    let mean = finite().sum::<f64>() / count;
    let spread = (finite().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
    let is_float =
        matches!(tensor.elem(), ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    let next = || match is_float {
        true => {
            let x = rough(mean) + rough(spread) * random.normal();
            if (low..=high).contains(&x) { x } else { low + (high - low) * random.uniform() }
        }
        false => (low + (high - low + 1.0) * random.uniform()).floor().clamp(low, high),
    };
    Tensor::from_floats(tensor.elem(), tensor.dims(), std::iter::repeat_with(next).take(numbers.len()))
}

/// A number of two significant digits.
pub(super) fn rough(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powf(x.abs().log10().floor() - 1.0);
    (x / unit).round() * unit
}
