//! Which formulas are fused, and why others are not.

use super::{Written, assert_lines};
use crate::plan::fuse::fuse;

fn check(what: &str, before: &str, after: &str) {
    let mut written = Written::read(before);
    let refused = fuse(&mut written.partition).unwrap();
    assert_eq!(written.partition.mistake(), None, "{what}");
    assert_lines(what, &(written.text() + &written.refused(&refused)), after);
}

#[test]
fn elementwise_formulas_become_one() {
    check(
        "a chain",
        "reads float[4] x
         float[4] a[i0] = exp(x[i0])
         float[4] b[i0] = a[i0] + 1.0
         float[4] y[i0] = b[i0] * x[i0]
         publishes y",
        "float[4] y[i0] = (exp(x[i0]) + 1.0) * x[i0]",
    );
    check(
        "a view is read through",
        "reads float[4,6] x
         float[6,4] t[i0, i1] = x[i1, i0]
         float[6,4] y[i0, i1] = t[i0, i1] + 1.0
         publishes y",
        "float[6,4] y[i0, i1] = x[i1, i0] + 1.0",
    );
    check(
        "a copy in the same order becomes an alias",
        "reads float[2,3] x
         float[6] r[i0] = x[i0 / 3, i0 % 3]
         float[6] y[i0] = sqrt(r[i0])
         publishes y",
        "alias float[6] r of x
         float[6] y[i0] = sqrt(r[i0])",
    );
}

#[test]
fn reductions_take_what_is_before_and_after_them() {
    check(
        "an elementwise operation before a sum",
        "reads float[4,8] x
         float[4,8] e[i0, i1] = exp(x[i0, i1])
         float[4] y[i0] = sum over i1 < 8 of e[i0, i1]
         publishes y",
        "float[4] y[i0] = sum over i1 < 8 of exp(x[i0, i1])",
    );
    check(
        "bias and activation after a matrix product",
        "reads float[64,128] x
         reads float[128,32] w
         reads float[32] b
         float[64,32] p[i0, i1] = sum over i2 < 128 of x[i0, i2] * w[i2, i1]
         float[64,32] s[i0, i1] = p[i0, i1] + b[i1]
         float[64,32] y[i0, i1] = max(s[i0, i1], 0.0)
         publishes y",
        "float[64,32] y[i0, i1] = max(total + b[i1], 0.0) where total = sum over i2 < 128 of x[i0, i2] * w[i2, i1]",
    );
}

