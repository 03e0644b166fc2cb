//! Lints, on the level `strict`: nothing is unused (G11), names are identifiers (N06).

use super::context::{Findings, Role, Seen, VerifyContext, View, index, is_identifier};
use crate::body::ValueDef;
use crate::diag::{Diagnostic, Entity, ModelChange, code, counted};
use crate::entity::SecondaryMap;
use crate::ids::{GraphId, NodeId, ValueId};
use crate::names::Name;
use crate::walk::WalkEvent;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    if found.wants(&code::UNUSED) {
        for view in &cx.bodies {
            values(cx, found, view);
        }
        imports_and_functions(cx, found);
    }
    if found.wants(&code::NAME_HYGIENE) {
        names(cx, found);
    }
}

fn unused(found: &mut Findings, place: Entity, message: String) {
    found.push(Diagnostic::new(&code::UNUSED, place, message));
}

/// An unused entity that can be removed; the fix is safe if `is_certain`.
fn removable(found: &mut Findings, place: Entity, message: String, is_certain: bool) {
    let diagnostic = Diagnostic::new(&code::UNUSED, place, message);
    found.push(diagnostic.change("remove it", vec![ModelChange::Remove(place)], is_certain));
}

/// Reports nodes, initializers and inputs that are not read. Readers that are unused themselves count: one finding of a chain is
/// enough.
fn values(cx: &VerifyContext<'_>, found: &mut Findings, view: &View<'_>) {
    let (id, body) = (view.id, view.body);
    // Values that are read, or are outputs of a graph.
    let mut used: SecondaryMap<ValueId, bool> = SecondaryMap::with_len(false, body.values.len());
    for step in view.layout.steps() {
        match step {
            WalkEvent::EnterNode(node) => {
                body.nodes[node].inputs.iter().flatten().for_each(|&v| used[v] = true)
            }
            WalkEvent::LeaveGraph(graph) => {
                body.graphs[graph].outputs.iter().filter_map(|p| p.value).for_each(|v| used[v] = true);
            }
            WalkEvent::EnterGraph(_) | WalkEvent::LeaveNode(_) => {}
        }
    }
    // The training step may read any value of the main graph.
    let public = match (view.role, view.body.root()) {
        (Role::Main, Some(root)) if !cx.model.training.is_empty() => Some(root),
        _ => None,
    };
    let is_public = |graph: GraphId| Some(graph) == public;
    // Names in text about removed values would be wrong.
    let is_named = |node: NodeId| {
        let Some(graph) = view.layout.owner(node) else { return true };
        let (g, outputs) = (&body.graphs[graph], &body.nodes[node].outputs);
        let is_declared = || g.value_info.iter().any(|p| p.value.is_some() && outputs.contains(&p.value));
        !g.quantization.is_empty() || view.role.is_function() && is_declared()
    };
    // Inputs, initializers and nodes that nothing reads, in the order of the text.
    for step in view.layout.steps() {
        match step {
            WalkEvent::EnterGraph(graph) if !is_public(graph) => {
                let g = &body.graphs[graph];
                let is_input = |v: ValueId| matches!(body.values[v].def, ValueDef::Input(_));
                if view.role == Role::Main && Some(graph) == body.root() {
                    for (i, port) in g.inputs.iter().enumerate() {
                        if port.value.is_some_and(|v| !used[v]) {
                            let message = format!("graph input `{}` is not used", cx.model.text(port.name));
                            unused(found, Entity::Input(id, graph, index(i)), message);
                        }
                    }
                    if g.outputs.is_empty() {
                        unused(found, Entity::Graph(id, graph), "graph has no outputs".to_owned());
                    }
                }
                let removable = |found: &mut Findings, place, message| match g.quantization.is_empty() {
                    true => removable(found, place, message, false),
                    false => unused(found, place, message),
                };
                for (i, init) in g.initializers.iter().enumerate() {
                    if !used[init.value] && !is_input(init.value) {
                        let name = cx.text(body.values[init.value].name);
                        let message = format!("initializer `{name}` is not used");
                        removable(found, Entity::Initializer(id, graph, index(i)), message);
                    }
                }
                for (i, init) in g.sparse_initializers.iter().enumerate() {
                    if !used[init.value] && !is_input(init.value) {
                        let name = cx.text(body.values[init.value].name);
                        let message = format!("initializer `{name}` is not used");
                        removable(found, Entity::SparseInitializer(id, graph, index(i)), message);
                    }
                }
            }
            WalkEvent::EnterNode(node) if !view.layout.owner(node).is_some_and(is_public) => {
                let outputs = &body.nodes[node].outputs;
                if !outputs.is_empty() && outputs.iter().flatten().all(|&v| !used[v]) {
                    let op = cx.model.text(body.nodes[node].op);
                    let message = format!("the outputs of this `{op}` are not used");
                    if is_named(node) {
                        unused(found, Entity::Node(id, node), message);
                    } else {
                        removable(found, Entity::Node(id, node), message, true);
                    }
                }
            }
            WalkEvent::EnterGraph(_)
            | WalkEvent::EnterNode(_)
            | WalkEvent::LeaveNode(_)
            | WalkEvent::LeaveGraph(_) => {}
        }
    }
}

