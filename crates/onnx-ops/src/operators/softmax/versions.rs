//! Before version 13, Softmax, LogSoftmax and Hardmax flattened their input to a matrix: all axes from `axis` on are one.
//!
//! ```text
//! 12 → 13:   y = Softmax <axis = 1> (x)                    x: float[2,3,4]
//!            y_flat = Flatten <axis = 1> (x)
//!            y_result = Softmax <axis = -1> (y_flat)
//!            y_shape = Shape (x)
//!            y = Reshape (y_result, y_shape)
//! 13 → 12:   y = Softmax <axis = 1> (x)
//!            y_last = Transpose <perm = [0, 2, 1]> (x)
//!            y_result = Softmax <axis = 2> (y_last)
//!            y = Transpose <perm = [0, 2, 1]> (y_result)
//! ```
//! For the last axis, only the attribute is made explicit.

use crate::change::site::{ConvertSite, Note};
use onnx_ir::AttrValue;

pub(super) fn up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = s.attrs().int("axis")?.unwrap_or(1);
    if axis == -1 || s.rank(0).is_ok_and(|rank| axis == rank - 1) {
        s.set("axis", AttrValue::Int(-1));
        return Ok(Some("the axis is the last one: `axis = -1`".to_owned()));
    }
    // Reshape would interpret the 0 as a copied size.
    if (0..s.rank(0).unwrap_or(0)).any(|i| s.extent(0, i) == Some(0)) {
        s.set("axis", AttrValue::Int(-1));
        return Ok(Some("the input has no elements: every axis has the same effect".to_owned()));
    }
    let Some(x) = s.input(0) else { return Err("the input is missing".to_owned()) };
    let flat = s.insert("flat", "Flatten", &[x], vec![("axis", AttrValue::Int(axis))]);
    let shape = s.insert("shape", "Shape", &[x], Vec::new());
    s.set_input(0, Some(flat));
    s.set("axis", AttrValue::Int(-1));
    s.follow(0, ("result", "Reshape"), &[shape], Vec::new());
    Ok(Some("axes from `axis` on are combined: Flatten before, Reshape after".to_owned()))
}

pub(super) fn down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = s.attrs().int("axis")?.unwrap_or(-1);
    if axis == -1 {
        s.set("axis", AttrValue::Int(-1));
        return Ok(Some("`axis = -1` is added".to_owned()));
    }
    let rank = s.rank(0)?;
    let axis = if axis < 0 { axis + rank } else { axis };
    if axis == rank - 1 {
        return Ok(None);
    }
    let Some(x) = s.input(0).filter(|_| (0..rank).contains(&axis)) else {
        return Err("`axis` is out of range".to_owned());
    };
    let mut perm: Vec<i64> = (0..rank).collect();
    let last = perm.len() - 1;
    perm.swap(usize::try_from(axis).unwrap_or_default(), last);
    let attrs = |perm: &[i64]| vec![("perm", AttrValue::Ints(perm.to_vec().into()))];
    let last = s.insert("last", "Transpose", &[x], attrs(&perm));
    s.set_input(0, Some(last));
    s.set("axis", AttrValue::Int(rank - 1));
    s.follow(0, ("result", "Transpose"), &[], attrs(&perm));
    Ok(Some("the axis is transposed to the end and back".to_owned()))
}
