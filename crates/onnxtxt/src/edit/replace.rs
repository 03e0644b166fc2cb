//! Puts a part into a model: in place of some nodes, or between a value and its readers.
//!
//! Replacing `a` to `b` by a part with the same inputs and outputs:
//!
//! ```text
//! model:   g (float[N] x) => (float[N] y) { a = Abs(x)  t = Neg(a)  b = Exp(t)  y = Relu(b) }
//! part:    p (float[N] a) => (float[N] b) { s = Neg(a)  b = Sigmoid(s) }
//! after:   g (float[N] x) => (float[N] y) { a = Abs(x)  s = Neg(a)  b = Sigmoid(s)  y = Relu(b) }
//! ```
//!
//! Inputs and outputs of the part belong to values of the model by name, or as a map says. Other names of the part that the model has
//! already get a number. Operator sets of the part are converted to the versions of the model. Functions of the part must be
//! those of the model; others are put in place of their calls. What only the replaced nodes used goes with them.

mod prepare;

use super::{Edited, Incoming, listed, main_graph, reads};
use onnx_ir::diag::{Diagnostic, Place, code, did_you_mean};
use onnx_ir::drop_declarations;
use onnx_ir::pass::{CopyOptions, CopySource, CopyTarget, Report, Transplant, compact, topological_sort};
use onnx_ir::{BodyId, GraphId, Model, Node, NodeId, Port, Value, ValueDef, ValueId};
use prepare::{apart, prepared};
use std::collections::{BTreeMap, HashSet};

/// Names of inputs and outputs of a part with the values of the model that they are, where names differ.
pub type PartMap = BTreeMap<String, String>;

/// The nodes of the main graph that compute `to`, as far as the values `from`.
pub fn nodes_between(model: &Model, from: &[ValueId], to: &[ValueId]) -> Vec<NodeId> {
    let Some((id, graph)) = main_graph(model) else { return Vec::new() };
    let body = &model.bodies[id];
    let mut seen: HashSet<ValueId> = from.iter().copied().collect();
    let mut open: Vec<ValueId> = to.iter().copied().filter(|value| !seen.contains(value)).collect();
    let mut found: HashSet<NodeId> = HashSet::new();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if let ValueDef::Output(node, _) = body.values[value].def
            && found.insert(node)
        {
            open.extend(reads(body, node));
        }
    }
    body.graphs[graph].nodes.iter().copied().filter(|node| found.contains(node)).collect()
}

