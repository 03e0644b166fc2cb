//! Common subexpression elimination.
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) { a = Abs(x)  b = Abs(x)  c = Neg(a)  d = Neg(b)  y = Mul(c, d) }
//! after:   g (float[N] x) => (float[N] y) { a = Abs(x)              c = Neg(a)              y = Mul(c, c) }
//! ```
//!
//! Two nodes are equal if they have the same operator, inputs and attributes, with tensors compared by content and nested graphs
//! up to names. A node replaces later nodes of its graph and of graphs nested there, in topological order; the order of the list
//! does not matter. A graph output keeps its name; if two outputs are the same value, both nodes are kept. Excluded are random
//! operators, nodes that contain or call them, nodes with device configurations, nodes that are computed again to save memory
//! ([`RECOMPUTED`]), and values that a quantization annotation or training information names. The node that remains has the
//! documentation and metadata of all that it replaces, and a name of its graph if it had none.

mod constants;
mod same;

use super::calls::{Functions, Imports, bodies, nodes};
use super::dead_code::trained_names;
use super::notes::joined_notes;
use super::topological_sort::node_orders;
use super::{Operators, Report, watched};
use crate::body::{Body, Node, ValueDef};
use crate::edit::{Cursor, Use, Uses};
use crate::entity::SecondaryMap;
use crate::ids::{BodyId, FunctionId, GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::walk::{Orders, WalkEvent};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet, HashTable};
use same::Comparer;

/// The key of the metadata of a node that computes what another node has computed, so that its result need not be kept. Such a node is
/// not merged with the other one.
pub const RECOMPUTED: &str = "onnxtxt.recomputed";

type Set<T> = HashSet<T, RandomState>;
type Map<K, V> = HashMap<K, V, RandomState>;

/// Whether equal initializers are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Initializers {
    /// They become one.
    Merge,
    /// They stay.
    Keep,
}

/// Merges equal nodes and equal initializers.
pub fn common_subexpressions(
    model: &mut Model,
    operators: &dyn Operators,
    initializers: Initializers,
) -> Report {
    watched("common-subexpressions", model, |model| {
        let functions = Functions::of(model);
        let random = random_functions(model, &functions, operators);
        let trained = trained_names(model);
        let (mut merged, mut constants) = (0, 0);
        for (id, function) in bodies(model) {
            let imports = Imports::within(model, function);
            let is_random = |model: &Model, node: &Node| match functions.callee(node) {
                Some(callee) => random[callee],
                None => operators.is_random(imports.op_ref(&model.names, node)),
            };
            if model.bodies[id].root().is_none() {
                continue;
            }
            let mut merger = Merger::new(model, id, &trained, &imports, &is_random);
            if initializers == Initializers::Merge {
                constants += merger.constants();
            }
            merged += merger.nodes();
            let done = merger.done();
            let Model { names, bodies, .. } = &mut *model;
            keep_notes(names, &mut bodies[id], &done);
            clean(&mut model.bodies[id], &done);
        }
        let mut report = Report::default();
        report.note(merged, "node", "merged");
        report.note(constants, "initializer", "merged");
        report
    })
}

/// The functions that contain random operators, directly or through calls.
fn random_functions(
    model: &Model,
    functions: &Functions,
    operators: &dyn Operators,
) -> SecondaryMap<FunctionId, bool> {
    let mut callers: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::default();
    let mut random = SecondaryMap::with_len(false, model.functions.len());
    let mut open = Vec::new();
    for (f, function) in model.functions.iter() {
        let imports = Imports::within(model, Some(f));
        for node in nodes(&model.bodies[function.body]) {
            match functions.callee(node) {
                Some(callee) => callers[callee].push(f),
                None if !random[f] && operators.is_random(imports.op_ref(&model.names, node)) => {
                    random[f] = true;
                    open.push(f);
                }
                None => {}
            }
        }
    }
    while let Some(f) = open.pop() {
        for &caller in &callers[f] {
            if !std::mem::replace(&mut random[caller], true) {
                open.push(caller);
            }
        }
    }
    random
}

/// Merges within one body.
struct Merger<'m> {
    cursor: Cursor<'m>,
    uses: Uses,
    comparer: Comparer,
    /// The events of the walk, in order.
    steps: Vec<WalkEvent>,
    /// The graphs in order, each with the one around it.
    around: Vec<(GraphId, Option<GraphId>)>,
    /// Nodes that are excluded.
    apart: SecondaryMap<NodeId, bool>,
    /// Names of values that training assigns, which are excluded.
    trained: &'m Set<Name>,
    /// Values that are another one now.
    became: Map<ValueId, ValueId>,
    removed: Set<NodeId>,
    /// Nodes that remain, each with one that it replaces, in order.
    replaced: Vec<(NodeId, NodeId)>,
}

/// The merged entities.
struct Done {
    uses: Uses,
    became: Map<ValueId, ValueId>,
    removed: Set<NodeId>,
    replaced: Vec<(NodeId, NodeId)>,
}

