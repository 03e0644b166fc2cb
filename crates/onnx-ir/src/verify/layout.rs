//! The document order of a body's graphs and nodes.
//!
//! The events of [`Body::walk`], each with its position in the sequence; positions determine order and nesting.

use crate::attr::AttrValue;
use crate::body::{Body, Node};
use crate::entity::SecondaryMap;
use crate::ids::{GraphId, NodeId};
use crate::names::Name;
use crate::walk::WalkEvent;

/// The deepest nesting of graphs, including the outermost. Protobuf decoders stop at 100 nested messages: a level takes three
/// (graph, node, attribute), and a declaration with its shape in the innermost graph takes five more.
pub(super) const MAX_LEVELS: usize = 32;

/// The positions where an entity begins and ends; zero if it is not part of the sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Range {
    begin: u32,
    end: u32,
}

/// The walk through a body, with the place of each graph and node in it.
pub(super) struct Layout {
    steps: Vec<WalkEvent>,
    special: Vec<WalkEvent>,
    graphs: SecondaryMap<GraphId, Range>,
    ranges: SecondaryMap<NodeId, Range>,
    /// Whether there was a node of the default domain.
    has_plain: bool,
    owners: SecondaryMap<NodeId, Option<GraphId>>,
    holders: SecondaryMap<GraphId, Option<NodeId>>,
    /// Nodes with graphs beyond the limit; those graphs are not part of the walk.
    pub(super) too_deep: Vec<NodeId>,
}

impl Layout {
    pub(super) fn new(body: &Body) -> Self {
        let mut layout = Layout {
            steps: Vec::with_capacity(2 * (body.nodes.len() + body.graphs.len())),
            special: Vec::new(),
            graphs: SecondaryMap::with_len(Range::default(), body.graphs.len()),
            ranges: SecondaryMap::with_len(Range::default(), body.nodes.len()),
            has_plain: false,
            owners: SecondaryMap::with_len(None, body.nodes.len()),
            holders: SecondaryMap::default(),
            too_deep: Vec::new(),
        };
        let mut walk = body.walk();
        while let Some(step) = walk.next() {
            match step {
                WalkEvent::EnterGraph(graph) => {
                    layout.holders[graph] = walk.node();
                    layout.special.push(step);
                }
                WalkEvent::EnterNode(node) if layout.ranges[node].begin != 0 => {
                    // A node that two graphs list is walked once. What follows is its end.
                    walk.skip_graphs();
                    walk.next();
                    continue;
                }
                WalkEvent::EnterNode(node) => {
                    layout.owners[node] = walk.graph();
                    let (is_special, has_domain) = content(&body.nodes[node]);
                    let is_first = !has_domain && !std::mem::replace(&mut layout.has_plain, true);
                    if is_special || is_first {
                        layout.special.push(step);
                    }
                    if walk.depth() >= MAX_LEVELS && walk.skip_graphs() {
                        layout.too_deep.push(node);
                    }
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
            layout.step(step);
        }
        layout
    }

    fn step(&mut self, step: WalkEvent) {
        // Positions begin at 1.
        self.steps.push(step);
        let at = super::context::index(self.steps.len());
        match step {
            WalkEvent::EnterGraph(graph) => self.graphs[graph].begin = at,
            WalkEvent::LeaveGraph(graph) => self.graphs[graph].end = at,
            WalkEvent::EnterNode(node) => self.ranges[node].begin = at,
            WalkEvent::LeaveNode(node) => self.ranges[node].end = at,
        }
    }

    /// All steps in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = WalkEvent> + '_ {
        self.steps.iter().copied()
    }

    /// The entities that most checks visit, in order: all graphs, the nodes with anything besides operands, results and numeric
    /// or string attributes, and the first node of the default domain.
    pub(super) fn special(&self) -> impl Iterator<Item = WalkEvent> + '_ {
        self.special.iter().copied()
    }

