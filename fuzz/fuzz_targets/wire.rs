//! Any bytes as a model in wire format: what is read is judged without panic, and written so that it reads the same;
//! byte for byte if a standard encoder could have written it.
#![no_main]

use onnx_ir::{VerifyOptions, verify};
use onnx_proto::{FileKind, Look, read, walk, write};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let (model, complaints) = read(data.to_vec().into());
    verify(&model, &VerifyOptions::default());
    let written = write(&model).expect("it is small");
    let mut is_usual = complaints.is_empty();
    let walked = walk(data, FileKind::Model, Look::Numbers, &mut |_| is_usual = false);
    if is_usual && walked.is_ok() {
        assert_eq!(written, data, "what a standard encoder wrote comes back");
    }
    let (again, complaints) = read(written.clone().into());
    assert!(complaints.is_empty(), "what was written is sound: {complaints:?}");
    assert_eq!(write(&again).expect("it is small"), written, "what was written comes back");
});
