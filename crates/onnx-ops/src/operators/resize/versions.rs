//! Conversion of Upsample and Resize.
//!
//! Version 10 of Resize does not specify the coordinate transformation. Runtimes treat it like Upsample: element `i` of the
//! result has the coordinate `i / scale` (`asymmetric`), and the nearest element is rounded down for upscaling, up for
//! downscaling.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::AttrValue;

pub(super) fn from_upsample(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_op("Resize");
    if s.attrs().string("mode")?.as_deref() == Some("bilinear") {
        s.set("mode", "linear");
    }
    Ok(Some("Upsample becomes Resize".to_owned()))
}

/// Upsample cannot shrink.
pub(super) fn to_upsample(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.numbers_of(1, "scales")?.unwrap_or_default();
    if scales.iter().any(|scale| *scale < 1.0) {
        return Err("it shrinks an axis, which `Upsample` does not support".to_owned());
    }
    s.rename_op("Upsample");
    Ok(Some("Resize becomes Upsample".to_owned()))
}

pub(super) fn scales_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (h, w) = (s.attrs().float("height_scale")?, s.attrs().float("width_scale")?);
    s.drop_attr("height_scale");
    s.drop_attr("width_scale");
    s.set("scales", AttrValue::Floats(vec![1.0, 1.0, h.unwrap_or(1.0), w.unwrap_or(1.0)].into()));
    if s.attrs().string("mode")?.as_deref() == Some("bilinear") {
        s.set("mode", "linear");
    }
    Ok(Some("the scales become one list".to_owned()))
}

pub(super) fn scales_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.attrs().require::<&[f32]>("scales")?.to_vec();
    let &[1.0, 1.0, h, w] = &scales[..] else {
        return Err("it scales other axes than the last two of four".to_owned());
    };
    s.drop_attr("scales");
    s.set("height_scale", AttrValue::Float(h));
    s.set("width_scale", AttrValue::Float(w));
    if s.attrs().string("mode")?.as_deref() == Some("linear") {
        s.set("mode", "bilinear");
    }
    note("the scales become `height_scale` and `width_scale`")
}

/// Version 19 has symmetric coordinates.
pub(super) fn symmetric_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().string("coordinate_transformation_mode")?.as_deref() == Some("half_pixel_symmetric") {
        return Err("version 18 has no coordinates `half_pixel_symmetric`".to_owned());
    }
    Ok(None)
}

pub(super) fn up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_nearest = s.attrs().string("mode")?.is_none_or(|mode| mode == "nearest");
    if is_nearest {
        // Computed scales are assumed to enlarge: Upsample required that, and exporters rarely emit others.
        let scales = s.numbers_of(1, "scales").unwrap_or_default().unwrap_or_default();
        let (shrinks, grows) = (scales.iter().any(|x| *x < 1.0), scales.iter().any(|x| *x > 1.0));
        if shrinks && grows {
            return Err("it enlarges one axis and shrinks another".to_owned());
        }
        s.set("nearest_mode", if shrinks { "ceil" } else { "floor" });
    }
    s.set("coordinate_transformation_mode", "asymmetric");
    let scales = s.input(1);
    let none = s.float_list("roi", Vec::new());
    s.set_input(1, Some(none));
    s.set_input(2, scales);
    Ok(Some("`coordinate_transformation_mode` of version 10 and an empty `roi` are added".to_owned()))
}

pub(super) fn down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(3).is_some() {
        return Err("it has `sizes` instead of `scales`".to_owned());
    }
    let mode = s.attrs().string("mode")?.unwrap_or("nearest".into());
    if mode == "cubic" || s.attrs().string("coordinate_transformation_mode")?.as_deref() != Some("asymmetric")
    {
        return Err("version 10 has no cubic mode, and no coordinates but `asymmetric`".to_owned());
    }
    if mode == "nearest" {
        let scales = s.numbers_of(2, "scales")?.unwrap_or_default();
        let (shrinks, grows) = (scales.iter().any(|x| *x < 1.0), scales.iter().any(|x| *x > 1.0));
        let rounds = s.attrs().string("nearest_mode")?;
        let fits = match rounds.as_deref() {
            Some("floor") => !shrinks,
            Some("ceil") => !grows,
            Some(_) | None => !shrinks && !grows,
        };
        if !fits {
            return Err("its rounding differs from version 10".to_owned());
        }
    }
    for name in ["coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a"] {
        s.drop_attr(name);
    }
    let scales = s.input(2);
    s.set_input(2, None);
    s.set_input(1, scales);
    Ok(Some("`roi` and the coordinate attributes are removed".to_owned()))
}

/// `roi` and `scales` were required.
pub(super) fn fill_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let mut is_filled = false;
    for (i, name) in [(1, "roi"), (2, "scales")] {
        if s.input(i).is_none() {
            let none = s.float_list(name, Vec::new());
            s.set_input(i, Some(none));
            is_filled = true;
        }
    }
    Ok(is_filled.then(|| "omitted inputs become empty tensors".to_owned()))
}

pub(super) fn grid_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let new = match s.attrs().string("mode")?.as_deref() {
        Some("bilinear") => "linear",
        Some("bicubic") => "cubic",
        Some(_) | None => return Ok(None),
    };
    s.set("mode", new);
    Ok(Some(format!("`mode` is called `{new}`")))
}

pub(super) fn grid_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(super) fn upsample_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.attrs().require::<&[f32]>("scales")?.to_vec();
    s.drop_attr("scales");
    let value = s.float_list("scales", scales);
    s.set_input(1, Some(value));
    note("`scales` becomes an input")
}

pub(super) fn upsample_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.numbers_of(1, "scales")?.ok_or("`scales` is missing")?;
    s.set_input(1, None);
    s.set("scales", AttrValue::Floats(scales.into_iter().map(|x| x as f32).collect()));
    note("`scales` becomes an attribute")
}
