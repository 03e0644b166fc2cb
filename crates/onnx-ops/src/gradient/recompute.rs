//! Checkpoints: intermediate results that derivatives read are computed again where they are read, instead of being kept.
//!
//! ```text
//! before:  a = Sin(x)  b = Sin(a)  c = Sin(b)  y = Sin(c)     … derivatives that read c, b, a and x
//! after:   a = Sin(x)  b = Sin(a)  c = Sin(b)  y = Sin(c)     … that read c and b; then a_again = Sin(x), and those that read a
//! ```
//!
//! The nodes from the independent variables to the result are divided into segments, about as many as the square root of the number
//! of results that derivatives read. What crosses the border of two segments is kept, and so are results of the last segment, with
//! which the derivatives begin. Of the others, copies of their nodes are placed before the first derivative that reads them. So about
//! twice the square root of the memory is needed, for at most one more computation of each node (Chen et al. 2016, Training Deep Nets
//! with Sublinear Memory Cost).
//!
//! A copy is the same computation, with the same bits as result. Its metadata says that it is one, so that
//! [`common_subexpressions`](onnx_ir::pass::common_subexpressions()) does not undo it; everything else that orders or plans nodes
//! keeps the order of the list. Results of random operators, of control flow and of calls, and of nodes without operands are kept.

use super::reverse::{captured, fresh};
use crate::dims::Dim;
use crate::infer::{InferOptions, infer};
use crate::lint::local_functions;
use crate::schema::Registry;
use foldhash::{HashMap, HashSet};
use onnx_ir::pass::{OpRef, Operators as _, RECOMPUTED};
use onnx_ir::{
    Body, BodyId, Entry, GraphId, Model, Name, Node, NodeId, Value, ValueDef, ValueId, normalize_domain,
};

/// With fewer results that derivatives read, nothing is computed again.
const MIN_SAVED: usize = 4;

/// Computes results again for the nodes of a graph that are not in `before`, the derivatives. Returns the number of copies.
pub(super) fn recompute(
    model: &mut Model,
    registry: &Registry,
    (body, graph): (BodyId, GraphId),
    before: &HashSet<NodeId>,
) -> usize {
    shapes_first(model, (body, graph), before);
    let Some(segments) = Segments::of(model, registry, (body, graph), before) else { return 0 };
    let mut again = Again { model, body, segments, copies: HashMap::default(), made: Vec::new() };
    let list = again.body().graphs[graph].nodes.clone();
    let mut new = Vec::with_capacity(list.len());
    for node in list {
        if again.segments.live.contains(&node) {
            again.redirect(node);
            new.append(&mut again.made);
        }
        new.push(node);
    }
    let count = new.len() - again.body().graphs[graph].nodes.len();
    again.model.bodies[body].graphs[graph].nodes = new;
    count
}

/// Moves derivatives that read only the shape of a result to the position after its node: they do not need its elements later.
fn shapes_first(model: &mut Model, (body, graph): (BodyId, GraphId), before: &HashSet<NodeId>) {
    let b = &model.bodies[body];
    let mut following: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
    let mut moved = HashSet::default();
    for &node in b.graphs[graph].nodes.iter().filter(|node| !before.contains(node)) {
        let Some(Some(operand)) = b.nodes[node].inputs.first().filter(|_| is_shape(model, body, node)) else {
            continue;
        };
        if let ValueDef::Output(maker, _) = b.values[*operand].def
            && before.contains(&maker)
        {
            following.entry(maker).or_default().push(node);
            moved.insert(node);
        }
    }
    let nodes = &mut model.bodies[body].graphs[graph].nodes;
    for node in std::mem::take(nodes).into_iter().filter(|node| !moved.contains(node)) {
        nodes.push(node);
        nodes.extend(following.remove(&node).unwrap_or_default());
    }
}

/// Whether a node reads no elements of its operand.
fn is_shape(model: &Model, body: BodyId, node: NodeId) -> bool {
    let n = &model.bodies[body].nodes[node];
    matches!(model.text(n.op), "Shape" | "Size") && normalize_domain(model.text(n.domain)).is_empty()
}

/// The results that are not kept.
struct Segments {
    /// Results that are computed again.
    lost: HashSet<ValueId>,
    /// Derivatives whose results are used. Others will be removed.
    live: HashSet<NodeId>,
}

