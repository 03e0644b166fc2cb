//! Any text as a model: judged at every level, inferred and changed by every pass without panic; what a pass makes of a
//! model without errors has none.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("check").expect("it is a target").run)(data));
