//! Any bytes, in every role that a text can have: comments lie between tokens in their order, each on its line, and findings
//! are counted and lie in the text.
#![no_main]

use conformance::fuzz::FuzzTarget;

libfuzzer_sys::fuzz_target!(|data: &[u8]| (FuzzTarget::named("lexer").expect("it is a target").run)(data));