#[test]
fn refusals_have_a_reason() {
    check(
        "a result of which others read every element",
        "reads float[4] x
         float[4] a[i0] = exp(x[i0])
         float[4] y[i0] = a[i0] + 1.0
         float[4] z[i0] = a[i0] - 1.0
         publishes y, z",
        "float[4] a[i0] = exp(x[i0])
         float[4] y[i0] = a[i0] + 1.0
         float[4] z[i0] = a[i0] - 1.0
         y apart from a: others read it too
         z apart from a: others read it too",
    );
    check(
        "a result of the plan",
        "reads float[4] x
         float[4] a[i0] = exp(x[i0])
         float[4] y[i0] = a[i0] + 1.0
         publishes a, y",
        "float[4] a[i0] = exp(x[i0])
         float[4] y[i0] = a[i0] + 1.0
         y apart from a: others read it too",
    );
    check(
        "elements that would be computed for each row again",
        "reads float[4] x
         reads float[8,4] z
         float[4] a[i0] = exp(x[i0])
         float[8,4] y[i0, i1] = a[i1] * z[i0, i1]
         publishes y",
        "float[4] a[i0] = exp(x[i0])
         float[8,4] y[i0, i1] = a[i1] * z[i0, i1]
         y apart from a: elements would be computed more than once",
    );
    check(
        "positions that a window would compute for each of its elements again",
        "reads float[1,4,32] x
         reads float[8,4,3] w
         float[1,4,34] p[i0, i1, i2] = x[i0, i1, (i2 + 31) % 32]
         float[1,8,32] y[i0, i1, i2] = sum over i3 < 4, i4 < 3 of p[i0, i3, i2 + i4] * w[i1, i3, i4]
         publishes y",
        "float[1,4,34] p[i0, i1, i2] = x[i0, i1, (i2 + 31) % 32]
         float[1,8,32] y[i0, i1, i2] = sum over i3 < 4, i4 < 3 of p[i0, i3, i2 + i4] * w[i1, i3, i4]
         y apart from p: positions would be computed more than once",
    );
    check(
        "a function in a factor of a matrix product",
        "reads float[64,128] x
         reads float[128,32] w
         float[64,128] e[i0, i1] = exp(x[i0, i1])
         float[64,32] y[i0, i1] = sum over i2 < 128 of e[i0, i2] * w[i2, i1]
         publishes y",
        "float[64,128] e[i0, i1] = exp(x[i0, i1])
         float[64,32] y[i0, i1] = sum over i2 < 128 of e[i0, i2] * w[i2, i1]
         y apart from e: it costs too much to be computed where factors are packed",
    );
    check(
        "a computation that would read each element from another line of memory",
        "reads float[256,256] x
         float[256,256] e[i0, i1] = exp(x[i0, i1])
         float[256,256] y[i0, i1] = e[i1, i0]
         publishes y",
        "float[256,256] e[i0, i1] = exp(x[i0, i1])
         float[256,256] y[i0, i1] = e[i1, i0]
         y apart from e: each of its elements would be in another line of memory",
    );
    check(
        "a transposed product",
        "reads float[64,128] x
         reads float[128,32] w
         float[64,32] p[i0, i1] = sum over i2 < 128 of x[i0, i2] * w[i2, i1]
         float[32,64] y[i0, i1] = p[i1, i0] + 1.0
         publishes y",
        "float[64,32] p[i0, i1] = sum over i2 < 128 of x[i0, i2] * w[i2, i1]
         float[32,64] y[i0, i1] = p[i1, i0] + 1.0
         y apart from p: its elements are wanted in another order",
    );
}

#[test]
fn copies_stay_apart_where_loops_would_be_slower() {
    check(
        "rows that are looked up",
        "reads float[500,96] table
         reads int64[64] words
         reads float[64,96] x
         float[64,96] g[i0, i1] = table[{words[i0]}, i1]
         float[64,96] y[i0, i1] = g[i0, i1] + x[i0, i1]
         publishes y",
        "float[64,96] g[i0, i1] = table[words[i0], i1]
         float[64,96] y[i0, i1] = g[i0, i1] + x[i0, i1]
         y apart from g: rows would be found anew for each of their elements",
    );
    check(
        "elements that are looked up",
        "reads float[64,500] table
         reads int64[96] words
         reads float[64,96] x
         float[64,96] g[i0, i1] = table[i0, {words[i1]}]
         float[64,96] y[i0, i1] = g[i0, i1] + x[i0, i1]
         publishes y",
        "float[64,96] y[i0, i1] = table[i0, words[i1]] + x[i0, i1]",
    );
    check(
        "rows that are looked up and moved on",
        "reads float[500,96] table
         reads int64[64] words
         float[64,96] g[i0, i1] = table[{words[i0]}, i1]
         float[32,96] y[i0, i1] = g[i0 + 8, i1]
         publishes y",
        "float[32,96] y[i0, i1] = table[words[i0 + 8], i1]",
    );
    check(
        "short strips",
        "reads float[32,32,32] x
         reads float[32,64,64] z
         float[32,64,64] g[i0, i1, i2] = x[i0, i1 / 2, i2 / 2]
         float[32,64,64] y[i0, i1, i2] = g[i0, i1, i2] + z[i0, i1, i2]
         publishes y",
        "float[32,64,64] g[i0, i1, i2] = x[i0, i1 / 2, i2 / 2]
         float[32,64,64] y[i0, i1, i2] = g[i0, i1, i2] + z[i0, i1, i2]
         y apart from g: strips would be too short",
    );
    check(
        "a computation that is read in short strips",
        "reads float[128,8,64] x
         float[128,8,64] e[i0, i1, i2] = exp(x[i0, i1, i2])
         float[8,128,64] y[i0, i1, i2] = e[i1, i0, i2]
         publishes y",
        "float[128,8,64] e[i0, i1, i2] = exp(x[i0, i1, i2])
         float[8,128,64] y[i0, i1, i2] = e[i1, i0, i2]
         y apart from e: strips would be too short",
    );
    check(
        "short strips of a large tensor, which would come from memory twice",
        "reads float[4096,8,64] x
         float[8,4096,64] t[i0, i1, i2] = x[i1, i0, i2]
         float[8,4096,64] y[i0, i1, i2] = exp(t[i0, i1, i2])
         publishes y",
        "float[8,4096,64] y[i0, i1, i2] = exp(x[i1, i0, i2])",
    );
    check(
        "several readers of a permuted tensor",
        "reads float[128,8,64] x
         float[8,128,64] t[i0, i1, i2] = x[i1, i0, i2]
         float[8,128] m[i0, i1] = max over i2 < 64 of t[i0, i1, i2]
         float[8,128,64] y[i0, i1, i2] = exp(t[i0, i1, i2] - m[i0, i1])
         publishes y",
        "float[8,128,64] t[i0, i1, i2] = x[i1, i0, i2]
         float[8,128] m[i0, i1] = max over i2 < 64 of t[i0, i1, i2]
         float[8,128,64] y[i0, i1, i2] = exp(t[i0, i1, i2] - m[i0, i1])
         m apart from t: others read it too
         y apart from t: others read it too",
    );
}

