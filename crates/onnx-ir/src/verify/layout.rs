//! The order of a body: its graphs and nodes as a reader of the text meets them, without recursion.
//!
//! Nested graphs follow their node, so one sequence of steps walks the whole body, scopes included:
//!
//! ```text
//! Enter(g0) Node(n0) NodeEnd(n0) Node(n1) Enter(g1) Node(n2) NodeEnd(n2) Leave(g1) NodeEnd(n1) Leave(g0)
//! ```
//! The position of a step in the sequence tells order and nesting apart by comparison alone.

use crate::body::{Body, GraphId, NodeId};
use crate::entity::SecondaryMap;

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
    graphs: SecondaryMap<GraphId, Range>,
    nodes: SecondaryMap<NodeId, Range>,
    owners: SecondaryMap<NodeId, Option<GraphId>>,
    holders: SecondaryMap<GraphId, Option<NodeId>>,
    /// Nodes that hold graphs beyond the limit; those graphs are no part of the walk.
    pub(super) too_deep: Vec<NodeId>,
}

/// What is left to do, the last first.
enum Task {
    Graph(GraphId, Option<NodeId>, usize),
    Step(Step),
    Node(NodeId, GraphId, usize),
}

impl Layout {
    pub(super) fn new(body: &Body) -> Self {
        let mut layout = Layout {
            steps: Vec::with_capacity(2 * (body.nodes.len() + body.graphs.len())),
            graphs: SecondaryMap::with_len(Range::default(), body.graphs.len()),
            nodes: SecondaryMap::with_len(Range::default(), body.nodes.len()),
            owners: SecondaryMap::with_len(None, body.nodes.len()),
            holders: SecondaryMap::default(),
            too_deep: Vec::new(),
        };
        let mut tasks: Vec<Task> = body.root().map(|g| Task::Graph(g, None, 1)).into_iter().collect();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Step(step) => layout.step(step),
                // A graph that two attributes hold, or that holds itself, is walked once.
                Task::Graph(graph, _, _) if layout.graphs[graph].begin != 0 => {}
                Task::Graph(graph, holder, level) => {
                    layout.holders[graph] = holder;
                    layout.step(Step::Enter(graph));
                    tasks.push(Task::Step(Step::Leave(graph)));
                    let nodes = body.graphs[graph].nodes.iter().rev();
                    tasks.extend(nodes.map(|&node| Task::Node(node, graph, level)));
                }
                Task::Node(node, _, _) if layout.nodes[node].begin != 0 => {}
                Task::Node(node, graph, level) => {
                    layout.owners[node] = Some(graph);
                    layout.step(Step::Node(node));
                    tasks.push(Task::Step(Step::NodeEnd(node)));
                    let first = tasks.len();
                    tasks.extend(body.subgraphs(node).map(|g| Task::Graph(g, Some(node), level + 1)));
                    if level >= MAX_LEVELS && tasks.len() > first {
                        tasks.truncate(first);
                        layout.too_deep.push(node);
                    }
                    tasks[first..].reverse();
                }
            }
        }
        layout
    }

    fn step(&mut self, step: Step) {
        // Positions begin at 1.
        self.steps.push(step);
        let at = super::scene::index(self.steps.len());
        match step {
            Step::Enter(graph) => self.graphs[graph].begin = at,
            Step::Leave(graph) => self.graphs[graph].end = at,
            Step::Node(node) => self.nodes[node].begin = at,
            Step::NodeEnd(node) => self.nodes[node].end = at,
        }
    }

    /// All steps in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().copied()
    }

    /// All graphs in order, an enclosing one before those in it.
    pub(super) fn graphs(&self) -> impl Iterator<Item = GraphId> + '_ {
        self.steps().filter_map(|s| if let Step::Enter(graph) = s { Some(graph) } else { None })
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
        self.nodes[node].begin
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
        self.nodes[first].end != 0 && self.nodes[first].end < self.nodes[then].begin
    }

    /// Whether `inner` is `outer` or nested in a graph of it.
    pub(super) fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        let (outer, inner) = (self.nodes[outer], self.nodes[inner]);
        outer.begin != 0 && outer.begin <= inner.begin && inner.end <= outer.end
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
