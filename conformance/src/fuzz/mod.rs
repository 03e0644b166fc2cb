//! Properties of all inputs. Each target is a function of bytes that panics if a property is violated.
//!
//! `cargo xtask fuzz` runs the targets under libFuzzer. `conformance/tests/texts/fuzz_targets.rs` runs the same functions on their seeds, and on
//! the seeds changed by [`Mutator`], without instrumentation and with a fixed start: the same inputs in every run.

mod exec;
mod files;
mod models;
mod mutate;
mod syntax;

pub use mutate::{Mutator, words};

use crate::corpus::workspace;
use std::path::{Path, PathBuf};

/// A property of all inputs.
#[derive(Clone, Copy)]
pub struct FuzzTarget {
    /// The name of the target, and of its folder of seeds.
    pub name: &'static str,
    /// Panics where the property does not hold.
    pub run: fn(&[u8]),
    /// Folders of the project whose files are good seeds too, below `fuzz/seeds` first.
    pub borrowed: &'static [&'static str],
}

/// Seeds of the targets that read any model as text.
const TEXTS: &[&str] = &["tests/suite"];
/// An example of every operator, and one of every mistake.
const MODELS: &[&str] = &["crates/onnx-ops/docs", "tests/suite"];

/// All targets, by name. The target `npy` is in `crates/onnx-cli/src/execution/inputs`, where arrays are read.
pub const TARGETS: &[FuzzTarget] = &[
    FuzzTarget { name: "check", run: models::check, borrowed: MODELS },
    FuzzTarget { name: "convert", run: files::convert, borrowed: &[] },
    FuzzTarget { name: "external", run: files::external, borrowed: &["fuzz/seeds/convert"] },
    FuzzTarget { name: "fixes", run: syntax::fixes, borrowed: TEXTS },
    FuzzTarget { name: "fmt", run: syntax::fmt, borrowed: &[] },
    FuzzTarget { name: "json", run: files::json, borrowed: &[] },
    FuzzTarget { name: "lexer", run: syntax::lexer, borrowed: &["fuzz/seeds/text"] },
    FuzzTarget { name: "opset", run: files::opset, borrowed: &[] },
    FuzzTarget { name: "passes", run: models::passes, borrowed: MODELS },
    FuzzTarget { name: "run", run: exec::run, borrowed: &["crates/onnx-ops/docs", "tests/suite/schedule"] },
    FuzzTarget { name: "sugar", run: syntax::sugar, borrowed: &["tests/suite/sugar"] },
    FuzzTarget { name: "text", run: syntax::text, borrowed: &[] },
    FuzzTarget { name: "textproto", run: files::textproto, borrowed: &[] },
    FuzzTarget { name: "wire", run: files::wire, borrowed: &[] },
];

impl FuzzTarget {
    /// The target of a name.
    pub fn named(name: &str) -> Option<&'static FuzzTarget> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Its seeds, in the order of their paths.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let own = Path::new("fuzz/seeds").join(self.name);
        let folders = std::iter::once(own).chain(self.borrowed.iter().map(PathBuf::from));
        let mut paths = Vec::new();
        for folder in folders {
            collect(&workspace().join(folder), &mut paths);
        }
        paths.sort();
        paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
    }
}
