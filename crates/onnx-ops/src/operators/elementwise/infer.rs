//! Elementwise operators.

use crate::dims::{Dim, Dims};
use crate::engine::rule::broadcast::broadcast;
use crate::engine::rule::fraction::Fraction;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, SmallTensor, is_float};
use crate::operators::cast::infer::converted;
use onnx_formula::{Binary, Number, Unary};

/// The output has the shape of the first input.
pub(crate) fn same_shape(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.copy_shape(0, 0)
}

/// A known dimension.
pub(crate) fn extent(dim: Dim) -> Option<usize> {
    match dim {
        Dim::Const(n) => usize::try_from(n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    }
}

/// The dimensions of an output, if all are known.
pub(crate) fn extents(cx: &NodeCx<'_, '_>, output: usize) -> Option<Vec<usize>> {
    cx.output(output).shape()?.iter().map(|&d| extent(d)).collect()
}

/// Broadcasting, and the elements if those of all inputs are known.
fn elements(cx: &mut NodeCx<'_, '_>, f: impl Fn(&mut Dims, &[Elem]) -> Elem) -> Infer {
    broadcast(cx)?;
    if (0..cx.input_count()).all(|i| cx.has_value(i)) { some_elements(cx, f) } else { None }
}

/// The elements of an output of known shape; elements of inputs without known elements are unknown.
fn some_elements(cx: &mut NodeCx<'_, '_>, f: impl Fn(&mut Dims, &[Elem]) -> Elem) -> Infer {
    let values: Vec<_> = (0..cx.input_count()).map(|i| cx.value(i)).collect();
    if values.iter().all(Option::is_none) {
        return None;
    }
    let to = cx.output(0).elem()?;
    let mut operands = Vec::with_capacity(values.len());
    let value = SmallTensor::from_fn(extents(cx, 0)?, |at| {
        operands.clear();
        let each = values.iter().map(|v| v.as_ref().and_then(|v| v.broadcast_at(at)));
        operands.extend(each.map(|e| e.unwrap_or(Elem::Unknown)));
        let elem = f(cx.dims(), &operands);
        converted(cx.dims(), elem, to)
    })?;
    cx.set_value(0, value);
    Some(())
}

/// Two numbers of the same kind.
enum Pair {
    /// Multiples of `1/n`, with a common n: 1 for integers.
    Parts(Dim, Dim, i64),
    Floats(f64, f64),
}

impl Pair {
    fn of(dims: &mut Dims, operands: &[Elem]) -> Option<Pair> {
        Some(match *operands {
            [Elem::Int(a), Elem::Int(b)] => Pair::Parts(a, b, 1),
            [Elem::Float(a), Elem::Float(b)] => Pair::Floats(a, b),
            [a, b] => {
                let (a, b, under) = Fraction::of(a)?.common(dims, Fraction::of(b)?)?;
                Pair::Parts(a, b, under)
            }
            _ => return None,
        })
    }
}

/// A multiple of `1/under`.
fn parts(dims: &mut Dims, count: Dim, under: i64) -> Elem {
    if under == 1 { Elem::Int(count) } else { Fraction::new(count, under).elem(dims) }
}

/// A known element.
fn known(number: Option<Number>) -> Elem {
    match number {
        Some(Number::Float(x)) => Elem::Float(x),
        Some(Number::Int(n)) => i64::try_from(n).map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n))),
        None => Elem::Unknown,
    }
}

/// An operation that is the same on multiples as on integers.
fn binary(cx: &mut NodeCx<'_, '_>, op: Binary, ints: impl Fn(&mut Dims, Dim, Dim) -> Dim) -> Infer {
    elements(cx, |dims, operands| match Pair::of(dims, operands) {
        Some(Pair::Parts(a, b, under)) => {
            let count = ints(dims, a, b);
            parts(dims, count, under)
        }
        Some(Pair::Floats(a, b)) => known(op.of_floats(a, b)),
        None => Elem::Unknown,
    })
}

fn unary(
    cx: &mut NodeCx<'_, '_>,
    op: Unary,
    int: impl Fn(&mut Dims, Dim) -> Dim,
    fraction: impl Fn(&mut Dims, Fraction) -> Elem,
) -> Infer {
    same_shape(cx)?;
    some_elements(cx, |dims, operands| match *operands {
        [Elem::Int(d)] => Elem::Int(int(dims, d)),
        [Elem::Float(x)] => known(op.of_float(x)),
        [elem @ Elem::Quotient(..)] => Fraction::of(elem).map_or(Elem::Unknown, |f| fraction(dims, f)),
        _ => Elem::Unknown,
    })
}