impl<'m> Merger<'m> {
    fn new(
        model: &'m mut Model,
        id: BodyId,
        trained: &'m Set<Name>,
        imports: &Imports,
        is_random: &dyn Fn(&Model, &Node) -> bool,
    ) -> Self {
        let body = &model.bodies[id];
        let apart = apart(model, body, is_random);
        let (uses, (steps, around)) = (Uses::of(body), steps(body));
        Merger {
            uses,
            steps,
            around,
            comparer: Comparer::new(imports),
            apart,
            trained,
            became: Map::default(),
            removed: Set::default(),
            replaced: Vec::new(),
            cursor: Cursor::new(model, id),
        }
    }

    fn nodes(&mut self) -> usize {
        let mut known: HashTable<(u64, NodeId)> = HashTable::new();
        let mut log: Vec<(u64, NodeId)> = Vec::new();
        let mut homes: Map<NodeId, GraphId> = Map::default();
        let mut open: Vec<(GraphId, usize)> = Vec::new();
        for step in std::mem::take(&mut self.steps) {
            match step {
                WalkEvent::EnterGraph(graph) => open.push((graph, log.len())),
                WalkEvent::EnterNode(_) => {}
                WalkEvent::LeaveGraph(_) => {
                    for entry in log.drain(open.pop().map_or(0, |(_, start)| start)..) {
                        if let Ok(found) = known.find_entry(entry.0, |e| *e == entry) {
                            found.remove();
                        }
                    }
                }
                WalkEvent::LeaveNode(node) => {
                    let graph = open.last().map(|&(graph, _)| graph);
                    if !self.is_candidate(node) {
                        continue;
                    }
                    let body = self.cursor.body();
                    let Some(hash) = self.comparer.hash(body, node) else { continue };
                    let is_same = |&(known, other): &(u64, NodeId)| {
                        known == hash
                            && self.comparer.are_same(body, node, other)
                            && has_outputs_of(body, node, other, homes.get(&other).copied() == graph)
                    };
                    if let Some(&(_, first)) = known.find(hash, is_same) {
                        self.merge(node, first);
                    } else {
                        known.insert_unique(hash, (hash, node), |e| e.0);
                        log.push((hash, node));
                        homes.extend(graph.map(|graph| (node, graph)));
                    }
                }
            }
        }
        self.removed.len()
    }

    fn is_candidate(&self, node: NodeId) -> bool {
        let outputs = &self.cursor.body().nodes[node].outputs;
        !self.apart[node]
            && outputs.iter().flatten().count() > 0
            && outputs.iter().flatten().all(|&v| self.is_free(v))
    }

    /// Whether other values may take the place of a value.
    fn is_free(&self, value: ValueId) -> bool {
        let body = self.cursor.body();
        let is_sharded = |user: &Use| match user {
            Use::Input(node, _) => !body.nodes[*node].extra().devices.is_empty(),
            Use::Output(..) => false,
        };
        let name = body.values[value].name;
        !self.trained.contains(&name)
            && !self.uses.is_annotated(name)
            && !self.uses.of_value(value).iter().any(is_sharded)
    }

    /// Lets what reads the results of `node` read those of `first`.
    fn merge(&mut self, node: NodeId, first: NodeId) {
        let mut is_gone = true;
        for i in 0..self.cursor.body().nodes[node].outputs.len() {
            let Some(old) = self.cursor.result(node, i) else { continue };
            if let Some(new) = self.cursor.result(first, i) {
                is_gone &= self.replace(old, new);
            } else {
                let position = u32::try_from(i).expect("a node has fewer than 2^32 outputs");
                let body = self.cursor.body_mut();
                body.nodes[first].outputs[i] = Some(old);
                body.values[old].def = ValueDef::Output(first, position);
                body.nodes[node].outputs[i] = None;
            }
        }
        if is_gone {
            self.removed.insert(node);
            self.replaced.push((first, node));
        }
    }

    /// Redirects readers; returns whether `old` is unused now.
    fn replace(&mut self, old: ValueId, new: ValueId) -> bool {
        let is_gone = self.cursor.replace_uses(&self.uses, old, new);
        if is_gone {
            self.became.insert(old, new);
        }
        is_gone
    }

    /// Puts the nodes back.
    fn done(self) -> Done {
        Done { uses: self.uses, became: self.became, removed: self.removed, replaced: self.replaced }
    }
}

/// A walk that meets each node after those that it needs; and the graphs, each with the one around it.
fn steps(body: &Body) -> (Vec<WalkEvent>, Vec<(GraphId, Option<GraphId>)>) {
    let sorted: Orders =
        node_orders(body).into_iter().filter_map(|(graph, order)| Some((graph, order?))).collect();
    let (mut steps, mut around, mut open) =
        (Vec::with_capacity(2 * body.nodes.len()), Vec::new(), Vec::new());
    for event in body.walk().ordered(&sorted) {
        match event {
            WalkEvent::EnterGraph(graph) => {
                around.push((graph, open.last().copied()));
                open.push(graph);
            }
            WalkEvent::LeaveGraph(_) => _ = open.pop(),
            WalkEvent::EnterNode(_) | WalkEvent::LeaveNode(_) => {}
        }
        steps.push(event);
    }
    (steps, around)
}

