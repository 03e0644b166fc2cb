//! What can be read of any bytes comes back from text, and from JSON and textproto as far as they can say it.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("convert").expect("it is a target").run)(data));
