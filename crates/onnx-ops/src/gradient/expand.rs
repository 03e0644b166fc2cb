//! The pass that replaces `Gradient` nodes.

use super::recompute::recompute;
use super::reverse::{Refusal, Reverse, between, fresh};
use crate::derivative::{gradients, has_gradient};
use crate::no_ops::remove_no_ops;
use crate::schema::Registry;
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, counted};
use onnx_ir::pass::{self, CopyOptions, CopySource, CopyTarget, Initializers, Report, Transplant};
use onnx_ir::{AttrValue, Body, BodyId, GraphId, Model, NodeId, ValueDef, ValueId};

/// The treatment of intermediate results that derivatives read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Results {
    /// Results are kept until the derivatives read them.
    #[default]
    Kept,
    /// Most of them are computed again, which needs less memory and more time. The results are the same.
    Recomputed,
}

/// [`expand_gradient_with`] that keeps intermediate results.
pub fn expand_gradient(model: &mut Model, registry: &Registry) -> Report {
    expand_gradient_with(model, registry, Results::Kept)
}

/// [`expand_gradient_with`] that computes intermediate results again.
pub fn expand_gradient_recomputing(model: &mut Model, registry: &Registry) -> Report {
    expand_gradient_with(model, registry, Results::Recomputed)
}

/// Replaces every `Gradient` node by nodes that compute the gradients, and simplifies the result: folds constants, shares common
/// subexpressions and removes dead nodes. A node that cannot be replaced is kept, and the report explains why.
///
/// In the algorithm of a training, `xs`, `zs` and `y` are names of the main graph joined with the algorithm; what computes the
/// gradients belongs to the algorithm. Calls of functions of the model are inlined if they are between `xs` and `y`.
pub fn expand_gradient_with(model: &mut Model, registry: &Registry, results: Results) -> Report {
    let mut report = Report::default();
    if !has_gradient(model) {
        return report;
    }
    pass::topological_sort(model);
    let mut count = expand_all(model, registry, results, &mut report.diagnostics);
    for training in 0..model.training.len() {
        count += expand_training(model, registry, training, results, &mut report.diagnostics);
    }
    report.note(count, "gradient", "expanded");
    if count > 0 {
        simplify(model, registry);
    }
    report
}

/// Expands the gradients of functions and of the main graph, and returns their number.
fn expand_all(
    model: &mut Model,
    registry: &Registry,
    results: Results,
    found: &mut Vec<Diagnostic>,
) -> usize {
    let mut failed: HashSet<(BodyId, Option<ValueId>)> = HashSet::default();
    let mut count = 0;
    while let Some((body, graph, node)) = next(model, &failed) {
        let mut trial = model.clone();
        match expand(&mut trial, registry, (body, graph, node), results) {
            Ok(()) => {
                *model = trial;
                count += 1;
            }
            Err(refusal) => {
                failed.insert((body, key(&model.bodies[body], node)));
                found.push(diagnostic(model, body, node, &refusal));
            }
        }
    }
    count
}

/// Expands the gradients of the algorithm of a training.
fn expand_training(
    model: &mut Model,
    registry: &Registry,
    training: usize,
    results: Results,
    found: &mut Vec<Diagnostic>,
) -> usize {
    let before: &Model = model;
    let algorithm = before.training[training].algorithm;
    let is_wanted = algorithm.is_some_and(|body| gradients(before, body).next().is_some());
    let Some(mut joined) = is_wanted.then(|| pass::join_training(before, training)).flatten() else {
        return 0;
    };
    // Gradients of functions and of the main graph that are left could not be expanded, which has been reported.
    let in_main = before.main.into_iter().flat_map(|body| gradients(before, body));
    let main: HashSet<NodeId> = in_main.map(|(_, node)| node).collect();
    let mut own = Vec::new();
    let count = expand_all(&mut joined.model, registry, results, &mut own);
    own.retain(|finding| {
        let node = match finding.primary.place {
            Place::Entity(entity) => entity.node(),
            Place::Source(_) | Place::Nowhere => None,
        };
        node.is_some_and(|(body, node)| body == joined.body && !main.contains(&node))
    });
    joined.relocate(&mut own);
    found.extend(own);
    if count > 0 {
        joined.split_into(model);
    }
    count
}

/// Why gradients of a model cannot be expanded, of which none could not in another.
pub(crate) fn lost_gradients(before: &Model, after: &Model, registry: &Registry) -> Vec<Diagnostic> {
    let failing = |model: &Model| expand_gradient(&mut model.clone(), registry).diagnostics;
    if !has_gradient(before) || !failing(before).is_empty() { Vec::new() } else { failing(after) }
}

