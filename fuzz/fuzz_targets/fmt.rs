//! Formatting any text without errors keeps its comments and its meaning, and formatting it again changes nothing.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("fmt").expect("it is a target").run)(data));
