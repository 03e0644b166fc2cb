//! Each row of the tables of operations, computed in lanes, against its evaluation; and conversions of lanes.

use super::{Lanes, are_short, compare, double, int, int_of, short_of, single};
use onnx_formula::{Binary, Domain, Expr, Formula, Mode, Number, Unary};
use onnx_ir::ElemType;

const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    0.25,
    -0.5,
    1.0,
    -1.0,
    1.5,
    -2.5,
    3.0,
    12.0,
    -80.0,
    1e4,
    -7e8,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];
const INTS: [i64; 11] = [0, 1, -1, 2, -3, 7, 63, 64, -1000, i64::MAX, i64::MIN];

/// The result of evaluating a formula; `None` if the operation has no result for such operands.
fn evaluated(expr: Expr, elem: ElemType) -> Option<Number> {
    let formula = Formula { elem, dims: Vec::new(), over: None, expr, then: None };
    formula.element(&[], Mode::Reference, 0)
}

/// Whether a result is within two units in the last place of `float`, or for `double` equal.
fn is_near(result: f64, expected: Option<Number>, tolerance: f64) -> bool {
    let Some(Number::Float(expected)) = expected else { return false };
    let is_same = result == expected || result.is_nan() && expected.is_nan();
    is_same || (result - expected).abs() <= tolerance * expected.abs().max(f64::from(f32::MIN_POSITIVE))
}

fn is_equal(result: i64, expected: Option<Number>) -> bool {
    expected == Some(Number::Int(result.into()))
}

#[test]
fn unary_rows_are_computed_as_they_are_evaluated() {
    let doubles = FLOATS.map(f64::from);
    for &op in Unary::ALL {
        let (domain, elem) = (op.domain(), if op.is_test() { ElemType::BOOL } else { ElemType::INT64 });
        let of = |x: Number, elem| evaluated(Expr::Number(x).unary(op), elem);
        if !matches!(domain, Domain::Integers | Domain::Booleans | Domain::Tests) {
            let (mut out, mut fused, mut wide) = ([9.0; 16], [9.0; 16], [9.0; 16]);
            single::unary::<false>(op, &mut out, &FLOATS);
            single::unary::<true>(op, &mut fused, &FLOATS);
            double::unary(op, &mut wide, &doubles);
            for (i, x) in doubles.into_iter().enumerate() {
                let x = Number::Float(x);
                for result in [out[i], fused[i]] {
                    assert!(is_near(result.into(), of(x, ElemType::FLOAT), 4e-7), "{op:?} {x:?}: {result:e}");
                }
                assert!(is_near(wide[i], of(x, ElemType::DOUBLE), 0.0), "{op:?} {x:?}: {:e}", wide[i]);
            }
        }
        if domain == Domain::Tests || domain == Domain::Booleans {
            let (mut out, mut wide) = ([9; 16], [9; 16]);
            single::test(op, &mut out, &FLOATS);
            double::test(op, &mut wide, &doubles);
            for (i, x) in doubles.into_iter().enumerate() {
                let expected = of(Number::Float(x), elem);
                assert!(is_equal(out[i], expected) && is_equal(wide[i], expected), "{op:?} {x:e}");
            }
        }
        if domain != Domain::Floats {
            let mut out = [9; 11];
            int::unary(op, &mut out, &INTS);
            for (x, result) in INTS.into_iter().zip(out) {
                assert!(is_equal(result, of(Number::Int(x.into()), elem)), "{op:?} {x}: {result}");
            }
        }
    }
}

#[test]
fn binary_rows_are_computed_as_they_are_evaluated() {
    for &op in Binary::ALL {
        let (domain, elem) = (op.domain(), if op.is_test() { ElemType::BOOL } else { ElemType::INT64 });
        let of = |a: Number, b: Number, elem| evaluated(Expr::Number(a).binary(op, Expr::Number(b)), elem);
        for b in FLOATS {
            let (wide, others) = (FLOATS.map(f64::from), [f64::from(b); 16]);
            let expected = |i: usize, elem| of(Number::Float(wide[i]), Number::Float(b.into()), elem);
            match domain {
                Domain::Numbers | Domain::Floats => {
                    let (mut out, mut all, mut double) = ([9.0; 16], [9.0; 16], [9.0; 16]);
                    single::binary::<false>(op, &mut out, Lanes::Each(&FLOATS), Lanes::Each(&[b; 16]));
                    single::binary::<true>(op, &mut all, Lanes::Each(&FLOATS), Lanes::All(b));
                    double::binary(op, &mut double, &wide, &others);
                    for i in 0..16 {
                        for result in [out[i], all[i]] {
                            let is_near = is_near(result.into(), expected(i, ElemType::FLOAT), 4e-7);
                            assert!(is_near, "{op:?} {:e} {b:e}: {result:e}", FLOATS[i]);
                        }
                        let is_near = is_near(double[i], expected(i, ElemType::DOUBLE), 0.0);
                        assert!(is_near, "{op:?} {:e} {b:e}: {:e}", FLOATS[i], double[i]);
                    }
                }
                Domain::Tests => {
                    let (mut out, mut double) = ([9; 16], [9; 16]);
                    compare(op, &mut out, &FLOATS, &[b; 16]);
                    compare(op, &mut double, &wide, &others);
                    for i in 0..16 {
                        let expected = expected(i, elem);
                        let is_equal = is_equal(out[i], expected) && is_equal(double[i], expected);
                        assert!(is_equal, "{op:?} {:e} {b:e}", FLOATS[i]);
                    }
                }
                Domain::Integers | Domain::Booleans => {}
            }
        }
        for b in INTS {
            let mut out = [9; 11];
            int::binary(op, &mut out, &INTS, &[b; 11]);
            for (a, result) in INTS.into_iter().zip(out) {
                let expected = of(Number::Int(a.into()), Number::Int(b.into()), elem);
                assert!(is_equal(result, expected), "{op:?} {a} {b}: {result}, not {expected:?}");
            }
        }
    }
}

#[test]
fn short_floats_are_converted_as_all_others() {
    let numbers = (-40_000..40_000).map(|i| i as f32 * 0.37).chain([4_194_303.5, -4_194_303.5, -0.0, 1e-40]);
    for x in numbers {
        assert!(are_short(&[x]));
        assert_eq!(short_of(x), int_of(x), "{x}");
    }
    assert!(![4_194_304.0, f32::NAN, f32::INFINITY].iter().any(|x| are_short(&[1.0, *x])));
}
