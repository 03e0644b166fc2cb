//! Bounds and divisors that are probably a mistake, and `Dropout` in training mode.

use crate::lint::{LintSite, training_mode};
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, code};

/// Bounds were attributes before version 11.
pub(super) fn clip(site: &LintSite<'_>) -> Option<Diagnostic> {
    let (min, max, place) = match site.schema.since {
        ..11 => {
            let bound = |name| site.attrs().float(name).map(f64::from);
            (bound("min")?, bound("max")?, site.at_attr("min"))
        }
        _ => (site.number(1)?, site.number(2)?, site.at_input(1)),
    };
    if min <= max || min.is_nan() || max.is_nan() {
        return None;
    }
    let message = format!(
        "every element of this `Clip` is {max}: the lower bound {min} is greater than the upper bound"
    );
    Some(Diagnostic::new(&code::CLIP_BOUNDS, place, message).help("swap the bounds"))
}

/// Integer division by 0, and remainders by a negative number.
pub(super) fn division(site: &LintSite<'_>) -> Option<Diagnostic> {
    let is_signed =
        [ElemType::INT8, ElemType::INT16, ElemType::INT32, ElemType::INT64].contains(&site.elem(1)?);
    let is_unsigned =
        [ElemType::UINT8, ElemType::UINT16, ElemType::UINT32, ElemType::UINT64].contains(&site.elem(1)?);
    if !is_signed && !is_unsigned {
        return None;
    }
    let divisors = site.value(1)?.ints()?;
    let op = site.op();
    if divisors.contains(&0) {
        let message = format!("this `{op}` divides integers by 0, which is undefined");
        return Some(Diagnostic::new(&code::INTEGER_DIVISION, site.at_input(1), message));
    }
    let floors = op == "Mod" && site.attrs().int("fmod") == Some(0);
    if !floors || divisors.iter().all(|&d| d > 0) {
        return None;
    }
    let message = "this `Mod` has a negative divisor: its results have the sign of the divisor";
    Some(
        Diagnostic::new(&code::INTEGER_DIVISION, site.at_input(1), message)
            .label("with `fmod = 1`, results have the sign of the dividend, as in C")
            .help("divide by the absolute value"),
    )
}

pub(super) fn dropout(site: &LintSite<'_>) -> Option<Diagnostic> {
    let is_trained = site.number(2).is_some_and(|mode| mode != 0.0);
    is_trained.then(|| training_mode(site, site.at_input(2)))?
}
