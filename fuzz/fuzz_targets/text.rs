//! Any bytes as text: read without panic, in linear time, and every finding lies in the text, between characters.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("text").expect("it is a target").run)(data));
