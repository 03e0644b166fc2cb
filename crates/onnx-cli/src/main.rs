//! The `onnxtxt` program. All of it is in the library, which is compiled beside the executor: a program waits for all that it links.

use std::process::ExitCode;

fn main() -> ExitCode {
    onnx_cli::main()
}