impl Segments {
    fn of(
        model: &Model,
        registry: &Registry,
        (id, graph): (BodyId, GraphId),
        before: &HashSet<NodeId>,
    ) -> Option<Segments> {
        let body = &model.bodies[id];
        let list = &body.graphs[graph].nodes;
        let live = live(body, graph, before);
        // Operands of derivatives, except those of shapes, which come right after their nodes now.
        let (mut read, mut kept) = (HashSet::default(), HashSet::default());
        for node in list.iter().filter(|node| live.contains(node) && !is_shape(model, id, **node)) {
            read.extend(body.nodes[*node].inputs.iter().flatten().copied());
            kept.extend(captured(body, *node));
        }
        kept.extend(body.graphs[graph].outputs.iter().filter_map(|port| port.value));
        // The nodes that compute it, in order.
        let mut needed: HashSet<ValueId> = read.clone();
        let mut forward: Vec<NodeId> = Vec::new();
        for &node in list.iter().rev().filter(|node| before.contains(node)) {
            if body.nodes[node].outputs.iter().flatten().any(|result| needed.contains(result)) {
                needed.extend(super::reverse::operands(body, node));
                forward.push(node);
            }
        }
        forward.reverse();
        let local = local_functions(model);
        let mut position: HashMap<ValueId, usize> = HashMap::default();
        for (at, &node) in forward.iter().enumerate() {
            let can = is_repeatable(model, registry, &local, (id, node));
            for result in body.nodes[node].outputs.iter().flatten() {
                position.insert(*result, at);
                if !can {
                    kept.insert(*result);
                }
            }
        }
        let weight = weights(model, registry, id);
        let mut saved: Vec<ValueId> =
            position.keys().copied().filter(|value| read.contains(value) && !kept.contains(value)).collect();
        saved.sort_by_key(|value| (position[value], *value));
        if saved.len() < MIN_SAVED {
            return None;
        }
        let cuts = cuts(body, &forward, &position, &saved, &weight);
        // Results that cross a cut, and those of the last segment, are kept.
        let last = cuts.last().copied()?;
        for (at, &node) in forward.iter().enumerate() {
            for operand in body.nodes[node].inputs.iter().flatten() {
                let Some(&made) = position.get(operand) else { continue };
                if cuts.iter().any(|cut| made <= *cut && *cut < at) {
                    kept.insert(*operand);
                }
            }
        }
        let is_lost = |value: &ValueId| position[value] <= last && !kept.contains(value);
        Some(Segments { lost: position.keys().copied().filter(is_lost).collect(), live })
    }
}

/// The derivatives whose results are used.
fn live(body: &Body, graph: GraphId, before: &HashSet<NodeId>) -> HashSet<NodeId> {
    let g = &body.graphs[graph];
    let mut needed: HashSet<ValueId> = g.outputs.iter().filter_map(|port| port.value).collect();
    let mut live = HashSet::default();
    for &node in g.nodes.iter().rev() {
        let is_derivative = !before.contains(&node);
        if !is_derivative || body.nodes[node].outputs.iter().flatten().any(|result| needed.contains(result)) {
            needed.extend(super::reverse::operands(body, node));
            if is_derivative {
                live.insert(node);
            }
        }
    }
    live
}

/// Positions after which a segment ends.
fn cuts(
    body: &Body,
    forward: &[NodeId],
    position: &HashMap<ValueId, usize>,
    saved: &[ValueId],
    weight: &impl Fn(ValueId) -> f64,
) -> Vec<usize> {
    // The weight of what crosses each position: it begins with a value and ends with its last reader.
    let mut ends: HashMap<ValueId, usize> = HashMap::default();
    for (at, &node) in forward.iter().enumerate() {
        for operand in body.nodes[node].inputs.iter().flatten().filter(|v| position.contains_key(v)) {
            ends.insert(*operand, at);
        }
    }
    let mut change = vec![0.0; forward.len() + 1];
    for (value, &end) in &ends {
        change[position[value]] += weight(*value);
        change[end] -= weight(*value);
    }
    let mut crossing = Vec::with_capacity(forward.len());
    let mut now = 0.0;
    for change in change.iter().take(forward.len()) {
        now += change;
        crossing.push(now);
    }
    let total: f64 = saved.iter().map(|value| weight(*value)).sum();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive small number")]
    let count = ((saved.len() as f64).sqrt().round() as usize).max(2);
    // Near the places that divide what is saved equally, those with the least crossing.
    let reach = forward.len() / (3 * count);
    let (mut cuts, mut sum, mut next) = (Vec::new(), 0.0, 1);
    for value in saved {
        sum += weight(*value);
        if next < count && sum >= total * next as f64 / count as f64 {
            next += 1;
            let at = position[value];
            let from = at.saturating_sub(reach).max(cuts.last().map_or(0, |last| last + 1));
            let to = (at + reach).min(forward.len().saturating_sub(2));
            let best = (from..=to).min_by(|a, b| {
                let far = |i: usize| i.abs_diff(at);
                crossing[*a].total_cmp(&crossing[*b]).then(far(*a).cmp(&far(*b)))
            });
            cuts.extend(best);
        }
    }
    cuts
}

