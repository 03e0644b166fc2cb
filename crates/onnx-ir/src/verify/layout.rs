//! The order of a body: its graphs and nodes as a reader of the text meets them, without recursion.
//!
//! Nested graphs follow their node, so one sequence of steps walks the whole body, scopes included:
//!
//! ```text
//! Enter(g0) Node(n0) NodeEnd(n0) Node(n1) Enter(g1) Node(n2) NodeEnd(n2) Leave(g1) NodeEnd(n1) Leave(g0)
//! ```
//! The position of a step in the sequence tells order and nesting apart by comparison alone.

use crate::body::{AttrValue, Body, GraphId, Node, NodeId};
use crate::entity::SecondaryMap;
use crate::names::Name;

/// How many graphs may nest, the outermost included. Protobuf decoders stop at 100 nested messages: a level takes
/// three (graph, node, attribute), and a declaration with its shape in the innermost graph takes five more.
pub(super) const MAX_LEVELS: usize = 32;

/// One step of the walk through a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A graph begins: its inputs and initializers become visible.
    Enter(GraphId),
    /// A node of the innermost graph begins: it reads its inputs.
    Node(NodeId),
    /// The node ends, after the graphs nested in it: its outputs become visible.
    NodeEnd(NodeId),
    /// A graph ends: its outputs are read, and its names are forgotten.
    Leave(GraphId),
}

/// Where an entity begins and ends in the sequence of steps; all zero if it is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Range {
    begin: u32,
    end: u32,
}

/// The walk through a body, with the place of each graph and node in it.
pub(super) struct Layout {
    steps: Vec<Step>,
    special: Vec<Step>,
    graphs: SecondaryMap<GraphId, Range>,
    ranges: SecondaryMap<NodeId, Range>,
    /// Whether there was a node of the default domain.
    has_plain: bool,
    owners: SecondaryMap<NodeId, Option<GraphId>>,
    holders: SecondaryMap<GraphId, Option<NodeId>>,
    /// Nodes that hold graphs beyond the limit; those graphs are no part of the walk.
    pub(super) too_deep: Vec<NodeId>,
}

/// What is left to do, the last first.
enum Task {
    Graph(GraphId, Option<NodeId>, usize),
    /// The nodes of a graph from this position on.
    Nodes(GraphId, usize, usize),
    NodeEnd(NodeId),
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
        let mut tasks: Vec<Task> = body.root().map(|g| Task::Graph(g, None, 1)).into_iter().collect();
        while let Some(task) = tasks.pop() {
            match task {
                Task::NodeEnd(node) => layout.step(Step::NodeEnd(node)),
                // A graph that two attributes hold, or that holds itself, is walked once.
                Task::Graph(graph, _, _) if layout.graphs[graph].begin != 0 => {}
                Task::Graph(graph, holder, level) => {
                    layout.holders[graph] = holder;
                    layout.step(Step::Enter(graph));
                    layout.special.push(Step::Enter(graph));
                    tasks.push(Task::Nodes(graph, 0, level));
                }
                Task::Nodes(graph, from, level) => layout.walk(body, (graph, from, level), &mut tasks),
            }
        }
        layout
    }

    /// Walks the nodes of a graph up to one that holds graphs, which come first.
    fn walk(&mut self, body: &Body, (graph, from, level): (GraphId, usize, usize), tasks: &mut Vec<Task>) {
        for (i, &node) in body.graphs[graph].nodes.iter().enumerate().skip(from) {
            if self.ranges[node].begin != 0 {
                continue;
            }
            self.owners[node] = Some(graph);
            self.step(Step::Node(node));
            let content = Content::of(&body.nodes[node]);
            let is_first = !content.has_domain && !std::mem::replace(&mut self.has_plain, true);
            if content.is_special || is_first {
                self.special.push(Step::Node(node));
            }
            if content.has_graphs && level < MAX_LEVELS {
                tasks.push(Task::Nodes(graph, i + 1, level));
                tasks.push(Task::NodeEnd(node));
                let first = tasks.len();
                tasks.extend(body.subgraphs(node).map(|g| Task::Graph(g, Some(node), level + 1)));
                tasks[first..].reverse();
                return;
            }
            if content.has_graphs && body.subgraphs(node).next().is_some() {
                self.too_deep.push(node);
            }
            self.step(Step::NodeEnd(node));
        }
        self.step(Step::Leave(graph));
    }

    fn step(&mut self, step: Step) {
        // Positions begin at 1.
        self.steps.push(step);
        let at = super::scene::index(self.steps.len());
        match step {
            Step::Enter(graph) => self.graphs[graph].begin = at,
            Step::Leave(graph) => self.graphs[graph].end = at,
            Step::Node(node) => self.ranges[node].begin = at,
            Step::NodeEnd(node) => self.ranges[node].end = at,
        }
    }

    /// All steps in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().copied()
    }

    /// What begins in order: all graphs, and of the nodes those with more than operands, results and attributes that are
    /// numbers or strings; and the first node of the default domain. Most chapters have nothing to say of other nodes.
    pub(super) fn special(&self) -> impl Iterator<Item = Step> + '_ {
        self.special.iter().copied()
    }

    /// All graphs in order, an enclosing one before those in it.
    pub(super) fn graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.special().filter_map(|s| if let Step::Enter(graph) = s { Some(graph) } else { None })
    }

    /// The nodes of [`special`](Self::special).
    pub(super) fn special_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.special().filter_map(|s| if let Step::Node(node) = s { Some(node) } else { None })
    }

    /// All nodes in order, a holder before the nodes of the graphs that it holds.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.steps().filter_map(|s| if let Step::Node(node) = s { Some(node) } else { None })
    }

    /// Where a graph begins; 0 if it is not part of the body.
    pub(super) fn graph_position(&self, graph: GraphId) -> u32 {
        self.graphs[graph].begin
    }

    /// Where a node begins; 0 if it is not part of the body.
    pub(super) fn node_position(&self, node: NodeId) -> u32 {
        self.ranges[node].begin
    }

    /// The graph that lists a node.
    pub(super) fn owner(&self, node: NodeId) -> Option<GraphId> {
        self.owners[node]
    }

    /// The node whose attribute holds a graph; `None` for the root.
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

/// What a node has.
struct Content {
    has_graphs: bool,
    /// Whether it states a domain, by whatever spelling.
    has_domain: bool,
    is_special: bool,
}

impl Content {
    fn of(node: &Node) -> Content {
        let is_given = |name: Option<Name>| name.is_some_and(|name| !name.is_empty());
        let has_domain = is_given(node.domain);
        let mut content = Content {
            has_graphs: false,
            has_domain,
            is_special: has_domain
                || node.extra.is_some()
                || is_given(node.overload)
                || node.outputs.is_empty(),
        };
        for value in node.attrs.iter().flat_map(|attr| &attr.values) {
            match value {
                AttrValue::Graph(_) | AttrValue::Graphs(_) => content.has_graphs = true,
                AttrValue::Tensor(_)
                | AttrValue::Tensors(_)
                | AttrValue::SparseTensor(_)
                | AttrValue::SparseTensors(_)
                | AttrValue::Type(_)
                | AttrValue::Types(_) => content.is_special = true,
                AttrValue::Float(_)
                | AttrValue::Int(_)
                | AttrValue::String(_)
                | AttrValue::Floats(_)
                | AttrValue::Ints(_)
                | AttrValue::Strings(_) => {}
            }
        }
        content
    }
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