#[test]
fn products_of_dequantized_bytes_are_computed_in_integers() {
    check(
        "both factors have a scale",
        "reads uint8[64,128] x
         reads uint8[128,32] w
         float[64,128] a[i0, i1] = float(x[i0, i1]) * 0.5
         float[128,32] b[i0, i1] = float(w[i0, i1]) * 0.25
         float[64,32] y[i0, i1] = sum over i2 < 128 of a[i0, i2] * b[i2, i1]
         publishes y",
        "float[64,32] y[i0, i1] = float(total) * (0.5 * 0.25) where total = int32 sum over i2 < 128 of int32(x[i0, i2]) * int32(w[i2, i1])",
    );
}

#[test]
fn fused_formulas_have_a_bounded_size() {
    // `(((x + 1.0) + 1.0) + …)`, and `(((x0 + x1) + x2) + …)`.
    let chain = |of: &str, count: usize| (0..count).fold(of.to_owned(), |sum, _| format!("({sum} + 1.0)"));
    let unwrapped = |expr: String| expr[1..expr.len() - 1].to_owned();
    let (a, y) = (unwrapped(chain("x[i0]", 50)), unwrapped(chain("a[i0]", 50)));
    let formulas = format!("float[4] a[i0] = {a}\nfloat[4] y[i0] = {y}\n");
    check(
        "many parts",
        &format!("reads float[4] x\n{formulas}publishes y"),
        &format!("{formulas}y apart from a: the expression would be too long"),
    );
    let sum = |first: &str, inputs: std::ops::Range<usize>| {
        unwrapped(inputs.fold(first.to_owned(), |sum, i| format!("({sum} + x{i}[i0])")))
    };
    let reads: String = (0..30).map(|i| format!("reads float[4] x{i}\n")).collect();
    let formulas =
        format!("float[4] a[i0] = {}\nfloat[4] y[i0] = {}\n", sum("x0[i0]", 1..15), sum("a[i0]", 15..30));
    check(
        "many operands",
        &format!("{reads}{formulas}publishes y"),
        &format!("{formulas}y apart from a: too much would be loaded at a time"),
    );
}
