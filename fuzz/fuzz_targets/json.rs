//! Any bytes as JSON: refused, or a message that is the same after it is written as JSON and read again.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("json").expect("it is a target").run)(data));