fn imports_and_functions(cx: &VerifyContext<'_>, found: &mut Findings) {
    let model = cx.model;
    let mut domains: Seen<()> = Seen::new();
    let mut called = std::collections::HashSet::new();
    for view in &cx.bodies {
        for node in view.layout.nodes() {
            let node = &view.body.nodes[node];
            let domain = cx.domain(node.domain);
            domains.set(domain, ());
            if !model.functions.is_empty() {
                called.insert((
                    domain,
                    node.op.unwrap_or(Name::empty()),
                    node.overload.unwrap_or(Name::empty()),
                ));
            }
        }
    }
    for (i, import) in model.header.opset_imports.iter().enumerate() {
        let domain = cx.domain(import.domain);
        if !domain.is_empty() && domains.get(domain).is_none() {
            let message = format!("imported domain `{}` is not used", cx.text(domain));
            removable(found, Entity::OpsetImport(index(i)), message, true);
        }
    }
    for (f, function) in model.functions.iter() {
        let key = (
            cx.domain(function.domain),
            function.name.unwrap_or(Name::empty()),
            function.overload.unwrap_or(Name::empty()),
        );
        if !called.contains(&key) {
            let message = format!("function `{}` is not called", model.text(function.name));
            removable(found, Entity::Function(f), message, false);
        }
    }
}

fn names(cx: &VerifyContext<'_>, found: &mut Findings) {
    let mut graphs: Seen<Option<Entity>> = Seen::new();
    for view in &cx.bodies {
        let (id, body) = (view.id, view.body);
        for graph in view.layout.graphs() {
            let g = &body.graphs[graph];
            if let Some(name) = g.name.filter(|n| !n.is_empty()) {
                let place = Entity::Graph(id, graph);
                if let Some(Some(first)) = graphs.first(name, Some(place)) {
                    let message = format!("two graphs are named `{}`", cx.text(name));
                    found.push(
                        Diagnostic::new(&code::NAME_HYGIENE, place, message).related(first, "the first"),
                    );
                }
            }
            hygiene(cx, found, view, graph);
        }
    }
    for (f, function) in cx.model.functions.iter() {
        let parameters = function.attributes.iter().enumerate();
        let parameters = parameters.map(|(i, &name)| (Some(name), Entity::FunctionAttribute(f, index(i))));
        let defaults = function.attribute_defaults.iter().enumerate();
        let defaults = defaults.map(|(i, attr)| (attr.name, Entity::FunctionAttributeDefault(f, index(i))));
        let all = [(function.name, Entity::Function(f))].into_iter().chain(parameters).chain(defaults);
        for (name, place) in all {
            if let Some(name) = name.filter(|&name| !name.is_empty() && !is_identifier(cx.text(name))) {
                let message = format!("name `{}` is not an identifier", cx.text(name));
                found.push(Diagnostic::new(&code::NAME_HYGIENE, place, message));
            }
        }
    }
}

