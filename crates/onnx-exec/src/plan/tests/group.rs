//! Which formulas share a kernel, and in how many rows. Results in parentheses are stored for one block of rows only.

use super::{Written, assert_lines};
use crate::plan::Refusals;
use crate::plan::group::group;

fn check(what: &str, before: &str, after: &str) {
    let mut written = Written::read(before);
    let mut refused = Refusals::default();
    let steps = group(&mut written.partition, &mut refused).unwrap();
    assert_lines(what, &(written.steps(&steps) + &written.refused(&refused)), after);
}

#[test]
fn formulas_over_the_same_rows_share_a_kernel() {
    check(
        "a softmax",
        "reads float[64,32] x
         float[64] m[i0] = max over i1 < 32 of x[i0, i1]
         float[64] s[i0] = sum over i1 < 32 of exp(x[i0, i1] - m[i0])
         float[64,32] y[i0, i1] = exp(x[i0, i1] - m[i0]) / s[i0]
         publishes y",
        "kernel of 64 rows, 64 at a time: (m), (s), y",
    );
    check(
        "a result that is also an output stays whole",
        "reads float[64,32] x
         float[64] m[i0] = max over i1 < 32 of x[i0, i1]
         float[64,32] y[i0, i1] = x[i0, i1] - m[i0]
         publishes m, y",
        "kernel of 64 rows, 64 at a time: m, y",
    );
    check(
        "rows that read other rows, of a small tensor: all of it is one row",
        "reads float[64,64] x
         float[64,64] a[i0, i1] = exp(x[i0, i1])
         float[64] y[i0] = sum over i1 < 64 of a[i1, i0]
         publishes y",
        "kernel of 1 rows, 1 at a time: (a), y",
    );
    check(
        "small formulas that are unrelated",
        "reads float[8] x
         reads float[8] z
         float[8] a[i0] = exp(x[i0])
         float[8] b[i0] = sqrt(z[i0])
         publishes a, b",
        "kernel of 8 rows, 8 at a time: a, b",
    );
    check(
        "the heads of an attention",
        "reads float[8,16,4] q
         reads float[8,4,16] k
         float[8,16,16] s[i0, i1, i2] = sum over i3 < 4 of q[i0, i1, i3] * k[i0, i3, i2]
         float[8,16,16] y[i0, i1, i2] = exp(s[i0, i1, i2])
         publishes y",
        "kernel of 8 rows, 2 at a time: (s), y",
    );
}

#[test]
fn others_have_kernels_of_their_own() {
    check(
        "a matrix product",
        "reads float[64,32] x
         reads float[32,16] w
         float[64,16] p[i0, i1] = sum over i2 < 32 of x[i0, i2] * w[i2, i1]
         float[64] y[i0] = max over i1 < 16 of p[i0, i1]
         publishes y",
        "kernel: p
         kernel: y",
    );
    check(
        "rows that read other rows",
        "reads float[512,512] x
         float[512,512] a[i0, i1] = exp(x[i0, i1])
         float[512] y[i0] = sum over i1 < 512 of a[i1, i0]
         publishes y",
        "kernel: a
         kernel: y
         y apart from a: there would be too few rows for all threads",
    );
    check(
        "what is read by a node in between",
        "reads float[64] x
         float[64] a[i0] = exp(x[i0])
         node float[64] n = Sort(a)
         float[64] y[i0] = n[i0] + a[i0]
         publishes y",
        "kernel: a
         node Sort
         kernel: y",
    );
    check(
        "two rows for all threads",
        "reads float[2,100000] x
         float[2] m[i0] = max over i1 < 100000 of x[i0, i1]
         float[2,100000] y[i0, i1] = x[i0, i1] - m[i0]
         publishes y",
        "kernel: m
         kernel: y
         y apart from m: there would be too few rows for all threads",
    );
}