    /// All graphs in order, an enclosing one before those in it.
    pub(super) fn graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.special().filter_map(|s| if let WalkEvent::EnterGraph(graph) = s { Some(graph) } else { None })
    }

    /// The nodes of [`special`](Self::special).
    pub(super) fn special_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.special().filter_map(|s| if let WalkEvent::EnterNode(node) = s { Some(node) } else { None })
    }

    /// All nodes in order, each before the nodes of its graphs.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.steps().filter_map(|s| if let WalkEvent::EnterNode(node) = s { Some(node) } else { None })
    }

    /// The position where a graph begins; 0 if it is not part of the body.
    pub(super) fn graph_position(&self, graph: GraphId) -> u32 {
        self.graphs[graph].begin
    }

    /// The position where a node begins; 0 if it is not part of the body.
    pub(super) fn node_position(&self, node: NodeId) -> u32 {
        self.ranges[node].begin
    }

    /// The graph that lists a node.
    pub(super) fn owner(&self, node: NodeId) -> Option<GraphId> {
        self.owners[node]
    }

    /// The node with a graph in an attribute; `None` for the root.
    pub(super) fn holder(&self, graph: GraphId) -> Option<NodeId> {
        self.holders[graph]
    }

    /// Whether `inner` is `outer` or nested in it.
    pub(super) fn encloses(&self, outer: GraphId, inner: GraphId) -> bool {
        let (outer, inner) = (self.graphs[outer], self.graphs[inner]);
        outer.begin != 0 && outer.begin <= inner.begin && inner.end <= outer.end
    }

    /// Whether `first` has ended when `then` begins.
    pub(super) fn precedes(&self, first: NodeId, then: NodeId) -> bool {
        self.ranges[first].end != 0 && self.ranges[first].end < self.ranges[then].begin
    }

    /// Whether `inner` is `outer` or nested in a graph of it.
    pub(super) fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        let (outer, inner) = (self.ranges[outer], self.ranges[inner]);
        outer.begin != 0 && outer.begin <= inner.begin && inner.end <= outer.end
    }
}

/// Whether a node has anything besides operands, results and numeric or string attributes; and whether it states a domain.
fn content(node: &Node) -> (bool, bool) {
    let is_given = |name: Option<Name>| name.is_some_and(|name| !name.is_empty());
    let has_domain = is_given(node.domain);
    let is_special = |value: &AttrValue| match value {
        AttrValue::Tensor(_)
        | AttrValue::Tensors(_)
        | AttrValue::SparseTensor(_)
        | AttrValue::SparseTensors(_)
        | AttrValue::Type(_)
        | AttrValue::Types(_) => true,
        AttrValue::Float(_)
        | AttrValue::Int(_)
        | AttrValue::String(_)
        | AttrValue::Graph(_)
        | AttrValue::Floats(_)
        | AttrValue::Ints(_)
        | AttrValue::Strings(_)
        | AttrValue::Graphs(_) => false,
    };
    let is_rare = has_domain || node.extra.is_some() || is_given(node.overload) || node.outputs.is_empty();
    (is_rare || node.attrs.iter().flat_map(|attr| &attr.values).any(is_special), has_domain)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Draft, draft};
    use super::*;

    #[test]
    fn nested_graphs_follow_their_node() {
        let model = draft(|d: &mut Draft| {
            d.graph("g", &["x"], &["z"], |d| {
                d.node("a", &["x"], &["y"]);
                d.holder("h", &["y"], &["z"], |d| {
                    d.graph("inner", &[], &["p"], |d| d.node("b", &["y"], &["p"]))
                });
            });
        });
        let body = model.main_body().expect("a main graph");
        let layout = Layout::new(body);
        let (graphs, nodes): (Vec<_>, Vec<_>) = (layout.graphs().collect(), layout.nodes().collect());
        assert_eq!((graphs.len(), nodes.len()), (2, 3));
        assert!(layout.encloses(graphs[0], graphs[1]) && !layout.encloses(graphs[1], graphs[0]));
        assert!(layout.precedes(nodes[0], nodes[2]) && !layout.precedes(nodes[1], nodes[2]));
        assert!(layout.contains(nodes[1], nodes[2]));
        assert_eq!(layout.holder(graphs[1]), Some(nodes[1]));
    }
}
