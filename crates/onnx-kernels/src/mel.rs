//! The MelWeightMatrix kernel: weights of spectrum frequencies in bands of the mel scale.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[row("", "MelWeightMatrix", mel_weight_matrix)];

fn number(call: &Call<'_>, input: usize) -> Result<f64, Failure> {
    match call.tensor(input)?.floats()?[..] {
        [number] => Ok(number),
        _ => fail!("input {input} has to be one number"),
    }
}

/// Triangular windows whose corners are equidistant in mel (O'Shaughnessy 1987).
fn mel_weight_matrix(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let count = |input: usize| match call.tensor(input)?.ints()?[..] {
        [n] => match usize::try_from(n) {
            Ok(n) if i32::try_from(n).is_ok() => Ok(n),
            Ok(_) | Err(_) => fail!("the numbers of bands and samples must be positive, not {n}"),
        },
        _ => fail!("input {input} has to be one number"),
    };
    let (bands, length, rate) = (count(0)?, count(1)?, number(call, 2)?);
    let (low, high) = (number(call, 3)?, number(call, 4)?);
    let elem = call.attrs.elem("output_datatype").unwrap_or(ElemType::FLOAT);
    let bins = length / 2 + 1;
    let dims = [bins, bands];
    let mut weights = filled(call.has_room(elem, &dims)?, 0.0)?;

    let mel = |hertz: f64| 2595.0 * (hertz / 700.0).ln_1p() / std::f64::consts::LN_10;
    let step = (mel(high) - mel(low)) / (bands as f64 + 2.0);
    let corner = |i: usize| {
        let hertz = 700.0 * ((i as f64 * step + mel(low)) / 2595.0 * std::f64::consts::LN_10).exp_m1();
        let bin = ((length as f64 + 1.0) * hertz / rate).floor();
        if bin >= 0.0 && bin < bins as f64 {
            Ok(bin as usize)
        } else {
            fail!(
                "a band from {low} to {high} hertz does not lie in a spectrum of {} a second",
                counted(rate, "sample")
            )
        }
    };
    for band in 0..bands {
        // The upper end has weight 0, and may be the end of the spectrum.
        let (left, center) = (corner(band)?, corner(band + 1)?);
        let right = corner(band + 2)?;
        if center < left || right < center {
            fail!("the frequencies from {low} to {high} do not rise");
        }
        if left == center {
            weights[center * bands + band] = 1.0;
        } else {
            for bin in left..=center {
                weights[bin * bands + band] = (bin - left) as f64 / (center - left) as f64;
            }
        }
        for bin in center..right {
            weights[bin * bands + band] = (right - bin) as f64 / (right - center) as f64;
        }
    }
    Ok(vec![Tensor::of_floats(elem, &dims, &weights)?.into()])
}
