//! Operators that compute each element of the output from those at its place in the inputs.

use super::{Row, row};
use crate::dims::{Dim, Dims};
use crate::infer::{Elem, Infer, NodeCx, Value};

pub(super) const ROWS: &[Row] = &[
    row("Abs", 1, abs),
    row("Acos", 7, same_shape),
    row("Acosh", 9, same_shape),
    row("Add", 1, add),
    row("And", 1, and),
    row("Asin", 7, same_shape),
    row("Asinh", 9, same_shape),
    row("Atan", 7, same_shape),
    row("Atanh", 9, same_shape),
    row("BitwiseAnd", 18, broadcast),
    row("BitwiseNot", 18, same_shape),
    row("BitwiseOr", 18, broadcast),
    row("BitwiseXor", 18, broadcast),
    row("Ceil", 1, ceil),
    row("Celu", 12, same_shape),
    row("Cos", 7, same_shape),
    row("Cosh", 9, same_shape),
    row("Div", 1, div),
    row("Elu", 1, same_shape),
    row("Equal", 1, equal),
    row("Erf", 9, same_shape),
    row("Exp", 1, same_shape),
    row("Floor", 1, floor),
    row("Gelu", 20, same_shape),
    row("Greater", 1, greater),
    row("GreaterOrEqual", 12, greater_or_equal),
    row("HardSigmoid", 1, same_shape),
    row("HardSwish", 14, same_shape),
    row("IsInf", 10, same_shape),
    row("IsNaN", 9, same_shape),
    row("LeakyRelu", 1, same_shape),
    row("Less", 1, less),
    row("LessOrEqual", 12, less_or_equal),
    row("Log", 1, same_shape),
    row("Max", 1, max),
    row("Mean", 1, broadcast),
    row("Min", 1, min),
    row("Mish", 18, same_shape),
    row("Mod", 10, modulo),
    row("Mul", 1, mul),
    row("Neg", 1, neg),
    row("Not", 1, not),
    row("Or", 1, or),
    row("Pow", 1, pow),
    row("Reciprocal", 1, same_shape),
    row("Relu", 1, same_shape),
    row("Round", 11, same_shape),
    row("Selu", 1, same_shape),
    row("Shrink", 9, same_shape),
    row("Sigmoid", 1, same_shape),
    row("Sign", 9, same_shape),
    row("Sin", 7, same_shape),
    row("Sinh", 9, same_shape),
    row("Softplus", 1, same_shape),
    row("Softsign", 1, same_shape),
    row("Sqrt", 1, sqrt),
    row("Sub", 1, sub),
    row("Sum", 1, broadcast),
    row("Swish", 24, same_shape),
    row("Tan", 7, same_shape),
    row("Tanh", 1, same_shape),
    row("ThresholdedRelu", 10, same_shape),
    row("Where", 9, choose),
    row("Xor", 1, xor),
];

/// The output has the shape of the first input.
pub(super) fn same_shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.copy_shape(0, 0)
}

/// The output has the shape that all inputs broadcast to. Before version 7, an attribute `axis` said how the second
/// input lies in the first, whose shape the output has; variadic operators broadcast from version 8 on.
pub(super) fn broadcast(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_variadic = cx.schema().inputs.len() == 1;
    if cx.since() < if is_variadic { 8 } else { 7 } {
        return same_shape(cx);
    }
    let inputs: Vec<usize> = (0..cx.input_count()).collect();
    let shape = cx.broadcast(&inputs)?;
    cx.set_shape(0, shape);
    Some(())
}

/// Broadcasting, with the elements where they are known.
fn elements(cx: &mut NodeCx<'_, '_>, f: impl Fn(&mut Dims, &[Elem]) -> Elem) -> Infer {
    broadcast(cx)?;
    let values: Vec<_> = (0..cx.input_count()).map(|i| cx.value(i)).collect::<Option<_>>()?;
    let dims: Vec<usize> = cx.output(0).shape()?.iter().map(|&d| extent(d)).collect::<Option<_>>()?;
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= Value::MOST)?;
    let mut elems = Vec::with_capacity(count);
    let mut at = vec![0; dims.len()];
    for _ in 0..count {
        let operands: Vec<Elem> =
            values.iter().map(|v| v.broadcast_at(&at).unwrap_or(Elem::Unknown)).collect();
        elems.push(f(cx.dims(), &operands));
        advance(&mut at, &dims);
    }
    let value = Value::new(dims, elems)?;
    cx.set_value(0, value);
    Some(())
}

