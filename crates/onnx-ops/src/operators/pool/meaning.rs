//! Pooling over windows, and over all spatial axes.

use crate::definition::cx::long;
use crate::definition::window::Window;
use crate::definition::{Binary, Combine, Cx, Definition, Expr, Formula, Index, Keep, Number, Unary};
use onnx_formula::count;
use onnx_formula::is_float;
use onnx_formula::wide;
use onnx_ir::ElemType;

/// Pooling of `N, C, …` over a window in each channel.
struct Pool {
    window: Window,
    /// The element at a position of the kernel.
    load: Expr,
    positions: Vec<Index>,
}

impl Pool {
    fn of(cx: &Cx<'_>) -> Option<Pool> {
        let rank = cx.out()?.dims.len();
        let window = Window::of(cx, 0, cx.attributes.ints("kernel_shape")?)?;
        let positions = window.positions(rank);
        let mut at = vec![Index::of(0), Index::of(1)];
        at.extend(positions.iter().cloned());
        Some(Pool { window, load: Expr::Load(0, at), positions })
    }

    fn inside(&self) -> Option<Option<Expr>> {
        self.window.is_inside(&self.positions)
    }
}

/// The maximum of each window and its index.
pub(crate) fn max(cx: &Cx<'_>) -> Option<Definition> {
    let (elem, dims) = (cx.out()?.elem, cx.out()?.dims);
    let pool = Pool::of(cx)?;
    let least = Expr::Number(Combine::Max.neutral(elem)?);
    let element = pool.load.clone().guarded(pool.inside()?, least);
    let kernel = pool.window.kernel_sizes()?;
    let greatest = cx.formula(element.clone())?.over(kernel.clone(), Combine::Max, elem);
    if cx.output(1).is_none() {
        return cx.one(greatest);
    }
    let place = cx.formula(element)?.over(kernel, Combine::ArgMax(Keep::First), ElemType::INT64);
    let input = cx.input(0)?.dims;
    let is_column_major = cx.attributes.is("storage_order");
    // The channel, followed by each axis of the position, in row-major or column-major order.
    let channels = Index::Affine(0, vec![(0, long(input[1])?), (1, 1)]);
    let mut at = times(Expr::Index(channels), long(count(&input[2..])?)?);
    let mut inner = 1i64;
    let axes = pool.window.kernel.len();
    for axis in (0..axes).rev() {
        let extent = pool.window.kernel[axis];
        let step = match is_column_major {
            false => long(count(&input[axis + 3..])?)?,
            true => long(count(&input[2..axis + 2])?)?,
        };
        let whole = if inner == 1 { Expr::Total } else { Expr::Total / Expr::int(inner) };
        let element = if axis == 0 { whole } else { whole.binary(Binary::Mod, Expr::int(extent)) };
        let first = Index::Affine(-pool.window.begin[axis], vec![(axis + 2, pool.window.strides[axis])]);
        let position = Expr::Index(first) + times(element, pool.window.dilations[axis]);
        at = at + times(position, step);
        inner = inner.checked_mul(extent)?;
    }
    let place = Formula { elem: ElemType::INT64, dims: dims.to_vec(), ..place.then(at) };
    cx.define(vec![greatest, place], &[0, 1])
}

fn times(x: Expr, by: i64) -> Expr {
    if by == 1 { x } else { x * Expr::int(by) }
}

/// The sum of each window divided by the number of elements: those in the input, with `count_include_pad` also padding.
pub(crate) fn average(cx: &Cx<'_>) -> Option<Definition> {
    let (elem, dims) = (cx.out()?.elem, cx.out()?.dims);
    let pool = Pool::of(cx)?;
    let kernel = pool.window.kernel_sizes()?;
    let counted = match cx.attributes.is("count_include_pad") {
        true => pool.window.is_declared(&pool.positions)?,
        false => pool.inside()?,
    };
    let total = wide(elem);
    let sum = pool.load.clone().guarded(pool.inside()?, Expr::float(0.0));
    let sum = cx.formula(sum)?.over(kernel.clone(), Combine::Sum, total);
    let Some(counted) = counted else {
        let n = Expr::float(count(&kernel)? as f64);
        return cx.one(sum.then((Expr::Total / n).into_type(total, elem)));
    };
    // The number of elements depends only on the position.
    let mut places = vec![1, 1];
    places.extend(&dims[2..]);
    let one = Expr::float(1.0).if_else(counted, Expr::float(0.0));
    let number = Formula { elem: total, dims: places, over: None, expr: one, then: None };
    let number = number.over(kernel, Combine::Sum, total);
    let mut at = vec![Index::at(0), Index::at(0)];
    at.extend((2..dims.len()).map(Index::of));
    let mean = Expr::Total / Expr::Load(cx.result(0), at);
    cx.define(vec![number, sum.then(mean.into_type(total, elem))], &[1])
}

/// The root of the sum of powers of each window. The exponent was a float in version 1.
pub(crate) fn lp(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let pool = Pool::of(cx)?;
    let element = pool.load.clone().guarded(pool.inside()?, Expr::float(0.0));
    let kernel = pool.window.kernel_sizes()?;
    let formula = cx.formula(to_power(element, exponent(cx)?))?.over(kernel, Combine::Sum, wide(elem));
    cx.one(formula.then(root(exponent(cx)?).into_type(wide(elem), elem)))
}

fn exponent(cx: &Cx<'_>) -> Option<f64> {
    cx.attributes.int("p").map(|p| p as f64).or_else(|| cx.attributes.float("p"))
}

/// A power of the magnitude.
pub(crate) fn to_power(x: Expr, p: f64) -> Expr {
    if p == 1.0 {
        x.unary(Unary::Abs)
    } else if p == 2.0 {
        x.clone() * x
    } else {
        x.unary(Unary::Abs).binary(Binary::Pow, Expr::float(p))
    }
}

/// The root of the accumulator.
pub(crate) fn root(p: f64) -> Expr {
    if p == 1.0 {
        Expr::Total
    } else if p == 2.0 {
        Expr::Total.unary(Unary::Sqrt)
    } else {
        Expr::Total.binary(Binary::Pow, Expr::float(1.0 / p))
    }
}

/// A reduction over all spatial axes.
fn globally(cx: &Cx<'_>, each: impl FnOnce(Expr) -> Expr, combine: Combine) -> Option<(Formula, usize)> {
    let (elem, dims) = (cx.out()?.elem, cx.input(0)?.dims);
    let rank = dims.len();
    let mut at = vec![Index::of(0), Index::of(1)];
    at.extend((2..rank).map(|axis| Index::of(rank + axis - 2)));
    let over = dims.get(2..)?.to_vec();
    let total = if combine == Combine::Sum { wide(elem) } else { elem };
    let n = count(&over)?;
    Some((cx.formula(each(Expr::Load(0, at)))?.over(over, combine, total), n))
}

pub(crate) fn global_max(cx: &Cx<'_>) -> Option<Definition> {
    cx.one(globally(cx, |x| x, Combine::Max)?.0)
}

pub(crate) fn global_average(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let (formula, n) = globally(cx, |x| x, Combine::Sum)?;
    let mean = Expr::Total / Expr::Number(Number::Float(n as f64));
    is_float(elem).then(|| cx.one(formula.then(mean.into_type(wide(elem), elem))))?
}

pub(crate) fn global_lp(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let p = exponent(cx)?;
    let (formula, _) = globally(cx, |x| to_power(x, p), Combine::Sum)?;
    cx.one(formula.then(root(p).into_type(wide(elem), elem)))
}
