//! Convolutions: sums over the channels of a group and the places of a kernel.

use super::super::build::wide;
use super::super::cx::long;
use super::super::number::is_float;
use super::super::{Binary, Combine, Cx, Definition, Expr, Formula, Index};
use super::quantize::{Scale, requantize};
use super::window::{Window, longs};
use onnx_ir::ElemType;

/// A convolution of an input of `N, C, …` by a weight of `M, C/group, …`.
struct Convolution {
    x: usize,
    w: usize,
    window: Window,
    /// The extents that are summed over: channels of a group, kernel.
    over: Vec<usize>,
    x_at: Vec<Index>,
    w_at: Vec<Index>,
}

impl Convolution {
    fn of(cx: &Cx<'_>, x: usize, w: usize) -> Option<Convolution> {
        let (input, weight, rank) = (cx.input(x)?.dims, cx.input(w)?.dims, cx.out()?.dims.len());
        if input.len() != rank || weight.len() != rank || rank < 2 {
            return None;
        }
        let window = Window::of(cx, x, weight[2..].to_vec())?;
        let groups = groups(cx)?;
        let outputs = weight[0] / groups;
        if weight[0] != outputs * groups || input[1] != weight[1].checked_mul(groups)? {
            return None;
        }
        let inner = Index::of(rank);
        let channel = match (groups, outputs) {
            (1, _) => inner.clone(),
            (_, 1) => Index::Affine(0, vec![(1, long(weight[1])?), (rank, 1)]),
            _ => Index::Sum(vec![(Index::of(1).div(long(outputs)?), long(weight[1])?), (inner.clone(), 1)]),
        };
        let mut x_at = vec![Index::of(0), channel];
        x_at.extend(window.positions(rank + 1));
        let mut w_at = vec![Index::of(1), inner];
        w_at.extend((0..window.kernel.len()).map(|axis| Index::of(rank + 1 + axis)));
        let mut over = vec![weight[1]];
        over.extend(&window.kernel);
        Some(Convolution { x, w, window, over, x_at, w_at })
    }

    /// An element of the input, which is 0 outside.
    fn padded(&self, element: Expr, elem: ElemType) -> Option<Expr> {
        let inside = self.window.is_inside(&self.x_at[2..])?;
        Some(element.guarded(inside, Expr::number(elem, 0)))
    }

    /// The sum of products of integers that are without their zero points. That of the weight may be one for each channel.
    fn integers(self, cx: &Cx<'_>, x_zero: usize, w_zero: usize) -> Option<Formula> {
        let int = ElemType::INT32;
        let mut x = Expr::Load(self.x, self.x_at.clone()).cast(int);
        if cx.has_input(x_zero) {
            x = x - cx.scalar(x_zero)?.cast(int);
        }
        let mut w = Expr::Load(self.w, self.w_at.clone()).cast(int);
        if cx.has_input(w_zero) {
            w = w - Scale::of(cx, w_zero, Some(1))?.expr.cast(int);
        }
        let expr = self.padded(x, int)? * w;
        Some(cx.formula(expr)?.over(self.over, Combine::Sum, int))
    }
}

fn groups(cx: &Cx<'_>) -> Option<usize> {
    usize::try_from(cx.attributes.int("group").unwrap_or(1)).ok().filter(|n| *n > 0)
}

pub(super) fn conv(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let it = Convolution::of(cx, 0, 1)?;
    let x = it.padded(Expr::Load(0, it.x_at.clone()), elem)?;
    let formula = cx.formula(x * Expr::Load(1, it.w_at))?.over(it.over, Combine::Sum, wide(elem));
    with_bias(cx, formula)
}

/// A sum with an element for each channel added to it, if there is a third input.
fn with_bias(cx: &Cx<'_>, formula: Formula) -> Option<Definition> {
    let Some(bias) = cx.input(2) else { return cx.one(formula) };
    let elem = cx.out()?.elem;
    let bias = Expr::Load(2, vec![if bias.dims == [1] { Index::at(0) } else { Index::of(1) }]);
    let sum = Expr::Total + bias.into_type(elem, wide(elem));
    cx.one(formula.then(sum.into_type(wide(elem), elem)))
}

pub(super) fn conv_integer(cx: &Cx<'_>) -> Option<Definition> {
    cx.one(Convolution::of(cx, 0, 1)?.integers(cx, 2, 3)?)
}

pub(super) fn qlinear_conv(cx: &Cx<'_>) -> Option<Definition> {
    let formula = Convolution::of(cx, 0, 3)?.integers(cx, 2, 5)?;
    let scale = |input: usize| Scale::of(cx, input, Some(1));
    let total = match cx.has_input(8) {
        true => Expr::Total + Expr::Load(8, vec![Index::of(1)]),
        false => Expr::Total,
    };
    cx.one(formula.then(requantize(cx, total, [scale(1)?, scale(4)?, scale(6)?], scale(7)?)?))
}

