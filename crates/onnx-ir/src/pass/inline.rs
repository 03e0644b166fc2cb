//! Inlines functions.
//!
//! ```text
//! before:  <ir_version: 10, opset_import: ["": 21, "l": 1]>
//!          g (float[N] x) => (float[N] y) { t = l.f <slope = 0.5> (x)  y = l.f(t) }
//!          <domain: "l", opset_import: ["": 21]>
//!          f <slope: float = 0.1> (a) => (b) { t = Abs(a)  b = LeakyRelu <alpha: float = @slope> (t) }
//! after:   <ir_version: 10, opset_import: ["": 21]>
//!          g (float[N] x) => (float[N] y) {
//!             f__t = Abs(x)      t = LeakyRelu <alpha = 0.5> (f__t)
//!             f_1__t = Abs(t)    y = LeakyRelu <alpha = 0.1> (f_1__t)
//!          }
//! ```
//!
//! - Names of the body get a prefix: the name of the call's node, or the function's, with a number from the second call on.
//!   So do symbolic dimensions, which in a function stand for other numbers at each call. Results keep the names that they
//!   have at the call.
//! - References to attribute parameters become the attribute of the call, or the function's default. Where there is neither,
//!   the attribute vanishes. A graph that is given as an attribute goes where it is referred to.
//! - Reads of an input that the call leaves out are left out; where the operator needs them, the report says so.
//! - An output that is an input is what the caller gave; only where that needs a name of its own (an output of a graph),
//!   there is a node `Identity`.
//! - Imports are merged. If versions differ, the operators have to be the same in both, or the call stays.
//! - Types in the function are declared for the new names. Metadata of a call goes to the nodes in its place.
//!
//! Functions whose calls are gone are removed, with imports of their domains. A function that calls itself stays, and so do
//! calls that do not fit their function. Before anything changes, the nodes that will be made are counted.

mod arguments;
mod copy;
mod expand;
mod fit;
mod plan;

use super::calls::{Functions, bodies, nodes};
use super::dead_code::{retain_functions, trained_names};
use super::{Operators, Report, watched};
use crate::entity::SecondaryMap;
use crate::ids::{BodyId, FunctionId, NodeId};
use crate::model::{Model, normalize_domain};
use crate::names::Name;
use expand::Expander;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use plan::InlinePlan;
use std::sync::Arc;

type Map<K, V> = HashMap<K, V, RandomState>;
type Set<T> = HashSet<T, RandomState>;

/// A function of another model, such as one that defines an operator.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// The model that has it.
    pub model: Arc<Model>,
    /// The function there.
    pub function: FunctionId,
}

/// Returns the definition of a node.
pub type Resolve<'a> = dyn FnMut(&Model, BodyId, NodeId) -> Option<Foreign> + 'a;

/// Options of inlining.
pub struct Inline<'a> {
    /// Whether calls of a model-local function are to be replaced.
    pub select: &'a dyn Fn(&Model, FunctionId) -> bool,
    /// The depth of inlining from each body with calls, because inlined bodies contain calls again. `None`: unlimited. With a
    /// limit, bodies of functions that are inlined themselves are not changed.
    pub depth: Option<u32>,
    /// The most nodes that any graph or function may have afterwards, with all that is nested in it. A node with long
    /// attributes counts as several.
    pub max_nodes: u64,
    /// Definitions of other nodes, which call no function of the model. It receives the node with its attributes, in its body;
    /// the list of nodes of its graph is empty meanwhile.
    pub others: Option<&'a mut Resolve<'a>>,
}

/// The default of [`Inline::max_nodes`]: a model of some gigabytes, without its weights.
pub const MAX_NODES: u64 = 4_000_000;

impl Default for Inline<'_> {
    /// All calls of model-local functions.
    fn default() -> Self {
        Inline { select: &|_, _| true, depth: None, max_nodes: MAX_NODES, others: None }
    }
}

/// Whether a name refers to a function: `name`, `domain.name`, or either followed by `:overload`.
pub fn is_function(model: &Model, f: FunctionId, name: &str) -> bool {
    let function = &model.functions[f];
    let (name, overload) = name.split_once(':').map_or((name, None), |(name, o)| (name, Some(o)));
    let domain =
        name.strip_suffix(model.text(function.name)).map(|rest| rest.strip_suffix('.').unwrap_or(rest));
    let is_named = match domain {
        None => false,
        Some("") => true,
        Some(domain) => normalize_domain(domain) == normalize_domain(model.text(function.domain)),
    };
    is_named && overload.is_none_or(|o| o == model.text(function.overload))
}

