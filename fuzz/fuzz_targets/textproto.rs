//! Any bytes as textproto: refused, or a message that is the same after it is written as textproto and read again.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("textproto").expect("it is a target").run)(
    data
));