/// Puts a part in place of nodes of the main graph.
pub fn replace(model: &mut Model, nodes: &[NodeId], part: &Incoming, map: &PartMap) -> Edited {
    // The replaced nodes, the values that they compute, and the values that others read.
    let (id, graph) = root(model)?;
    let mut part = prepared(model, part.model())?;
    let body = &model.bodies[id];
    let wanted: HashSet<NodeId> = nodes.iter().copied().collect();
    let all = &body.graphs[graph].nodes;
    let is_selected = |node: &NodeId| body.walk_nodes(&[*node]).nodes().any(|inner| wanted.contains(&inner));
    let region: Vec<NodeId> = all.iter().copied().filter(is_selected).collect();
    let made: HashSet<ValueId> =
        region.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied()).collect();
    let others = all.iter().copied().filter(|node| !region.contains(node));
    let mut read: HashSet<ValueId> = others.flat_map(|node| reads(body, node)).collect();
    read.extend(body.graphs[graph].outputs.iter().filter_map(|port| port.value));
    // Inputs and outputs of the part, by the names of values in the model.
    let (inputs, outputs) = (names_of(&part, |g| &g.inputs), names_of(&part, |g| &g.outputs));
    let mut found = Vec::new();
    let results = paired(model, map, &outputs, &made, "the selected nodes compute no value", &mut found);
    let given: HashSet<ValueId> = results.values().copied().collect();
    let missing: Vec<ValueId> = region
        .iter()
        .flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied())
        .filter(|value| read.contains(value) && !given.contains(value))
        .collect();
    if !missing.is_empty() {
        let names = listed(missing.iter().map(|&value| &model.names[body.values[value].name]));
        let message = format!("the part has no output {names}, which is read outside of the selected nodes");
        found.push(refused(message).help("name it so, or add `--map OUTPUT=VALUE`"));
    }
    let known: HashSet<ValueId> = body.graphs[graph].values(body).filter(|v| !made.contains(v)).collect();
    let defaults = defaults(&part);
    let needed: Vec<String> =
        inputs.iter().filter(|name| !has_default(model, map, name, &defaults, &known)).cloned().collect();
    let operands =
        paired(model, map, &needed, &known, "outside of the selected nodes, no value is named", &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    // Values that only the replaced nodes use.
    let is_operand = |value: &ValueId| operands.values().any(|operand| operand == value);
    let inner: HashSet<ValueId> = (region.iter().flat_map(|&node| reads(body, node)))
        .filter(|value| !read.contains(value) && !is_operand(value))
        .filter(|value| matches!(body.values[*value].def, ValueDef::Initializer(_)))
        .collect();
    let gone: HashSet<ValueId> =
        made.iter().copied().filter(|value| !given.contains(value)).chain(inner.iter().copied()).collect();
    apart(model, &mut part, &gone)?;
    // The nodes are removed, and the part takes their place.
    let position = all.iter().position(|node| region.contains(node)).unwrap_or(all.len());
    let removed = region.len();
    let body = &mut model.bodies[id];
    let g = &mut body.graphs[graph];
    g.nodes.retain(|node| !region.contains(node));
    g.initializers.retain(|init| !inner.contains(&init.value));
    g.sparse_initializers.retain(|init| !inner.contains(&init.value));
    g.value_info.retain(|port| port.value.is_none_or(|value| !made.contains(&value)));
    for &value in made.iter().chain(&inner) {
        body.values[value].def = ValueDef::Unbound(graph);
    }
    let added = graft(model, &part, &operands, &results, position)?;
    finish(model, id);
    let mut report = Report::default();
    report.note(removed, "node", "removed");
    report.note(added, "node", "added");
    Ok(report)
}

