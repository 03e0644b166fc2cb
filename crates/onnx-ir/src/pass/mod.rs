//! Passes: changes of a whole model that need no knowledge of operators, or only what [`Operators`] says.
//!
//! A pass is a function that takes the model, changes it, and says what it did. [`ALL`] lists those that need nothing
//! else, for programs that run them by name. A model without errors has none afterwards: tests and debug builds hold
//! each pass to that with the verifier. Names of graph inputs and outputs stay, nested graphs and bodies of functions
//! are treated like the main graph, and nodes that are moved or copied keep their origin. Passes take time linear in
//! the size of the model but for sorting, and recurse no deeper than graphs nest.
//!
//! A pass leaves behind what it removed from the graphs in the arenas of the body; [`compact()`] takes it away.
//!
//! | pass | what it does |
//! | --- | --- |
//! | [`common_subexpressions()`] | computes the same thing once |
//! | [`dead_code()`] | removes what nothing reads |
//! | [`inline()`] | puts bodies of functions in place of calls |
//! | [`outline()`] | makes a function of some nodes of a graph |
//! | [`raise_ir_version()`] | brings a model to a later version of the format |
//! | [`rename()`] | gives values, nodes and graphs other names |
//! | [`sanitise()`], [`name_nodes`] | makes names what the specification wants them to be |
//! | [`join_training()`] | makes one graph of the main graph and a training algorithm |
//! | [`topological_sort()`] | puts nodes behind those that they need |

mod calls;
mod common_subexpressions;
mod compact;
mod dead_code;
mod format;
mod inline;
mod operators;
mod outline;
mod rename;
mod report;
mod sanitise;
mod topological_sort;
mod training;
mod transplant;

pub use common_subexpressions::{Initializers, common_subexpressions};
pub use compact::compact;
pub use dead_code::dead_code;
pub use format::raise_ir_version;
pub use inline::{Foreign, Inline, MAX_NODES, Resolve, inline, is_function};
pub use operators::{OpRef, Operators, Unknown};
pub use outline::outline;
pub use rename::{Named, rename};
pub use report::{Change, Report};
pub use sanitise::{NodeNames, name_nodes, sanitise};
pub(crate) use topological_sort::Order;
pub use topological_sort::{node_orders, topological_sort};
pub use training::{JoinedStep, join_training};
pub use transplant::{Source, Style, Target, Transplant};

use crate::diag::Diagnostic;
use crate::model::Model;
use crate::verify::{Level, VerifyOptions, verify};

/// A pass that can be run by name.
#[derive(Clone, Copy)]
pub struct Pass {
    /// `dead-code`
    pub name: &'static str,
    /// What it does, for a list.
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
    /// Runs the pass and [`compact()`]s the model: ids of before are gone.
    pub fn run(&self, model: &mut Model, operators: &dyn Operators) -> Report {
        let report = (self.function)(model, operators);
        compact(model);
        report
    }
}

/// Runs a pass between two looks of the verifier, in tests and debug builds.
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
