//! Passes: transformations of a whole model that need no operator knowledge, or only [`Operators`].
//!
//! A pass is a function that changes the model and reports what it did. [`ALL`] lists those without other parameters, for
//! programs that run them by name. A model without errors stays so: tests and debug builds check this with the verifier. Names of
//! graph inputs and outputs are kept, nested graphs and function bodies are processed like the main graph, and moved or copied
//! nodes keep their origin. Passes take linear time except for sorting, and recurse only as deep as graphs nest.
//!
//! Removed entities remain in the arenas of the body; [`compact()`] removes them.
//!
//! | pass | what it does |
//! | --- | --- |
//! | [`common_subexpressions()`] | merges equal nodes |
//! | [`dead_code()`] | removes unused nodes, initializers and functions |
//! | [`inline()`] | inlines functions |
//! | [`outline()`] | makes a function of some nodes of a graph |
//! | [`upgrade_ir_version()`] | converts a model to a later IR version |
//! | [`rename()`] | renames values, nodes and graphs |
//! | [`sanitise()`], [`name_nodes`] | makes names conform to the specification |
//! | [`join_training()`] | joins the main graph and a training algorithm in one graph |
//! | [`topological_sort()`] | sorts nodes topologically |

mod calls;
mod common_subexpressions;
mod compact;
mod dead_code;
mod format;
mod gradient_names;
mod inline;
mod notes;
mod operators;
mod outline;
mod rename;
mod report;
mod sanitise;
mod topological_sort;
mod training;
mod transplant;

pub use crate::order::components;
pub use common_subexpressions::{Initializers, RECOMPUTED, common_subexpressions};
pub use compact::compact;
pub use dead_code::dead_code;
pub use format::upgrade_ir_version;
pub use gradient_names::Gradients;
pub use inline::{Foreign, Inline, MAX_NODES, Resolve, inline, is_function};
pub use notes::{joined_notes, pass_on_notes};
pub use operators::{OpRef, Operators, Unknown};
pub use outline::outline;
pub use rename::{Named, rename};
pub use report::{PassChange, Report};
pub use sanitise::{NodeNames, name_nodes, sanitise};
pub use topological_sort::{node_orders, topological_sort};
pub use training::{JoinedStep, join_training};
pub use transplant::{CopyOptions, CopySource, CopyTarget, Transplant};

use crate::diag::{Diagnostic, Level};
use crate::model::Model;
use crate::verify::{VerifyOptions, verify};

/// A pass that can be run by name.
#[derive(Clone, Copy)]
pub struct Pass {
    /// `dead-code`
    pub name: &'static str,
    /// A summary, for lists.
    pub summary: &'static str,
    /// Does it.
    pub function: fn(&mut Model, &dyn Operators) -> Report,
}

/// Every pass that can be run by name.
pub static ALL: &[Pass] = &[
    Pass {
        name: "common-subexpressions",
        summary: "Compute the same thing once, and store it once",
        function: |model, operators| common_subexpressions(model, operators, Initializers::Merge),
    },
    Pass {
        name: "dead-code",
        summary: "Remove nodes, initializers, functions and imports that nothing uses",
        function: |model, operators| dead_code(model, operators),
    },
    Pass {
        name: "inline",
        summary: "Put bodies of functions in place of calls",
        function: |model, operators| inline(model, operators, Inline::default()),
    },
    Pass {
        name: "name-nodes",
        summary: "Give nodes without a name one",
        function: |model, _| name_nodes(model),
    },
    Pass {
        name: "sanitise",
        summary: "Make all names identifiers, and those of nodes and graphs distinct",
        function: |model, _| sanitise(model, NodeNames::Keep),
    },
    Pass {
        name: "topological-sort",
        summary: "Put nodes behind those that they need",
        function: |model, _| topological_sort(model),
    },
];

/// The pass of this name.
pub fn find(name: &str) -> Option<&'static Pass> {
    ALL.iter().find(|pass| pass.name == name)
}

impl Pass {
    /// Runs the pass and [`compact()`]s the model, which invalidates existing ids.
    pub fn run(&self, model: &mut Model, operators: &dyn Operators) -> Report {
        let report = (self.function)(model, operators);
        compact(model);
        report
    }
}

/// Runs a pass between two runs of the verifier, in tests and debug builds.
fn watched<R>(name: &str, model: &mut Model, pass: impl FnOnce(&mut Model) -> R) -> R {
    let is_sound = cfg!(debug_assertions) && errors(model).is_empty();
    let result = pass(model);
    if is_sound {
        let found: Vec<_> =
            errors(model).into_iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect();
        assert!(found.is_empty(), "{name} has broken the model: {found:#?}");
    }
    result
}

fn errors(model: &Model) -> Vec<Diagnostic> {
    let options = VerifyOptions { level: Level::Spec, payloads: false };
    let mut found = verify(model, &options);
    found.retain(Diagnostic::is_error);
    found
}
