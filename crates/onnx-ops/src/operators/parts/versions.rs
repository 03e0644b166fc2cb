//! Conversion of operators that concatenate, split, slice and pad: attributes that became inputs, and back.
//!
//! ```text
//! 9 → 10:   y = Slice <starts = [1], ends = [3]> (x)
//!           y_starts = Constant <value = int64[1] {1}> ()  y_ends = …  y = Slice (x, y_starts, y_ends)
//! 10 → 9:   the reverse, if the inputs are constant and every step is 1
//! ```

use crate::change::site::{ConvertSite, Empty, Note, note, single};
use onnx_ir::AttrValue;

pub(super) fn concat_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("axis")?.is_some() {
        return Ok(None);
    }
    s.set("axis", AttrValue::Int(1));
    note("`axis = 1` is added")
}

pub(super) fn paddings_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_attr("paddings", "pads");
    note("`paddings` is renamed to `pads`")
}

pub(super) fn paddings_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.rename_attr("pads", "paddings");
    note("`pads` is renamed to `paddings`")
}

pub(super) fn pad_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let value = s.attrs().float("value")?.filter(|x| *x != 0.0);
    s.ints_to_input("pads", 1, Empty::Counts)?;
    s.drop_attr("value");
    if let Some(x) = value {
        let elem = s.elem(0)?;
        let value = s.scalar("value", elem, x)?;
        s.set_input(2, Some(value));
    }
    note("`pads` and `value` become inputs")
}

pub(super) fn pad_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if let Some(list) = s.numbers_of(2, "constant_value")? {
        let &[x] = &list[..] else { return Err("`constant_value` is not a scalar".to_owned()) };
        s.set("value", AttrValue::Float(single(x, "constant_value")?));
        s.set_input(2, None);
    }
    s.input_to_ints(1, "pads", Empty::Counts)?;
    note("`pads` and `constant_value` become attributes")
}

/// `axes` of Pad: other axes have no padding.
pub(super) fn pad_axes_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(axes) = s.ints_of(3, "axes")? else { return Ok(None) };
    let (rank, pads) = (s.rank(0)?, s.ints_of(1, "pads")?.unwrap_or_default());
    let (count, size) = (axes.len(), usize::try_from(rank).unwrap_or_default());
    if pads.len() != 2 * count {
        return Err("`pads` does not fit `axes`".to_owned());
    }
    let mut all = vec![0; 2 * size];
    for (i, &axis) in axes.iter().enumerate() {
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).unwrap_or(usize::MAX);
        if axis >= size {
            return Err("an axis is out of range".to_owned());
        }
        all[axis] = pads[i];
        all[size + axis] = pads[count + i];
    }
    let all = s.int_list("pads", all);
    s.set_input(1, Some(all));
    s.set_input(3, None);
    note("`pads` covers all axes")
}

pub(super) fn slice_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    for (i, name) in [(1, "starts"), (2, "ends"), (3, "axes")] {
        s.ints_to_input(name, i, if i == 3 { Empty::IsNone } else { Empty::Counts })?;
    }
    note("`starts`, `ends` and `axes` become inputs")
}

pub(super) fn slice_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.ints_of(4, "steps")?.is_some_and(|steps| steps.iter().any(|step| *step != 1)) {
        return Err("its `steps` are not 1".to_owned());
    }
    s.set_input(4, None);
    for (i, name) in [(3, "axes"), (2, "ends"), (1, "starts")] {
        s.input_to_ints(i, name, Empty::Counts)?;
    }
    note("`starts`, `ends` and `axes` become attributes")
}

/// Split accepted the sizes of its parts as an input too.
pub(super) fn split_1_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(super) fn split_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("split", 1, Empty::IsNone)
}

pub(super) fn split_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.input_to_ints(1, "split", Empty::Counts)
}

/// Without sizes, the number of parts is required.
pub(super) fn split_count_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(1).is_some() {
        return Ok(None);
    }
    let count = i64::try_from(s.n().outputs.len()).unwrap_or(i64::MAX);
    s.set("num_outputs", AttrValue::Int(count));
    note("`num_outputs` is added")
}

/// With `num_outputs` the last part can be smaller; before, this required explicit sizes.
pub(super) fn split_count_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(count) = s.attrs().int("num_outputs")? else { return Ok(None) };
    let axis = s.attrs().int("axis")?.unwrap_or(0);
    let extent =
        s.extent(0, axis).ok_or("the size of the axis is unknown, so the parts may have different sizes")?;
    if count <= 0 {
        return Err("`num_outputs` is not positive".to_owned());
    }
    s.drop_attr("num_outputs");
    if extent % count != 0 {
        let size = extent / count + 1;
        let sizes = (0..count).map(|i| (extent - i * size).clamp(0, size)).collect();
        let sizes = s.int_list("split", sizes);
        s.set_input(1, Some(sizes));
    }
    note("`num_outputs` is removed")
}
