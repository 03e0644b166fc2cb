//! Any text as a model: judged at every level, inferred and changed by every pass without panic; what a pass makes of a
//! model without errors has none.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("check").expect("it is a target").run)(data));
