//! Conversion of constants and shapes.

use crate::change::site::{ConvertSite, Note, note};
use onnx_ir::{AttrValue, ElemType};

/// Constants had to be floats; others become initializers.
pub(super) fn constant_floats_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

/// Values in attributes of their own kind, as tensors.
pub(super) fn constant_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

/// `start` and `end` of Shape become a Slice of the whole shape.
pub(super) fn shape_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

/// The axis of OneHot refers to the result. Before version 11, negative indices are out of range: they are counted from the front,
/// unless they are known not to be negative.
pub(super) fn one_hot_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let mut notes = Vec::new();
    if let Some(axis) = s.attrs().int("axis")?.filter(|axis| *axis < -1) {
        s.set("axis", AttrValue::Int(axis + s.rank(0)? + 1));
        notes.push("the axis is counted from the front");
    }
    let is_unsigned = s.elem(0).is_ok_and(|elem| elem.name().is_some_and(|name| name.starts_with("uint")));
    let is_known = |numbers: Option<Vec<f64>>| numbers.is_some_and(|all| all.iter().all(|x| *x > -1.0));
    if !is_unsigned && !s.numbers_of(0, "indices").is_ok_and(is_known) {
        from_the_front(s)?;
        notes.push("negative indices are counted from the front");
    }
    Ok((!notes.is_empty()).then(|| notes.join(", ")))
}

/// `indices` becomes `Where(indices < 0, indices + depth, indices)`, of integers; what is negative after that becomes `depth`, which is out
/// of range.
fn from_the_front(s: &mut ConvertSite<'_>) -> Result<(), String> {
    let long = || vec![("to", AttrValue::Int(i64::from(ElemType::INT64.0)))];
    let mut operands = [0, 1].map(|i| (s.input(i), s.elem(i)));
    for ((value, elem), stem) in operands.iter_mut().zip(["indices", "depth"]) {
        let Some(value) = value else { return Err(format!("`{stem}` is missing")) };
        if *elem != Ok(ElemType::INT64) {
            *value = s.insert(stem, "Cast", &[*value], long());
        }
    }
    let [(Some(indices), _), (Some(mut depth), _)] = operands else { return Ok(()) };
    if s.rank(1) != Ok(0) {
        depth = s.insert("depth", "Squeeze", &[depth], Vec::new());
    }
    let zero = s.int_scalar("zero", 0);
    let is_negative = s.insert("negative", "Less", &[indices, zero], Vec::new());
    let moved = s.insert("moved", "Add", &[indices, depth], Vec::new());
    let counted = s.insert("counted", "Where", &[is_negative, moved, indices], Vec::new());
    // Kernels of those versions count from the end too, so what is still negative becomes an index that is out of range on either side.
    let is_outside = s.insert("outside", "Less", &[counted, zero], Vec::new());
    let front = s.insert("front", "Where", &[is_outside, depth, counted], Vec::new());
    s.set_input(0, Some(front));
    Ok(())
}
