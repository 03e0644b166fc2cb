//! Replaces an `If` with a constant condition by its branch.
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) <bool yes = {1}> {
//!             y = If (yes) <then_branch = a () => (float[N] t) { s = Abs(x)  t = Neg(s) }, else_branch = …>
//!          }
//! after:      s = Abs(x)  t = Neg(s)  y = Identity(t)
//! ```
//!
//! Names of the branch that are used elsewhere are changed, and names of its nodes that a node of the graph has. Documentation and
//! metadata of the `If` become those of the nodes of the branch ([`pass_on_notes`]), as [`inline`](onnx_ir::pass::inline()) does
//! with those of a call. Branches that cannot be moved are kept: those with initializers in a function, or in a model with an old
//! IR version, where they would become inputs.

use super::fold::KnownElements;
use crate::infer::{Facts, Ty};
use onnx_ir::drop_declarations;
use onnx_ir::pass::pass_on_notes;
use onnx_ir::{
    AttrValue, Body, BodyId, Cursor, GraphId, Model, Name, Node, NodeId, NodeNameSet, Uses, ValueDef,
    ValueId, normalize_domain,
};
use std::collections::HashMap;

/// Since this version, `Identity` accepts values of any type.
const IDENTITY_OF_ALL: i64 = 16;
/// Since this IR version, an initializer is not an input.
const INITIALIZERS_ALONE: i64 = 4;

/// A body with its constant conditions.
pub(super) struct Decide<'d> {
    pub(super) model: &'d mut Model,
    pub(super) body: BodyId,
    pub(super) facts: &'d Facts,
    pub(super) known: &'d KnownElements,
    pub(super) uses: &'d Uses,
    /// The version of ai.onnx.
    pub(super) version: i64,
    pub(super) is_function: bool,
    /// Whether a function of the model shadows `If`.
    pub(super) is_hidden: bool,
}

