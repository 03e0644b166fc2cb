//! Whatever can be decoded survives conversion to text, and to JSON and textproto as far as they can express it.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("convert").expect("it is a target").run)(data));
