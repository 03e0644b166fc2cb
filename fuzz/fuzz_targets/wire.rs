//! Any bytes as a model in wire format: what is read is judged without panic, and written so that it reads the same;
//! byte for byte if a standard encoder could have written it.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("wire").expect("it is a target").run)(data));
