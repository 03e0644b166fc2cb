//! Brings a model to a later version of the format.
//!
//! ```text
//! before:  <ir_version: 3, opset_import: ["": 8]>
//!          g (bool c, float[1] x) => (float[1] y)
//!          { y = If(c) <then_branch = t (float[1] w = {1}) => (float[1] o) { o = Add(x, w) }, else_branch = …> }
//! after:   <ir_version: 4, opset_import: ["": 8]>
//!          g (bool c, float[1] x) => (float[1] y)
//!          { y = If(c) <then_branch = t () => (float[1] o) <float[1] w = {1}> { o = Add(x, w) }, else_branch = …> }
//! ```

use super::calls::{IR_WITH_IMPORTS, Imports, bodies, implies_opset, nodes};
use crate::body::{Body, Graph, Node, ValueDef};
use crate::ids::{GraphId, ValueId};
use crate::model::{Model, OpsetImport};
use crate::names::{Name, Names};
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// Since this IR version, inputs of nested graphs have no defaults, and their initializers are not inputs (IR.md, Graphs).
pub(crate) const IR_WITHOUT_DEFAULTS: i64 = 4;

/// From this version of the format on, there are functions.
pub(crate) const IR_WITH_FUNCTIONS: i64 = 8;

/// Raises the stated IR version to the needed one; returns whether it was lower.
///
/// Up to version 3, an initializer of a nested graph is also an input of it, after those that its node passes. Such an input
/// becomes a plain constant; if the node passes a value, the initializer, which was never read, is removed. Operators of other
/// domains may pass any values; their graphs are not changed. Before version 3, a missing import means version 1 of a domain. A
/// model with functions before version 8, one of them without a domain, is not raised beyond: since then functions need a domain,
/// and calls refer to it.
pub fn upgrade_ir_version(model: &mut Model, needed: i64) -> bool {
    let has_no_domain = model.functions.values().any(|f| f.domain.is_none_or(Name::is_empty));
    let needed = if has_no_domain { needed.min(IR_WITH_FUNCTIONS - 1) } else { needed };
    let Some(version) = model.header.ir_version.filter(|&v| v < needed) else { return false };
    if implies_opset(model) && needed >= IR_WITH_IMPORTS {
        import_what_is_meant(model);
    }
    model.header.ir_version = Some(needed);
    if version < IR_WITHOUT_DEFAULTS && needed >= IR_WITHOUT_DEFAULTS {
        for (body, function) in bodies(model) {
            let imports = Imports::within(model, function);
            let Model { names, bodies, .. } = &mut *model;
            let body = &mut bodies[body];
            for (graph, passed) in nested(body, names, &imports) {
                without_defaults(body, graph, passed);
            }
        }
    }
    true
}

/// Imports version 1 of the default domain and of those that nodes outside of functions have.
fn import_what_is_meant(model: &mut Model) {
    let imports = Imports::of(&model.names, &model.header.opset_imports);
    let mut missing: Vec<Name> = vec![Name::empty()];
    for (body, _) in bodies(model).into_iter().filter(|(_, function)| function.is_none()) {
        missing.extend(nodes(&model.bodies[body]).map(|node| imports.domain(node.domain)));
    }
    let mut seen: HashSet<Name, RandomState> = HashSet::default();
    missing.retain(|&domain| imports.get(domain).is_none() && seen.insert(domain));
    let added = missing.into_iter().map(|domain| OpsetImport { domain: Some(domain), version: Some(1) });
    model.header.opset_imports.extend(added);
}

/// The graphs in nodes of standard operators, with the number of inputs that are passed to each.
fn nested(body: &Body, names: &Names, imports: &Imports) -> Vec<(GraphId, usize)> {
    let nodes = body.walk().nodes();
    let held = nodes.filter(|&n| imports.domain(body.nodes[n].domain).is_empty()).flat_map(|n| {
        let passed = passed(&body.nodes[n], names, imports);
        body.subgraphs(n).map(move |graph| (graph, passed))
    });
    held.collect()
}

/// The number of inputs that a node of a standard operator passes to its graphs.
fn passed(node: &Node, names: &Names, imports: &Imports) -> usize {
    let op = imports.op_ref(names, node);
    match (op.op, op.version) {
        ("If", _) => 0,
        // The number of the repetition and the condition are there even if the node leaves them out.
        ("Loop", _) => node.inputs.len().max(2),
        // The lengths of the sequences are for the node.
        ("Scan", Some(8)) => node.inputs.len().saturating_sub(1),
        _ => node.inputs.len(),
    }
}

fn without_defaults(body: &mut Body, graph: GraphId, passed: usize) {
    let Body { graphs, values, .. } = body;
    let Graph { inputs, initializers, sparse_initializers, .. } = &mut graphs[graph];
    let given: HashSet<ValueId, RandomState> =
        inputs.iter().take(passed).filter_map(|port| port.value).collect();
    initializers.retain(|init| !given.contains(&init.value));
    sparse_initializers.retain(|init| !given.contains(&init.value));
    let dense = initializers.iter().map(|init| init.value);
    let stored: HashSet<ValueId, RandomState> =
        dense.chain(sparse_initializers.iter().map(|init| init.value)).collect();
    inputs.retain(|port| port.value.is_none_or(|value| !stored.contains(&value)));
    for value in stored {
        values[value].def = ValueDef::Initializer(graph);
    }
}
