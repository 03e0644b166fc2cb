//! Conversion of activation functions.

use crate::change::site::{ConvertSite, Note, note};
use crate::dims::Dim;
use crate::operators::elementwise::versions::{is_same, shape, squeeze, trail};
use onnx_ir::AttrValue;

pub(super) fn selu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("consumed_inputs");
    for (name, old) in [("alpha", 1.6732), ("gamma", 1.0507)] {
        if s.attrs().float(name)?.is_none() {
            s.set(name, AttrValue::Float(old));
        }
    }
    note("`alpha` and `gamma` get the defaults of version 1")
}

pub(super) fn selu_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let mut is_changed = false;
    for (name, new) in [("alpha", 1.673_263_2), ("gamma", 1.050_701)] {
        if s.attrs().float(name)?.is_none() {
            s.set(name, AttrValue::Float(new));
            is_changed = true;
        }
    }
    Ok(is_changed.then(|| "`alpha` and `gamma` get the defaults of version 6".to_owned()))
}

/// Before, there was one slope, or a list with one for each channel.
pub(super) fn p_relu_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (Some(x), Some(slope)) = (s.input(0), s.input(1)) else {
        return Err("an input is missing".to_owned());
    };
    let (x, slope) = (shape(s, x)?, shape(s, slope)?);
    if slope.iter().all(|dim| *dim == Dim::Const(1)) {
        return Ok(None);
    }
    let is_one = |dim: &Dim| *dim == Dim::Const(1);
    let at = (slope.len() + 1).checked_sub(x.len()).filter(|at| *at < slope.len());
    match at {
        Some(at) if x.len() >= 2 && is_same(&x[1..2], &slope[at..=at]) => {
            let is_list = slope.iter().enumerate().all(|(i, dim)| i == at || is_one(dim));
            if !is_list {
                return Err("there is a slope for each position".to_owned());
            }
            if slope.len() == 1 {
                return Ok(None);
            }
            squeeze(s, at..at + 1, slope.len());
            note("the slopes are squeezed to a list")
        }
        _ => Err("the slopes are neither one nor one for each channel".to_owned()),
    }
}

/// A slope for each channel.
pub(super) fn p_relu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.extent(1, 0) == Some(1) {
        return Ok(None);
    }
    let (rank, slope) = (s.rank(0)?, s.rank(1)?);
    if slope != 1 || rank <= 2 {
        return Ok(None);
    }
    trail(s, rank - 2)?;
    Ok(Some("the slopes are unsqueezed to the rank of the input".to_owned()))
}