/// Puts a part between a value of the main graph and everything that reads it. The part has one input that the model has no value for
/// by name, which gets the value, and one output, which is read in its place.
pub fn insert(model: &mut Model, value: ValueId, part: &Incoming, map: &PartMap) -> Edited {
    let (id, graph) = root(model)?;
    let mut part = prepared(model, part.model())?;
    let (inputs, outputs) = (names_of(&part, |g| &g.inputs), names_of(&part, |g| &g.outputs));
    let body = &model.bodies[id];
    let name = model.names[body.values[value].name].to_owned();
    let known: HashSet<ValueId> = body.graphs[graph].values(body).collect();
    let [output] = &outputs[..] else {
        let message = format!("the part must have 1 output to be inserted, but has {}", outputs.len());
        return Err(vec![refused(message)]);
    };
    let defaults = defaults(&part);
    let is_open = |input: &&String| {
        map.get(*input).is_some_and(|to| *to == name)
            || !map.contains_key(*input) && !defaults.contains(*input) && find(model, input, &known).is_none()
    };
    let by_name = inputs.iter().filter(|input| **input == name && !map.contains_key(*input));
    let open: Vec<&String> = by_name.chain(inputs.iter().filter(is_open)).collect();
    let ([input], true) = (&open[..], known.contains(&value)) else {
        let message = format!(
            "the part must have 1 input for `{name}`, but {}",
            if open.is_empty() {
                "has none".to_owned()
            } else {
                format!("has {}", listed(open.iter().map(|s| s.as_str())))
            }
        );
        return Err(vec![
            refused(message).help(format!("add `--map INPUT={name}`, and others by their names")),
        ]);
    };
    let mut found = Vec::new();
    let others: Vec<String> = inputs
        .iter()
        .filter(|other| other != input && !has_default(model, map, other, &defaults, &known))
        .cloned()
        .collect();
    let mut operands = paired(model, map, &others, &known, "the model has no value", &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    operands.insert((*input).clone(), value);
    let all = &body.graphs[graph].nodes;
    let position = match body.values[value].def {
        ValueDef::Output(node, _) => {
            all.iter().position(|other| *other == node).map_or(all.len(), |at| at + 1)
        }
        ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => 0,
    };
    let result = split(model, (id, graph), value, output);
    operands.values_mut().filter(|operand| **operand == value).for_each(|operand| *operand = result.before);
    let (output, input) = (output.clone(), (*input).clone());
    apart(model, &mut part, &HashSet::new())?;
    let results = BTreeMap::from([(output, result.after)]);
    debug_assert!(operands.contains_key(&input));
    let added = graft(model, &part, &operands, &results, position)?;
    finish(model, id);
    let mut report = Report::default();
    report.note(added, "node", "added");
    Ok(report)
}

/// The two values that one becomes.
struct Split {
    /// The one that was computed before.
    before: ValueId,
    /// The one that is read.
    after: ValueId,
}

/// Makes two values of one: what computed it, and what is read. An output of the graph keeps its name.
fn split(model: &mut Model, (id, graph): (BodyId, GraphId), value: ValueId, output: &str) -> Split {
    let is_output = model.bodies[id].graphs[graph].outputs.iter().any(|port| port.value == Some(value));
    let def = model.bodies[id].values[value].def;
    if let (true, ValueDef::Output(node, i)) = (is_output, def) {
        let stem = model.names[model.bodies[id].values[value].name].to_owned();
        let name = model.names.fresh(&stem);
        let body = &mut model.bodies[id];
        let before = body.values.push(Value { name, def });
        if let Some(slot) = body.nodes[node].outputs.get_mut(i as usize) {
            *slot = Some(before);
        }
        body.values[value].def = ValueDef::Unbound(graph);
        return Split { before, after: value };
    }
    let name = if model.names.find(output).is_some() {
        model.names.fresh(output)
    } else {
        model.names.intern(output)
    };
    let body = &mut model.bodies[id];
    let after = body.values.push(Value { name, def: ValueDef::Unbound(graph) });
    for node in body.nodes.values_mut() {
        node.inputs.iter_mut().filter(|input| **input == Some(value)).for_each(|input| *input = Some(after));
    }
    for nested in body.graphs.ids().filter(|nested| *nested != graph).collect::<Vec<_>>() {
        for port in body.graphs[nested].outputs.iter_mut().filter(|port| port.value == Some(value)) {
            (port.value, port.name) = (Some(after), Some(name));
        }
    }
    Split { before: value, after }
}

fn refused(message: String) -> Diagnostic {
    Diagnostic::new(&code::CONCAT, Place::Nowhere, message)
}

fn root(model: &Model) -> Result<(BodyId, GraphId), Vec<Diagnostic>> {
    main_graph(model).ok_or_else(|| vec![refused("a model without a graph cannot get a part".to_owned())])
}

fn names_of(model: &Model, list: fn(&onnx_ir::Graph) -> &Vec<Port>) -> Vec<String> {
    let Some((id, graph)) = main_graph(model) else { return Vec::new() };
    list(&model.bodies[id].graphs[graph]).iter().map(|port| model.text(port.name).to_owned()).collect()
}

/// The inputs of a part with a default.
fn defaults(part: &Model) -> HashSet<String> {
    let Some((id, graph)) = main_graph(part) else { return HashSet::new() };
    let (body, g) = (&part.bodies[id], &part.bodies[id].graphs[graph]);
    let names =
        g.initializers.iter().map(|init| init.value).chain(g.sparse_initializers.iter().map(|i| i.value));
    names.map(|value| part.names[body.values[value].name].to_owned()).collect()
}

fn has_default(
    model: &Model,
    map: &PartMap,
    name: &str,
    defaults: &HashSet<String>,
    known: &HashSet<ValueId>,
) -> bool {
    defaults.contains(name) && !map.contains_key(name) && find(model, name, known).is_none()
}

/// One of some values, by name.
fn find(model: &Model, name: &str, among: &HashSet<ValueId>) -> Option<ValueId> {
    let (id, _) = main_graph(model)?;
    let (body, name) = (&model.bodies[id], model.names.find(name)?);
    among
        .iter()
        .copied()
        .filter(|&value| body.values[value].name == name)
        .min_by_key(|v| onnx_ir::EntityId::index(*v))
}

/// The values that belong to inputs or outputs of a part.
fn paired(
    model: &Model,
    map: &PartMap,
    names: &[String],
    among: &HashSet<ValueId>,
    what: &str,
    found: &mut Vec<Diagnostic>,
) -> BTreeMap<String, ValueId> {
    let mut pairs = BTreeMap::new();
    for name in names {
        let wanted = map.get(name).unwrap_or(name);
        if let Some(value) = find(model, wanted, among) {
            pairs.insert(name.clone(), value);
            continue;
        }
        let body = main_graph(model).map(|(id, _)| &model.bodies[id]);
        let known: Vec<&str> =
            body.into_iter().flat_map(|b| among.iter().map(|&v| &model.names[b.values[v].name])).collect();
        let help = match did_you_mean(wanted, known) {
            Some(like) => format!("did you mean `{like}`? Then add `--map {name}={like}`"),
            None => format!("add `--map {name}=VALUE`"),
        };
        found.push(refused(format!("{what} `{wanted}`")).help(help));
    }
    pairs
}

/// Copies the nodes and initializers of a part, and says how many nodes there are.
fn graft(
    model: &mut Model,
    part: &Model,
    operands: &BTreeMap<String, ValueId>,
    results: &BTreeMap<String, ValueId>,
    position: usize,
) -> Result<usize, Vec<Diagnostic>> {
    let (id, root) = root(model)?;
    let (from_id, from_root) = main_graph(part).ok_or_else(Vec::new)?;
    let source = &part.bodies[from_id];
    let from = &source.graphs[from_root];
    let identity = model.names.intern("Identity");
    let Model { names, types, bodies, .. } = &mut *model;
    let body = &mut bodies[id];
    let target = CopyTarget { names, types, body };
    let mut copy = Transplant::new(CopySource::other(part, source), target, root, CopyOptions::default());
    let mut bound: HashSet<ValueId> = HashSet::new();
    for port in &from.inputs {
        if let (Some(value), Some(&operand)) = (port.value, operands.get(part.text(port.name))) {
            copy.bind(value, Some(operand));
            bound.insert(value);
        }
    }
    // Results that no node of the part computes for this output alone.
    let mut passed: Vec<(ValueId, ValueId)> = Vec::new();
    for port in &from.outputs {
        let (Some(value), Some(&result)) = (port.value, results.get(part.text(port.name))) else { continue };
        if matches!(source.values[value].def, ValueDef::Output(..)) && bound.insert(value) {
            copy.bind(value, Some(result));
        } else {
            passed.push((value, result));
        }
    }
    let dense: Vec<_> = (from.initializers.iter())
        .filter(|init| !bound.contains(&init.value))
        .map(|init| copy.initializer(*init, root))
        .collect();
    let sparse: Vec<_> = (from.sparse_initializers.iter())
        .filter(|init| !bound.contains(&init.value))
        .map(|init| copy.sparse_initializer(init, root))
        .collect();
    let mut nodes: Vec<NodeId> = from.nodes.iter().map(|node| copy.node(*node)).collect();
    let declared: Vec<Port> = from.value_info.iter().map(|port| copy.port(port)).collect();
    let passed: Vec<_> =
        passed.into_iter().filter_map(|(value, result)| Some((copy.value(value)?, result))).collect();
    drop(copy);
    for (value, result) in passed {
        let mut node = Node { op: Some(identity), ..Node::default() };
        node.inputs.push(Some(value));
        node.outputs.push(Some(result));
        let node = body.nodes.push(node);
        body.values[result].def = ValueDef::Output(node, 0);
        nodes.push(node);
    }
    let graph = &mut body.graphs[root];
    let count = nodes.len();
    let position = position.min(graph.nodes.len());
    graph.nodes.splice(position..position, nodes);
    graph.initializers.extend(dense);
    graph.sparse_initializers.extend(sparse);
    graph.value_info.extend(declared);
    Ok(count)
}

fn finish(model: &mut Model, id: BodyId) {
    drop_declarations(&mut model.bodies[id]);
    topological_sort(model);
    compact(model);
}

#[cfg(test)]
mod tests;
