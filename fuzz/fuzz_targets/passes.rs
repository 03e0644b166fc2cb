//! Passes one after the other, in an order that the text's length says, leave a model without errors without errors; and
//! what a model computes stays what it is when it is tidied, expanded and converted.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("passes").expect("it is a target").run)(data));
