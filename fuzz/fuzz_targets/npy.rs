//! Reads bytes as an array of NumPy and as an archive of arrays, without panic; what is read comes back after it is written.
#![no_main]
#![allow(dead_code, reason = "the program uses what the target does not")]

#[path = "../../crates/onnx-cli/src/execution/inputs/any_bytes.rs"]
mod any_bytes;
#[path = "../../crates/onnx-cli/src/npy.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|data: &[u8]| any_bytes::read_back(data));
