//! Equalities: what follows from them, what contradicts them, and what they leave alone.

use crate::dims::{Contradiction, Dim, Dims};

/// Records `left = right` for each, in order; ignores contradictions.
fn given(equalities: &[&str]) -> Dims {
    let mut dims = Dims::new();
    for equality in equalities {
        let (left, right) = equality.split_once(" = ").unwrap();
        let (left, right) = (dims.parse(left), dims.parse(right));
        dims.equate(left, right).unwrap_or_else(|_| panic!("{equality} is a contradiction"));
    }
    dims
}

#[track_caller]
fn follows(equalities: &[&str], of: &str, expected: &str) {
    let mut dims = given(equalities);
    let of = dims.parse(of);
    let resolved = dims.resolve(of);
    assert_eq!(dims.text(resolved), expected, "by {equalities:?}");
}

#[track_caller]
fn contradicts(equalities: &[&str], left: &str, right: &str) {
    let mut dims = given(equalities);
    let (a, b) = (dims.parse(left), dims.parse(right));
    let before = dims.resolve(a);
    assert!(dims.equate(a, b).is_err(), "{left} = {right} is possible by {equalities:?}");
    assert_eq!(dims.resolve(a), before, "a contradiction was recorded");
}

#[test]
fn symbols_are_solved_for() {
    follows(&["N*4 = 8"], "N", "2");
    follows(&["N = M"], "M", "N");
    follows(&["N = M", "M = K"], "K+1", "N+1");
    follows(&["N = M", "K = L", "M = L"], "K + L", "N*2");
    follows(&["N+1 = M"], "M*2", "N*2+2");
    follows(&["M+1 = N", "M = 3"], "N", "4");
    follows(&["total = past + seq"], "total*2", "past*2+seq*2");
    follows(&["N = M+1", "M = 4"], "floor(N/2)", "2");
    follows(&["N*2 = M*2 + 6"], "N", "M+3");
    follows(&["N*2 = M*3"], "N", "N");
}

#[test]
fn equalities_wait_until_they_can_be_solved() {
    follows(&["M*N = 12", "M = 3"], "N", "4");
    follows(&["M*N = K*6", "M = 3", "N = 4"], "K", "2");
    follows(&["floor(H/2) = 7"], "floor(H/2)+1", "8");
    follows(&["floor(H/2) = 7", "H = M*2"], "M", "7");
    follows(&["broadcast(N, M) = 8"], "broadcast(M, N)*2", "16");
    follows(&["max(N, M) = 5", "M = 2"], "N", "5");
}

#[test]
fn what_cannot_be_equal_is_told() {
    contradicts(&[], "N+1", "N");
    contradicts(&[], "N+1", "0");
    contradicts(&[], "N*4", "6");
    contradicts(&[], "N*2", "M*4+1");
    contradicts(&[], "min(N, 3)", "4");
    contradicts(&["N = 3"], "N", "4");
    contradicts(&["N = M", "M = 3"], "N", "4");
    contradicts(&["floor(H/2) = 7"], "H", "20");
    contradicts(&["M*N = 12"], "N", "5");
    let mut dims = given(&["N = 3"]);
    let (a, b) = (dims.symbol("N"), Dim::Const(4));
    assert_eq!(dims.equate(a, b), Err(Contradiction { left: Dim::Const(3), right: Dim::Const(4) }));
}

