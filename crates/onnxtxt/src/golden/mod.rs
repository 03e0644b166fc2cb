//! Golden tests: model texts that say in comments what is done with them and what is expected of it.
//!
//! `#` begins a comment in ONNX text, so a test is a model file. Its leading comment lines that begin with `#!` are
//! directives:
//!
//! | directive | passes if |
//! | --- | --- |
//! | `#! check [--level L]` | the findings are those that the carets of the file claim |
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
//! | `#! run` | the model runs, and its outputs are those of `#! expect` |
//! | `#! input float[2] x = {1, 2}` | gives an input of `#! run`; the others are drawn at random |
//! | `#! expect float[2] y = {2, 4} [rtol=R] [atol=A]` | an output of `#! run` is this value |
//! | `#! expect same as before the pass` | the passes of the file do not change the outputs, for random inputs |
//!
//! A file that holds a value instead of a model (`seq(tensor) s = […]`) can be checked, rendered and formatted, one that
//! holds an operator set also printed and converted.
//!
//! A claim is a comment line under the line that it is about. Its `^` stands under the first character of the finding;
//! `#<` stands for the column of its own `#`. The message is claimed from its beginning, as far as it is written:
//!
//! ```text
//! y = Add(x, nowhere)
//! #          ^ error[E0203]: use of undefined value
//! ```
//!
//! A file with `# CHECK:` lines compares the output of its directives with those instead of a snapshot (`checks`).
//! A line `#--- NAME` begins a case of its own; what stands above the first one belongs to every case (`split`).
//!
//! Nothing here reads or writes files: who runs the tests says how a snapshot is compared ([`Case::compare`]).

mod checks;
mod claims;
mod directives;
mod execute;
pub mod opsets;
mod passes;
mod run;
mod schedules;
mod split;
mod values;

pub use execute::changed_results;
pub use run::{judged, run};
pub use split::{Cases, split};

use std::sync::Arc;

/// Compares an output with its snapshot: the name of the case, the kind of output (`print`), and the output.
pub type Compare = dyn Fn(&Case, &str, &str) -> Result<(), String> + Send + Sync;

/// One golden test.
#[derive(Clone)]
pub struct Case {
    /// The path of the file without its extension, and the name of the part: `check/G03-value-undefined`.
    pub name: String,
    /// The text of the test.
    pub text: String,
    /// Compares an output with its snapshot; an error says how they differ.
    pub compare: Arc<Compare>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}