/// Removes repeated, dead and constant computations.
fn simplify(model: &mut Model, registry: &Registry) {
    pass::topological_sort(model);
    pass::common_subexpressions(model, registry, Initializers::Keep);
    remove_no_ops(model, registry);
    pass::common_subexpressions(model, registry, Initializers::Keep);
    pass::dead_code(model, registry);
    pass::compact(model);
}

fn key(body: &Body, node: NodeId) -> Option<ValueId> {
    body.nodes[node].outputs.iter().flatten().next().copied()
}

/// The first `Gradient` node that has not failed: functions come before their callers, graphs before nested ones.
fn next(model: &Model, failed: &HashSet<(BodyId, Option<ValueId>)>) -> Option<(BodyId, GraphId, NodeId)> {
    let functions = model.functions.values().map(|function| function.body);
    let mut bodies = functions.chain(model.main);
    bodies.find_map(|id| {
        let mut nodes = gradients(model, id);
        let (graph, node) = nodes.find(|&(_, node)| !failed.contains(&(id, key(&model.bodies[id], node))))?;
        Some((id, graph, node))
    })
}

fn diagnostic(model: &Model, body: BodyId, node: NodeId, refusal: &Refusal) -> Diagnostic {
    let y = string(model, body, node, "y").unwrap_or_default();
    let message = format!("the gradient of `{y}` cannot be expanded: {}", refusal.why);
    let found = Diagnostic::new(&code::GRADIENT_UNDEFINED, Entity::NodeOp(body, node), message);
    match refusal.node.filter(|&culprit| model.bodies[body].nodes.get(culprit).is_some()) {
        Some(culprit) => found.related(Entity::NodeOp(body, culprit), "this node lies between `xs` and `y`"),
        None => found,
    }
}

