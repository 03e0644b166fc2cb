//! Structural differences between two models: by names and by structure, never by the order of bytes.
//!
//! [`diff`] returns a [`ModelDiff`]: data, which the functions of [`render`] convert to readable forms. It is empty if and only
//! if nothing that it compares differs. The encoding of a model (such as the field with the elements of a weight) does not count.
//!
//! ```
//! use onnxtxt::diff::{Options, diff, render};
//!
//! let read = |text| onnx_text::read_model(text).value;
//! let a = read("<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.1> (x) }");
//! let b = read("<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = LeakyRelu <alpha = 0.2> (x) }");
//! let found = diff(&a, &b, &Options::default());
//! assert_eq!(found.graph.nodes[0].attributes[0].old.as_deref(), Some("0.1"));
//! assert!(diff(&a, &a, &Options::default()).is_empty());
//! assert!(render::human(&found, &Default::default()).contains("alpha: 0.1 → 0.2"));
//! ```

pub(crate) mod align;
mod data;
mod graph;
mod hash;
mod header;
mod nodes;
pub mod render;
mod shifted;
mod value;
pub mod weights;

pub use data::{
    Bump, FunctionDiff, GraphDiff, Kind, ModelDiff, NodeDiff, NodeSummary, Options, PropertyChange,
    WeightDiff,
};

pub use value::enum_name;

use onnx_ir::Model;
use onnx_ir::diag::counted;
use onnx_ir::semver::{Impact, differences};

/// `1 element differs`, `5 elements differ`
pub(crate) fn elements_differ(count: u64) -> String {
    counted(count, "element") + if count == 1 { " differs" } else { " differ" }
}

/// The differences of `b` from `a`.
#[must_use]
pub fn diff(a: &Model, b: &Model, options: &Options) -> ModelDiff {
    let mut found = ModelDiff {
        opsets: header::opsets(a, &a.header.opset_imports, b, &b.header.opset_imports),
        header: header::header(a, b),
        ..ModelDiff::default()
    };
    match (a.main, b.main) {
        (Some(x), Some(y)) => found.graph = graph::bodies(a, x, b, y, options),
        (None, None) => {}
        (Some(_), None) => found.header.push(PropertyChange::removed("graph", "the main graph")),
        (None, Some(_)) => found.header.push(PropertyChange::added("graph", "the main graph")),
    }
    if !options.interface {
        found.functions = header::functions(a, b, options);
        found.training = header::training(a, b, options);
    }
    found.bump = bump(a, b, &found);
    found
}

/// The part of the version that the differences ask to raise.
fn bump(a: &Model, b: &Model, found: &ModelDiff) -> Option<Bump> {
    let impact = differences(a, b).iter().map(|difference| difference.impact).max();
    match impact {
        Some(Impact::Major) => Some(Bump::Major),
        Some(Impact::Minor) => Some(Bump::Minor),
        Some(Impact::Patch) => Some(Bump::Patch),
        None => (!found.is_empty()).then_some(Bump::Patch),
    }
}

#[cfg(test)]
mod tests;
