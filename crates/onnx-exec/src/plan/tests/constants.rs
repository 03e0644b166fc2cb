//! Constant folding. Computed constants are shown with their first elements.

use super::{Written, assert_lines};
use crate::plan::constants::{Which, compute, parts, zeros};

fn check(what: &str, stage: impl Fn(&mut Written), before: &str, after: &str) {
    let mut written = Written::read(before);
    stage(&mut written);
    assert_eq!(written.partition.mistake(), None, "{what}");
    assert_lines(what, &written.text(), after);
}

fn all(written: &mut Written) {
    compute(&mut written.partition, Which::All).unwrap();
}

#[test]
fn formulas_of_constants_are_computed() {
    check(
        "from constants alone, one after the other",
        all,
        "constant float[3] a = {1.0, 2.0, 3.0}
         reads float[3] x
         float[3] b[i0] = a[i0] * 2.0
         float[3] c[i0] = b[i0] + 1.0
         float[3] y[i0] = x[i0] + c[i0]
         publishes y",
        "constant float[3] b[i0] = a[i0] * 2.0 = {2.0, 4.0, 6.0}
         constant float[3] c[i0] = b[i0] + 1.0 = {3.0, 5.0, 7.0}
         float[3] y[i0] = x[i0] + c[i0]",
    );
    check(
        "but not a result that is much larger than what it reads",
        all,
        "constant float[1] a = {1.0}
         reads float[8192] x
         float[8192] b[i0] = a[0] * 2.0
         float[8192] y[i0] = x[i0] + b[i0]
         publishes y",
        "float[8192] b[i0] = a[0] * 2.0
         float[8192] y[i0] = x[i0] + b[i0]",
    );
}

#[test]
fn dequantized_weights_stay_bytes_until_products_had_their_chance() {
    let text = "constant uint8[4] w
                reads float[4] x
                float[4] d[i0] = float(w[i0]) * 0.5
                float[4] y[i0] = x[i0] * d[i0]
                publishes y";
    let but_bytes = |written: &mut Written| compute(&mut written.partition, Which::ButBytes).unwrap();
    check(
        "at first",
        but_bytes,
        text,
        "float[4] d[i0] = float(w[i0]) * 0.5
         float[4] y[i0] = x[i0] * d[i0]",
    );
    check(
        "later",
        all,
        text,
        "constant float[4] d[i0] = float(w[i0]) * 0.5 = {0.5, 1.0, 1.5, 2.0}
         float[4] y[i0] = x[i0] * d[i0]",
    );
}

#[test]
fn zero_points_of_zero_are_not_subtracted() {
    check(
        "zeros",
        |written| zeros(&mut written.partition),
        "constant uint8[1] z = {0}
         constant uint8[1] one = {1}
         reads uint8[4] x
         float[4] a[i0] = float(x[i0]) - float(z[0])
         float[4] b[i0] = float(x[i0]) - float(one[0])
         publishes a, b",
        "float[4] a[i0] = float(x[i0])
         float[4] b[i0] = float(x[i0]) - float(one[0])",
    );
}

#[test]
fn chains_with_constants_become_one_product_and_one_sum() {
    check(
        "a batch normalization",
        |written| parts(&mut written.partition).unwrap(),
        "constant float[2] scale = {2.0, 3.0}
         constant float[2] mean = {1.0, -1.0}
         constant float[2] deviation = {4.0, 0.5}
         constant float[2] bias = {0.0, 5.0}
         reads float[8,2] x
         float[8,2] y[i0, i1] = (((x[i0, i1] - mean[i1]) / deviation[i1]) * scale[i1]) + bias[i1]
         publishes y",
        "constant float[2] %6[i0] = (1.0 / deviation[i0]) * scale[i0] = {0.5, 6.0}
         constant float[2] %7[i0] = ((-mean[i0] / deviation[i0]) * scale[i0]) + bias[i0] = {-0.5, 11.0}
         float[8,2] y[i0, i1] = (x[i0, i1] * %6[i1]) + %7[i1]",
    );
    check(
        "constants that are not finite stay where they are",
        |written| parts(&mut written.partition).unwrap(),
        "constant float[2] a = {1.0, 0.0}
         reads float[2] x
         float[2] y[i0] = (x[i0] / a[i0]) + 1.0
         publishes y",
        "float[2] y[i0] = (x[i0] / a[i0]) + 1.0",
    );
}
