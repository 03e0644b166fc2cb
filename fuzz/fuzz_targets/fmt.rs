//! Formatting any text without errors keeps its comments and its meaning, and formatting it again changes nothing.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("fmt").expect("it is a target").run)(data));
