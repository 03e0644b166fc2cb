//! Golden texts.

use super::*;

#[test]
fn every_construct_is_formatted() {
    for width in [1, 20, 40, 60, 80, 100, 1000] {
        check_to(width, EVERYTHING);
        check_to(width, ANNOTATED);
    }
}
