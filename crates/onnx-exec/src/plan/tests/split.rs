//! Axes that are split because positions divide them.

use super::{Written, assert_lines};
use crate::plan::PartitionItem;
use crate::plan::split::{roughness, split};

fn check(what: &str, before: &str, after: &str) {
    let mut written = Written::read(before);
    for item in &mut written.partition.items {
        let PartitionItem::Formula(it) = item else { continue };
        it.formula = split(&it.formula).unwrap();
        let is_rough = after.contains('/') || after.contains('%');
        assert_eq!(roughness(&it.formula) > 0, is_rough, "{what}");
    }
    assert_lines(what, &written.text(), after);
}

#[test]
fn positions_become_linear() {
    check(
        "an axis of the result",
        "reads float[3,4] x
         float[12] y[i0] = x[i0 / 4, i0 % 4]",
        "float[3,4] y[i0, i1] = x[i0, i1]",
    );
    check(
        "the axis of a reduction: a product stays one",
        "reads float[12,8,64] x
         reads float[768,16] w
         float[8,16] y[i0, i1] = sum over i2 < 768 of x[i2 / 64, i0, i2 % 64] * w[i2, i1]",
        "float[8,16] y[i0, i1] = sum over i2 < 12, i3 < 64 of x[i2, i0, i3] * w[64*i2 + i3, i1]",
    );
    check(
        "an axis that is divided twice",
        "reads float[2,3,4] x
         float[24] y[i0] = x[i0 / 12, (i0 / 4) % 3, i0 % 4]",
        "float[2,3,4] y[i0, i1, i2] = x[i0, i1, i2]",
    );
}

#[test]
fn positions_that_no_split_makes_linear_stay() {
    check(
        "a divisor that does not divide the axis",
        "reads float[3,5] x
         float[14] y[i0] = x[i0 / 5, i0 % 5]",
        "float[14] y[i0] = x[i0 / 5, i0 % 5]",
    );
}
