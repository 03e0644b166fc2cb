//! Attributes that became inputs, and back.
//!
//! ```text
//! 9 → 10:   y = Slice <starts = [1], ends = [3]> (x)
//!           y_starts = Constant <value = int64[1] {1}> ()  y_ends = …  y = Slice (x, y_starts, y_ends)
//! 10 → 9:   the reverse, if the inputs are constant and every step is 1
//! ```

use super::site::{ConvertSite, Empty, Note};
use onnx_ir::{AttrValue, ElemType};

fn note(text: &str) -> Result<Note, String> {
    Ok(Some(text.to_owned()))
}

pub(crate) fn axes_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("axes", 1, Empty::Counts)
}

pub(crate) fn axes_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.input_to_ints(1, "axes", Empty::Counts)
}

/// Without axes, all axes are reduced.
pub(crate) fn reduce_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("axes", 1, Empty::IsNone)
}

pub(crate) fn reduce_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let is_noop = s.attrs().int("noop_with_empty_axes")?.unwrap_or(0) != 0;
    let axes = s.ints_of(1, "axes")?;
    if is_noop && axes.is_none_or(|list| list.is_empty()) {
        return Err("it does not reduce (`noop_with_empty_axes`)".to_owned());
    }
    s.drop_attr("noop_with_empty_axes");
    s.input_to_ints(1, "axes", Empty::IsNone)
}

pub(crate) fn slice_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    for (i, name) in [(1, "starts"), (2, "ends"), (3, "axes")] {
        s.ints_to_input(name, i, if i == 3 { Empty::IsNone } else { Empty::Counts })?;
    }
    note("`starts`, `ends` and `axes` become inputs")
}

pub(crate) fn slice_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.ints_of(4, "steps")?.is_some_and(|steps| steps.iter().any(|step| *step != 1)) {
        return Err("its `steps` are not 1".to_owned());
    }
    s.set_input(4, None);
    for (i, name) in [(3, "axes"), (2, "ends"), (1, "starts")] {
        s.input_to_ints(i, name, Empty::Counts)?;
    }
    note("`starts`, `ends` and `axes` become attributes")
}

pub(crate) fn top_k_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(k) = s.attrs().int("k")? else { return Ok(None) };
    s.drop_attr("k");
    let value = s.int_list("k", vec![k]);
    s.set_input(1, Some(value));
    note("`k` becomes an input")
}

pub(crate) fn top_k_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(&[k]) = s.ints_of(1, "K")?.as_deref() else { return Err("`K` is not a scalar".to_owned()) };
    s.set_input(1, None);
    s.set("k", AttrValue::Int(k));
    note("`K` becomes an attribute")
}

/// Default bounds are the lowest and largest number of the element type; in version 6, of float.
pub(crate) fn clip_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let bounds = [(1, "min", f32::MIN), (2, "max", f32::MAX)];
    let is_double = s.elem(0).ok() == Some(ElemType::DOUBLE);
    for (i, name, limit) in bounds {
        let Some(x) = s.attrs().float(name)?.or(is_double.then_some(limit)) else { continue };
        let elem = s.elem(0)?;
        s.drop_attr(name);
        let value = s.scalar(name, elem, x)?;
        s.set_input(i, Some(value));
    }
    note("`min` and `max` become inputs")
}

pub(crate) fn clip_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    for (i, name) in [(2, "max"), (1, "min")] {
        let Some(list) = s.numbers_of(i, name)? else { continue };
        let &[x] = &list[..] else { return Err(format!("`{name}` is not a scalar")) };
        s.set(name, AttrValue::Float(single(x, name)?));
        s.set_input(i, None);
    }
    note("`min` and `max` become attributes")
}

/// A number as a float, if it is one.
fn single(x: f64, name: &str) -> Result<f32, String> {
    let short = x as f32;
    if f64::from(short) == x || x.is_nan() { Ok(short) } else { Err(format!("`{name}` is not a float: {x}")) }
}

pub(crate) fn pad_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(crate) fn pad_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if let Some(list) = s.numbers_of(2, "constant_value")? {
        let &[x] = &list[..] else { return Err("`constant_value` is not a scalar".to_owned()) };
        s.set("value", AttrValue::Float(single(x, "constant_value")?));
        s.set_input(2, None);
    }
    s.input_to_ints(1, "pads", Empty::Counts)?;
    note("`pads` and `constant_value` become attributes")
}

/// `axes` of Pad: other axes have no padding.
pub(crate) fn pad_axes_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(crate) fn dropout_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(ratio) = s.attrs().float("ratio")? else { return Ok(None) };
    s.drop_attr("ratio");
    let value = s.scalar("ratio", ElemType::FLOAT, ratio)?;
    s.set_input(1, Some(value));
    note("`ratio` becomes an input")
}

pub(crate) fn dropout_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.ints_of(2, "training_mode")?.is_some_and(|list| list != [0]) {
        return Err("the node is in training mode".to_owned());
    }
    s.set_input(2, None);
    s.drop_attr("seed"); // unused without training
    if let Some(list) = s.numbers_of(1, "ratio")? {
        let &[x] = &list[..] else { return Err("`ratio` is not a scalar".to_owned()) };
        s.set("ratio", AttrValue::Float(x as f32)); // unused without training
        s.set_input(1, None);
    }
    note("`ratio` becomes an attribute")
}

