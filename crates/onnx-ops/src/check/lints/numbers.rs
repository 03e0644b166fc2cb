//! Bounds, pads and divisors that are probably a mistake.

use super::site::LintSite;
use crate::infer::Ints;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, code};

/// Bounds were attributes before version 11.
pub(crate) fn clip(site: &LintSite<'_>) -> Option<Diagnostic> {
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

/// The padding at both ends of each axis: an input since version 11.
fn pads(site: &LintSite<'_>) -> Option<Ints> {
    let attrs = site.attrs();
    if site.schema.since >= 11 {
        site.value(1)?.ints()
    } else {
        attrs.ints("pads").or(attrs.ints("paddings")).map(Ints::from_slice)
    }
}

pub(crate) fn pad(site: &LintSite<'_>) -> Option<Diagnostic> {
    let &least = pads(site)?.iter().min()?;
    if least >= 0 {
        return None;
    }
    let place = if site.schema.since >= 11 { site.at_input(1) } else { site.at_attr("pads") };
    let message = format!("this `Pad` removes {} at an end of an axis", least.unsigned_abs());
    Some(Diagnostic::new(&code::PAD_NEGATIVE, place, message).help("use `Slice` to remove elements"))
}

/// Integer division by 0, and remainders by a negative number.
pub(crate) fn division(site: &LintSite<'_>) -> Option<Diagnostic> {
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
