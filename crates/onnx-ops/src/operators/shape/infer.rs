//! Shapes and sizes as values, constants, and tensors created from them.

use crate::dims::{Dim, Dims};
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fraction::Fraction;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Shape, SmallTensor, TensorTy, Ty};
use crate::operators::cast::infer::{converted, dtype};
use crate::operators::elementwise::infer::{extent, extents};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{ElemType, Tensor};
use smallvec::SmallVec;

/// From version 15 on, the slice from `start` to `end`; both are clamped.
pub(crate) fn shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_rank(0, 1);
    let shape = cx.shape(0)?;
    let rank = i64::try_from(shape.len()).ok()?;
    let position = |axis: i64| {
        let from_front = if axis < 0 { axis.saturating_add(rank) } else { axis };
        usize::try_from(from_front.clamp(0, rank)).ok()
    };
    let start = position(int_or(cx, "start", 0)?)?;
    let end = position(int_or(cx, "end", rank)?)?;
    cx.set_known(0, SmallTensor::list(shape[start.min(end)..end].iter().copied()));
    Some(())
}

pub(crate) fn size(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_shape(0, []);
    let shape = cx.shape(0)?;
    let count = cx.dims().product(&shape);
    cx.set_value(0, SmallTensor::scalar(count));
    Some(())
}

pub(crate) fn identity(cx: &mut NodeCx<'_, '_>) -> Infer {
    if *cx.ty(0) == Ty::Unknown {
        return None;
    }
    cx.set_ty(0, cx.ty(0).clone());
    let value = cx.value(0)?;
    cx.set_value(0, SmallTensor::clone(&value));
    Some(())
}

/// The value attributes of a Constant.
const CONSTANTS: &[&str] = &[
    "value",
    "sparse_value",
    "value_int",
    "value_ints",
    "value_float",
    "value_floats",
    "value_string",
    "value_strings",
];

/// Exactly one of several attributes must be present.
pub(crate) fn constant(cx: &mut NodeCx<'_, '_>) -> Infer {
    // Most nodes have one attribute, which is the first in the list.
    let given = CONSTANTS.iter().copied().filter(|name| cx.has_attr(name)).take(cx.attr_count());
    let given: SmallVec<[&str; 2]> = given.collect();
    let name = match given[..] {
        [name] => name,
        [] => {
            let has_one = CONSTANTS.iter().any(|name| cx.at_attr(name) != cx.at_op());
            if !has_one {
                let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_op(), "`Constant` without a value");
                return cx.fail(diagnostic.help("add `value` or another value attribute"));
            }
            return None; // a reference that the call leaves out
        }
        [first, second, ..] => {
            let place = cx.at_attr(second);
            let message = format!("`Constant` has two values, `{first}` and `{second}`");
            return cx.fail(
                Diagnostic::new(&code::ATTR_VALUE, place, message)
                    .related(cx.at_attr(first), "the first value"),
            );
        }
    };
    let known = |elem, value: SmallTensor| {
        (Ty::tensor(elem, value.dims.iter().map(|&d| constant_extent(d))), Some(value))
    };
    let strings = |dims: &[Dim]| (Ty::tensor(ElemType::STRING, dims.iter().copied()), None);
    let (ty, value) = match name {
        "value" => {
            let tensor = cx.tensor(name)?;
            (type_of(tensor), SmallTensor::of_tensor(tensor))
        }
        "sparse_value" => (Ty::Tensor(cx.sparse_tensor(name)?), None),
        "value_int" => known(ElemType::INT64, SmallTensor::scalar(Dim::Const(cx.int(name)?))),
        "value_ints" => known(ElemType::INT64, SmallTensor::list(cx.ints(name)?.into_iter().map(Dim::Const))),
        "value_float" => known(ElemType::FLOAT, SmallTensor::scalar(Elem::Float(cx.float(name)?.into()))),
        "value_floats" => {
            let list = cx.floats(name)?;
            known(ElemType::FLOAT, SmallTensor::list(list.into_iter().map(|x| Elem::Float(x.into()))))
        }
        "value_string" => strings(&[]),
        "value_strings" => strings(&[constant_extent(cx.strings(name)?.len())]),
        _ => return None,
    };
    cx.set_ty(0, ty);
    cx.set_value(0, value?);
    Some(())
}