pub(crate) fn add(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(cx, Binary::Add, Dims::add)
}

pub(crate) fn sub(cx: &mut NodeCx<'_, '_>) -> Infer {
    binary(cx, Binary::Sub, Dims::sub)
}

pub(crate) fn mul(cx: &mut NodeCx<'_, '_>) -> Infer {
    elements(cx, |dims, operands| match *operands {
        [Elem::Int(a), Elem::Int(b)] => Elem::Int(dims.mul(a, b)),
        [Elem::Float(a), Elem::Float(b)] => Elem::Float(a * b),
        [a, b] => by_fractions(dims, a, b, |dims, a, b| a.times(dims, b)),
        _ => Elem::Unknown,
    })
}

fn by_fractions(
    dims: &mut Dims,
    a: Elem,
    b: Elem,
    f: impl Fn(&mut Dims, Fraction, Fraction) -> Option<Fraction>,
) -> Elem {
    let (Some(a), Some(b)) = (Fraction::of(a), Fraction::of(b)) else { return Elem::Unknown };
    f(dims, a, b).map_or(Elem::Unknown, |result| result.elem(dims))
}

/// Integer division rounds towards zero.
pub(crate) fn div(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_integer = !cx.elem(0).is_none_or(is_float);
    elements(cx, |dims, operands| match *operands {
        [Elem::Int(Dim::Const(a)), Elem::Int(Dim::Const(b))] if is_integer => {
            a.checked_div(b).map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n)))
        }
        [Elem::Int(a), Elem::Int(b)] if is_integer => {
            let is_floor = is_natural(dims, a) && is_natural(dims, b);
            if is_floor { Elem::Int(dims.floor_div(a, b)) } else { Elem::Unknown }
        }
        [Elem::Float(a), Elem::Float(b)] => Elem::Float(a / b),
        [a, b] => by_fractions(dims, a, b, |dims, a, b| a.divided(dims, b)),
        _ => Elem::Unknown,
    })
}

fn is_natural(dims: &Dims, dim: Dim) -> bool {
    dims.lower_bound(dim).is_some_and(|least| least >= 0)
}

/// With `fmod = 0`, the result has the sign of the divisor, as in Python; with `fmod = 1`, that of the dividend.
pub(crate) fn modulo(cx: &mut NodeCx<'_, '_>) -> Infer {
    let fmod = cx.int("fmod");
    if let Some(fmod) = fmod
        && !(0..=1).contains(&fmod)
    {
        return cx.fail_at_attr("fmod", format!("`fmod` must be 0 or 1, but is {fmod}"));
    }
    let op = match fmod {
        None => return broadcast(cx),
        Some(1) => Binary::Remainder,
        Some(_) => Binary::Mod,
    };
    binary(cx, op, |dims, a, b| match (a, b) {
        _ if is_natural(dims, a) && is_natural(dims, b) => dims.modulo(a, b),
        (Dim::Const(a), Dim::Const(b)) if op == Binary::Remainder => {
            a.checked_rem(b).map_or(Dim::Unknown, Dim::Const)
        }
        _ if op == Binary::Mod => dims.modulo(a, b),
        _ => Dim::Unknown,
    })
}

pub(crate) fn pow(cx: &mut NodeCx<'_, '_>) -> Infer {
    elements(cx, |dims, operands| match *operands {
        [Elem::Int(Dim::Const(a)), Elem::Int(Dim::Const(b))] => {
            let power = u32::try_from(b).ok().and_then(|b| a.checked_pow(b));
            power.map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n)))
        }
        [Elem::Int(a), b] => match b.number() {
            Some(1.0) => Elem::Int(a),
            Some(2.0) => Elem::Int(dims.mul(a, a)),
            _ => Elem::Unknown,
        },
        [Elem::Float(a), b] => b.number().map_or(Elem::Unknown, |b| Elem::Float(a.powf(b))),
        _ => Elem::Unknown,
    })
}

pub(crate) fn max(cx: &mut NodeCx<'_, '_>) -> Infer {
    fold(cx, larger)
}

