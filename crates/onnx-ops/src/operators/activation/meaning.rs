//! Activation functions.

use crate::definition::{Binary, Cx, Definition, Expr, Index, Unary};

/// A function of one element and float attributes of the node.
fn of<const N: usize>(
    cx: &Cx<'_>,
    names: [&str; N],
    function: impl FnOnce(Expr, [Expr; N]) -> Expr,
) -> Option<Definition> {
    let mut numbers = Vec::with_capacity(N);
    for name in names {
        numbers.push(Expr::float(cx.attributes.float(name)?));
    }
    cx.element(function(cx.broadcast(0)?, numbers.try_into().ok()?))
}

fn zero() -> Expr {
    Expr::float(0.0)
}

fn one() -> Expr {
    Expr::float(1.0)
}

fn is_positive(x: &Expr) -> Expr {
    x.clone().greater(zero())
}

/// At 0, the result is the element itself, whatever the slope.
fn is_not_negative(x: &Expr) -> Expr {
    x.clone().binary(Binary::GreaterOrEqual, zero())
}

fn logistic(x: Expr) -> Expr {
    (one() + (-x).unary(Unary::Exp)).unary(Unary::Reciprocal)
}

/// `log(1 + exp(x))`, in a form whose exponential is at most 1.
fn soft_plus(x: Expr) -> Expr {
    let power = (-x.clone().unary(Unary::Abs)).unary(Unary::Exp);
    x.max(zero()) + power.unary(Unary::Log1p)
}

pub(super) fn relu(cx: &Cx<'_>) -> Option<Definition> {
    let zero = Expr::number(cx.out()?.elem, 0);
    cx.element(cx.broadcast(0)?.max(zero))
}

pub(super) fn leaky_relu(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha"], |x, [alpha]| x.clone().if_else(is_not_negative(&x), x * alpha))
}

pub(super) fn thresholded_relu(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha"], |x, [alpha]| x.clone().if_else(x.greater(alpha), zero()))
}

/// The slope is broadcast; a slope of rank 1 may belong to the only axis of its size.
pub(super) fn prelu(cx: &Cx<'_>) -> Option<Definition> {
    let (dims, slope) = (cx.out()?.dims, cx.input(1)?.dims);
    let fits = |i: usize, d: &usize| {
        *d == 1 || dims.len().checked_sub(slope.len()).is_some_and(|shift| dims[i + shift] == *d)
    };
    let slope = if slope.iter().enumerate().all(|(i, d)| fits(i, d)) {
        cx.broadcast(1)?
    } else {
        let mut axes = (0..dims.len()).filter(|axis| slope.len() == 1 && dims[*axis] == slope[0]);
        let (Some(axis), None) = (axes.next(), axes.next()) else { return None };
        Expr::Load(1, vec![Index::of(axis)])
    };
    let zero = Expr::number(cx.out()?.elem, 0);
    let x = cx.broadcast(0)?;
    cx.element(x.clone().if_else(x.clone().binary(Binary::GreaterOrEqual, zero), x * slope))
}

pub(super) fn elu(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha"], |x, [alpha]| x.clone().if_else(is_not_negative(&x), alpha * x.unary(Unary::Expm1)))
}

pub(super) fn selu(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha", "gamma"], |x, [alpha, gamma]| {
        gamma * x.clone().if_else(is_positive(&x), alpha * x.unary(Unary::Expm1))
    })
}

pub(super) fn celu(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha"], |x, [alpha]| {
        let below = alpha.clone() * (x.clone() / alpha).unary(Unary::Expm1);
        x.max(zero()) + below.min(zero())
    })
}

pub(super) fn sigmoid(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, [], |x, []| logistic(x))
}

pub(super) fn hard_sigmoid(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha", "beta"], |x, [alpha, beta]| (x * alpha + beta).min(one()).max(zero()))
}

pub(super) fn hard_swish(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, [], |x, []| {
        let slope = (x.clone() / Expr::float(6.0) + Expr::float(0.5)).min(one()).max(zero());
        x * slope
    })
}

pub(super) fn swish(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, ["alpha"], |x, [alpha]| x.clone() * logistic(alpha * x))
}

pub(super) fn mish(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, [], |x, []| x.clone() * soft_plus(x).unary(Unary::Tanh))
}

pub(super) fn softplus(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, [], |x, []| soft_plus(x))
}

pub(super) fn softsign(cx: &Cx<'_>) -> Option<Definition> {
    of(cx, [], |x, []| x.clone() / (one() + x.unary(Unary::Abs)))
}

pub(super) fn gelu(cx: &Cx<'_>) -> Option<Definition> {
    let number = Expr::float;
    match &*cx.attributes.string("approximate")? {
        "none" => of(cx, [], |x, []| {
            let erf = (x.clone() * number(std::f64::consts::FRAC_1_SQRT_2)).unary(Unary::Erf);
            number(0.5) * x * (one() + erf)
        }),
        "tanh" => of(cx, [], |x, []| {
            let cube = x.clone() * x.clone() * x.clone();
            let inner = number((2.0 / std::f64::consts::PI).sqrt()) * (x.clone() + number(0.044715) * cube);
            number(0.5) * x * (one() + inner.unary(Unary::Tanh))
        }),
        _ => None,
    }
}

/// Moves elements toward 0 by the bias; 0 between the limits.
pub(super) fn shrink(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let float = onnx_formula::wide_float(elem);
    let (bias, limit) = (cx.attributes.float("bias")?, cx.attributes.float("lambd")?);
    let x = cx.broadcast(0)?.into_type(elem, float);
    let (bias, limit) = (Expr::float(bias), Expr::float(limit));
    let above = (x.clone() - bias.clone()).if_else(x.clone().greater(limit.clone()), zero());
    let all = (x.clone() + bias).if_else(x.less(-limit), above);
    cx.element(all.into_type(float, elem))
}