fn constant_extent(extent: usize) -> Dim {
    i64::try_from(extent).map_or(Dim::Unknown, Dim::Const)
}

fn type_of(tensor: &Tensor) -> Ty {
    let extent = |&d: &i64| (d >= 0).then_some(Dim::Const(d));
    let elem = tensor.elem.filter(|&e| e != ElemType::UNDEFINED);
    Ty::Tensor(TensorTy { elem, shape: tensor.dims.iter().map(extent).collect() })
}

/// Zeros of type float, or the element of `value`.
pub(crate) fn constant_of_shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    let fill = if cx.has_attr("value") {
        let tensor = cx.tensor("value")?;
        let (elem, count) = (tensor.elem, tensor.element_count());
        let fill = SmallTensor::of_tensor(tensor).and_then(|v| v.single()).unwrap_or(Elem::Unknown);
        if let Some(count) = count.filter(|&n| n != 1) {
            return cx.fail_at_attr("value", format!("`value` must have one element, but has {count}"));
        }
        cx.set_elem(0, elem?);
        fill
    } else {
        cx.set_elem(0, ElemType::FLOAT);
        Elem::Float(0.0)
    };
    let shape = shape_operand(cx, 0)?;
    cx.set_shape(0, shape);
    let value = SmallTensor::from_fn(extents(cx, 0)?, |_| fill)?;
    cx.set_value(0, value);
    Some(())
}

/// The shape in the elements of an input. Reports negative sizes; unknown ones are
/// anonymous.
pub(crate) fn shape_operand(cx: &mut NodeCx<'_, '_>, input: usize) -> Option<Shape> {
    if cx.rank(input).is_some() {
        cx.shape_of_rank(input, 1)?;
    }
    let mut shape = cx.extents_of(input)?;
    for dim in &mut shape {
        match *dim {
            Dim::Const(n) if n < 0 => {
                cx.fail_at_input(input, &code::CONSTANT_INPUT, format!("negative size {n}"))?;
                return None;
            }
            Dim::Unknown => *dim = cx.fresh(0),
            Dim::Const(_) | Dim::Expr(_) => {}
        }
    }
    Some(shape)
}

pub(crate) fn eye_like(cx: &mut NodeCx<'_, '_>) -> Infer {
    let elem = if cx.has_attr("dtype") { dtype(cx) } else { cx.elem(0) };
    if let Some(elem) = elem {
        cx.set_elem(0, elem);
    }
    cx.set_rank(0, 2);
    let shape = cx.shape_of_rank(0, 2)?;
    cx.set_shape(0, shape);
    Some(())
}

/// The number of steps from the first number up to the second, in steps of the third.
pub(crate) fn range(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.set_rank(0, 1);
    let single = |cx: &NodeCx<'_, '_>, i| cx.value(i).and_then(|v| v.single());
    let [start, limit, delta] = [0, 1, 2].map(|i| single(cx, i));
    if matches!(delta, Some(Elem::Int(Dim::Const(0)) | Elem::Float(0.0))) {
        return cx.fail_at_input(2, &code::CONSTANT_INPUT, "the step is 0".to_owned());
    }
    let count = match (start, limit, delta) {
        (Some(Elem::Float(start)), Some(Elem::Float(limit)), Some(Elem::Float(delta))) => {
            float_count(start, limit, delta, cx.elem(0)?)
        }
        (
            Some(Elem::Int(Dim::Const(start))),
            Some(Elem::Int(Dim::Const(limit))),
            Some(Elem::Int(Dim::Const(delta))),
        ) => int_count(start, limit, delta),
        (Some(start), Some(limit), Some(delta)) => {
            steps(cx.dims(), start, limit, delta).unwrap_or(Dim::Unknown)
        }
        _ => Dim::Unknown,
    };
    let count = if count == Dim::Unknown { cx.fresh(0) } else { count };
    cx.set_shape(0, [count]);
    let (Elem::Int(start), Elem::Int(delta)) = (start?, delta?) else { return None };
    let to = cx.elem(0)?;
    let value = SmallTensor::from_fn([extent(count)?], |at| {
        let offset = cx.dims().mul(constant_extent(at[0]), delta);
        let elem = Elem::Int(cx.dims().add(start, offset));
        converted(cx.dims(), elem, to)
    })?;
    cx.set_value(0, value);
    Some(())
}

