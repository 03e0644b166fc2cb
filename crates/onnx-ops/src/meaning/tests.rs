//! Arithmetic at its edges; what operators mean is held against the reference evaluator in `conformance`.

use super::{Binary, Number, Unary};
use Number::{Float, Int};
use onnx_ir::ElemType as E;

#[test]
fn integers_wrap_around_and_divide_toward_zero() {
    let of = |op: Binary, a, b, elem| op.apply(Int(a), Int(b)).map(|n| n.wrap(elem));
    assert_eq!(of(Binary::Add, 127, 1, E::INT8), Some(Int(-128)));
    assert_eq!(of(Binary::Sub, 0, 1, E::UINT64), Some(Int(u64::MAX.into())));
    assert_eq!(of(Binary::Mul, i64::MIN.into(), -1, E::INT64), Some(Int(i64::MIN.into())));
    assert_eq!(of(Binary::Div, -7, 2, E::INT32), Some(Int(-3)));
    assert_eq!(of(Binary::Div, i64::MIN.into(), -1, E::INT64), Some(Int(i64::MIN.into())));
    assert_eq!(of(Binary::Div, 1, 0, E::INT32), None);
    for (a, b, expected) in [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (6, -3, 0)] {
        assert_eq!(of(Binary::Mod, a, b, E::INT32), Some(Int(expected)), "{a} mod {b}");
    }
    assert_eq!(Unary::BitwiseNot.apply(Int(0)).map(|n| n.wrap(E::UINT8)), Some(Int(255)));
}

#[test]
fn floats_are_rounded_once() {
    let sum = |a, b, elem| Binary::Add.apply(Float(a), Float(b)).map(|n| n.wrap(elem));
    assert_eq!(sum(16_777_216.0, 1.0, E::FLOAT), Some(Float(16_777_216.0)));
    assert_eq!(sum(2048.0, 1.0, E::FLOAT16), Some(Float(2048.0)));
    assert_eq!(sum(65504.0, 65504.0, E::FLOAT16), Some(Float(f64::INFINITY)));
    assert_eq!(Binary::Max.apply(Float(f64::NAN), Float(1.0)), None, "which of them is not said");
    assert_eq!(Binary::Max.apply(Float(0.0), Float(-0.0)), None);
}

#[test]
fn casts_have_a_value_where_the_type_has_it() {
    assert_eq!(Float(-1.9).cast(E::INT32), Some(Int(-1)));
    assert_eq!(Float(300.0).cast(E::UINT8), None);
    assert_eq!(Float(f64::NAN).cast(E::INT64), None);
    assert_eq!(Int(300).cast(E::UINT8), Some(Int(44)));
    assert_eq!(Int(16_777_217).cast(E::FLOAT), Some(Float(16_777_216.0)));
    assert_eq!(Float(0.5).cast(E::BOOL), Some(Int(1)));
}
