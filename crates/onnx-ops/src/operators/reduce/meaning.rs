//! Reductions along axes.

use crate::definition::cx::{axes, axis};
use crate::definition::{Combine, Cx, Definition, Expr, Index, Keep, Unary};
use crate::engine::rule::axes::mask;
use onnx_formula::count;
use onnx_formula::is_float;
use onnx_formula::wide;
use onnx_ir::ElemType;

/// The reduction axes, and the position of an element of the input.
pub(crate) struct Axes {
    /// The sizes of the reduction.
    pub(crate) over: Vec<usize>,
    /// The position in the input: indices of the result, followed by those of the reduction.
    pub(crate) load: Vec<Index>,
}

impl Axes {
    /// Indices of the reduction follow `rank` indices of the result.
    pub(crate) fn new(dims: &[usize], gone: impl Fn(usize) -> bool, keeps: bool, rank: usize) -> Axes {
        let over: Vec<usize> = (0..dims.len()).filter(|i| gone(*i)).map(|i| dims[i]).collect();
        let (mut kept, mut reduced) = (0, rank);
        let mut load = Vec::with_capacity(dims.len());
        for i in 0..dims.len() {
            if gone(i) {
                load.push(Index::of(reduced));
                reduced += 1;
                kept += usize::from(keeps);
            } else {
                load.push(Index::of(kept));
                kept += 1;
            }
        }
        Axes { over, load }
    }

    /// The axes of a node. By default all axes are reduced, or none with `noop_with_empty_axes`.
    fn of(cx: &Cx<'_>) -> Option<Axes> {
        let dims = cx.input(0)?.dims;
        let list = cx.ints(1, "axes")?.unwrap_or_default();
        let list = axes(list, dims.len())?;
        let is_all = list.is_empty() && !cx.attributes.is("noop_with_empty_axes");
        let gone = mask(&list, dims.len());
        let is_gone = |i: usize| is_all || gone[i];
        Some(Axes::new(dims, is_gone, cx.attributes.is("keepdims"), cx.out()?.dims.len()))
    }

    fn count(&self) -> Option<usize> {
        count(&self.over)
    }
}

/// The maximum or minimum.
pub(crate) fn extreme(cx: &Cx<'_>, combine: Combine) -> Option<Definition> {
    let axes = Axes::of(cx)?;
    cx.one(cx.formula(Expr::Load(0, axes.load))?.over(axes.over, combine, cx.out()?.elem))
}

/// A sum or product of a function of the elements, followed by another function.
fn fold(
    cx: &Cx<'_>,
    combine: Combine,
    each: impl FnOnce(Expr) -> Expr,
    then: impl FnOnce(usize) -> Option<Expr>,
) -> Option<Definition> {
    let axes = Axes::of(cx)?;
    let then = then(axes.count()?);
    let formula = cx.formula(each(Expr::Load(0, axes.load)))?;
    cx.one(crate::definition::Formula { then, ..formula.over(axes.over, combine, wide(cx.out()?.elem)) })
}

pub(crate) fn sum(cx: &Cx<'_>) -> Option<Definition> {
    fold(cx, Combine::Sum, |x| x, |_| None)
}

pub(crate) fn product(cx: &Cx<'_>) -> Option<Definition> {
    fold(cx, Combine::Product, |x| x, |_| None)
}

pub(crate) fn mean(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    fold(cx, Combine::Sum, |x| x, |n| Some(Expr::Total / Expr::number(elem, i64::try_from(n).ok()?)))
}

pub(crate) fn l1(cx: &Cx<'_>) -> Option<Definition> {
    fold(cx, Combine::Sum, |x| x.unary(Unary::Abs), |_| None)
}

pub(crate) fn sum_of_squares(cx: &Cx<'_>) -> Option<Definition> {
    fold(cx, Combine::Sum, |x| x.clone() * x, |_| None)
}

/// For integers, squares are summed in 64 bits, and the root is truncated.
pub(crate) fn l2(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let root = |x: Expr| x.unary(Unary::Sqrt);
    if is_float(elem) {
        return fold(cx, Combine::Sum, |x| x.clone() * x, |_| Some(root(Expr::Total)));
    }
    let axes = Axes::of(cx)?;
    let load = Expr::Load(0, axes.load);
    let square = (load.clone() * load).cast(elem).cast(ElemType::INT64);
    let formula = cx.formula(square)?.over(axes.over, Combine::Sum, ElemType::INT64);
    cx.one(formula.then(root(Expr::Total.cast(ElemType::DOUBLE)).cast(elem)))
}

pub(crate) fn log_of_sum(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    fold(cx, Combine::Sum, |x| x, |_| Some(log(Expr::Total, elem)))
}

fn log(x: Expr, elem: ElemType) -> Expr {
    let float = onnx_formula::wide_float(elem);
    let total = wide(elem);
    x.into_type(total, float).unary(Unary::Log).into_type(float, elem)
}

/// Computed after subtracting the largest finite element, or 0 if there is none: `log(sum(exp(x)))` is then `-inf` or `inf`, as in the
/// body of the function.
pub(crate) fn log_of_sum_of_powers(cx: &Cx<'_>) -> Option<Definition> {
    let out = cx.out()?;
    let float = onnx_formula::wide_float(out.elem);
    let load = |axes: &Axes| Expr::Load(0, axes.load.clone()).into_type(out.elem, float);
    let axes = Axes::of(cx)?;
    let nothing = Expr::float(f64::NEG_INFINITY);
    let is_infinite = load(&axes).unary(Unary::Abs).equal(Expr::float(f64::INFINITY));
    let finite = nothing.if_else(is_infinite, load(&axes));
    let mut greatest = cx.formula(finite)?.over(axes.over.clone(), Combine::Max, float);
    greatest.elem = float;
    let is_none = Expr::Total.equal(Expr::float(f64::NEG_INFINITY));
    let greatest = greatest.then(Expr::float(0.0).if_else(is_none, Expr::Total));
    let shift = || Expr::Load(cx.result(0), (0..out.dims.len()).map(Index::of).collect());
    let power = (load(&axes) - shift()).unary(Unary::Exp);
    let sum = cx.formula(power)?.over(axes.over, Combine::Sum, float);
    let result = (Expr::Total.unary(Unary::Log) + shift()).into_type(float, out.elem);
    cx.define(vec![greatest, sum.then(result)], &[1])
}

/// The index of the first or last maximum or minimum along an axis.
pub(crate) fn position(cx: &Cx<'_>, combine: fn(Keep) -> Combine) -> Option<Definition> {
    let dims = cx.input(0)?.dims;
    let along = axis(cx.attributes.int("axis")?, dims.len())?;
    let keep = if cx.attributes.is("select_last_index") { Keep::Last } else { Keep::First };
    let axes = Axes::new(dims, |i| i == along, cx.attributes.is("keepdims"), cx.out()?.dims.len());
    cx.one(cx.formula(Expr::Load(0, axes.load))?.over(axes.over, combine(keep), ElemType::INT64))
}
