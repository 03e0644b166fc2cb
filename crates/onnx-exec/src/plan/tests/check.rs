//! Mistakes that the verification between stages finds.

use super::Written;

#[test]
fn loads_out_of_bounds_are_found() {
    for (formula, mistake) in [
        ("float[4] y[i0] = x[i0]", None),
        ("float[5] y[i0] = x[i0]", Some("slot 0 is loaded out of bounds for slot 2")),
        ("float[4] y[i0] = x[i0 - 1]", Some("slot 0 is loaded out of bounds for slot 2")),
        ("float[2] y[i0] = x[2*i0 + 1]", None),
        ("float[2] y[i0] = x[2*i0 + 2]", Some("slot 0 is loaded out of bounds for slot 2")),
        // Positions in branches may lie outside, and positions from elements are checked by the run.
        ("float[8] y[i0] = (x[i0] if index(i0) < 4 else 0.0)", None),
        ("float[4] y[i0] = x[k[i0]]", None),
        // Nothing is loaded for a result without elements.
        ("float[0] y[i0] = x[i0 + 9]", None),
    ] {
        let written = Written::read(&format!("reads float[4] x\nreads int64[4] k\n{formula}\npublishes y"));
        assert_eq!(written.partition.mistake().as_deref(), mistake, "{formula}");
    }
}
