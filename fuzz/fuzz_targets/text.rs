//! Any bytes as text: read without panic, in linear time, and every finding lies in the text, between characters.
#![no_main]

use conformance::texts::{places_are_sound, use_text};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let findings = use_text(&text);
    places_are_sound(&findings, &text).expect("every finding lies in the text");
});