/// Names in one graph, of values, nodes, operators, attributes and their tensors: the first that is not an identifier.
fn hygiene(cx: &VerifyContext<'_>, found: &mut Findings, view: &View<'_>, graph: GraphId) {
    let (id, body) = (view.id, view.body);
    let g = &body.graphs[graph];
    let mut odd: Option<(Entity, Name)> = None;
    let mut others = 0u64;
    let mut look = |name: Option<Name>, place: Entity| {
        let Some(name) = name.filter(|&n| !n.is_empty() && !is_identifier(cx.text(n))) else { return };
        if odd.is_some() { others += 1 } else { odd = Some((place, name)) }
    };
    look(g.name, Entity::Graph(id, graph));
    for (i, port) in g.inputs.iter().enumerate() {
        look(port.name, Entity::Input(id, graph, index(i)));
    }
    for (i, init) in g.initializers.iter().enumerate() {
        if !matches!(body.values[init.value].def, ValueDef::Input(_)) {
            look(Some(body.values[init.value].name), Entity::Initializer(id, graph, index(i)));
        }
    }
    for &node in &g.nodes {
        let n = &body.nodes[node];
        look(n.name, Entity::Node(id, node));
        look(n.op, Entity::NodeOp(id, node));
        for (i, attr) in n.attrs.iter().enumerate() {
            let place = Entity::Attr(id, node, index(i));
            look(attr.name, place);
            look(attr.reference, place);
            for tensor in super::tensors::stored(attr).flat_map(super::tensors::Stored::tensors) {
                look(body.tensors[tensor].name, place);
            }
        }
        for (i, value) in n.outputs.iter().enumerate() {
            look(value.map(|v| body.values[v].name), Entity::NodeOutput(id, node, index(i)));
        }
    }
    if let Some((place, name)) = odd {
        let message = format!("name `{}` is not an identifier", cx.text(name));
        let mut diagnostic = Diagnostic::new(&code::NAME_HYGIENE, place, message);
        if others > 0 {
            diagnostic = diagnostic.label(format!("and {} of this graph", counted(others, "other name")));
        }
        found.push(diagnostic);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Level, VerifyOptions, verify};
    use crate::Model;

    fn lints(model: &Model) -> Vec<String> {
        let list = verify(model, &VerifyOptions { level: Level::Strict, ..VerifyOptions::default() });
        list.iter().filter(|d| d.code.id != "W0304").map(|d| format!("{} {}", d.code.id, d.message)).collect()
    }

    #[test]
    fn what_nothing_reads_is_unused() {
        let mut model = draft(|d| {
            d.graph("g", &["x", "spare"], &["y"], |d| {
                d.floats("w", &[1.0]);
                d.floats("v", &[1.0]);
                d.node("Add", &["x", "v"], &["y"]);
                d.node("Abs", &["x"], &["dead"]);
            });
        });
        function(&mut model, "f", |d| d.graph("f", &["a"], &["b"], |d| d.node("Abs", &["a"], &["b"])));
        let expected = [
            "W0211 imported domain `l` is not used",
            "W0211 graph input `spare` is not used",
            "W0211 initializer `w` is not used",
            "W0211 the outputs of this `Abs` are not used",
            "W0211 function `f` is not called",
        ];
        assert_eq!(lints(&model), expected);
    }

    #[test]
    fn a_capture_is_a_use() {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("l.f", &["x"], &["t"]);
                d.holder("If", &["x"], &["y"], |d| {
                    d.graph("a", &[], &["p"], |d| d.node("Abs", &["t"], &["p"]));
                });
            });
        });
        function(&mut model, "f", |d| d.graph("f", &["a"], &["b"], |d| d.node("Abs", &["a"], &["b"])));
        assert_eq!(lints(&model), [""; 0]);
    }

    #[test]
    fn names_are_identifiers() {
        let model = draft(|d| {
            d.graph("g", &["layer/0"], &["y"], |d| {
                d.node("l.A", &["layer/0"], &["a:0"]);
                d.node("Abs", &["a:0"], &["y"]);
            });
        });
        assert_eq!(lints(&model), ["W0226 name `layer/0` is not an identifier"]);
    }
}
