//! Any text as a model that is run, within small budgets: a plan computes what its nodes compute one by one.
#![no_main]

use conformance::fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (Target::named("run").expect("it is a target").run)(data));
