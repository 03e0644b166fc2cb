//! Before version 7, broadcasting had to be enabled by an attribute and could start at any axis.
//!
//! ```text
//! 6 → 7:   y = Add <broadcast = 1, axis = 1> (x, b)            x: float[2,3,4], b: float[3]
//!          y_B = Unsqueeze <axes = [1]> (b)  y = Add (x, y_B)
//! ```

use super::site::{ConvertSite, Note};
use onnx_ir::AttrValue;

pub(crate) fn up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_asked = s.attrs().int("broadcast")?.unwrap_or(0) != 0;
    let axis = s.attrs().int("axis")?.filter(|_| is_asked);
    let text = match axis {
        None => "`broadcast` is removed",
        Some(axis) => {
            let (a, b) = (s.rank(0)?, s.rank(1)?);
            let axis = if axis < 0 { axis + a } else { axis };
            trail(s, a - axis - b)?;
            "the second input is unsqueezed to the rank of the first"
        }
    };
    s.drop_attr("axis");
    let is_said = s.drop_attr("broadcast");
    Ok((is_said || axis.is_some()).then(|| text.to_owned()))
}

/// Appends axes of size 1 to the second input.
fn trail(s: &mut ConvertSite<'_>, count: i64) -> Result<(), String> {
    let (Some(b), rank) = (s.input(1), s.rank(1)?) else { return Err("an input is missing".to_owned()) };
    if count < 0 {
        return Err("`axis` is out of range".to_owned());
    }
    if count > 0 {
        let axes = AttrValue::Ints((rank..rank + count).collect());
        let wide = s.insert("B", "Unsqueeze", &[b], vec![("axes", axes)]);
        s.set_input(1, Some(wide));
    }
    Ok(())
}

/// A slope for each channel.
pub(crate) fn p_relu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

/// Gemm had an attribute for broadcasting its third matrix.
pub(crate) fn gemm_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_said = s.drop_attr("broadcast");
    Ok(is_said.then(|| "`broadcast` is removed".to_owned()))
}

/// Max, Min, Mean and Sum required inputs of equal shape.
pub(crate) fn one_shape_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(first) = s.input(0) else { return Ok(None) };
    let shape = |v| s.ty(v).shape().cloned();
    let wanted = shape(first);
    let is_same = |i| {
        let other = s.input(i).and_then(shape);
        other.is_some() && other == wanted && wanted.iter().flatten().all(|d| *d != crate::dims::Dim::Unknown)
    };
    if (1..s.n().inputs.len()).all(is_same) {
        Ok(None)
    } else {
        Err("the shapes of its inputs may differ".to_owned())
    }
}

/// Tile had the number of repetitions and the axis as inputs.
pub(crate) fn tile_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (tiles, axis) = (s.numbers_of(1, "tiles")?, s.numbers_of(2, "axis")?);
    let (Some(&[tiles]), Some(&[axis])) = (tiles.as_deref(), axis.as_deref()) else {
        return Err("`tiles` and `axis` are not scalars".to_owned());
    };
    let rank = s.rank(0)?;
    let mut repeats = vec![1; usize::try_from(rank).unwrap_or_default()];
    let at = repeats.get_mut(axis as usize).ok_or("`axis` is out of range")?;
    *at = tiles as i64;
    let repeats = s.int_list("repeats", repeats);
    s.set_input(2, None);
    s.set_input(1, Some(repeats));
    Ok(Some("`tiles` and `axis` become a list of repeats".to_owned()))
}

/// Split accepted the sizes of its parts as an input too.
pub(crate) fn split_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let sizes = s.ints_of(1, "split")?;
    if let Some(sizes) = sizes {
        s.set_input(1, None);
        s.set("split", AttrValue::Ints(sizes.into()));
    }
    if s.attrs().int("axis")?.is_none() {
        s.set("axis", AttrValue::Int(0));
    }
    Ok(None)
}
