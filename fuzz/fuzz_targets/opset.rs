//! Any bytes as an operator set, in wire format and as text: read without panic, and what is read comes back from text.
#![no_main]

use conformance::convert::same_bytes;
use conformance::texts::places_are_sound;
use onnx_proto::{read_operator_set, write_operator_set};
use onnx_text::{RaiseOptions, check_operator_set, print_operator_set};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (set, _) = read_operator_set(data.to_vec().into());
    let wire = write_operator_set(&set).expect("it is small");
    let text = print_operator_set(&set, &RaiseOptions::default());
    let (again, complaints) = onnx_text::read_operator_set(&text);
    assert!(
        !complaints.iter().any(onnx_ir::Diagnostic::is_error),
        "our text is read: {complaints:?}\n{text}"
    );
    same_bytes(&wire, &write_operator_set(&again).expect("it is small"))
        .expect("the set comes back from text");

    let text = String::from_utf8_lossy(data);
    let found = check_operator_set(&text, &onnx_ir::VerifyOptions::default()).diagnostics;
    places_are_sound(&found, &text).expect("every finding lies in the text");
});