impl Decide<'_> {
    /// Replaces all possible nodes; returns their number.
    pub(super) fn all(&mut self) -> usize {
        let mut names = Names::of(self.body());
        let mut count = 0;
        let mut graphs: Vec<GraphId> = self.body().root().into_iter().collect();
        while let Some(graph) = graphs.pop() {
            let mut nodes = std::mem::take(&mut self.body_mut().graphs[graph].nodes);
            nodes.reverse();
            let mut kept = Vec::with_capacity(nodes.len());
            let mut node_names = None;
            while let Some(node) = nodes.pop() {
                match self.branches(node).filter(|(taken, _)| self.can_take(graph, node, *taken)) {
                    Some((taken, left)) => {
                        left.into_iter().for_each(|left| names.remove(self.body(), left));
                        let remaining = nodes.iter().chain(&kept);
                        let mut taken_names =
                            node_names.take().unwrap_or_else(|| NodeNameSet::of(self.body(), remaining));
                        let moved = self.take(&mut names, graph, node, taken);
                        let Model { names, bodies, .. } = &mut *self.model;
                        moved.iter().for_each(|&node| taken_names.add(names, &mut bodies[self.body], node));
                        node_names = Some(taken_names);
                        nodes.extend(moved.into_iter().rev());
                        count += 1;
                    }
                    None => kept.push(node),
                }
            }
            graphs.extend(kept.iter().flat_map(|node| self.body().subgraphs(*node)));
            self.body_mut().graphs[graph].nodes = kept;
        }
        if count > 0 {
            drop_declarations(self.body_mut());
        }
        count
    }

    fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    fn body_mut(&mut self) -> &mut Body {
        &mut self.model.bodies[self.body]
    }

    /// The taken and the other branch of a node, if its condition is constant.
    fn branches(&self, node: NodeId) -> Option<(GraphId, Option<GraphId>)> {
        let n = &self.body().nodes[node];
        let is_if = normalize_domain(self.model.text(n.domain)).is_empty() && self.model.text(n.op) == "If";
        let [Some(condition)] = n.inputs[..] else { return None };
        let is_ours = is_if && !self.is_hidden && n.extra().devices.is_empty();
        let [number] = &self.known[condition].as_ref().filter(|_| is_ours)?.numbers[..] else { return None };
        let branch = |name: &str| {
            let attr = n.attrs.iter().find(|attr| self.model.text(attr.name) == name)?;
            match attr.value().filter(|_| attr.reference.is_none())? {
                AttrValue::Graph(graph) => Some(*graph),
                _ => None,
            }
        };
        let (yes, no) = (branch("then_branch"), branch("else_branch"));
        let is_true = number.is_true();
        if is_true { Some((yes?, no)) } else { Some((no?, yes)) }
    }

    /// Whether a branch can be moved into a graph.
    fn can_take(&self, graph: GraphId, node: NodeId, branch: GraphId) -> bool {
        let body = self.body();
        let (b, outputs) = (&body.graphs[branch], &body.nodes[node].outputs);
        let has_initializers = !b.initializers.is_empty() || !b.sparse_initializers.is_empty();
        let is_root = body.root() == Some(graph);
        let is_old = self.model.header.ir_version.is_none_or(|version| version < INITIALIZERS_ALONE);
        let is_passed_on = |value: ValueId| {
            self.version >= IDENTITY_OF_ALL || matches!(self.facts.get(self.body, value).ty, Ty::Tensor(_))
        };
        b.quantization.is_empty()
            && b.inputs.is_empty()
            && b.nodes.iter().all(|node| body.nodes[*node].extra().devices.is_empty())
            && !(has_initializers && is_root && (self.is_function || is_old))
            && outputs.len() <= b.outputs.len()
            && b.outputs.iter().all(|port| port.value.is_some_and(is_passed_on))
    }

    /// Replaces a node by its branch; returns the nodes that replace it.
    fn take(&mut self, names: &mut Names, graph: GraphId, node: NodeId, branch: GraphId) -> Vec<NodeId> {
        let own: Vec<ValueId> = self.body().graphs[branch].values(self.body()).collect();
        for value in own {
            if !names.is_only(self.body().values[value].name) {
                self.rename(value);
            }
        }
        let identity = self.model.names.intern("Identity");
        let body = self.body_mut();
        let taken = std::mem::take(&mut body.graphs[branch]);
        let mut nodes = taken.nodes;
        let outputs = std::mem::take(&mut body.nodes[node].outputs);
        let origin = body.origins[node];
        // The domain of ai.onnx may be omitted or empty: new nodes use the spelling of their source.
        let domain = body.nodes[node].domain;
        let extra = body.nodes[node].extra.take().unwrap_or_default();
        for (output, port) in outputs.into_iter().zip(&taken.outputs) {
            let Some(output) = output else { continue };
            let passed = Node {
                op: Some(identity),
                domain,
                inputs: [port.value].into_iter().collect(),
                outputs: [Some(output)].into_iter().collect(),
                ..Node::default()
            };
            let passed = body.nodes.push(passed);
            body.origins[passed] = origin;
            body.values[output].def = ValueDef::Output(passed, 0);
            nodes.push(passed);
        }
        pass_on_notes(&mut self.model.names, &mut self.model.bodies[self.body].nodes, &extra, &nodes);
        let body = self.body_mut();
        let dense = taken.initializers.iter().map(|initializer| initializer.value);
        for value in dense.chain(taken.sparse_initializers.iter().map(|initializer| initializer.value)) {
            body.values[value].def = ValueDef::Initializer(graph);
        }
        let to = &mut body.graphs[graph];
        to.initializers.extend(taken.initializers);
        to.sparse_initializers.extend(taken.sparse_initializers);
        to.value_info.extend(taken.value_info);
        nodes
    }

    /// Gives a value of a branch an unused name.
    fn rename(&mut self, value: ValueId) {
        let mut cursor = Cursor::new(self.model, self.body);
        let stem = cursor.model().names[cursor.body().values[value].name].to_owned();
        let name = cursor.fresh_name(&stem);
        cursor.rename(self.uses, value, name);
    }
}

/// The number of values with each name.
struct Names(HashMap<Name, usize>);

impl Names {
    fn of(body: &Body) -> Names {
        let mut names = HashMap::new();
        body.values.values().for_each(|value| *names.entry(value.name).or_default() += 1);
        Names(names)
    }

    /// Removes the names of a deleted graph, including nested graphs.
    fn remove(&mut self, body: &Body, graph: GraphId) {
        for value in body.walk_graph(graph).graphs().flat_map(|graph| body.graphs[graph].values(body)) {
            self.0.entry(body.values[value].name).and_modify(|count| *count = count.saturating_sub(1));
        }
    }

    /// Whether only one value has a name; otherwise counts one less.
    fn is_only(&mut self, name: Name) -> bool {
        let count = self.0.entry(name).or_default();
        let is_only = *count <= 1;
        *count = count.saturating_sub(usize::from(!is_only));
        is_only
    }
}
