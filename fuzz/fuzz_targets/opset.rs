//! Any bytes as an operator set, in wire format and as text: read without panic, and what is read comes back from text.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("opset").expect("it is a target").run)(data));
