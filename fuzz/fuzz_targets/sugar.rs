//! A text without errors is the same model without its expressions, which are gone then; formatting keeps them.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("sugar").expect("it is a target").run)(data));