/// The nodes that are random or contain random ones, those with device configurations, and those that compute again.
fn apart(
    model: &Model,
    body: &Body,
    is_random: &dyn Fn(&Model, &Node) -> bool,
) -> SecondaryMap<NodeId, bool> {
    let mut apart = SecondaryMap::with_len(false, body.nodes.len());
    let mut of_graph: SecondaryMap<GraphId, bool> = SecondaryMap::with_len(false, body.graphs.len());
    let recomputed = model.names.find(RECOMPUTED);
    let is_again = |node: &Node| {
        recomputed.is_some() && node.extra().metadata.iter().any(|entry| entry.key == recomputed)
    };
    // Enclosing graphs come before nested ones.
    let graphs: Vec<GraphId> = body.walk().graphs().collect();
    for graph in graphs.into_iter().rev() {
        for &node in &body.graphs[graph].nodes {
            apart[node] = is_random(model, &body.nodes[node])
                || !body.nodes[node].extra().devices.is_empty()
                || is_again(&body.nodes[node])
                || body.subgraphs(node).any(|g| of_graph[g]);
            of_graph[graph] |= apart[node];
        }
    }
    apart
}

/// Whether `first` can provide all outputs of `node`. In the same graph it can take over omitted ones.
fn has_outputs_of(body: &Body, node: NodeId, first: NodeId, is_same_graph: bool) -> bool {
    let (node, first) = (&body.nodes[node].outputs, &body.nodes[first].outputs);
    node.len() == first.len()
        && (is_same_graph || node.iter().zip(first).all(|(n, f)| n.is_none() || f.is_some()))
}

/// Gives the notes of removed nodes to those that replace them.
fn keep_notes(names: &mut Names, body: &mut Body, done: &Done) {
    let mut parts: Map<NodeId, Vec<NodeId>> = Map::default();
    for &(first, node) in &done.replaced {
        parts.entry(first).or_insert_with(|| vec![first]).push(node);
    }
    let is_unnamed = |node: &Node| node.name.is_none_or(Name::is_empty);
    for (first, _) in &done.replaced {
        let Some(parts) = parts.remove(first) else { continue };
        let extras = parts.iter().map(|&part| body.nodes[part].extra());
        let (doc, metadata) = joined_notes(names, extras);
        if doc.is_some() || !metadata.is_empty() {
            let extra = body.nodes[*first].extra_mut();
            (extra.doc, extra.metadata) = (doc, metadata);
        }
        if is_unnamed(&body.nodes[*first]) {
            // A name of another graph may be taken in this one.
            let graph_of = |node| done.uses.graph_of(node);
            let is_here = |part: &&NodeId| graph_of(**part) == graph_of(*first);
            let mut named = parts.iter().filter(is_here).filter(|&&part| !is_unnamed(&body.nodes[part]));
            if let Some(&named) = named.next() {
                body.nodes[*first].name = body.nodes[named].name.take();
            }
        }
    }
}

/// Removes merged items and their declarations.
fn clean(body: &mut Body, done: &Done) {
    let Done { uses, became, removed, .. } = done;
    let mut declared: Set<ValueId> = Set::default();
    let graphs: Vec<GraphId> = body.walk().graphs().collect();
    for id in graphs {
        let Body { graphs, nodes, values, .. } = &mut *body;
        let graph = &mut graphs[id];
        graph.nodes.retain(|&node| {
            let is_removed = removed.contains(&node);
            for value in nodes[node].outputs.iter().flatten().filter(|_| is_removed) {
                values[*value].def = ValueDef::Unbound(id);
            }
            !is_removed
        });
        graph.initializers.retain(|initializer| {
            let is_gone = became.contains_key(&initializer.value);
            if is_gone {
                values[initializer.value].def = ValueDef::Unbound(id);
            }
            !is_gone
        });
        let outputs: Set<ValueId> = graph.outputs.iter().filter_map(|p| p.value).collect();
        let is_new_output = |value: ValueId| {
            let was_output = |user: &Use| matches!(user, Use::Output(graph, _) if *graph == id);
            outputs.contains(&value) && !uses.of_value(value).iter().any(was_output)
        };
        let is_here = |value: ValueId| match values[value].def {
            ValueDef::Input(graph) | ValueDef::Initializer(graph) | ValueDef::Unbound(graph) => graph == id,
            ValueDef::Output(node, _) => uses.graph_of(node) == Some(id),
        };
        graph.value_info.retain_mut(|port| {
            let Some(old) = port.value else { return true };
            let Some(&new) = became.get(&old) else { return !is_new_output(old) };
            // The declaration of one applies to the other.
            let is_wanted = is_here(new)
                && !outputs.contains(&new)
                && uses.declarations(new).is_empty()
                && declared.insert(new);
            (port.value, port.name) = (Some(new), Some(values[new].name));
            is_wanted
        });
    }
}