fn string(model: &Model, body: BodyId, node: NodeId, name: &str) -> Option<String> {
    let name = model.names.find(name)?;
    match model.bodies[body].nodes[node].attr(name)?.value()? {
        AttrValue::String(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

fn strings(model: &Model, body: BodyId, node: NodeId, name: &str) -> Vec<String> {
    let attr = model.names.find(name).and_then(|name| model.bodies[body].nodes[node].attr(name)?.value());
    match attr {
        Some(AttrValue::Strings(list)) => {
            list.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// The graphs around a graph, outermost first, itself last.
fn around(body: &Body, graph: GraphId) -> Vec<GraphId> {
    let mut home = HashMap::default();
    for (id, g) in body.graphs.iter() {
        home.extend(g.nodes.iter().map(|&node| (node, id)));
    }
    let mut chain = vec![graph];
    let mut at = graph;
    while let Some(outer) = body.graphs[at].owner.and_then(|owner| home.get(&owner).copied()) {
        if chain.contains(&outer) {
            break;
        }
        chain.push(outer);
        at = outer;
    }
    chain.reverse();
    chain
}

/// The value of a name in the innermost of some graphs.
fn visible(model: &Model, body: BodyId, graphs: &[GraphId], name: &str) -> Result<ValueId, Refusal> {
    let b = &model.bodies[body];
    for &graph in graphs.iter().rev() {
        let mut values = b.graphs[graph].values(b);
        if let Some(value) = values.find(|&value| &model.names[b.values[value].name] == name) {
            return Ok(value);
        }
    }
    Err(Refusal::of(format!("no value here is named `{name}`")))
}

fn expand(
    model: &mut Model,
    registry: &Registry,
    (body, graph, node): (BodyId, GraphId, NodeId),
    results: Results,
) -> Result<(), Refusal> {
    let y = string(model, body, node, "y").ok_or_else(|| Refusal::of("attribute `y` is missing"))?;
    let (xs, zs) = (strings(model, body, node, "xs"), strings(model, body, node, "zs"));
    let graphs = around(&model.bodies[body], graph);
    let target = visible(model, body, &graphs, &y)?;
    let mut named = Vec::new();
    for name in xs.iter().chain(&zs) {
        named.push(visible(model, body, &graphs, name)?);
    }
    let given: Vec<Option<ValueId>> = model.bodies[body].nodes[node].inputs.iter().copied().collect();
    if given.len() != named.len() || given.iter().any(Option::is_none) {
        let (names, inputs) = (named.len(), given.iter().flatten().count());
        return Err(Refusal::of(format!(
            "`xs` and `zs` have {} for {}",
            counted(names, "name"),
            counted(inputs, "input")
        )));
    }
    let given: Vec<ValueId> = given.into_iter().flatten().collect();
    inline_calls(model, registry, body, &graphs, target, &named);
    let (target, independent) = if given == named {
        (target, named)
    } else {
        elsewhere(model, body, &graphs, target, (&named, &given))
    };
    let cuts: HashSet<ValueId> = independent.iter().copied().collect();
    let wanted = &independent[..xs.len()];
    let before: HashSet<NodeId> = model.bodies[body].graphs[graph].nodes.iter().copied().collect();
    let mut reverse = Reverse::new(model, registry, body);
    reverse.origin = reverse.model.bodies[body].origins[node];
    let seed = reverse.filled(graph, target, 1)?;
    let gradients = reverse.run(&graphs, graph, &[(target, seed)], wanted, &cuts)?;
    let outputs = reverse.model.bodies[body].nodes[node].outputs.clone();
    for ((output, gradient), &x) in outputs.iter().zip(gradients).zip(wanted) {
        let Some(output) = *output else { continue };
        let gradient = match gradient {
            Some(gradient) => gradient,
            None => reverse.filled(graph, x, 0)?,
        };
        reverse.emit(graph, ("", "Identity"), None, &[Some(gradient)], &[None]);
        let b = &mut reverse.model.bodies[body];
        if let Some(&copy) = b.graphs[graph].nodes.last() {
            b.nodes[copy].outputs = [Some(output)].into_iter().collect();
            b.values[output].def = ValueDef::Output(copy, 0);
        }
    }
    let calls = std::mem::take(&mut reverse.calls);
    let b = &mut model.bodies[body];
    b.graphs[graph].nodes.retain(|&other| other != node);
    b.nodes[node].outputs.clear();
    b.nodes[node].inputs.clear();
    calls.inline(model, registry)?;
    pass::topological_sort(model);
    if results == Results::Recomputed {
        // Derivatives share what the nodes before them compute.
        pass::common_subexpressions(model, registry, Initializers::Keep);
        recompute(model, registry, (body, graph), &before);
    }
    Ok(())
}

/// Inlines functions that are called between the independent variables and the result.
fn inline_calls(
    model: &mut Model,
    registry: &Registry,
    body: BodyId,
    graphs: &[GraphId],
    target: ValueId,
    named: &[ValueId],
) {
    let cuts: HashSet<ValueId> = named.iter().copied().collect();
    let nodes = between(&model.bodies[body], graphs, &[target], &cuts);
    let is_call = |node: &NodeId| {
        let n = &model.bodies[body].nodes[*node];
        let (domain, op) = (onnx_ir::normalize_domain(model.text(n.domain)), model.text(n.op));
        let mut functions = model.functions.values();
        functions
            .any(|f| model.text(f.name) == op && onnx_ir::normalize_domain(model.text(f.domain)) == domain)
    };
    if nodes.iter().any(is_call) {
        pass::inline(model, registry, pass::Inline::default());
    }
}

/// Computes the result for other values than those named by `xs` and `zs`, with copies of the nodes in between.
fn elsewhere(
    model: &mut Model,
    body: BodyId,
    graphs: &[GraphId],
    target: ValueId,
    (named, given): (&[ValueId], &[ValueId]),
) -> (ValueId, Vec<ValueId>) {
    let cuts: HashSet<ValueId> = named.iter().copied().collect();
    let nodes = between(&model.bodies[body], graphs, &[target], &cuts);
    let home = graphs[graphs.len() - 1];
    let mut variables = Vec::new();
    for (&value, &at) in named.iter().zip(given) {
        let stem = format!("{}_at", &model.names[model.bodies[body].values[value].name]);
        let name = fresh(model, &stem);
        let (domain, op) = (model.names.intern(""), model.names.intern("Identity"));
        let b = &mut model.bodies[body];
        let copy = b.nodes.push(onnx_ir::Node {
            op: Some(op),
            domain: Some(domain),
            inputs: [Some(at)].into_iter().collect(),
            ..onnx_ir::Node::default()
        });
        let variable = b.values.push(onnx_ir::Value { name, def: ValueDef::Output(copy, 0) });
        b.nodes[copy].outputs = [Some(variable)].into_iter().collect();
        b.graphs[home].nodes.push(copy);
        variables.push(variable);
    }
    let prefix = Some("at_".to_owned());
    let Model { names, types, bodies, .. } = model;
    let b = &mut bodies[body];
    let mut copies = Vec::new();
    let mut copier = Transplant::new(
        CopySource::same(),
        CopyTarget { names, types, body: b },
        home,
        CopyOptions { prefix, ..CopyOptions::default() },
    );
    for (&value, &variable) in named.iter().zip(&variables) {
        copier.bind(value, Some(variable));
    }
    for node in nodes {
        copies.push(copier.node(node));
    }
    let target = copier.value(target).unwrap_or(target);
    drop(copier);
    b.graphs[home].nodes.extend(copies);
    (target, variables)
}