#[test]
fn the_better_known_one_is_the_result() {
    let mut dims = Dims::new();
    let (n, m) = (dims.symbol("N"), dims.symbol("M"));
    let (early, late) = (dims.fresh("d"), dims.fresh("d"));
    assert_eq!(dims.equate(Dim::Unknown, n), Ok(n));
    assert_eq!(dims.equate(n, Dim::Unknown), Ok(n));
    assert_eq!(dims.equate(late, early), Ok(early));
    assert_eq!(dims.equate(early, m), Ok(m));
    assert_eq!(dims.resolve(late), m);
    assert_eq!(dims.equate(m, n), Ok(n));
    assert_eq!(dims.resolve(late), n);
    assert_eq!(dims.equate(n, Dim::Const(5)), Ok(Dim::Const(5)));
    assert_eq!(dims.resolve(late), Dim::Const(5));
    let other = dims.fresh("d");
    let twice = dims.mul(other, Dim::Const(2));
    let named = dims.symbol("K");
    assert_eq!(dims.equate(twice, named), Ok(named), "a named symbol is not said by anonymous ones");
    assert_eq!(dims.resolve(named), named);
}

#[test]
fn named_symbols_stay() {
    let mut dims = Dims::new();
    let old = dims.fresh("d");
    let more = dims.add(old, Dim::Const(1));
    let named = dims.symbol("N");
    assert_eq!(dims.equate(more, named), Ok(named));
    assert_eq!(dims.resolve(named), named);
    let less = dims.parse("N-1");
    assert_eq!(dims.resolve(old), less);
}

#[test]
fn equalities_are_forgotten() {
    let mut dims = Dims::new();
    let (n, m, sum) = (dims.symbol("N"), dims.symbol("M"), dims.parse("N*2+M"));
    dims.equate(n, m).unwrap();
    let mark = dims.mark();
    dims.equate(m, Dim::Const(2)).unwrap();
    assert_eq!(dims.resolve(sum), Dim::Const(6));
    dims.undo(mark);
    let three = dims.parse("N*3");
    assert_eq!(dims.resolve(sum), three);
    dims.equate(m, Dim::Const(3)).unwrap();
    assert_eq!(dims.resolve(sum), Dim::Const(9));
}

#[test]
fn equality_is_known() {
    let mut dims = given(&["N = M*2"]);
    let mut known = |a: &str, b: &str| {
        let (a, b) = (dims.parse(a), dims.parse(b));
        dims.known_equal(a, b)
    };
    assert_eq!(known("N + K", "K + M*2"), Some(true));
    assert_eq!(known("K", "K+1"), Some(false));
    assert_eq!(known("N", "M"), None, "both may be 0");
    assert_eq!(known("N", "K*2+1"), Some(false), "even and odd");
    assert_eq!(known("K", "L"), None);
    assert_eq!(known("K % L + K // L * L", "K"), Some(true));
    assert_eq!(known("W*ceil(H/2) + W*floor(H/2)", "W*H"), Some(true));
    assert_eq!(known("?", "K"), None);
}

#[test]
fn long_chains_end() {
    let mut dims = Dims::new();
    let symbols: Vec<Dim> = (0..5_000).map(|_| dims.fresh("d")).collect();
    // From the newest to the oldest, so that each binding leads to the next one.
    for pair in symbols.windows(2).rev() {
        let next = dims.add(pair[0], Dim::Const(1));
        dims.equate(pair[1], next).unwrap();
    }
    dims.equate(symbols[0], Dim::Const(7)).unwrap();
    assert_eq!(dims.resolve(symbols[4_999]), Dim::Const(5_006));
}

#[test]
fn symbols_are_replaced() {
    let mut dims = Dims::new();
    let old = dims.fresh("d");
    let mark = dims.fresh("call");
    let new = dims.fresh("d");
    let named = dims.symbol("N");
    let product = dims.mul(new, named);
    let sum = dims.add(product, old);
    assert!(dims.is_older(old, mark) && dims.is_older(named, mark) && !dims.is_older(sum, mark));
    let replaced = dims.substitute(sum, &mut |dims, symbol| {
        if dims.is_older(symbol, mark) { symbol } else { Dim::Const(3) }
    });
    let thrice = dims.mul(named, Dim::Const(3));
    assert_eq!(replaced, dims.add(thrice, old));
    let quotient = dims.floor_div(named, old);
    assert_eq!(dims.substitute(quotient, &mut |_, _| Dim::Const(0)), Dim::Unknown);
}
