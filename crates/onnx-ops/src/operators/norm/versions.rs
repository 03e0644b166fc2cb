//! Conversion of normalizations.

use crate::change::site::{ConvertSite, Note};
use onnx_ir::AttrValue;

/// Several outputs meant training mode.
pub(super) fn batch_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.n().outputs.iter().skip(1).all(Option::is_none) {
        s.n_mut().outputs.truncate(1);
        return Ok(None);
    }
    if s.n().outputs.iter().skip(3).any(Option::is_some) {
        return Err("the outputs `saved_mean` and `saved_var` are removed".to_owned());
    }
    s.n_mut().outputs.truncate(3);
    s.set("training_mode", AttrValue::Int(1));
    Ok(Some("the node has training outputs: `training_mode = 1` is added".to_owned()))
}

pub(super) fn batch_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("training_mode")?.unwrap_or(0) != 0 {
        return Err("what training gives is said otherwise".to_owned());
    }
    let is_said = s.drop_attr("training_mode");
    Ok(is_said.then(|| "`training_mode` is removed".to_owned()))
}

pub(super) fn spatial_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("spatial")?.unwrap_or(1) != 1 {
        return Err("it has a mean for each position (`spatial = 0`)".to_owned());
    }
    let is_said = s.drop_attr("spatial");
    Ok(is_said.then(|| "`spatial` is removed".to_owned()))
}

/// Before version 9, ONNX Runtime's own operator has flags instead of axes.
pub(super) fn mean_variance_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("normalize_variance")?.unwrap_or(1) == 0 {
        return Err("it subtracts the mean only (`normalize_variance = 0`)".to_owned());
    }
    let is_across = s.attrs().int("across_channels")?.unwrap_or(0) != 0;
    let mut is_said = s.drop_attr("normalize_variance");
    is_said |= s.drop_attr("across_channels");
    if is_across {
        s.set("axes", AttrValue::Ints(vec![0, 1, 2, 3].into()));
    }
    Ok(is_said.then(|| "`axes` says what the flags said".to_owned()))
}

/// Version 6 is in training mode by default.
pub(crate) fn is_test_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.attrs().int("is_test")?.unwrap_or(0) == 0 {
        return Err("it is in training mode (`is_test = 0`)".to_owned());
    }
    s.drop_attr("is_test");
    Ok(Some("`is_test` is removed".to_owned()))
}

/// Without it, the node would be in training mode.
pub(crate) fn is_test_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.set("is_test", AttrValue::Int(1));
    Ok(Some("`is_test = 1` is added".to_owned()))
}

/// Version 1 requires `consumed_inputs`: no input is overwritten.
pub(super) fn consumed_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let none = vec![0; s.n().inputs.len()];
    s.set("consumed_inputs", AttrValue::Ints(none.into()));
    Ok(Some("`consumed_inputs` is added".to_owned()))
}

/// Scale and bias had one element per group, and now have one per channel.
///
/// ```text
/// y = GroupNormalization <num_groups = 2> (x, s, b)              s: float[2], x: float[1,4]
/// y_scale = Expand (Reshape (s, [-1, 1]), [1, channels / 2])     and that as a list: s[0] s[0] s[1] s[1]
/// ```
pub(super) fn group_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let groups = s.attrs().int("num_groups")?.filter(|n| *n > 0).ok_or("`num_groups` is not positive")?;
    let x = s.input(0).ok_or("the input is missing")?;
    let repeats = match s.extent(0, 1) {
        Some(channels) => s.int_list("repeats", vec![1, channels / groups]),
        None => {
            let attrs = vec![("start", AttrValue::Int(1)), ("end", AttrValue::Int(2))];
            let channels = s.insert("channels", "Shape", &[x], attrs);
            let groups = s.int_list("groups", vec![groups]);
            let each = s.insert("each", "Div", &[channels, groups], Vec::new());
            let one = s.int_list("one", vec![1]);
            s.insert("repeats", "Concat", &[one, each], vec![("axis", AttrValue::Int(0))])
        }
    };
    let (column, list) = (s.int_list("column", vec![-1, 1]), s.int_list("list", vec![-1]));
    for (i, name) in [(1, "scale"), (2, "bias")] {
        let Some(value) = s.input(i) else { continue };
        let value = s.insert(name, "Reshape", &[value, column], Vec::new());
        let value = s.insert(name, "Expand", &[value, repeats], Vec::new());
        let value = s.insert(name, "Reshape", &[value, list], Vec::new());
        s.set_input(i, Some(value));
    }
    Ok(Some("`scale` and `bias` are expanded from groups to channels".to_owned()))
}
