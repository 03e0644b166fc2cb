//! A decodable model survives conversion to text, and to JSON and textproto as far as they can express it.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("convert").expect("it is a target").run)(data));
