//! Walks over a body in document order, nested graphs included.

use crate::body::Body;
use crate::ids::{GraphId, NodeId};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

/// An event of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkEvent {
    /// A graph begins: its inputs and initializers become visible.
    EnterGraph(GraphId),
    /// A node of the innermost graph begins: it reads its inputs.
    EnterNode(NodeId),
    /// The node ends, after the graphs nested in it: its outputs become visible.
    LeaveNode(NodeId),
    /// A graph ends: its outputs are read, and its names are forgotten.
    LeaveGraph(GraphId),
}

/// Another order of the nodes of some graphs.
pub(crate) type Orders = HashMap<GraphId, Vec<NodeId>, RandomState>;

/// A walk over a body.
///
/// [`Body::walk`] yields a [`WalkEvent`] where a graph or a node begins and where it ends. The graphs in the attributes of
/// a node come between its two events:
///
/// ```text
/// g (c) => (y) { y = If (c) <then_branch = t () => (a) { a = Abs(x) }, else_branch = …> }
///
/// EnterGraph(g) EnterNode(If) EnterGraph(t) EnterNode(Abs) LeaveNode(Abs) LeaveGraph(t) … LeaveNode(If) LeaveGraph(g)
/// ```
///
/// [`Walk::nodes`] and [`Walk::graphs`] yield one kind only:
///
/// ```
/// # use onnx_ir::{GraphBuilder, Model};
/// # let mut model = Model::new();
/// # let mut b = GraphBuilder::main(&mut model, "g");
/// # let x = b.input("x", None);
/// # let y = b.op("Relu", [x]);
/// # b.output("y", y, None);
/// # b.finish();
/// let body = model.main_body().expect("a main graph");
/// let operators: Vec<&str> = body.walk().nodes().map(|node| model.text(body.nodes[node].op)).collect();
/// assert_eq!(operators, ["Relu"]);
/// ```
///
/// A walk does not recurse, so nesting is limited only by memory, and it enters each graph once, even if two attributes contain
/// it or it contains itself. Removed nodes and graphs are not visited.
#[derive(Clone)]
pub struct Walk<'b> {
    body: &'b Body,
    orders: Option<&'b Orders>,
    /// The graphs that have been entered.
    seen: HashSet<GraphId, RandomState>,
    /// The graphs that have begun and not ended, the innermost last.
    open: Vec<GraphId>,
    /// Remaining work, the next one last.
    tasks: Vec<Task<'b>>,
}

#[derive(Clone)]
enum Task<'b> {
    Graph(GraphId),
    /// Nodes of a graph, or those that the walk began with.
    Nodes(Option<GraphId>, &'b [NodeId]),
    LeaveNode(NodeId),
}

impl<'b> Walk<'b> {
    fn new(body: &'b Body, first: Option<Task<'b>>) -> Self {
        let tasks = first.into_iter().collect();
        Walk { body, orders: None, seen: HashSet::default(), open: Vec::new(), tasks }
    }

    /// Walks over the nodes of the graphs in `orders` in that order.
    #[cfg(feature = "verify")]
    pub(crate) fn ordered(self, orders: &'b Orders) -> Self {
        Walk { orders: Some(orders), ..self }
    }

    /// The innermost graph that has begun: after [`WalkEvent::EnterNode`] the one that lists the node. `None` outside of all,
    /// as at a node that the walk began with.
    pub fn graph(&self) -> Option<GraphId> {
        self.open.last().copied()
    }

    /// The innermost open node: after [`WalkEvent::EnterGraph`] the one that contains the graph.
    pub fn node(&self) -> Option<NodeId> {
        self.tasks
            .iter()
            .rev()
            .find_map(|task| if let Task::LeaveNode(node) = task { Some(*node) } else { None })
    }

    /// The number of open graphs.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// Leaves out the graphs nested in the node that the walk has just entered. Returns whether there are any that it would
    /// have entered.
    pub fn skip_graphs(&mut self) -> bool {
        let before = self.tasks.len();
        while let Some(Task::Graph(_)) = self.tasks.last() {
            self.tasks.pop();
        }
        self.tasks.len() < before
    }

    /// The nodes only, each before those nested in it.
    pub fn nodes(self) -> impl Iterator<Item = NodeId> + 'b {
        self.filter_map(|event| if let WalkEvent::EnterNode(node) = event { Some(node) } else { None })
    }

    /// The graphs only, each before those nested in it.
    pub fn graphs(self) -> impl Iterator<Item = GraphId> + 'b {
        self.filter_map(|event| if let WalkEvent::EnterGraph(graph) = event { Some(graph) } else { None })
    }
}

