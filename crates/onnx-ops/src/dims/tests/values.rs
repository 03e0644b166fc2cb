//! Families of expressions at all small values: what random ones hit too rarely.

use crate::dims::{Dim, Dims};

fn floor_div(a: i64, b: i64) -> i64 {
    a.div_euclid(b)
}

/// Whether the form has the value, within its bounds, at all small values of N and M.
#[track_caller]
fn holds(dims: &Dims, d: Dim, value: impl Fn(i64, i64) -> i64) {
    for n in 0..14 {
        for m in 0..7 {
            let found = dims.eval(d, |name| Some(if name == "N" { n } else { m }));
            let expected = value(n, m);
            assert_eq!(found, Some(expected), "{} at N = {n}, M = {m}", dims.text(d));
            assert!(dims.lower_bound(d).is_none_or(|low| low <= expected), "{}", dims.text(d));
            assert!(dims.upper_bound(d).is_none_or(|high| high >= expected), "{}", dims.text(d));
        }
    }
}

#[test]
fn quotients_of_quotients() {
    let mut dims = Dims::new();
    for inner in 2..5 {
        for outer in 2..5 {
            for sign in [1, -1] {
                for number in -3..3 {
                    for times in [0, 1, 2] {
                        let sign_text = if sign < 0 { "-" } else { "" };
                        let text = format!("({sign_text}((N+{times}*M)//{inner}) + M + {number})//{outer}");
                        let d = dims.parse(&text);
                        holds(&dims, d, |n, m| {
                            floor_div(sign * floor_div(n + times * m, inner) + m + number, outer)
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn differences_of_quotients() {
    let mut dims = Dims::new();
    for (p, q) in [(1, 2), (2, 3), (3, 2), (2, 6), (4, 6), (6, 3)] {
        for (a, b) in [(1, 1), (1, 2), (2, 1), (3, 2), (2, 4)] {
            for number in -2..3 {
                let d = dims.parse(&format!("{a}*((N+{number})//{p}) - {b}*(N//{q})"));
                holds(&dims, d, |n, _| a * floor_div(n + number, p) - b * floor_div(n, q));
                let d = dims.parse(&format!("N*{a} - ceil(N/{q})*{b} + (N + M) % {q}"));
                holds(&dims, d, |n, m| a * n + b * floor_div(-n, q) + (n + m).rem_euclid(q));
            }
        }
    }
}

#[test]
fn ends_of_ends() {
    let mut dims = Dims::new();
    for number in -4..9 {
        let d = dims.parse(&format!("max(N - M, M - N + {number})"));
        holds(&dims, d, |n, m| (n - m).max(m - n + number));
        let d = dims.parse(&format!("min(N - M, M - N + {number})"));
        holds(&dims, d, |n, m| (n - m).min(m - n + number));
    }
    for low in -2..4 {
        for high in -2..4 {
            for sign in [1, -1] {
                let clamp = |n: i64| (sign * n).min(high).max(low);
                let sign = if sign < 0 { "-" } else { "" };
                let text = format!("max(min({sign}N, {high}), {low})");
                let d = dims.parse(&text);
                holds(&dims, d, |n, _| clamp(n));
                for times in [-2, -1, 1, 2] {
                    let d = dims.parse(&format!("max(N, M) - {times}*{text} + {high}"));
                    holds(&dims, d, |n, m| n.max(m) - times * clamp(n) + high);
                    let d = dims.parse(&format!("min(M, {times}*{text} + N)"));
                    holds(&dims, d, |n, m| m.min(times * clamp(n) + n));
                    let d = dims.parse(&format!("max(N + {high}, M - N + {times})"));
                    holds(&dims, d, |n, m| (n + high).max(m - n + times));
                }
            }
        }
    }
}

#[test]
fn symbols_are_listed_once_wherever_they_are() {
    let mut dims = Dims::new();
    for (text, expected) in [
        ("7", ""),
        ("N", "N"),
        ("batch-size", "batch-size"),
        ("2*N*M + N", "M N"),
        ("N//M + N % 3", "M N"),
        ("max(N, min(M, 4)) // (N - 5)", "M N"),
        ("ceil(N/2)", "N"),
    ] {
        let d = dims.parse(text);
        let mut names = dims.symbols_of(d);
        names.sort_unstable();
        assert_eq!(names.join(" "), expected, "{text}");
    }
}
