//! Operators that change the element type (Cast, CastLike, BitCast), and conversions of known elements.
//!
//! Sizes that pass through floating-point numbers (`Floor(Cast(H) * 2.0)`) stay symbolic as long as they are certainly
//! integers.

use crate::dims::{Dim, Dims};
use crate::engine::rule::fraction::Fraction;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, SmallTensor, elem_text, is_float};
use onnx_formula::Number;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;

/// In version 1, the type is a string.
pub(crate) fn cast(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.copy_shape(0, 0);
    if cx.has_attr("round_mode") {
        cx.one_of("round_mode", &["up", "down", "nearest"])?;
    }
    let to = match cx.string("to").map(|name| name.to_lowercase()) {
        Some(name) => ElemType::from_name(&name).map_or(-1, |e| i64::from(e.0)),
        None => cx.int("to")?,
    };
    let to = element_type(cx, "to", to)?;
    cx.set_elem(0, to);
    shape?;
    convert(cx, to)
}

pub(crate) fn cast_like(cx: &mut NodeCx<'_, '_>) -> Infer {
    cx.copy_shape(0, 0)?;
    let to = cx.elem(1)?;
    convert(cx, to)
}

/// Converts the elements of the input to another type.
fn convert(cx: &mut NodeCx<'_, '_>, to: ElemType) -> Infer {
    let value = cx.value(0)?;
    let elems = value.elems.iter().map(|&e| converted(cx.dims(), e, to)).collect();
    let value = SmallTensor::new(value.dims.iter().copied(), elems)?;
    cx.set_value(0, value);
    Some(())
}

pub(crate) fn bit_cast(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.copy_shape(0, 0);
    let to = cx.int("to")?;
    let to = element_type(cx, "to", to)?;
    if let Some(from) = cx.elem(0)
        && let (Some(a), Some(b)) = (from.bits(), to.bits())
        && a != b
    {
        let (from, to) = (elem_text(from), elem_text(to));
        return cx.fail_at_attr("to", format!("{to} has {}, but {from} has {a}", counted(b, "bit")));
    }
    cx.set_elem(0, to);
    shape?;
    if cx.elem(0)?.is_integer() && to.is_integer() { convert(cx, to) } else { None }
}

/// The element type with this number; reports at an attribute one that the first output cannot have.
pub(crate) fn element_type(cx: &mut NodeCx<'_, '_>, attr: &str, number: i64) -> Option<ElemType> {
    let elem = i32::try_from(number).ok().map(ElemType).filter(|e| e.name().is_some());
    let Some(elem) = elem else {
        cx.fail_at_attr(attr, format!("`{attr}` of `{}` is not an element type", cx.op()))?;
        return None;
    };
    if !cx.schema().output(0)?.types.tensors.contains(elem) {
        let message = format!("this version of `{}` cannot produce {}", cx.op(), elem_text(elem));
        cx.fail_at_attr(attr, message)?;
        return None;
    }
    Some(elem)
}

/// The element type in an attribute; `None` also if the caller decides.
pub(crate) fn dtype(cx: &mut NodeCx<'_, '_>) -> Option<ElemType> {
    let number = cx.int("dtype")?;
    element_type(cx, "dtype", number)
}

/// An element after a cast: integers lose their high bits, floating-point numbers are rounded, and truncated to become
/// integers.
pub(crate) fn converted(dims: &mut Dims, elem: Elem, to: ElemType) -> Elem {
    match elem {
        Elem::Unknown | Elem::Int(Dim::Unknown) => Elem::Unknown,
        Elem::Int(Dim::Const(n)) => integer(n, to),
        Elem::Int(dim @ Dim::Expr(_)) => symbolic(dims, dim, to),
        Elem::Float(x) => float(x, to),
        Elem::Quotient(..) => quotient(dims, elem, to),
    }
}

/// A fraction of a dimension after a cast.
fn quotient(dims: &mut Dims, elem: Elem, to: ElemType) -> Elem {
    if matches!(to, ElemType::FLOAT | ElemType::DOUBLE) {
        return elem;
    }
    let Some(fraction) = Fraction::of(elem).filter(|_| !is_float(to)) else { return Elem::Unknown };
    let whole = if to == ElemType::BOOL { fraction.over() } else { fraction.trunc(dims) };
    converted(dims, Elem::Int(whole), to)
}

/// The number of bits of an integer type, and whether it is signed.
fn integer_layout(elem: ElemType) -> Option<(u32, bool)> {
    match elem {
        ElemType::INT64
        | ElemType::INT32
        | ElemType::INT16
        | ElemType::INT8
        | ElemType::INT4
        | ElemType::INT2 => Some((elem.bits()?, true)),
        ElemType::UINT64
        | ElemType::UINT32
        | ElemType::UINT16
        | ElemType::UINT8
        | ElemType::UINT4
        | ElemType::UINT2 => Some((elem.bits()?, false)),
        _ => None,
    }
}

