//! The `onnxtxt` program.
fn main() {}
