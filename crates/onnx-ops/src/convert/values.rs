//! Attributes with changed names, values or defaults.

use super::site::{ConvertSite, Note};
use onnx_ir::{AttrValue, ElemType};

fn note(text: &str) -> Result<Note, String> {
    Ok(Some(text.to_owned()))
}

/// `consumed_inputs`, which a framework needed for in-place computation.
pub(crate) fn consumed(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_said = s.drop_attr("consumed_inputs");
    Ok(is_said.then(|| "`consumed_inputs` is removed".to_owned()))
}

pub(crate) fn output_sequence(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("output_sequence");
    Ok(None)
}

pub(crate) fn gru_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("direction")?.as_deref() == Some("foward") {
        s.set("direction", "forward");
    }
    Ok(None)
}

pub(crate) fn selu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("consumed_inputs");
    for (name, old) in [("alpha", 1.6732), ("gamma", 1.0507)] {
        if s.attrs().float(name)?.is_none() {
            s.set(name, AttrValue::Float(old));
        }
    }
    note("`alpha` and `gamma` get the defaults of version 1")
}

pub(crate) fn concat_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("axis")?.is_some() {
        return Ok(None);
    }
    s.set("axis", AttrValue::Int(1));
    note("`axis = 1` is added")
}

pub(crate) fn paddings_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_attr("paddings", "pads");
    note("`paddings` is renamed to `pads`")
}

/// `p` became an integer.
pub(crate) fn p_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(p) = s.attrs().float("p")? else { return Ok(None) };
    if p.fract() != 0.0 || p.abs() > 1e6 {
        return Err(format!("`p` is {p}: expected an integer"));
    }
    s.set("p", AttrValue::Int(p as i64));
    note("`p` becomes an integer")
}

/// The element type was a name.
pub(crate) fn cast_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let to = s.attrs().string("to")?.ok_or("`to` is missing")?;
    let elem =
        ElemType::from_name(&to.to_ascii_lowercase()).ok_or(format!("`{to}` is not an element type"))?;
    s.set("to", AttrValue::Int(elem.0.into()));
    note("`to` becomes an integer")
}

/// Dilations of 1 are removed.
pub(crate) fn dilations_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(list) = s.attrs().ints("dilations")? else { return Ok(None) };
    if list.iter().any(|d| *d != 1) {
        return Err("it has dilations".to_owned());
    }
    s.drop_attr("dilations");
    note("dilations of 1 are removed")
}

pub(crate) fn grid_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let new = match s.attrs().string("mode")?.as_deref() {
        Some("bilinear") => "linear",
        Some("bicubic") => "cubic",
        Some(_) | None => return Ok(None),
    };
    s.set("mode", new);
    Ok(Some(format!("`mode` is called `{new}`")))
}

pub(crate) fn grid_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.rank(0)? != 4 {
        return Err("the input is not an image of rank 4".to_owned());
    }
    let old = match s.attrs().string("mode")?.as_deref() {
        Some("linear") => "bilinear",
        Some("cubic") => "bicubic",
        Some(_) | None => return Ok(None),
    };
    s.set("mode", old);
    Ok(Some(format!("`mode` is called `{old}`")))
}

/// Regions were shifted by half a pixel.
pub(crate) fn roi_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.set("coordinate_transformation_mode", "output_half_pixel");
    note("`coordinate_transformation_mode` says what version 10 means")
}

pub(crate) fn roi_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("coordinate_transformation_mode")?.as_deref() != Some("output_half_pixel") {
        return Err("its coordinates are not `output_half_pixel`".to_owned());
    }
    s.drop_attr("coordinate_transformation_mode");
    note("the coordinate attribute is removed")
}

pub(crate) fn to_scatter_elements(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_op("ScatterElements");
    note("Scatter becomes ScatterElements")
}

pub(crate) fn to_scatter(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_op("Scatter");
    note("ScatterElements becomes Scatter")
}

/// Negative axes were not allowed.
pub(crate) fn axis_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let mut is_changed = false;
    if let Some(axis) = s.attrs().int("axis")?.filter(|axis| *axis < 0) {
        s.set("axis", AttrValue::Int(axis + s.rank(0)?));
        is_changed = true;
    }
    let axes = s.attrs().ints("axes")?.filter(|axes| axes.iter().any(|axis| *axis < 0));
    if let Some(mut axes) = axes.map(<[_]>::to_vec) {
        let rank = s.rank(0)?;
        axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
        s.set("axes", AttrValue::Ints(axes.into()));
        is_changed = true;
    }
    Ok(is_changed.then(|| "axes are counted from the front".to_owned()))
}

/// The axes of Unsqueeze refer to the result.
pub(crate) fn unsqueeze_axis_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axes = s.attrs().ints("axes")?.filter(|axes| axes.iter().any(|axis| *axis < 0));
    let Some(mut axes) = axes.map(<[_]>::to_vec) else { return Ok(None) };
    let rank = s.rank(0)?.saturating_add_unsigned(axes.len() as u64);
    axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
    s.set("axes", AttrValue::Ints(axes.into()));
    note("axes are counted from the front")
}

/// The axis of OneHot refers to the result.
pub(crate) fn one_hot_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    match s.attrs().int("axis")? {
        Some(axis) if axis < -1 => {
            s.set("axis", AttrValue::Int(axis + s.rank(0)? + 1));
            note("the axis is counted from the front")
        }
        Some(_) | None => Ok(None),
    }
}

/// Before, remainders of floats always had the C semantics.
pub(crate) fn mod_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let elem = s.elem(0)?;
    let is_float =
        matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    if is_float && s.attrs().int("fmod")?.unwrap_or(0) == 0 {
        return Err("floats have no remainder with the sign of the divisor (`fmod = 0`)".to_owned());
    }
    Ok(None)
}

/// Gemm without a third matrix.
pub(crate) fn gemm_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(2).is_some() {
        return Ok(None);
    }
    let elem = s.elem(0)?;
    let zero = s.scalar("C", elem, 0.0)?;
    s.set_input(2, Some(zero));
    note("a zero is added")
}

/// An optional input was required.
pub(crate) fn has_element_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    match s.input(0) {
        Some(v) if matches!(s.ty(v), crate::infer::Ty::Optional(_)) => Ok(None),
        Some(_) => Err("its input is not an optional".to_owned()),
        None => Err("its input is omitted".to_owned()),
    }
}