/// Replaces calls by the bodies of functions.
pub fn inline(model: &mut Model, operators: &dyn Operators, mut options: Inline<'_>) -> Report {
    watched("inline", model, |model| {
        let mut report = Report::default();
        let functions = Functions::of(model);
        let plan = match InlinePlan::new(model, &functions, &options) {
            Ok(plan) => plan,
            Err(too_large) => {
                report.diagnostics = too_large;
                return report;
            }
        };
        report.diagnostics.extend(plan.circles(model));
        let trained = trained_names(model);
        let mut count = 0;
        let (stay, others): (Vec<_>, Vec<_>) =
            bodies(model).into_iter().partition(|(_, f)| f.is_none_or(|f| !plan.is_selected(f)));
        for (body, function) in stay {
            let setting = Setting { operators, functions: &functions, plan: &plan, trained: &trained };
            let expander = Expander::new(model, &setting, body, function, options.depth);
            count += expander.run(&mut options, &mut report.diagnostics);
        }
        // Selected functions that are kept: calls in them are inlined.
        let still = called(model, &functions, &plan);
        for (body, function) in others.into_iter().filter(|(_, f)| f.is_some_and(|f| still[f])) {
            if options.depth.is_none() {
                let setting = Setting { operators, functions: &functions, plan: &plan, trained: &trained };
                let expander = Expander::new(model, &setting, body, function, None);
                count += expander.run(&mut options, &mut report.diagnostics);
            }
        }
        let removed = remove(model, &functions, &plan);
        report.note(count, "call", "inlined");
        report.note(removed, "function", "removed");
        report
    })
}

/// Data common to all bodies.
struct Setting<'s> {
    operators: &'s dyn Operators,
    functions: &'s Functions,
    plan: &'s InlinePlan,
    /// Names of values that trainings mention.
    trained: &'s Set<Name>,
}

/// The functions that are not selected, and those that are still called from them, the main graph or a training.
fn called(model: &Model, functions: &Functions, plan: &InlinePlan) -> SecondaryMap<FunctionId, bool> {
    let mut called: SecondaryMap<FunctionId, bool> = SecondaryMap::with_len(false, model.functions.len());
    model.functions.ids().for_each(|f| called[f] = !plan.is_selected(f));
    let mut open: Vec<BodyId> = (bodies(model).into_iter())
        .filter_map(|(body, f)| f.is_none_or(|f| called[f]).then_some(body))
        .collect();
    while let Some(body) = open.pop() {
        for callee in nodes(&model.bodies[body]).filter_map(|node| functions.callee(node)) {
            if !std::mem::replace(&mut called[callee], true) {
                open.push(model.functions[callee].body);
            }
        }
    }
    called
}

/// Removes selected functions without remaining calls, and imports of their domains without nodes.
fn remove(model: &mut Model, functions: &Functions, plan: &InlinePlan) -> usize {
    let called = called(model, functions, plan);
    let gone = model.functions.iter().filter(|&(f, _)| !called[f]);
    let mut domains: Set<Name> = gone.map(|(_, function)| functions.domain(function.domain)).collect();
    domains.remove(&Name::empty());
    let removed = retain_functions(model, |f| called[f]);
    let mut used: Set<Name> = Set::default();
    for (body, function) in bodies(model) {
        let own: Set<Name> = nodes(&model.bodies[body]).map(|n| functions.domain(n.domain)).collect();
        if let Some(function) = function {
            let imports = &mut model.functions[function].opset_imports;
            imports.retain(|i| is_wanted(functions.domain(i.domain), &domains, &own));
        }
        used.extend(own);
    }
    let imports = &mut model.header.opset_imports;
    // A model has at least one import.
    if imports.iter().any(|i| is_wanted(functions.domain(i.domain), &domains, &used)) {
        imports.retain(|i| is_wanted(functions.domain(i.domain), &domains, &used));
    }
    removed
}

fn is_wanted(domain: Name, gone: &Set<Name>, used: &Set<Name>) -> bool {
    !gone.contains(&domain) || used.contains(&domain)
}
