//! Extracts a part of the main graph.
//!
//! With `--from b --to d`:
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) <float[1] w = {1}> { a = Abs(x)  b = Neg(a)  c = Mul(b, w)  d = Exp(c)  y = Relu(d) }
//! after:   g (float[N] b) => (float[N] d) <float[1] w = {1}> { c = Mul(b, w)  d = Exp(c) }
//! ```
//!
//! Initializers, functions and captured values that the part uses are kept. Types of new inputs and outputs are those that the
//! model declares, completed by inference. Training information is dropped, because it assigns values of the whole graph.

use super::{Edited, definition, listed, main_graph};
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnx_ir::pass::{Report, compact, dead_code};
use onnx_ir::{Body, BodyId, GraphId, Model, NodeId, Port, SecondaryMap, TypeId, Value, ValueDef, ValueId};
use onnx_ops::infer::{Facts, InferOptions, declared_type, infer};
use onnx_ops::schema::Registry;
use std::collections::HashSet;

/// Makes the values `from` the inputs of the main graph and `to` its outputs, and removes what is not needed between them.
///
/// With an empty `from`, the inputs are those of the model that the outputs need.
pub fn extract(model: &mut Model, registry: &Registry, from: &[ValueId], to: &[ValueId]) -> Edited {
    let Some((id, graph)) = main_graph(model) else {
        let message = "the model has no graph to cut a part from";
        return Err(vec![Diagnostic::new(&code::EXTRACT_CUT, Place::Nowhere, message)]);
    };
    let from = distinct(from);
    let to = distinct(to);
    let reached = Reached::of(&model.bodies[id], &from, &to);
    let inputs = inputs(model, (id, graph), &from, &to, &reached)?;
    let mut facts = infer(model, registry, &InferOptions::default()).facts;
    let mut ports = Ports { model, facts: &mut facts, id, graph };
    let new_inputs: Result<Vec<Port>, Box<Diagnostic>> = inputs.iter().map(|&v| ports.port(v)).collect();
    let new_outputs: Result<Vec<Port>, Box<Diagnostic>> = to.iter().map(|&v| ports.output(v)).collect();
    let (new_inputs, new_outputs) = match (new_inputs, new_outputs) {
        (Ok(inputs), Ok(outputs)) => (inputs, outputs),
        (inputs, outputs) => {
            return Err(inputs.err().into_iter().chain(outputs.err()).map(|found| *found).collect());
        }
    };
    for &value in &from {
        detach(model, id, graph, value);
    }
    let body = &mut model.bodies[id];
    // A removed input may have a default.
    let dropped: HashSet<ValueId> = (body.graphs[graph].inputs.iter())
        .filter_map(|port| port.value)
        .filter(|value| !inputs.contains(value))
        .collect();
    for &value in &dropped {
        body.values[value].def = ValueDef::Unbound(graph);
    }
    let g = &mut body.graphs[graph];
    g.initializers.retain(|init| !dropped.contains(&init.value));
    g.sparse_initializers.retain(|init| !dropped.contains(&init.value));
    g.value_info.retain(|port| port.value.is_none_or(|value| !inputs.contains(&value)));
    g.inputs = new_inputs;
    g.outputs = new_outputs;
    let mut report = Report::default();
    report.note(std::mem::take(&mut model.training).len(), "training", "removed");
    let removed = dead_code(model, registry);
    report.changes.extend(removed.changes);
    compact(model);
    Ok(report)
}