pub(crate) fn min(cx: &mut NodeCx<'_, '_>) -> Infer {
    fold(cx, smaller)
}

pub(crate) fn sum(cx: &mut NodeCx<'_, '_>) -> Infer {
    fold(cx, |dims, a, b| match (a, b) {
        (Elem::Int(a), Elem::Int(b)) => Elem::Int(dims.add(a, b)),
        // Sums of floating-point numbers depend on the order.
        _ => Elem::Unknown,
    })
}

fn fold(cx: &mut NodeCx<'_, '_>, f: impl Fn(&mut Dims, Elem, Elem) -> Elem) -> Infer {
    elements(cx, |dims, operands| {
        operands.iter().copied().reduce(|a, b| f(dims, a, b)).unwrap_or(Elem::Unknown)
    })
}

/// The larger of two numbers.
pub(crate) fn larger(dims: &mut Dims, a: Elem, b: Elem) -> Elem {
    match Pair::of(dims, &[a, b]) {
        Some(Pair::Parts(a, b, under)) => {
            let count = dims.max(a, b);
            parts(dims, count, under)
        }
        Some(Pair::Floats(a, b)) if !a.is_nan() && !b.is_nan() => Elem::Float(a.max(b)),
        Some(Pair::Floats(..)) | None => Elem::Unknown,
    }
}

/// The smaller of two numbers.
pub(crate) fn smaller(dims: &mut Dims, a: Elem, b: Elem) -> Elem {
    match Pair::of(dims, &[a, b]) {
        Some(Pair::Parts(a, b, under)) => {
            let count = dims.min(a, b);
            parts(dims, count, under)
        }
        Some(Pair::Floats(a, b)) if !a.is_nan() && !b.is_nan() => Elem::Float(a.min(b)),
        Some(Pair::Floats(..)) | None => Elem::Unknown,
    }
}

pub(crate) fn neg(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Neg, Dims::neg, |dims, f| f.map(dims, Dims::neg))
}

pub(crate) fn abs(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Abs, Dims::abs, |dims, f| f.map(dims, Dims::abs))
}

pub(crate) fn ceil(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Ceil, |_, d| d, |dims, f| Elem::Int(f.ceil(dims)))
}

pub(crate) fn floor(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Floor, |_, d| d, |dims, f| Elem::Int(f.floor(dims)))
}

pub(crate) fn round(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Round, |_, d| d, |dims, f| Elem::Int(f.round(dims)))
}

pub(crate) fn sqrt(cx: &mut NodeCx<'_, '_>) -> Infer {
    unary(cx, Unary::Sqrt, |_, _| Dim::Unknown, |_, _| Elem::Unknown)
}

pub(crate) fn sign(cx: &mut NodeCx<'_, '_>) -> Infer {
    let sign = |dims: &mut Dims, d| match (dims.lower_bound(d), dims.upper_bound(d)) {
        (Some(least), _) if least > 0 => Dim::Const(1),
        (_, Some(most)) if most < 0 => Dim::Const(-1),
        (Some(0), Some(0)) => Dim::Const(0),
        _ => Dim::Unknown,
    };
    unary(cx, Unary::Sign, sign, |dims, f| Elem::Int(sign(dims, f.over())))
}

fn truth(known: Option<bool>) -> Elem {
    known.map_or(Elem::Unknown, |b| Elem::Int(Dim::Const(b.into())))
}

/// The value of a known boolean.
pub(crate) fn boolean(elem: Elem) -> Option<bool> {
    match elem {
        Elem::Int(Dim::Const(n)) => Some(n != 0),
        Elem::Unknown | Elem::Int(_) | Elem::Float(_) | Elem::Quotient(..) => None,
    }
}

fn compare(cx: &mut NodeCx<'_, '_>, op: Binary, ints: impl Fn(&mut Dims, Dim, Dim) -> Option<bool>) -> Infer {
    elements(cx, |dims, operands| match Pair::of(dims, operands) {
        Some(Pair::Parts(a, b, _)) => truth(ints(dims, a, b)),
        Some(Pair::Floats(a, b)) => known(op.of_floats(a, b)),
        None => Elem::Unknown,
    })
}

pub(crate) fn equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, Binary::Equal, |dims, a, b| dims.known_equal(a, b))
}