impl Iterator for Walk<'_> {
    type Item = WalkEvent;

    fn next(&mut self) -> Option<WalkEvent> {
        loop {
            match self.tasks.pop()? {
                Task::LeaveNode(node) => return Some(WalkEvent::LeaveNode(node)),
                Task::Graph(graph) => {
                    if self.seen.insert(graph) {
                        let own = &self.body.graphs[graph].nodes;
                        let nodes = self.orders.and_then(|orders| orders.get(&graph)).unwrap_or(own);
                        self.open.push(graph);
                        self.tasks.push(Task::Nodes(Some(graph), nodes));
                        return Some(WalkEvent::EnterGraph(graph));
                    }
                }
                Task::Nodes(graph, nodes) => match (nodes, graph) {
                    ([node, rest @ ..], _) => {
                        self.tasks.push(Task::Nodes(graph, rest));
                        self.tasks.push(Task::LeaveNode(*node));
                        let first = self.tasks.len();
                        self.tasks.extend(self.body.subgraphs(*node).map(Task::Graph));
                        self.tasks[first..].reverse();
                        return Some(WalkEvent::EnterNode(*node));
                    }
                    ([], Some(graph)) => {
                        self.open.pop();
                        return Some(WalkEvent::LeaveGraph(graph));
                    }
                    ([], None) => {}
                },
            }
        }
    }
}

impl Body {
    /// Walks over the root graph with all that is nested in it, in document order.
    pub fn walk(&self) -> Walk<'_> {
        Walk::new(self, self.root().map(Task::Graph))
    }

    /// Walks over one graph with all that is nested in it.
    pub fn walk_graph(&self, graph: GraphId) -> Walk<'_> {
        Walk::new(self, Some(Task::Graph(graph)))
    }

    /// Walks over some nodes with all that is nested in them.
    pub fn walk_nodes<'b>(&'b self, nodes: &'b [NodeId]) -> Walk<'b> {
        Walk::new(self, Some(Task::Nodes(None, nodes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attr, AttrValue, BodyBuilder, Model, NodeSpec};

    /// `g { If { then { Abs } else { Neg { … } } } Relu }`, where the innermost graph is that of `then` again.
    fn body() -> Body {
        let mut model = Model::new();
        let mut b = BodyBuilder::new(&mut model);
        b.begin_graph(None, None);
        let holder = b.begin_node(NodeSpec::default(), []);
        let (then_branch, else_branch) = (b.name("then_branch"), b.name("else_branch"));
        let then = b.begin_graph(None, Some(holder));
        b.begin_node(NodeSpec::default(), []);
        b.end_graph();
        let other = b.begin_graph(None, Some(holder));
        let inner = b.begin_node(NodeSpec::default(), []);
        b.attr(inner, Attr::new(then_branch, AttrValue::Graph(then)));
        b.end_graph();
        b.attr(holder, Attr::new(then_branch, AttrValue::Graph(then)));
        b.attr(holder, Attr::new(else_branch, AttrValue::Graph(other)));
        b.begin_node(NodeSpec::default(), []);
        b.end_graph();
        let id = b.finish();
        model.bodies[id].clone()
    }

    #[test]
    fn graphs_come_between_the_events_of_their_node_and_once() {
        let events: Vec<String> = body()
            .walk()
            .map(|event| match event {
                WalkEvent::EnterGraph(graph) => format!("{graph}{{"),
                WalkEvent::LeaveGraph(graph) => format!("}}{graph}"),
                WalkEvent::EnterNode(node) => format!("{node}("),
                WalkEvent::LeaveNode(node) => format!("){node}"),
            })
            .collect();
        assert_eq!(events.join(" "), "g0{ n0( g1{ n1( )n1 }g1 g2{ n2( )n2 }g2 )n0 n3( )n3 }g0");
    }

    #[test]
    fn a_walk_knows_what_is_around_it() {
        let body = body();
        let mut walk = body.walk();
        let mut around = Vec::new();
        while let Some(event) = walk.next() {
            match event {
                WalkEvent::EnterGraph(graph) => {
                    assert_eq!(walk.graph(), Some(graph));
                    around.push(walk.node().map(|node| node.to_string()));
                }
                WalkEvent::EnterNode(node) => {
                    assert_eq!((walk.node(), walk.depth()), (Some(node), walk.open.len()))
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
        assert_eq!(around, [None, Some("n0".to_owned()), Some("n0".to_owned())]);
    }

    #[test]
    fn nested_graphs_can_be_left_out() {
        let body = body();
        let mut walk = body.walk();
        let (mut nodes, mut skipped) = (0, 0);
        while let Some(event) = walk.next() {
            if let WalkEvent::EnterNode(_) = event {
                nodes += 1;
                skipped += usize::from(walk.skip_graphs());
            }
        }
        assert_eq!((nodes, skipped), (2, 1));
        let holder = body.walk().nodes().next();
        let inside: Vec<NodeId> = body.walk_nodes(holder.as_slice()).nodes().collect();
        assert_eq!(inside.len(), 3);
    }
}
