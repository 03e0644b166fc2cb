//! What can be read of any bytes comes back from text, and from JSON and textproto as far as they can say it.
#![no_main]

use conformance::convert::{print, same_bytes, text_to_wire, write_wire};
use onnx_proto::{FileKind, json, read, textproto};
use onnx_text::Profile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (model, _) = read(data.to_vec().into());
    let wire = write_wire(&model).expect("it is small");
    let text = print(&model, Profile::Onnx).text;
    let again = text_to_wire(&text).expect("our text is read");
    same_bytes(&wire, &again).expect("the model comes back from text");

    let plain = print(&model, Profile::Reference);
    assert!(!plain.is_extended, "the profile `reference` has no extended forms");

    if let Ok(json) = json::to_json(&wire, FileKind::Model) {
        json::from_json(json.as_bytes(), FileKind::Model).expect("our JSON is read");
    }
    if let Ok(text) = textproto::to_text(&wire, FileKind::Model) {
        textproto::from_text(text.as_bytes(), FileKind::Model).expect("our textproto is read");
    }
});
