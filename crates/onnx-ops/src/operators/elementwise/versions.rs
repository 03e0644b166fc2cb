//! Conversion of elementwise operators. Before version 7, broadcasting had to be enabled by an attribute and could start at any axis.
//!
//! ```text
//! 6 → 7:   y = Add <broadcast = 1, axis = 1> (x, b)            x: float[2,3,4], b: float[3]
//!          y_B = Unsqueeze <axes = [1]> (b)  y = Add (x, y_B)
//! 7 → 6:   the reverse, if the second input covers consecutive axes of the first
//! ```

use crate::change::site::{ConvertSite, Note, note, single};
use crate::dims::Dim;
use onnx_ir::{AttrValue, ElemType, ValueId};
use std::ops::Range;

pub(super) fn broadcast_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(super) fn broadcast_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let (Some(first), Some(second)) = (s.input(0), s.input(1)) else {
        return Err("an input is missing".to_owned());
    };
    let (a, b) = (shape(s, first)?, shape(s, second)?);
    if is_same(&a, &b) {
        return Ok(None);
    }
    let axes = covered(&a, &b).ok_or("the second input does not cover consecutive axes of the first")?;
    if !axes.is_empty() && axes.len() < b.len() {
        squeeze(s, b.len() + axes.start - a.len()..b.len() + axes.end - a.len(), b.len());
    }
    s.set("broadcast", AttrValue::Int(1));
    if axes.end < a.len() {
        s.set("axis", AttrValue::Int(i64::try_from(axes.start).unwrap_or(i64::MAX)));
    }
    note("`broadcast` is added")
}

/// The shape of a value.
pub(crate) fn shape(s: &ConvertSite<'_>, value: ValueId) -> Result<Vec<Dim>, String> {
    let shape = s.ty(value).shape().map(|shape| shape.to_vec());
    shape.ok_or_else(|| "the shape of an input is unknown, so that it may be broadcast".to_owned())
}

/// Whether two shapes are certainly equal.
pub(crate) fn is_same(a: &[Dim], b: &[Dim]) -> bool {
    a == b && !a.contains(&Dim::Unknown)
}

/// The consecutive axes of `whole` whose sizes `part` has, without the axes of size 1 around them. The range is empty at the end if `part`
/// has one element.
pub(crate) fn covered(whole: &[Dim], part: &[Dim]) -> Option<Range<usize>> {
    let is_one = |dim: &&Dim| **dim == Dim::Const(1);
    let outer = whole.len().checked_sub(part.len())?;
    let first = part.iter().take_while(is_one).count();
    if first == part.len() {
        return Some(whole.len()..whole.len());
    }
    let end = part.len() - part.iter().rev().take_while(is_one).count();
    let axes = outer + first..outer + end;
    is_same(&whole[axes.clone()], &part[first..end]).then_some(axes)
}

/// Removes the axes of the second input outside of a range, which have size 1.
pub(crate) fn squeeze(s: &mut ConvertSite<'_>, keep: Range<usize>, rank: usize) {
    let Some(b) = s.input(1) else { return };
    let axes = (0..rank).filter(|axis| !keep.contains(axis)).filter_map(|axis| i64::try_from(axis).ok());
    let axes = AttrValue::Ints(axes.collect());
    let narrow = s.insert("B", "Squeeze", &[b], vec![("axes", axes)]);
    s.set_input(1, Some(narrow));
}

/// Appends axes of size 1 to the second input.
pub(crate) fn trail(s: &mut ConvertSite<'_>, count: i64) -> Result<(), String> {
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

/// Max, Min, Mean and Sum required inputs of equal shape.
pub(super) fn one_shape_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(first) = s.input(0) else { return Ok(None) };
    let shape = |v| s.ty(v).shape().cloned();
    let wanted = shape(first);
    let is_same = |i| {
        let other = s.input(i).and_then(shape);
        other.is_some() && other == wanted && wanted.iter().flatten().all(|d| *d != Dim::Unknown)
    };
    if (1..s.n().inputs.len()).all(is_same) {
        Ok(None)
    } else {
        Err("the shapes of its inputs may differ".to_owned())
    }
}

/// Default bounds are the lowest and largest number of the element type; in version 6, of float.
pub(super) fn clip_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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

pub(super) fn clip_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    for (i, name) in [(2, "max"), (1, "min")] {
        let Some(list) = s.numbers_of(i, name)? else { continue };
        let &[x] = &list[..] else { return Err(format!("`{name}` is not a scalar")) };
        s.set(name, AttrValue::Float(single(x, name)?));
        s.set_input(i, None);
    }
    note("`min` and `max` become attributes")
}

pub(super) fn dropout_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let Some(ratio) = s.attrs().float("ratio")? else { return Ok(None) };
    s.drop_attr("ratio");
    let value = s.scalar("ratio", ElemType::FLOAT, ratio)?;
    s.set_input(1, Some(value));
    note("`ratio` becomes an input")
}

pub(super) fn dropout_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
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
pub(super) fn mask_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.output(1).is_none() {
        return Ok(None);
    }
    let to = s.elem(0)?;
    s.follow(1, ("mask", "Cast"), &[], vec![("to", AttrValue::Int(to.0.into()))]);
    note("the mask is cast to the type of the data")
}

pub(super) fn mask_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.output(1).is_none() {
        return Ok(None);
    }
    s.follow(1, ("mask", "Cast"), &[], vec![("to", AttrValue::Int(ElemType::BOOL.0.into()))]);
    note("the mask is cast to bool")
}

/// Before, remainders of floats always had the C semantics.
pub(super) fn mod_down(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    let elem = s.elem(0)?;
    let is_float =
        matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    if is_float && s.attrs().int("fmod")?.unwrap_or(0) == 0 {
        return Err("floats have no remainder with the sign of the divisor (`fmod = 0`)".to_owned());
    }
    Ok(None)
}
