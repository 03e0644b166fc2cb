//! Which results of half precision are kept in single precision.

use super::{Written, assert_lines};
use crate::plan::precision::widen;

fn check(what: &str, before: &str, after: &str) {
    let mut written = Written::read(before);
    widen(&mut written.partition);
    assert_eq!(written.partition.mistake(), None, "{what}");
    assert_lines(what, &written.text(), after);
}

#[test]
fn results_between_formulas_are_not_rounded() {
    check(
        "a result that only the plan reads",
        "reads float16[8] x
         float16[8] t[i0] = x[i0] * x[i0]
         float16[8] y[i0] = t[i0] + 1.0
         publishes y",
        "float[8] t[i0] = x[i0] * x[i0]
         float16[8] y[i0] = t[i0] + 1.0",
    );
    check(
        "a sum, and its accumulator",
        "reads bfloat16[8,4] x
         bfloat16[8] t[i0] = sum over i1 < 4 of x[i0, i1]
         float[8] y[i0] = float(t[i0])
         publishes y",
        "float[8] t[i0] = sum over i1 < 4 of x[i0, i1]
         float[8] y[i0] = float(t[i0])",
    );
}

#[test]
fn results_that_others_read_are_rounded() {
    for (what, text) in [
        (
            "a result of the plan",
            "reads float16[8] x
             float16[8] t[i0] = x[i0] * x[i0]
             float16[8] y[i0] = t[i0] + 1.0
             publishes t, y",
        ),
        (
            "an operand of a node",
            "reads float16[8] x
             float16[8] t[i0] = x[i0] * x[i0]
             node float16[8] n = Sort(t)",
        ),
        (
            "a value of which the bits are read",
            "reads float16[8] x
             float16[8] t[i0] = x[i0] * x[i0]
             uint16[8] y[i0] = bits(float16, uint16, t[i0])
             publishes y",
        ),
        (
            "single precision",
            "reads float[8] x
             float[8] t[i0] = x[i0] * x[i0]
             float[8] y[i0] = t[i0] + 1.0
             publishes y",
        ),
    ] {
        let kept = |line: &&str| line.contains("] = ") && !line.contains("node");
        let mut formulas: Vec<String> = text.lines().filter(kept).map(str::to_owned).collect();
        formulas.extend(text.contains("node").then(|| "node Sort".to_owned()));
        check(what, text, &formulas.join("\n"));
    }
}
