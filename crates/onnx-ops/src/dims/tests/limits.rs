//! Nothing panics or takes long, however large numbers and expressions get.

use crate::dims::{Dim, Dims};
use proptest::prelude::*;

#[test]
fn large_expressions_are_unknown() {
    let mut dims = Dims::new();
    let symbols: Vec<Dim> = (0..100).map(|i| dims.symbol(&format!("x{i}"))).collect();
    let sum = symbols.iter().fold(Dim::Const(0), |sum, &symbol| dims.add(sum, symbol));
    assert_eq!(sum, Dim::Unknown);
    assert_eq!(dims.product(&symbols), Dim::Unknown);
    let mut deep = symbols[0];
    for &symbol in &symbols[1..40] {
        let larger = dims.max(deep, symbol);
        let quotient = dims.floor_div(larger, symbol);
        deep = dims.add(quotient, symbol);
    }
    assert_eq!(deep, Dim::Unknown);
}

#[test]
fn expressions_that_double_end_soon() {
    let mut dims = Dims::new();
    let (n, m) = (dims.symbol("N"), dims.symbol("M"));
    for op in [Dims::add, Dims::mul, Dims::max, Dims::min, Dims::floor_div, Dims::modulo] {
        let mut d = dims.add(n, m);
        for i in 0..100 {
            let quotient = dims.floor_div(d, Dim::Const(i % 5 + 2));
            let more = dims.mul(d, m);
            d = op(&mut dims, more, quotient);
        }
        assert!(dims.text(d).len() < 10_000);
    }
}

#[test]
fn deep_expressions_need_little_stack() {
    let deep = || {
        let mut dims = Dims::new();
        let (n, m) = (dims.symbol("N"), dims.symbol("M"));
        let mut d = n;
        for i in 0..40 {
            let quotient = dims.floor_div(d, Dim::Const(3));
            let larger = dims.max(quotient, m);
            let next = dims.sub(larger, Dim::Const(i));
            let rest = dims.modulo(next, n);
            let next = dims.min(rest, d);
            d = if next == Dim::Unknown { n } else { next };
            let text = dims.text(d);
            assert_eq!(dims.parse(&text), d);
            dims.equate(d, m).ok();
            dims.resolve(d);
        }
    };
    std::thread::Builder::new().stack_size(600 << 10).spawn(deep).unwrap().join().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// A program on a few registers, with numbers from the whole range.
    #[test]
    fn any_operations_are_possible(
        steps in prop::collection::vec((0u8..16, 0usize..6, 0usize..6, 0usize..6), 1..60),
        numbers in prop::collection::vec(prop_oneof![any::<i64>(), -3i64..9, Just(i64::MAX), Just(i64::MIN)], 3),
    ) {
        let mut dims = Dims::new();
        let mut values: Vec<Dim> = numbers.into_iter().map(Dim::Const).collect();
        values.extend([dims.symbol("N"), dims.symbol("M"), dims.fresh("d")]);
        for (op, a, b, to) in steps {
            let (x, y) = (values[a], values[b]);
            values[to] = match op {
                0 | 1 => dims.add(x, y),
                2 | 3 => dims.sub(x, y),
                4 | 5 => dims.mul(x, y),
                6 | 7 => dims.floor_div(x, y),
                8 => dims.ceil_div(x, y),
                9 => dims.modulo(x, y),
                10 => dims.min(x, y),
                11 => dims.max(x, y),
                12 => dims.abs(x),
                13 => dims.broadcast(x, y).unwrap_or(Dim::Unknown),
                14 => dims.equate(x, y).unwrap_or(Dim::Unknown),
                _ => dims.fresh("d"),
            };
            if values[to] == Dim::Unknown {
                values[to] = dims.symbol("K");
            }
            let text = dims.text(values[to]);
            dims.parse(&text);
            dims.eval(values[to], |_| Some(i64::MAX - 1));
        }
    }
}