/// An extent that is known.
pub(super) fn extent(dim: Dim) -> Option<usize> {
    match dim {
        Dim::Const(n) => usize::try_from(n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    }
}

/// The next position in row-major order.
pub(super) fn advance(at: &mut [usize], dims: &[usize]) {
    for (i, d) in at.iter_mut().zip(dims).rev() {
        *i += 1;
        if *i < *d {
            return;
        }
        *i = 0;
    }
}

fn binary(
    cx: &mut NodeCx<'_, '_>,
    ints: impl Fn(&mut Dims, Dim, Dim) -> Dim,
    floats: impl Fn(f64, f64) -> f64,
) -> Infer {
    elements(cx, |dims, operands| match *operands {
        [Elem::Int(a), Elem::Int(b)] => Elem::Int(ints(dims, a, b)),
        [Elem::Float(a), Elem::Float(b)] => Elem::Float(floats(a, b)),
        _ => Elem::Unknown,
    })
}

fn unary(cx: &mut NodeCx<'_, '_>, int: impl Fn(&mut Dims, Dim) -> Dim, float: impl Fn(f64) -> f64) -> Infer {
    same_shape(cx)?;
    let value = cx.value(0)?;
    let elems = value.elems.iter().map(|e| match *e {
        Elem::Int(d) => Elem::Int(int(cx.dims(), d)),
        Elem::Float(x) => Elem::Float(float(x)),
        Elem::Unknown => Elem::Unknown,
    });
    let value = Value::new(value.dims.iter().copied(), elems.collect())?;
    cx.set_value(0, value);
    Some(())
}

fn add(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(cx, Dims::add, |a, b| a + b)
}

fn sub(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(cx, Dims::sub, |a, b| a - b)
}

fn mul(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(cx, Dims::mul, |a, b| a * b)
}

/// Integers are divided towards zero.
fn div(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(
        cx,
        |dims, a, b| match (a, b) {
            (Dim::Const(a), Dim::Const(b)) => a.checked_div(b).map_or(Dim::Unknown, Dim::Const),
            _ if is_natural(dims, a) && is_natural(dims, b) => dims.floor_div(a, b),
            _ => Dim::Unknown,
        },
        |a, b| a / b,
    )
}

fn is_natural(dims: &Dims, dim: Dim) -> bool {
    dims.lower_bound(dim).is_some_and(|least| least >= 0)
}

/// `fmod = 0` has the sign of the divisor, as Python has it; `fmod = 1` that of the dividend.
fn modulo(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_fmod = cx.int("fmod")? != 0;
    binary(
        cx,
        |dims, a, b| match (a, b) {
            (Dim::Const(a), Dim::Const(b)) if is_fmod => a.checked_rem(b).map_or(Dim::Unknown, Dim::Const),
            _ if !is_fmod || is_natural(dims, a) && is_natural(dims, b) => dims.modulo(a, b),
            _ => Dim::Unknown,
        },
        |a, b| if is_fmod { a % b } else { f64::NAN },
    )
}

fn pow(cx: &mut NodeCx<'_, '_>) -> Infer {
    elements(cx, |_, operands| match *operands {
        [Elem::Int(Dim::Const(a)), Elem::Int(Dim::Const(b))] => {
            let power = u32::try_from(b).ok().and_then(|b| a.checked_pow(b));
            power.map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n)))
        }
        [Elem::Float(a), b] => b.number().map_or(Elem::Unknown, |b| Elem::Float(a.powf(b))),
        _ => Elem::Unknown,
    })
}

fn max(cx: &mut NodeCx<'_, '_>) -> Infer {
    fold(cx, Dims::max, f64::max)
}

fn min(cx: &mut NodeCx<'_, '_>) -> Infer {
    fold(cx, Dims::min, f64::min)
}

