//! Arithmetic in edge cases; `conformance` compares operators with the reference evaluator.

use crate::{Binary, Cast, Domain, Expr, Formula, Mode, Number, Reader, Rounding, Unary, Whole, line};
use Number::{Float, Int};
use onnx_ir::ElemType as E;

#[test]
fn integers_wrap_around_and_divide_toward_zero() {
    let of = |op: Binary, a, b, elem| op.apply(Int(a), Int(b), Mode::Portable).map(|n| n.wrap(elem));
    assert_eq!(of(Binary::Add, 127, 1, E::INT8), Some(Int(-128)));
    assert_eq!(of(Binary::Sub, 0, 1, E::UINT64), Some(Int(u64::MAX.into())));
    assert_eq!(of(Binary::Mul, i64::MIN.into(), -1, E::INT64), Some(Int(i64::MIN.into())));
    assert_eq!(of(Binary::Div, -7, 2, E::INT32), Some(Int(-3)));
    assert_eq!(of(Binary::Div, i64::MIN.into(), -1, E::INT64), Some(Int(i64::MIN.into())));
    assert_eq!(of(Binary::Div, 1, 0, E::INT32), None);
    for (a, b, expected) in [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (6, -3, 0)] {
        assert_eq!(of(Binary::Mod, a, b, E::INT32), Some(Int(expected)), "{a} mod {b}");
    }
    assert_eq!(Unary::BitwiseNot.apply(Int(0), Mode::Portable).map(|n| n.wrap(E::UINT8)), Some(Int(255)));
}

#[test]
fn floats_are_rounded_once() {
    let sum = |a, b, elem| Binary::Add.apply(Float(a), Float(b), Mode::Portable).map(|n| n.wrap(elem));
    assert_eq!(sum(16_777_216.0, 1.0, E::FLOAT), Some(Float(16_777_216.0)));
    assert_eq!(sum(2048.0, 1.0, E::FLOAT16), Some(Float(2048.0)));
    assert_eq!(sum(65504.0, 65504.0, E::FLOAT16), Some(Float(f64::INFINITY)));
    assert_eq!(
        Binary::Max.apply(Float(f64::NAN), Float(1.0), Mode::Portable),
        None,
        "which of them is not said"
    );
    assert_eq!(Binary::Max.apply(Float(0.0), Float(-0.0), Mode::Portable), None);
}

#[test]
fn casts_have_a_value_where_the_type_has_it() {
    assert_eq!(Cast::from(E::INT32).apply(Float(-1.9), Mode::Portable), Some(Int(-1)));
    assert_eq!(Cast::from(E::UINT8).apply(Float(300.0), Mode::Portable), None);
    assert_eq!(Cast::from(E::INT64).apply(Float(f64::NAN), Mode::Portable), None);
    assert_eq!(Cast::from(E::UINT8).apply(Int(300), Mode::Portable), Some(Int(44)));
    assert_eq!(Cast::from(E::FLOAT).apply(Int(16_777_217), Mode::Portable), Some(Float(16_777_216.0)));
    assert_eq!(Cast::from(E::BOOL).apply(Float(0.5), Mode::Portable), Some(Int(1)));
}

/// The table in the documentation of Cast.
#[test]
fn powers_of_two_have_bounds() {
    let (least, most) = (2f64.powi(-127), 2f64.powi(127));
    let cast = |rounding, saturates, x| {
        let cast = Cast { to: E::FLOAT8E8M0, saturates, rounding };
        match cast.apply(Float(x), Mode::Reference) {
            Some(Float(x)) => x,
            other => panic!("{other:?}"),
        }
    };
    let saturating = |x| cast(Rounding::Up, true, x);
    assert!(saturating(f64::NAN).is_nan());
    assert_eq!([0.0, 1e-45, f64::INFINITY, 3e38].map(saturating), [least, least, most, most]);
    assert_eq!([1.0, 1.25, 3.0].map(saturating), [1.0, 2.0, 4.0]);
    for rounding in [Rounding::Up, Rounding::Down, Rounding::Nearest] {
        for x in [0.0, 1e-45, f64::INFINITY, 3e38, f64::NAN] {
            assert!(cast(rounding, false, x).is_nan(), "{rounding:?} {x}");
        }
    }
    assert_eq!([1.25, 1.5, 3.0, 6e-39].map(|x| cast(Rounding::Nearest, false, x)), [1.0, 2.0, 4.0, least]);
    assert_eq!([1.75, 3.0].map(|x| cast(Rounding::Down, true, x)), [1.0, 2.0]);
    assert_eq!([16_777_217.0, 1.0 + 1e-10].map(saturating), [16_777_216.0, 1.0], "as floats they are powers");
}