/// The number of steps between two numbers.
fn steps(dims: &mut Dims, start: Elem, limit: Elem, delta: Elem) -> Option<Dim> {
    let (start, limit, under) = Fraction::of(start)?.common(dims, Fraction::of(limit)?)?;
    let span = Fraction::new(dims.sub(limit, start), under);
    let (span, delta, _) = span.common(dims, Fraction::of(delta)?)?;
    let steps = dims.ceil_div(span, delta);
    Some(dims.max(steps, Dim::Const(0)))
}

/// The difference of the limits may exceed 64 bits.
fn int_count(start: i64, limit: i64, delta: i64) -> Dim {
    let (span, delta) = (i128::from(limit) - i128::from(start), i128::from(delta));
    // Rounded up: away from zero if the signs agree; otherwise, the range is empty.
    let steps = span / delta + i128::from(span % delta != 0);
    let steps = if (span < 0) == (delta < 0) { steps } else { 0 };
    i64::try_from(steps).map_or(Dim::Unknown, Dim::Const)
}

/// The limits are subtracted in their own precision, at least in that of float.
fn float_count(start: f64, limit: f64, delta: f64, elem: ElemType) -> Dim {
    let span = if elem == ElemType::DOUBLE { limit - start } else { f64::from(limit as f32 - start as f32) };
    let steps = (span / delta).ceil().max(0.0);
    const MAX_EXACT: f64 = (1u64 << 53) as f64;
    if steps < MAX_EXACT { Dim::Const(steps as i64) } else { Dim::Unknown }
}

/// Adds an axis to the indices, with the size in the second input.
pub(crate) fn one_hot(cx: &mut NodeCx<'_, '_>) -> Infer {
    if cx.rank(1).is_some() {
        let shape = cx.shape_of_ranks(1, 0, Some(1))?;
        if let [Dim::Const(n)] = shape[..]
            && n != 1
        {
            return cx.fail_at_input(
                1,
                &code::SHAPE_PRECONDITION,
                format!("`depth` must have one element, but has {n}"),
            );
        }
    }
    if cx.rank(2).is_some() {
        let shape = cx.shape_of_rank(2, 1)?;
        if let [Dim::Const(n)] = shape[..]
            && n != 2
        {
            return cx.fail_at_input(
                2,
                &code::SHAPE_PRECONDITION,
                format!("`values` must have two elements, but has {n}"),
            );
        }
    }
    let depth = match cx.value(1).and_then(|v| v.single()) {
        Some(elem) => converted(cx.dims(), elem, ElemType::INT64).int(),
        None => Dim::Unknown,
    };
    if let Dim::Const(n) = depth
        && n < 0
    {
        return cx.fail_at_input(1, &code::CONSTANT_INPUT, format!("negative size {n}"));
    }
    let is_negative = |index: &Dim| matches!(index, Dim::Const(..0));
    if cx.since() < 11
        && let Some(Dim::Const(index)) = cx.value(0).and_then(|indices| indices.as_dims().find(is_negative))
    {
        let message = format!("index {index} is negative, which `OneHot` accepts from version 11 on");
        return cx.fail_at_input(0, &code::CONSTANT_INPUT, message);
    }
    let mut shape = cx.shape_of_ranks(0, 1, None)?;
    let axis = cx.int("axis")?;
    let place = cx.at_attr("axis");
    let axis = cx.axis(axis, shape.len() + 1, place)?;
    let depth = if depth == Dim::Unknown { cx.fresh(0) } else { depth };
    shape.insert(axis, depth);
    cx.set_shape(0, shape);
    Some(())
}
