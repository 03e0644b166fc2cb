//! Targets of files: wire format, JSON, textproto, operator sets, external data.

use crate::convert::{content, print, same_bytes, text_to_wire, write_wire};
use crate::corpus::workspace;
use crate::texts::places_are_sound;
use bytes::Bytes;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{VerifyOptions, verify};
use onnx_proto::external::{
    Folder, Layout, Which, external_tensors, externalize, internalize, is_stored_outside,
};
use onnx_proto::write_operator_set;
use onnx_proto::{FileKind, ScanDepth, json as js, read, read_operator_set, textproto as tp, walk, write};
use onnx_text::{Profile, RaiseOptions, check_operator_set, print_operator_set};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Any bytes as a model in wire format: what is read is judged without panic, and written so that it reads the same;
/// byte for byte if a standard encoder could have written it.
pub(super) fn wire(data: &[u8]) {
    let (model, complaints) = read(data.to_vec().into()).into_parts();
    _ = verify(&model, &VerifyOptions::default());
    let written = write(&model).expect("it is small");
    let mut is_usual = complaints.is_empty();
    let walked = walk(data, FileKind::Model, ScanDepth::Numbers, &mut |_| is_usual = false);
    if is_usual && walked.is_ok() {
        assert_eq!(written, data, "what a standard encoder wrote comes back");
    }
    let (again, complaints) = read(written.clone().into()).into_parts();
    assert!(complaints.is_empty(), "what was written is sound: {complaints:?}");
    assert_eq!(write(&again).expect("it is small"), written, "what was written comes back");
}

/// A decodable model survives conversion to text, and to JSON and textproto as far as they can express it.
pub(super) fn convert(data: &[u8]) {
    let model = read(data.to_vec().into()).value;
    let wire = write_wire(&model).expect("it is small");
    let text = print(&model, Profile::Onnx).text;
    let again = text_to_wire(&text).expect("our text is read");
    same_bytes(&wire, &again).expect("the model comes back from text");

    let plain = print(&model, Profile::Reference);
    assert!(!plain.is_extended, "the profile `reference` has no extended forms");

    if let Ok(json) = js::to_json(&wire, FileKind::Model) {
        js::from_json(json.as_bytes(), FileKind::Model).expect("our JSON is read");
    }
    if let Ok(text) = tp::to_text(&wire, FileKind::Model) {
        tp::from_text(text.as_bytes(), FileKind::Model).expect("our textproto is read");
    }
}

/// Any bytes as JSON: refused, or a message that is the same after it is written as JSON and read again.
pub(super) fn json(data: &[u8]) {
    let Ok(wire) = js::from_json(data, FileKind::Model) else { return };
    let model = read(wire.clone().into()).value;
    _ = verify(&model, &VerifyOptions::default());
    let Ok(text) = js::to_json(&wire, FileKind::Model) else { return };
    let again = js::from_json(text.as_bytes(), FileKind::Model).expect("our JSON is read");
    let twice = js::to_json(&again, FileKind::Model).expect("it was written before");
    assert_eq!(twice, text, "JSON comes back");
}

/// Any bytes as textproto: refused, or a message that is the same after it is written as textproto and read again.
pub(super) fn textproto(data: &[u8]) {
    let Ok(wire) = tp::from_text(data, FileKind::Model) else { return };
    let model = read(wire.clone().into()).value;
    _ = verify(&model, &VerifyOptions::default());
    let Ok(text) = tp::to_text(&wire, FileKind::Model) else { return };
    let again = tp::from_text(text.as_bytes(), FileKind::Model).expect("our textproto is read");
    let twice = tp::to_text(&again, FileKind::Model).expect("it was written before");
    assert_eq!(twice, text, "textproto comes back");
}

/// Any bytes as an operator set, in wire format and as text: read without panic, and what is read comes back from text.
pub(super) fn opset(data: &[u8]) {
    let set = read_operator_set(data.to_vec().into()).value;
    let wire = write_operator_set(&set).expect("it is small");
    let text = print_operator_set(&set, &RaiseOptions::default());
    let (again, complaints) = onnx_text::read_operator_set(&text).into_parts();
    assert!(!complaints.iter().any(Diagnostic::is_error), "our text is read: {complaints:?}\n{text}");
    same_bytes(&wire, &write_operator_set(&again).expect("it is small"))
        .expect("the set comes back from text");

    let text = String::from_utf8_lossy(data);
    let found = check_operator_set(&text, &VerifyOptions::default()).diagnostics;
    places_are_sound(&found, &text).expect("every finding lies in the text");
}

/// A text that no result may contain.
const SECRET: &[u8] = b"this lies outside the folder of the model";

/// Weights that are put beside a model come back, and no tensor reads a file outside the folder of its model, whatever it
/// names. The input is a model in wire format, or as text.
pub(super) fn external(data: &[u8]) {
    let as_text = std::str::from_utf8(data).ok().filter(|text| text.contains("=>"));
    let mut model = match as_text {
        Some(text) => onnx_text::read_model(text).value,
        None => read(data.to_vec().into()).value,
    };
    if is_stored_outside(&model) {
        let mut folder = Folder::new(folder());
        for (tensor, entity) in external_tensors(&model) {
            folder.check(&model, tensor, entity, true);
            if let Ok(bytes) = folder.load(&model, tensor, entity, true) {
                let leaks = bytes.windows(SECRET.len()).any(|part| part == SECRET);
                assert!(!leaks, "a tensor reads a file outside of the folder");
            }
        }
        internalize(&mut model, Which::All, &mut |_, _, _| Ok(Bytes::from_static(&[0; 64])));
        write_wire(&model).expect("it is small");
        return;
    }
    let before = write_wire(&model).expect("it is small");
    let at_least = u64::try_from(data.len() % 9).expect("it is small");
    let files = externalize(&mut model, at_least, Layout::One("weights.data"), true);
    let outside = read(write_wire(&model).expect("it is small").into()).value;
    model = outside;
    let content = files.first().map(content).unwrap_or_default();
    let found = internalize(&mut model, Which::Marked, &mut |_, _, _| Ok(content.clone()));
    assert!(found.is_empty(), "our own weights are read: {found:?}");
    same_bytes(&before, &write_wire(&model).expect("it is small")).expect("the weights come back");
}

/// A folder with a file `w` of some bytes, a file outside, and a link to that.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let outside =
            workspace().join("target/conformance/fuzz-external").join(std::process::id().to_string());
        let folder = outside.join("model");
        std::fs::create_dir_all(&folder).expect("target/ can be written to");
        std::fs::write(outside.join("secret"), SECRET.repeat(4)).expect("target/ can be written to");
        std::fs::write(folder.join("w"), [7; 256]).expect("target/ can be written to");
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink("../secret", folder.join("link"));
        folder
    })
}