/// Each element of the result gathers what the elements of the input leave there: those that are a whole number of strides
/// away, for each place of the kernel.
pub(super) fn conv_transpose(cx: &Cx<'_>) -> Option<Definition> {
    let (elem, out) = (cx.out()?.elem, cx.out()?.dims);
    let (input, weight, rank) = (cx.input(0)?.dims, cx.input(1)?.dims, out.len());
    let spatial = rank.checked_sub(2)?;
    if input.len() != rank || weight.len() != rank {
        return None;
    }
    let groups = groups(cx)?;
    let (inputs, outputs) = (input[1] / groups, weight[1]);
    if input[1] != inputs * groups || input[1] != weight[0] || out[1] != outputs.checked_mul(groups)? {
        return None;
    }
    let steps = Steps::of(cx, spatial)?;
    let (group, within) = match (groups, outputs) {
        (1, _) => (Index::at(0), Index::of(1)),
        (_, 1) => (Index::of(1), Index::at(0)),
        _ => (Index::of(1).div(long(outputs)?), Index::of(1).rem(long(outputs)?)),
    };
    let channel = match group {
        Index::Affine(..) => group.times(long(inputs)?).plus(Index::of(rank)),
        group => Index::Sum(vec![(group, long(inputs)?), (Index::of(rank), 1)]),
    };
    let (mut x_at, mut w_at) = (vec![Index::of(0), channel.clone()], vec![channel, within]);
    let mut conditions = Vec::new();
    let index = |i: &Index| Expr::Index(i.clone());
    for axis in 0..spatial {
        let stride = steps.strides[axis];
        let terms = vec![(axis + 2, 1), (rank + 1 + axis, -steps.dilations[axis])];
        let from = Index::Affine(steps.begin[axis], terms);
        if stride > 1 {
            conditions.push(index(&from.clone().rem(stride)).equal(Expr::int(0)));
        }
        let position = from.div(stride);
        conditions.push(index(&position).binary(Binary::GreaterOrEqual, Expr::int(0)));
        conditions.push(index(&position).less(Expr::int(long(input[axis + 2])?)));
        x_at.push(position);
        w_at.push(Index::of(rank + 1 + axis));
    }
    let x = Expr::Load(0, x_at).guarded(Expr::all(conditions), Expr::number(elem, 0));
    let mut over = vec![inputs];
    over.extend(&weight[2..]);
    let formula = cx.formula(x * Expr::Load(1, w_at))?.over(over, Combine::Sum, wide(elem));
    is_float(elem).then(|| with_bias(cx, formula))?
}

/// How a transposed convolution goes.
struct Steps {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// How much is cut off at the beginning.
    begin: Vec<i64>,
}

impl Steps {
    fn of(cx: &Cx<'_>, spatial: usize) -> Option<Steps> {
        let list = |name: &str, default: i64| match cx.attributes.ints(name) {
            Some(list) if !list.is_empty() => {
                (list.len() == spatial && list.iter().all(|i| i.unsigned_abs() < 1 << 32)).then_some(list)
            }
            Some(_) | None => Some(vec![default; spatial]),
        };
        let (strides, dilations) = (list("strides", 1)?, list("dilations", 1)?);
        if strides.iter().any(|s| *s < 1) {
            return None;
        }
        let mode = cx.attributes.string("auto_pad").unwrap_or_default();
        let is_same = matches!(&*mode, "SAME_UPPER" | "SAME_LOWER");
        let begin = match cx.attributes.ints("pads") {
            Some(pads) if !is_same => pads.get(..spatial)?.to_vec(),
            _ if mode == "VALID" => vec![0; spatial],
            _ => {
                let added = list("output_padding", 0)?;
                let extents = longs(cx.input(0)?.dims.get(2..)?)?;
                let kernel = longs(cx.input(1)?.dims.get(2..)?)?;
                let output = longs(cx.out()?.dims.get(2..)?)?;
                let begin = |i: usize| {
                    let reach = strides[i].checked_mul(extents[i] - 1)?.checked_add(added[i])?;
                    let whole = reach.checked_add((kernel[i] - 1).checked_mul(dilations[i])? + 1)?;
                    let cut = (whole - output[i]).max(0);
                    Some(if mode == "SAME_UPPER" { cut / 2 } else { cut - cut / 2 })
                };
                (0..spatial).map(begin).collect::<Option<_>>()?
            }
        };
        Some(Steps { strides, dilations, begin })
    }
}
