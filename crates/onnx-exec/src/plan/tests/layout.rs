//! Which results are stored with their channels last: `axes [0,2,3,1]`.

use super::{Written, assert_lines};
use crate::plan::layout::layout;

fn check(what: &str, before: &str, after: &str) {
    let mut written = Written::read(before);
    layout(&mut written.partition).unwrap();
    assert_eq!(written.partition.mistake(), None, "{what}");
    assert_lines(what, &written.text(), after);
}

#[test]
fn images_between_convolutions_have_their_channels_last() {
    check(
        "two convolutions",
        "reads float[1,3,10,10] x
         constant float[8,3,3,3] v
         constant float[4,8,1,1] w
         float[1,8,8,8] t[i0, i1, i2, i3] = sum over i4 < 3, i5 < 3, i6 < 3 of x[i0, i4, i2 + i5, i3 + i6] * v[i1, i4, i5, i6]
         float[1,4,8,8] y[i0, i1, i2, i3] = sum over i4 < 8 of t[i0, i4, i2, i3] * w[i1, i4, 0, 0]
         publishes y",
        "float[1,8,8,8] t[i0, i1, i2, i3] = sum over i4 < 3, i5 < 3, i6 < 3 of x[0, i6, i1 + i4, i2 + i5] * v[i3, i6, i4, i5] axes [0,2,3,1]
         float[1,4,8,8] y[i0, i1, i2, i3] = sum over i4 < 8 of t[0, i2, i3, i4] * w[i1, i4, 0, 0]",
    );
    check(
        "an activation between them follows",
        "reads float[1,3,8,8] x
         constant float[8,3,1,1] v
         constant float[4,8,1,1] w
         float[1,8,8,8] t[i0, i1, i2, i3] = sum over i4 < 3 of x[i0, i4, i2, i3] * v[i1, i4, 0, 0]
         float[1,8,8,8] a[i0, i1, i2, i3] = max(t[i0, i1, i2, i3], 0.0)
         float[1,4,8,8] y[i0, i1, i2, i3] = sum over i4 < 8 of a[i0, i4, i2, i3] * w[i1, i4, 0, 0]
         publishes y",
        "float[1,8,8,8] t[i0, i1, i2, i3] = sum over i4 < 3 of x[0, i4, i1, i2] * v[i3, i4, 0, 0] axes [0,2,3,1]
         float[1,8,8,8] a[i0, i1, i2, i3] = max(t[0, i1, i2, i3], 0.0) axes [0,2,3,1]
         float[1,4,8,8] y[i0, i1, i2, i3] = sum over i4 < 8 of a[0, i2, i3, i4] * w[i1, i4, 0, 0]",
    );
}

#[test]
fn others_keep_their_layout() {
    for (what, text) in [
        (
            "no convolution",
            "reads float[1,3,8,8] x
             float[1,3,8,8] a[i0, i1, i2, i3] = exp(x[i0, i1, i2, i3])
             float[1,3,8,8] y[i0, i1, i2, i3] = a[i0, i1, i2, i3] + 1.0
             publishes y",
        ),
        (
            "a matrix product over rows",
            "reads float[1,3,8,8] x
             constant float[8,8] w
             float[1,3,8,8] t[i0, i1, i2, i3] = sum over i4 < 8 of x[i0, i1, i2, i4] * w[i4, i3]
             float[1,3,8,8] y[i0, i1, i2, i3] = max(t[i0, i1, i2, i3], 0.0)
             publishes y",
        ),
        (
            "weights that change from run to run",
            "reads float[1,3,8,8] x
             reads float[8,3,1,1] v
             float[1,8,8,8] t[i0, i1, i2, i3] = sum over i4 < 3 of x[i0, i4, i2, i3] * v[i1, i4, 0, 0]
             float[1,8,8,8] y[i0, i1, i2, i3] = exp(t[i0, i1, i2, i3])
             publishes y",
        ),
        (
            "a result of the plan, of few steps",
            "reads float[1,3,8,8] x
             constant float[8,3,1,1] v
             float[1,8,8,8] y[i0, i1, i2, i3] = sum over i4 < 3 of x[i0, i4, i2, i3] * v[i1, i4, 0, 0]
             publishes y",
        ),
    ] {
        let formulas: Vec<&str> = text.lines().filter(|line| line.contains("] = ")).collect();
        check(what, text, &formulas.join("\n"));
    }
}