/// Extracts some nodes of the main graph: inputs are the values that they read from other nodes, outputs are the values that
/// other nodes read. A node of a nested graph stands for the node of the main graph that contains it.
pub fn extract_nodes(model: &mut Model, registry: &Registry, nodes: &[NodeId]) -> Edited {
    let Some((id, graph)) = main_graph(model) else { return extract(model, registry, &[], &[]) };
    let body = &model.bodies[id];
    let requested: HashSet<NodeId> = nodes.iter().copied().collect();
    let selected: Vec<NodeId> = (body.graphs[graph].nodes.iter().copied())
        .filter(|&node| inside(body, node).iter().any(|inner| requested.contains(inner)))
        .collect();
    let made: HashSet<ValueId> =
        selected.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied()).collect();
    let is_computed = |v: &ValueId| {
        let has_default = body.graphs[graph].initializers.iter().any(|i| i.value == *v);
        match body.values[*v].def {
            ValueDef::Input(g) => g == graph && !has_default,
            ValueDef::Output(node, _) => body.graphs[graph].nodes.contains(&node),
            ValueDef::Initializer(_) | ValueDef::Unbound(_) => false,
        }
    };
    let reads = |node: NodeId| {
        let all = inside(body, node);
        let inputs = all.iter().flat_map(|&n| body.nodes[n].inputs.iter().flatten().copied());
        let outputs = all.iter().flat_map(|&n| body.subgraphs(n)).flat_map(|g| &body.graphs[g].outputs);
        inputs.chain(outputs.filter_map(|p| p.value)).collect::<Vec<_>>()
    };
    let from: Vec<ValueId> = (selected.iter())
        .flat_map(|&node| reads(node))
        .filter(|v| !made.contains(v) && is_computed(v))
        .collect();
    let others = body.graphs[graph].nodes.iter().copied().filter(|node| !selected.contains(node));
    let mut read: HashSet<ValueId> = others.flat_map(reads).collect();
    read.extend(body.graphs[graph].outputs.iter().filter_map(|p| p.value));
    let results = selected.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied());
    let to: Vec<ValueId> = results.filter(|v| read.contains(v)).collect();
    if to.is_empty() {
        let place = nodes.first().map_or(Place::Nowhere, |&n| Entity::Node(id, n).into());
        let message = "nothing outside of the selected nodes reads a result of them";
        return Err(vec![Diagnostic::new(&code::EXTRACT_CUT, place, message)]);
    }
    extract(model, registry, &from, &to)
}

/// A node with all nodes nested in it.
fn inside(body: &Body, node: NodeId) -> Vec<NodeId> {
    body.walk_nodes(&[node]).nodes().collect()
}

fn distinct(values: &[ValueId]) -> Vec<ValueId> {
    let mut seen = HashSet::new();
    values.iter().copied().filter(|v| seen.insert(*v)).collect()
}

/// The values that the outputs depend on, up to the inputs of the part.
struct Reached {
    values: SecondaryMap<ValueId, bool>,
}

impl Reached {
    fn of(body: &Body, from: &[ValueId], to: &[ValueId]) -> Reached {
        let mut values = SecondaryMap::with_len(false, body.values.len());
        let mut nodes: SecondaryMap<NodeId, bool> = SecondaryMap::with_len(false, body.nodes.len());
        let cut: HashSet<ValueId> = from.iter().copied().collect();
        let mut open: Vec<ValueId> = to.to_vec();
        let mut open_nodes: Vec<NodeId> = Vec::new();
        loop {
            if let Some(node) = open_nodes.pop() {
                if std::mem::replace(&mut nodes[node], true) {
                    continue;
                }
                open.extend(body.nodes[node].inputs.iter().flatten());
                for graph in body.subgraphs(node) {
                    open.extend(body.graphs[graph].outputs.iter().filter_map(|p| p.value));
                    open_nodes.extend(&body.graphs[graph].nodes);
                }
            } else if let Some(value) = open.pop() {
                if std::mem::replace(&mut values[value], true) || cut.contains(&value) {
                    continue;
                }
                if let ValueDef::Output(node, _) = body.values[value].def {
                    open_nodes.push(node);
                }
            } else {
                return Reached { values };
            }
        }
    }
}