fn fold(
    cx: &mut NodeCx<'_, '_>,
    ints: impl Fn(&mut Dims, Dim, Dim) -> Dim,
    floats: impl Fn(f64, f64) -> f64,
) -> Infer {
    elements(cx, |dims, operands| {
        let pairs = operands.iter().copied().reduce(|a, b| match (a, b) {
            (Elem::Int(a), Elem::Int(b)) => Elem::Int(ints(dims, a, b)),
            (Elem::Float(a), Elem::Float(b)) => Elem::Float(floats(a, b)),
            _ => Elem::Unknown,
        });
        pairs.unwrap_or(Elem::Unknown)
    })
}

fn neg(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Dims::neg, |x| -x)
}

fn abs(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Dims::abs, f64::abs)
}

fn ceil(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, |_, d| d, f64::ceil)
}

fn floor(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, |_, d| d, f64::floor)
}

fn sqrt(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, |_, _| Dim::Unknown, f64::sqrt)
}

fn truth(known: Option<bool>) -> Elem {
    known.map_or(Elem::Unknown, |b| Elem::Int(Dim::Const(b.into())))
}

/// A boolean that is known.
fn boolean(elem: Elem) -> Option<bool> {
    match elem {
        Elem::Int(Dim::Const(n)) => Some(n != 0),
        Elem::Unknown | Elem::Int(_) | Elem::Float(_) => None,
    }
}

fn compare(
    cx: &mut NodeCx<'_, '_>,
    ints: impl Fn(&mut Dims, Dim, Dim) -> Option<bool>,
    floats: impl Fn(f64, f64) -> bool,
) -> Infer {
    elements(cx, |dims, operands| match *operands {
        [Elem::Int(a), Elem::Int(b)] => truth(ints(dims, a, b)),
        [Elem::Float(a), Elem::Float(b)] => truth(Some(floats(a, b))),
        _ => Elem::Unknown,
    })
}

fn equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, |dims, a, b| dims.known_equal(a, b), |a, b| a == b)
}

/// Whether `a < b` for all values of the symbols, or for none.
fn known_less(dims: &mut Dims, a: Dim, b: Dim) -> Option<bool> {
    let difference = dims.sub(b, a);
    if dims.lower_bound(difference).is_some_and(|d| d > 0) {
        return Some(true);
    }
    dims.upper_bound(difference).is_some_and(|d| d <= 0).then_some(false)
}

fn less(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, known_less, |a, b| a < b)
}

fn greater(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, |dims, a, b| known_less(dims, b, a), |a, b| a > b)
}

fn less_or_equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, |dims, a, b| known_less(dims, b, a).map(|l| !l), |a, b| a <= b)
}

fn greater_or_equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, |dims, a, b| known_less(dims, a, b).map(|l| !l), |a, b| a >= b)
}

fn logical(cx: &mut NodeCx<'_, '_>, f: impl Fn(Option<bool>, Option<bool>) -> Option<bool>) -> Infer {
    elements(cx, |_, operands| match *operands {
        [a, b] => truth(f(boolean(a), boolean(b))),
        _ => Elem::Unknown,
    })
}

fn and(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => Some(a? && b?),
    })
}

fn or(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        _ => Some(a? || b?),
    })
}

fn xor(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| Some(a? != b?))
}

fn not(cx: &mut NodeCx<'_, '_>) -> Infer {
    same_shape(cx)?;
    let value = cx.value(0)?;
    let elems = value.elems.iter().map(|&e| truth(boolean(e).map(|b| !b)));
    let value = Value::new(value.dims.iter().copied(), elems.collect())?;
    cx.set_value(0, value);
    Some(())
}

fn choose(cx: &mut NodeCx<'_, '_>) -> Infer {
    elements(cx, |dims, operands| match *operands {
        [condition, a, b] => match boolean(condition) {
            Some(true) => a,
            Some(false) => b,
            None => match (a, b) {
                (Elem::Int(x), Elem::Int(y)) if dims.known_equal(x, y) == Some(true) => a,
                _ => Elem::Unknown,
            },
        },
        _ => Elem::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_advance_in_row_major_order() {
        let (dims, mut at) = ([2, 2], vec![0, 0]);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(at.clone());
            advance(&mut at, &dims);
        }
        assert_eq!(seen, [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]]);
    }
}