#[test]
fn edges_have_what_the_reference_has() {
    let int = |op: Binary, a, b| op.apply(Int(a), Int(b), Mode::Reference);
    assert_eq!(int(Binary::Div, 1, 0), Some(Int(0)));
    assert_eq!(int(Binary::Mod, 1, 0), Some(Int(0)));
    let float = |op: Binary, a, b| match op.apply(Float(a), Float(b), Mode::Reference) {
        Some(Float(x)) => x,
        other => panic!("{other:?}"),
    };
    assert!(float(Binary::Max, f64::NAN, 1.0).is_nan());
    assert!(float(Binary::Min, 1.0, f64::NAN).is_nan());
    assert_eq!(float(Binary::Div, 1.0, 0.0), f64::INFINITY);
    assert_eq!(float(Binary::Mod, -7.0, 3.0), 2.0);
    assert_eq!(float(Binary::Remainder, -7.0, 3.0), -1.0);
    let to_int = |x: f64, to: E| Cast::from(to).apply(Float(x), Mode::Reference);
    assert_eq!(to_int(3e9, E::INT32), Some(Int(i32::MIN.into())));
    assert_eq!(to_int(f64::NAN, E::INT64), Some(Int(i64::MIN.into())));
}

#[test]
fn all_bits_of_narrow_types_are_numbers_and_back() {
    for &elem in E::ALL {
        let Some(width) = elem.bits().filter(|bits| *bits <= 16) else { continue };
        for bits in 0..1u64 << width {
            let number = Number::from_bits(elem, bits).expect("the type has numbers");
            let again = number.to_bits(elem).expect("it has");
            let is_nan = matches!(number, Float(x) if x.is_nan());
            let is_bool = elem == E::BOOL;
            assert!(again == bits || is_nan || is_bool, "{elem:?} {bits:#x}: {number:?} {again:#x}");
            assert!(is_nan || number.wrap(elem) == number, "{elem:?} {bits:#x}");
        }
    }
}

#[test]
fn floats_are_rounded_as_in_the_half_crate() {
    for i in 0..200_000u32 {
        let single = f32::from_bits(i.wrapping_mul(0x9e37_79b1));
        let x = f64::from(single);
        let is_same = |a: Number, b: f64| matches!(a, Float(a) if a == b || a.is_nan() && b.is_nan());
        assert!(is_same(Float(x).wrap(E::FLOAT16), half::f16::from_f32(single).to_f64()), "{x:e}");
        assert!(is_same(Float(x).wrap(E::BFLOAT16), half::bf16::from_f32(single).to_f64()), "{x:e}");
    }
}

/// Each row of the tables has functions for the operands of its domain and for no others, and its text parses to itself.
#[test]
fn rows_of_operations_are_complete() {
    let are_defined = |domain: Domain| match domain {
        Domain::Numbers | Domain::Tests => [true, true],
        Domain::Floats => [false, true],
        Domain::Integers => [true, false],
        Domain::Booleans => [true, true],
    };
    let load = || Expr::Load(0, Vec::new());
    let mut exprs = Vec::new();
    for &op in Unary::ALL {
        let defined = [Int(1), Float(0.5)].map(|x| op.apply(x, Mode::Reference).is_some());
        assert_eq!(defined, are_defined(op.domain()), "{op:?}");
        exprs.push(load().unary(op));
    }
    for &op in Binary::ALL {
        let defined = [Int(1), Float(0.5)].map(|x| op.apply(x, x, Mode::Reference).is_some());
        assert_eq!(defined, are_defined(op.domain()), "{op:?}");
        exprs.push(load().binary(op, load()));
    }
    for expr in exprs {
        let formula = Formula { elem: E::FLOAT, dims: Vec::new(), over: None, expr, then: None };
        let text = line(&formula, "y", &|_| "x".to_owned());
        let read = Reader::new(&text).and_then(|mut reader| reader.formula(&mut |_| Some(0)));
        assert_eq!(read, Ok(("y".to_owned(), formula)), "{text}");
    }
}

#[test]
fn integer_powers_wrap_around() {
    let power = |a: i128, b: i128| Binary::Pow.apply(Int(a), Int(b), Mode::Reference);
    for (a, b, expected) in
        [(3, 4, 81), (-2, 3, -8), (2, -1, 0), (1, -7, 1), (-1, -7, -1), (-1, -8, 1), (0, 0, 1)]
    {
        assert_eq!(power(a, b), Some(Int(expected)), "{a} ** {b}");
        assert_eq!(Whole::power(a as i64, b as i64), expected as i64, "{a} ** {b}");
    }
    // An exponent above 32 bits.
    let large = (1i64 << 33) + 1;
    assert_eq!(Whole::power(3i64, large), Whole::power(3i128, large.into()) as i64);
    assert_ne!(Whole::power(3i64, large), 0);
}
