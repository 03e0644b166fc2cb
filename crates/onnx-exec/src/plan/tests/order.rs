//! In which order kernels run: early if they free memory.

use super::{assert_lines, kernels};
use crate::plan::order::order;

fn check(what: &str, before: &str, after: &str) {
    let (written, steps, _) = kernels(before);
    let steps = order(steps, &written.partition.slots, &written.partition.published);
    assert_lines(what, &written.steps(&steps), after);
}

#[test]
fn kernels_that_free_memory_run_early() {
    check(
        "updates of weights after the gradients that they read",
        "reads float[64,64] a
         reads float[64,64] b
         reads float[64,64] c
         reads float[64,64] x
         kernel 0 float[64,64] d_c[i0, i1] = x[i0, i1] * 2.0
         kernel 1 float[64,64] d_b[i0, i1] = d_c[i0, i1] * 3.0
         kernel 2 float[64,64] d_a[i0, i1] = d_b[i0, i1] * 4.0
         kernel 3 float[8] w_c[i0] = sum over i1 < 64 of c[i0, i1] * d_c[i0, i1]
         kernel 4 float[8] w_b[i0] = sum over i1 < 64 of b[i0, i1] * d_b[i0, i1]
         kernel 5 float[8] w_a[i0] = sum over i1 < 64 of a[i0, i1] * d_a[i0, i1]
         publishes w_c, w_b, w_a",
        "kernel: d_c
         kernel: w_c
         kernel: d_b
         kernel: w_b
         kernel: d_a
         kernel: w_a",
    );
}

#[test]
fn the_order_stays_where_that_saves_nothing() {
    check(
        "a chain",
        "reads float[64] x
         kernel 0 float[64] a[i0] = exp(x[i0])
         kernel 1 float[64] b[i0] = sqrt(a[i0])
         kernel 2 float[64] y[i0] = b[i0] + 1.0
         publishes y",
        "kernel: a
         kernel: b
         kernel: y",
    );
    check(
        "an operand that is a result of the plan",
        "reads float[64] x
         kernel 0 float[64] a[i0] = exp(x[i0])
         kernel 1 float[64] b[i0] = sqrt(x[i0])
         kernel 2 float[1] y[i0] = sum over i1 < 64 of a[i1]
         publishes a, b, y",
        "kernel: a
         kernel: b
         kernel: y",
    );
}