/// Whether `a < b` for all values of the symbols (true), or for none (false).
pub(crate) fn known_less(dims: &mut Dims, a: Dim, b: Dim) -> Option<bool> {
    let difference = dims.sub(b, a);
    if dims.lower_bound(difference).is_some_and(|d| d > 0) {
        return Some(true);
    }
    dims.upper_bound(difference).is_some_and(|d| d <= 0).then_some(false)
}

pub(crate) fn less(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, Binary::Less, known_less)
}

pub(crate) fn greater(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, Binary::Greater, |dims, a, b| known_less(dims, b, a))
}

pub(crate) fn less_or_equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, Binary::LessOrEqual, |dims, a, b| known_less(dims, b, a).map(|l| !l))
}

pub(crate) fn greater_or_equal(cx: &mut NodeCx<'_, '_>) -> Infer {
    compare(cx, Binary::GreaterOrEqual, |dims, a, b| known_less(dims, a, b).map(|l| !l))
}

fn logical(cx: &mut NodeCx<'_, '_>, f: impl Fn(Option<bool>, Option<bool>) -> Option<bool>) -> Infer {
    broadcast(cx)?;
    some_elements(cx, |_, operands| match *operands {
        [a, b] => truth(f(boolean(a), boolean(b))),
        _ => Elem::Unknown,
    })
}

pub(crate) fn and(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => Some(a? && b?),
    })
}

pub(crate) fn or(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        _ => Some(a? || b?),
    })
}

pub(crate) fn xor(cx: &mut NodeCx<'_, '_>) -> Infer {
    logical(cx, |a, b| Some(a? != b?))
}

pub(crate) fn not(cx: &mut NodeCx<'_, '_>) -> Infer {
    same_shape(cx)?;
    some_elements(cx, |_, operands| match *operands {
        [a] => truth(boolean(a).map(|b| !b)),
        _ => Elem::Unknown,
    })
}

pub(crate) fn choose(cx: &mut NodeCx<'_, '_>) -> Infer {
    broadcast(cx)?;
    some_elements(cx, |dims, operands| match *operands {
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

pub(crate) fn bit_shift(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.one_of("direction", &["RIGHT", "LEFT"])?;
    broadcast(cx)
}

/// The limits are attributes before version 11, then scalars; runtimes accept rank 1 as well.
pub(crate) fn clip(cx: &mut NodeCx<'_, '_>) -> Infer {
    same_shape(cx)?;
    for i in 1..cx.input_count() {
        if let Some(count) = cx.shape(i).map(|s| cx.dims().product(&s))
            && matches!(count, Dim::Const(n) if n != 1)
        {
            cx.shape_of_rank(i, 0)?;
        }
    }
    if cx.since() < 11 {
        return None;
    }
    let limit =
        |cx: &NodeCx<'_, '_>, i| if cx.has_input(i) { cx.value(i)?.single().map(Some) } else { Some(None) };
    let (low, high) = (limit(cx, 1)?, limit(cx, 2)?);
    let within = |dims: &mut Dims, elem: Elem| {
        let above = low.map_or(elem, |low| larger(dims, low, elem));
        high.map_or(above, |high| smaller(dims, high, above))
    };
    let value = cx.value(0)?;
    let elems = value.elems.iter().map(|&e| within(cx.dims(), e)).collect();
    let value = SmallTensor::new(value.dims.iter().copied(), elems)?;
    cx.set_value(0, value);
    Some(())
}

/// The second output is the mask.
pub(crate) fn dropout(cx: &mut NodeCx<'_, '_>) -> Infer {
    for i in 1..cx.input_count() {
        if cx.rank(i).is_some() {
            cx.shape_of_rank(i, 0)?;
        }
    }
    let shape = cx.shape(0)?;
    cx.set_shape(0, shape.iter().copied());
    cx.set_shape(1, shape);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_two_kinds_are_parts_of_one_size() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        let mut pair = |x| Pair::of(&mut dims, &[Elem::Int(n), Elem::Float(x)]);
        assert!(matches!(pair(2.0), Some(Pair::Parts(_, Dim::Const(2), 1))));
        assert!(matches!(pair(0.5), Some(Pair::Parts(_, Dim::Const(1), 2))));
        assert!(pair(f64::NAN).is_none());
        assert!(pair(1e300).is_none());
    }
}