/// The inputs of the part, or findings about missing and useless ones.
fn inputs(
    model: &Model,
    (id, graph): (BodyId, GraphId),
    from: &[ValueId],
    to: &[ValueId],
    reached: &Reached,
) -> Result<Vec<ValueId>, Vec<Diagnostic>> {
    let body = &model.bodies[id];
    let name = |v: ValueId| &model.names[body.values[v].name];
    let g = &body.graphs[graph];
    let has_default = |v: ValueId| {
        g.initializers.iter().any(|i| i.value == v) || g.sparse_initializers.iter().any(|i| i.value == v)
    };
    let needed = g.inputs.iter().filter_map(|p| p.value).filter(|v| reached.values[*v] && !from.contains(v));
    let (defaulted, missing): (Vec<_>, Vec<_>) = needed.partition(|&v| has_default(v));
    let mut found = Vec::new();
    if let (false, Some(&first)) = (from.is_empty() || missing.is_empty(), missing.first()) {
        let outputs = listed(to.iter().map(|&v| name(v)));
        let names = listed(missing.iter().map(|&v| name(v)));
        let verb = if to.len() == 1 { "needs" } else { "need" };
        let message = format!("{outputs} also {verb} {names}");
        let mut diagnostic = Diagnostic::new(&code::EXTRACT_CUT, definition(model, id, first), message);
        for &value in &missing[1..] {
            diagnostic = diagnostic.related(definition(model, id, value), "and this input");
        }
        let flags: Vec<String> = missing.iter().map(|&v| format!("--from {}", name(v))).collect();
        found.push(
            diagnostic
                .label("an input that no value of `--from` replaces")
                .help(format!("add {}", flags.join(" "))),
        );
    }
    for &value in from.iter().filter(|v| !reached.values[**v]) {
        let message = format!("{} does not depend on `{}`", listed(to.iter().map(|&v| name(v))), name(value));
        found.push(Diagnostic::new(&code::EXTRACT_CUT, definition(model, id, value), message));
    }
    if !found.is_empty() {
        return Err(found);
    }
    if from.is_empty() {
        return Ok(g.inputs.iter().filter_map(|p| p.value).filter(|v| reached.values[*v]).collect());
    }
    Ok(from.iter().copied().chain(defaulted).collect())
}

/// Declares inputs and outputs.
struct Ports<'m> {
    model: &'m mut Model,
    facts: &'m mut Facts,
    id: BodyId,
    graph: GraphId,
}

impl Ports<'_> {
    /// The declaration of a value, with its known type.
    fn port(&mut self, value: ValueId) -> Result<Port, Box<Diagnostic>> {
        let g = &self.model.bodies[self.id].graphs[self.graph];
        let mut declared = g.inputs.iter().chain(&g.value_info).chain(&g.outputs);
        let port = declared.find(|port| port.value == Some(value)).cloned();
        self.typed(value, port.unwrap_or_default())
    }

    /// The declaration of an output: an existing output keeps its own.
    fn output(&mut self, value: ValueId) -> Result<Port, Box<Diagnostic>> {
        let g = &self.model.bodies[self.id].graphs[self.graph];
        match g.outputs.iter().find(|port| port.value == Some(value)).cloned() {
            Some(port) => self.typed(value, port),
            None => self.port(value),
        }
    }

    fn typed(&mut self, value: ValueId, mut port: Port) -> Result<Port, Box<Diagnostic>> {
        let ty: Option<TypeId> = declared_type(self.model, self.facts, self.id, value, port.ty);
        let name = self.model.bodies[self.id].values[value].name;
        let Some(ty) = ty else {
            let message = format!("the type of `{}` is not known", &self.model.names[name]);
            let place = definition(self.model, self.id, value);
            let diagnostic = Diagnostic::new(&code::EXTRACT_CUT, place, message)
                .label("not declared, and inference does not know it");
            return Err(Box::new(diagnostic));
        };
        port.ty = Some(ty);
        port.name = Some(name);
        port.value = Some(value);
        Ok(port)
    }
}

/// Makes a value an input. Its producer now computes a renamed value that nothing reads.
fn detach(model: &mut Model, id: BodyId, graph: GraphId, value: ValueId) {
    let def = model.bodies[id].values[value].def;
    match def {
        ValueDef::Output(node, i) => {
            let name = unused_name(model, id, value);
            let body = &mut model.bodies[id];
            let unread = body.values.push(Value { name, def });
            if let Some(output) = body.nodes[node].outputs.get_mut(i as usize) {
                *output = Some(unread);
            }
        }
        ValueDef::Initializer(_) => {
            let g = &mut model.bodies[id].graphs[graph];
            g.initializers.retain(|init| init.value != value);
            g.sparse_initializers.retain(|init| init.value != value);
        }
        ValueDef::Input(_) | ValueDef::Unbound(_) => {}
    }
    model.bodies[id].values[value].def = ValueDef::Input(graph);
}

fn unused_name(model: &mut Model, id: BodyId, value: ValueId) -> onnx_ir::Name {
    let stem = model.names[model.bodies[id].values[value].name].to_owned();
    let free = (1u64..).map(|i| format!("{stem}_unused_{i}")).find(|name| model.names.find(name).is_none());
    model.names.intern(&free.unwrap_or(stem))
}