fn integer(n: i64, to: ElemType) -> Elem {
    if to == ElemType::BOOL {
        return Elem::Int(Dim::Const((n != 0).into()));
    }
    if is_float(to) {
        // A single rounding: f32 directly from the integer.
        let number = if to == ElemType::FLOAT { f64::from(n as f32) } else { n as f64 };
        return Elem::Float(Number::Float(number).wrap(to).as_float());
    }
    let wrapped = match integer_layout(to) {
        Some((64, false)) => u64::try_from(n).ok().and_then(|n| i64::try_from(n).ok()),
        Some((64, true)) => Some(n),
        Some((bits, is_signed)) => {
            let unused = 64 - bits;
            let shifted = n << unused;
            Some(if is_signed {
                shifted >> unused
            } else {
                (shifted.cast_unsigned() >> unused).cast_signed()
            })
        }
        None => None,
    };
    wrapped.map_or(Elem::Unknown, |n| Elem::Int(Dim::Const(n)))
}

/// A dimension after a cast: types of 32 bits and more can represent every size that occurs.
fn symbolic(dims: &Dims, dim: Dim, to: ElemType) -> Elem {
    let (low, high) = (dims.lower_bound(dim), dims.upper_bound(dim));
    if to == ElemType::BOOL {
        let is_true = low.is_some_and(|n| n > 0) || high.is_some_and(|n| n < 0);
        return if is_true { Elem::Int(Dim::Const(1)) } else { Elem::Unknown };
    }
    if matches!(to, ElemType::FLOAT | ElemType::DOUBLE) {
        return Elem::Int(dim);
    }
    let fits = match integer_layout(to) {
        Some((bits, false)) => {
            low.is_some_and(|n| n >= 0) && (bits >= 32 || high.is_some_and(|n| n < 1 << bits))
        }
        Some((bits, true)) => {
            let end = 1 << (bits.min(32) - 1);
            bits >= 32 || low.is_some_and(|n| n >= -end) && high.is_some_and(|n| n < end)
        }
        None => false,
    };
    if fits { Elem::Int(dim) } else { Elem::Unknown }
}

fn float(x: f64, to: ElemType) -> Elem {
    if to == ElemType::BOOL {
        return Elem::Int(Dim::Const((x != 0.0).into()));
    }
    if is_float(to) {
        return Elem::Float(Number::Float(x).wrap(to).as_float());
    }
    let whole = x.trunc();
    let (least, end) = match integer_layout(to) {
        Some((bits, true)) => (-2f64.powf(f64::from(bits - 1)), 2f64.powf(f64::from(bits - 1))),
        // Greater numbers are not sizes.
        Some((bits, false)) => (0.0, 2f64.powf(f64::from(bits.min(63)))),
        None => return Elem::Unknown,
    };
    // The result for a number out of range is undefined.
    if (least..end).contains(&whole) { Elem::Int(Dim::Const(whole as i64)) } else { Elem::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(n: i64) -> Elem {
        Elem::Int(Dim::Const(n))
    }

    #[test]
    fn integers_lose_their_higher_bits() {
        let mut dims = Dims::new();
        let mut cast = |elem, to| converted(&mut dims, elem, to);
        assert_eq!(cast(int(200), ElemType::INT8), int(-56));
        assert_eq!(cast(int(-1), ElemType::UINT16), int(65535));
        assert_eq!(cast(int(-1), ElemType::UINT64), Elem::Unknown);
        assert_eq!(cast(int(1 << 32), ElemType::INT32), int(0));
        assert_eq!(cast(int(i64::MIN), ElemType::INT64), int(i64::MIN));
        assert_eq!(cast(int(7), ElemType::INT2), int(-1));
        assert_eq!(cast(int(7), ElemType::BOOL), int(1));
        assert_eq!(cast(int(16_777_217), ElemType::FLOAT), Elem::Float(16_777_216.0));
        assert_eq!(cast(int(1), ElemType::FLOAT8E5M2), Elem::Unknown);
    }

    #[test]
    fn floats_are_cut_off_where_they_fit() {
        let mut dims = Dims::new();
        let mut cast = |x, to| converted(&mut dims, Elem::Float(x), to);
        assert_eq!(cast(-2.7, ElemType::INT64), int(-2));
        assert_eq!(cast(-0.7, ElemType::UINT8), int(0));
        assert_eq!(cast(256.0, ElemType::UINT8), Elem::Unknown);
        assert_eq!(cast(9.3e18, ElemType::INT64), Elem::Unknown);
        assert_eq!(cast(f64::NAN, ElemType::INT64), Elem::Unknown);
        assert_eq!(cast(f64::NAN, ElemType::BOOL), int(1));
        assert_eq!(cast(0.1, ElemType::FLOAT), Elem::Float(f64::from(0.1f32)));
        // Rounded once: by way of single floats it would be a tie, which becomes even.
        let above_half = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(cast(above_half, ElemType::FLOAT16), Elem::Float(1.0 + 2f64.powi(-10)));
    }

    #[test]
    fn sizes_keep_their_symbols_where_they_fit() {
        let mut dims = Dims::new();
        let n = dims.symbol("N");
        assert_eq!(converted(&mut dims, Elem::Int(n), ElemType::INT32), Elem::Int(n));
        assert_eq!(converted(&mut dims, Elem::Int(n), ElemType::FLOAT), Elem::Int(n));
        assert_eq!(converted(&mut dims, Elem::Int(n), ElemType::UINT64), Elem::Int(n));
        assert_eq!(converted(&mut dims, Elem::Int(n), ElemType::INT16), Elem::Unknown);
        assert_eq!(converted(&mut dims, Elem::Int(n), ElemType::BOOL), Elem::Unknown);
    }
}
