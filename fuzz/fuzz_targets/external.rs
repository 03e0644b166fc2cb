//! Weights that are put beside a model come back, and no tensor reads a file outside the folder of its model, whatever it
//! names. The input is a model in wire format, or as text.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("external").expect("it is a target").run)(data));
