//! Fixes of any text are applied without panic, once: there is nothing left to fix. After a typing mistake in a text
//! without findings, safe fixes bring the model back or leave a finding.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("fixes").expect("it is a target").run)(data));
