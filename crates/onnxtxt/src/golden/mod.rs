//! Golden tests: model texts whose comments state what to do with them and the expected result.
//!
//! `#` starts a comment in ONNX text, so a test is a model file. Its leading comment lines that start with `#!` are directives:
//!
//! | directive | passes if |
//! | --- | --- |
//! | `#! check [--level L]` | the findings are those that the carets of the file claim |
//! | `#! check --profile reference` | likewise, with the syntax that the reference parser rejects |
//! | `#! render [--level L]` | the findings as people see them are the snapshot |
//! | `#! fix [--level L] [--unsafe]` | the text with the fixes of its findings applied is the snapshot |
//! | `#! fmt` | the formatted text is the snapshot; formatting it again changes nothing, nor does formatting change the model |
//! | `#! print [--profile P] [--elide N] [--no-metadata]` | the model as text is the snapshot |
//! | `#! infer` | the model with its inferred types is the snapshot |
//! | `#! schedule` or `#! lower` | the kernels by which the model is run are the snapshot |
//! | `#! target NAME` | the findings for this runtime are those that the carets of the file claim |
//! | `#! pass NAME...` | the model after these passes is the snapshot, running them again changes nothing, and their findings are claimed |
//! | `#! inline [--only F]... [--depth N] [--limit N] [--schema]` | likewise, for the calls of functions, and the nodes of operators that have one |
//! | `#! outline DOMAIN.NAME VALUE...` | likewise, for a function of the nodes that compute these values; inlining it returns the same model |
//! | `#! json` | the findings as JSON are the snapshot |
//! | `#! roundtrip` | text → model → bytes → model → text → model → bytes returns the same bytes |
//! | `#! finds error[E0303]: message` | there is this finding, which has no place |
//! | `#! convert-opset=N` | likewise, for a conversion to another version of an operator set |
//! | `#! interface` | the inputs, outputs, operator sets and operator counts of the model are the snapshot |
//! | `#! run` | the model runs, and its outputs are those of `#! expect` |
//! | `#! input float[2] x = {1, 2}` | an input of `#! run`; the others are drawn at random |
//! | `#! input FILE.npz`, `#! input x = FILE.npy` | inputs of `#! run` from a file beside the test |
//! | `#! expect float[2] y = {2, 4} [rtol=R] [atol=A]` | an output of `#! run` has this value |
//! | `#! expect FILE.npz [rtol=R] [atol=A]` | the outputs of `#! run` that the file has have these values |
//! | `#! expect same as before the pass` | the passes of the file do not change the outputs, for random inputs |
//! | `#! expect same as FILE [rtol=R] [atol=A]` | the model of a file beside the test has the same outputs |
//! | `#! expect same as onnxruntime [rtol=R] [atol=A]` | ONNX Runtime computes the same outputs; needs `--allow-programs` |
//! | `#! model FILE` | the test is about the model in a file beside it; the test itself has only comments |
//! | `#! tags NAME...` | names by which tests are chosen |
//!
//! A file that holds a value instead of a model (`seq(tensor) s = […]`) can be checked, rendered and formatted, one that
//! holds an operator set, or a part of a model (`y = Relu(x)`), also printed and converted.
//!
//! A claim is a comment line under the line that it is about. Its `^` stands under the first character of the finding;
//! `#<` stands for the column of its own `#`. The message is claimed from its beginning, as far as it is written:
//!
//! ```text
//! y = Add(x, nowhere)
//! #          ^ error[E0203]: use of undefined value
//! ```
//!
//! `# CHECK:` lines are compared with the output of the directive above them, instead of its snapshot (`checks`).
//! A line `#--- NAME` begins a case of its own; what stands above the first one belongs to every case (`split`).
//!
//! [`run()`] itself does no I/O: a [`Host`] compares snapshots and reads files beside a test. [`folder`] has the host for tests
//! in files.

mod checks;
mod claims;
mod context;
mod directives;
mod execute;
pub mod folder;
mod interface;
pub mod opsets;
mod parts;
mod passes;
mod run;
mod schedules;
mod shard;
mod split;
mod store;
mod values;

pub use directives::tags;
pub use execute::{changed_results, random_results, random_schedule};
pub use run::{judged, run};
pub use shard::Shard;
pub use split::{Cases, split};

use crate::Loaded;
use onnx_exec::Value;
use onnx_ir::{ElemType, Model};
use std::sync::Arc;

/// Values by name.
pub type Named = Vec<(String, Value)>;

/// The element type of an array that NumPy has no type for, by the name of the array; an array without a name has an empty one.
pub type ElemOf<'e> = dyn Fn(&str) -> Option<ElemType> + 'e;

/// The services of a test runner. A closure that compares snapshots is a host for tests that need nothing else.
pub trait Host: Send + Sync {
    /// Compares an output with its snapshot; `what` is the kind of output (`print`).
    ///
    /// # Errors
    ///
    /// How they differ.
    fn compare(&self, case: &Case, what: &str, output: &str) -> Result<(), String>;

    /// The values in a file beside the test (`.npz`, `.npy`, `.pb`); a value without a name in the file has an empty one. `elem`
    /// returns the element type of an array by name, for types that the file does not state.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn values(&self, file: &str, elem: &ElemOf<'_>) -> Result<Named, String> {
        _ = elem;
        Err(format!("values cannot be read from the file `{file}` here"))
    }

    /// The model in a file beside the test.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn model(&self, file: &str) -> Result<Loaded, String> {
        Err(format!("models cannot be read from the file `{file}` here"))
    }

    /// Whether an output that differs from an expectation is accepted in its place. `line` is that of the directive in the text of
    /// the test, from 1.
    fn accepts(&self, case: &Case, line: usize, output: (&str, &Value), difference: &str) -> bool {
        _ = (case, line, output, difference);
        false
    }

    /// Whether directives may start other programs. A test may be someone else's, and its directives are not looked at before it is
    /// run.
    fn allows_programs(&self) -> bool {
        false
    }

    /// The outputs that ONNX Runtime computes.
    ///
    /// # Errors
    ///
    /// It is not installed, or cannot run the model.
    fn onnxruntime(&self, model: &Model, inputs: &Named) -> Result<Named, String> {
        _ = (model, inputs);
        Err("ONNX Runtime is not available here".to_owned())
    }
}

impl<F: Fn(&Case, &str, &str) -> Result<(), String> + Send + Sync> Host for F {
    fn compare(&self, case: &Case, what: &str, output: &str) -> Result<(), String> {
        self(case, what, output)
    }
}

/// One golden test.
#[derive(Clone)]
pub struct Case {
    /// The path of the file without its extension, and the name of the part: `check/G03-value-undefined`.
    pub name: String,
    /// The text of the test.
    pub text: String,
    /// Compares snapshots and reads files.
    pub host: Arc<dyn Host>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}
