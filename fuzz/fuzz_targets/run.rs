//! Any text as a model that is run, within small budgets: a plan computes what its nodes compute one by one.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("run").expect("it is a target").run)(data));