/// Whether a copy of a node yields the same results, at about the same cost. `local` has the functions of the model.
fn is_repeatable(
    model: &Model,
    registry: &Registry,
    local: &std::collections::HashSet<(String, Name)>,
    (body, node): (BodyId, NodeId),
) -> bool {
    let b = &model.bodies[body];
    let n = &b.nodes[node];
    let domain = normalize_domain(model.text(n.domain));
    let op = OpRef { domain, op: model.text(n.op), version: model.newest_import(body, domain) };
    let is_call = n.op.is_some_and(|name| local.contains(&(domain.to_owned(), name)));
    !is_call
        && !registry.is_random(op)
        && b.subgraphs(node).next().is_none()
        && n.inputs.iter().any(Option::is_some)
}

/// The numbers of elements of values; unknown sizes, which are those of a batch, count as one.
fn weights(model: &Model, registry: &Registry, body: BodyId) -> impl Fn(ValueId) -> f64 {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    move |value| {
        let sizes = facts.get(body, value).ty.shape().cloned().unwrap_or_default();
        let size = |dim: &Dim| crate::derivative::number(dim).map_or(1.0, |n| n.max(1) as f64);
        sizes.iter().map(size).product()
    }
}

/// Copies of nodes.
struct Again<'m> {
    model: &'m mut Model,
    body: BodyId,
    segments: Segments,
    /// The copies of results.
    copies: HashMap<ValueId, ValueId>,
    /// Nodes that are not yet in the list.
    made: Vec<NodeId>,
}

impl Again<'_> {
    fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    /// Lets a node read copies. The shape of a result is that of its copy.
    fn redirect(&mut self, node: NodeId) {
        if is_shape(self.model, self.body, node) {
            return;
        }
        let inputs = self.body().nodes[node].inputs.clone();
        for (i, input) in inputs.iter().enumerate() {
            if let Some(value) = input.filter(|value| self.segments.lost.contains(value)) {
                let copy = self.copy(value);
                self.model.bodies[self.body].nodes[node].inputs[i] = Some(copy);
            }
        }
    }

    /// The copy of a result, with copies of everything that it needs and that is not kept.
    fn copy(&mut self, value: ValueId) -> ValueId {
        // Depth first, without recursion: chains may be long.
        let mut open = vec![value];
        while let Some(&value) = open.last() {
            let ValueDef::Output(node, _) = self.body().values[value].def else {
                open.pop();
                continue;
            };
            if self.copies.contains_key(&value) {
                open.pop();
                continue;
            }
            let inputs = self.body().nodes[node].inputs.clone();
            let is_missing =
                |value: &ValueId| self.segments.lost.contains(value) && !self.copies.contains_key(value);
            let missing: Vec<ValueId> = inputs.iter().flatten().copied().filter(is_missing).collect();
            if missing.is_empty() {
                self.copy_node(node);
                open.pop();
            } else {
                open.extend(missing);
            }
        }
        self.copies.get(&value).copied().unwrap_or(value)
    }

    fn copy_node(&mut self, node: NodeId) {
        let original = self.body().nodes[node].clone();
        let key = self.model.names.intern(RECOMPUTED);
        let yes = self.model.names.intern("true");
        let inputs =
            original.inputs.iter().map(|input| input.map(|v| self.copies.get(&v).copied().unwrap_or(v)));
        let inputs = inputs.collect();
        let name = original.name.map(|name| {
            let stem = format!("{}_again", &self.model.names[name]);
            fresh(self.model, &stem)
        });
        let names: Vec<_> = (original.outputs.iter())
            .map(|output| {
                output.map(|value| {
                    let stem = format!("{}_again", &self.model.names[self.body().values[value].name]);
                    fresh(self.model, &stem)
                })
            })
            .collect();
        let body = &mut self.model.bodies[self.body];
        let mut copy = Node { name, inputs, ..original.clone() };
        copy.extra_mut().metadata.push(Entry { key: Some(key), value: Some(yes) });
        let copy = body.nodes.push(copy);
        let outputs: Vec<Option<ValueId>> = (0u32..)
            .zip(&names)
            .map(|(i, name)| {
                name.map(|name| body.values.push(Value { name, def: ValueDef::Output(copy, i) }))
            })
            .collect();
        body.nodes[copy].outputs = outputs.iter().copied().collect();
        body.origins[copy] = body.origins[node];
        for (old, new) in original.outputs.iter().zip(outputs) {
            if let (Some(old), Some(new)) = (old, new) {
                self.copies.insert(*old, new);
            }
        }
        self.made.push(copy);
    }
}