/// The mask had the type of the data.
pub(crate) fn mask_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.output(1).is_none() {
        return Ok(None);
    }
    let to = s.elem(0)?;
    s.follow(1, ("mask", "Cast"), &[], vec![("to", AttrValue::Int(to.0.into()))]);
    note("the mask is cast to the type of the data")
}

pub(crate) fn mask_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.output(1).is_none() {
        return Ok(None);
    }
    s.follow(1, ("mask", "Cast"), &[], vec![("to", AttrValue::Int(ElemType::BOOL.0.into()))]);
    note("the mask is cast to bool")
}

pub(crate) fn split_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.ints_to_input("split", 1, Empty::IsNone)
}

pub(crate) fn split_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.input_to_ints(1, "split", Empty::Counts)
}

/// Without sizes, the number of parts is required.
pub(crate) fn split_count_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(1).is_some() {
        return Ok(None);
    }
    let count = i64::try_from(s.n().outputs.len()).unwrap_or(i64::MAX);
    s.set("num_outputs", AttrValue::Int(count));
    note("`num_outputs` is added")
}

/// With `num_outputs` the last part can be smaller; before, this required explicit sizes.
pub(crate) fn split_count_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(crate) fn dft_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = s.attrs().int("axis")?.unwrap_or(1);
    s.drop_attr("axis");
    let value = s.int_scalar("axis", axis);
    s.set_input(2, Some(value));
    note("`axis` becomes an input")
}

pub(crate) fn dft_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let axis = match s.ints_of(2, "axis")?.as_deref() {
        None => -2,
        Some(&[axis]) => axis,
        Some(_) => return Err("`axis` is not a scalar".to_owned()),
    };
    let axis = if axis < 0 { axis + s.rank(0)? } else { axis };
    s.set_input(2, None);
    s.set("axis", AttrValue::Int(axis));
    note("`axis` becomes an attribute")
}

pub(crate) fn upsample_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.attrs().require::<&[f32]>("scales")?.to_vec();
    s.drop_attr("scales");
    let value = s.float_list("scales", scales);
    s.set_input(1, Some(value));
    note("`scales` becomes an input")
}

pub(crate) fn upsample_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let scales = s.numbers_of(1, "scales")?.ok_or("`scales` is missing")?;
    s.set_input(1, None);
    s.set("scales", AttrValue::Floats(scales.into_iter().map(|x| x as f32).collect()));
    note("`scales` becomes an attribute")
}

pub(crate) fn reshape_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("consumed_inputs");
    s.ints_to_input("shape", 1, Empty::Counts)
}

/// Values in attributes of their own kind, as tensors.
pub(crate) fn constant_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    use onnx_ir::{Payload, Tensor};
    let scalar = |elem, payload| (elem, None, Some(payload));
    let (name, (elem, count, payload)) = if let Some(i) = s.attrs().int("value_int")? {
        ("value_int", scalar(ElemType::INT64, Payload::int64s(vec![i])))
    } else if let Some(x) = s.attrs().float("value_float")? {
        ("value_float", scalar(ElemType::FLOAT, Payload::floats(vec![x])))
    } else if let Some(text) = s.attrs().string("value_string")? {
        ("value_string", scalar(ElemType::STRING, Payload::Strings(vec![text.into_owned().into()])))
    } else if let Some(list) = s.attrs().ints("value_ints")? {
        let count = list.len();
        ("value_ints", (ElemType::INT64, Some(count), (count > 0).then(|| Payload::int64s(list.to_vec()))))
    } else if let Some(list) = s.attrs().floats("value_floats")? {
        let count = list.len();
        ("value_floats", (ElemType::FLOAT, Some(count), (count > 0).then(|| Payload::floats(list.to_vec()))))
    } else if let Some(list) = s.attrs().strings("value_strings")? {
        let count = list.len();
        (
            "value_strings",
            (ElemType::STRING, Some(count), (count > 0).then(|| Payload::Strings(list.to_vec()))),
        )
    } else {
        return Ok(None);
    };
    let mut tensor = Tensor { elem: Some(elem), ..Tensor::default() };
    tensor.dims.extend(count.and_then(|n| i64::try_from(n).ok()));
    tensor.data.extend(payload);
    let tensor = s.model.bodies[s.body].tensors.push(tensor);
    s.drop_attr(name);
    s.set("value", AttrValue::Tensor(tensor));
    Ok(Some(format!("`{name}` becomes a tensor")))
}

/// Constants had to be floats; others become initializers.
pub(crate) fn constant_floats_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(AttrValue::Tensor(tensor)) = s.attrs().find("value").and_then(onnx_ir::Attr::value) else {
        return Ok(None);
    };
    let tensor = *tensor;
    let elem = s.body().tensors[tensor].elem;
    if elem.is_some_and(|e| matches!(e, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16)) {
        return Ok(None);
    }
    s.become_initializer(tensor)?;
    note("it becomes an initializer")
}

/// `start` and `end` of Shape become a Slice of the whole shape.
pub(crate) fn shape_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (start, end) = (s.attrs().int("start")?.unwrap_or(0), s.attrs().int("end")?);
    s.drop_attr("start");
    s.drop_attr("end");
    if start == 0 && end.is_none() {
        return Ok(None);
    }
    let (starts, ends) = (s.int_list("start", vec![start]), s.int_list("end", vec![end.unwrap_or(i64::MAX)]));
    s.follow(0, ("whole", "Slice"), &[starts, ends], Vec::new());
    note("the part is sliced from the whole shape")
}
