//! Passes, one after the other in an order that the text's length determines, leave a model without errors valid; and tidying,
//! expanding and converting a model keep its results.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("passes").expect("it is a target").run)(data));
