//! The nodes to be outlined: their inputs, outputs, and the nodes that must move after them.

use super::{Map, Set};
use crate::body::Body;
use crate::diag::{Diagnostic, Entity, Place, code};
use crate::edit::{Use, Uses};
use crate::ids::{BodyId, GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::names::Name;
use crate::walk::WalkEvent;

/// Some nodes of one graph, with all that is nested in them.
pub(super) struct Region {
    pub(super) graph: GraphId,
    /// In the order of the graph.
    pub(super) nodes: Vec<NodeId>,
    /// Values that are read and defined outside, in the order in which they are read.
    pub(super) inputs: Vec<ValueId>,
    /// Values that are defined in it and read outside, in order.
    pub(super) outputs: Vec<ValueId>,
    /// Other nodes of the graph that need its results.
    pub(super) after: Set<NodeId>,
}

impl Region {
    pub(super) fn new(
        model: &Model,
        id: BodyId,
        selected: &[NodeId],
        trained: &Set<Name>,
    ) -> Result<Region, Vec<Diagnostic>> {
        let body = &model.bodies[id];
        let uses = Uses::of(body);
        let selected: Set<NodeId> = selected.iter().copied().collect();
        let graph = one_graph(model, id, &uses, &selected)?;
        let nodes: Vec<NodeId> =
            body.graphs[graph].nodes.iter().copied().filter(|n| selected.contains(n)).collect();
        let inside = Inside::of(body, &nodes);
        let inputs = inside.reads(body, &nodes);
        let top = tops(body, graph);

        let mut named: Set<Name> = trained.clone();
        for annotation in &body.graphs[graph].quantization {
            let parameters = annotation.parameters.iter().filter_map(|e| e.value);
            named.extend(annotation.tensor_name.into_iter().chain(parameters));
        }
        let is_read = |value: ValueId| {
            named.contains(&body.values[value].name)
                || uses.of_value(value).iter().any(|user| match user {
                    Use::Input(node, _) => !inside.nodes.contains(node),
                    Use::Output(graph, _) => !inside.graphs.contains(graph),
                })
        };
        let results = nodes.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied());
        let outputs: Vec<ValueId> = results.filter(|&v| is_read(v)).collect();
        if outputs.is_empty() {
            let message = "nothing reads what the selected nodes compute";
            let place = nodes.first().map_or(Place::Nowhere, |&n| Entity::Node(id, n).into());
            return Err(vec![Diagnostic::new(&code::OUTLINE_SELECTION, place, message)]);
        }
        let after = behind(model, id, &nodes, &uses, &top)?;
        Ok(Region { graph, nodes, inputs, outputs, after })
    }
}

/// The graph that has all selected nodes but those nested in others.
fn one_graph(
    model: &Model,
    id: BodyId,
    uses: &Uses,
    selected: &Set<NodeId>,
) -> Result<GraphId, Vec<Diagnostic>> {
    let body = &model.bodies[id];
    let refused =
        |place: Place, message: String| Err(vec![Diagnostic::new(&code::OUTLINE_SELECTION, place, message)]);
    let mut order: Vec<(usize, NodeId)> = Vec::new();
    let mut walk = body.walk();
    while let Some(event) = walk.next() {
        if let WalkEvent::EnterNode(node) = event
            && selected.contains(&node)
        {
            order.push((walk.depth(), node));
            walk.skip_graphs();
        }
    }
    // Nodes of enclosing graphs come first, so that a message is about a nested node.
    order.sort_by_key(|(depth, _)| *depth);
    let order: Vec<NodeId> = order.into_iter().map(|(_, node)| node).collect();
    let Some(&first) = order.first() else {
        return refused(Place::Nowhere, "no node is selected".to_owned());
    };
    let Some(graph) = uses.graph_of(first) else {
        return refused(Place::Nowhere, "no node is selected".to_owned());
    };
    if let Some(&other) = order.iter().find(|&&n| uses.graph_of(n) != Some(graph)) {
        let [op, other_op] = [first, other].map(|n| model.text(body.nodes[n].op));
        let message = format!("this `{other_op}` is in another graph than `{op}`, which is selected too");
        let diagnostic = Diagnostic::new(&code::OUTLINE_SELECTION, Entity::Node(id, other), message);
        return Err(vec![diagnostic.related(Entity::Node(id, first), "selected too")]);
    }
    Ok(graph)
}

/// All that belongs to selected nodes.
struct Inside {
    nodes: Set<NodeId>,
    graphs: Set<GraphId>,
    values: Set<ValueId>,
}

impl Inside {
    fn of(body: &Body, nodes: &[NodeId]) -> Self {
        let mut inside = Inside { nodes: Set::default(), graphs: Set::default(), values: Set::default() };
        for event in body.walk_nodes(nodes) {
            match event {
                WalkEvent::EnterNode(node) => {
                    inside.nodes.insert(node);
                    inside.values.extend(body.nodes[node].outputs.iter().flatten());
                }
                WalkEvent::EnterGraph(graph) => {
                    inside.graphs.insert(graph);
                    inside.values.extend(body.graphs[graph].values(body));
                }
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
        inside
    }

    /// The values that are read but not defined inside, in order.
    fn reads(&self, body: &Body, nodes: &[NodeId]) -> Vec<ValueId> {
        let (mut reads, mut seen) = (Vec::new(), Set::default());
        let mut read = |value: ValueId| {
            if !self.values.contains(&value) && seen.insert(value) {
                reads.push(value);
            }
        };
        for event in body.walk_nodes(nodes) {
            match event {
                WalkEvent::EnterNode(node) => body.nodes[node].inputs.iter().flatten().for_each(|&v| read(v)),
                WalkEvent::LeaveGraph(graph) => {
                    body.graphs[graph].outputs.iter().filter_map(|port| port.value).for_each(&mut read);
                }
                WalkEvent::EnterGraph(_) | WalkEvent::LeaveNode(_) => {}
            }
        }
        reads
    }
}

/// For the nodes of a graph and those nested in them, the node of the graph.
fn tops(body: &Body, graph: GraphId) -> Map<NodeId, NodeId> {
    let mut tops = Map::default();
    for top in &body.graphs[graph].nodes {
        let inside = body.walk_nodes(std::slice::from_ref(top)).nodes();
        tops.extend(inside.map(|node| (node, *top)));
    }
    tops
}

/// The nodes of the graph that need results of the region, directly or through others. It is an error if the region needs
/// one of them.
fn behind(
    model: &Model,
    id: BodyId,
    region: &[NodeId],
    uses: &Uses,
    top: &Map<NodeId, NodeId>,
) -> Result<Set<NodeId>, Vec<Diagnostic>> {
    let body = &model.bodies[id];
    let selected: Set<NodeId> = region.iter().copied().collect();
    let mut came: Map<NodeId, NodeId> = Map::default();
    let mut open: Vec<NodeId> = region.to_vec();
    while let Some(node) = open.pop() {
        let results = body.nodes[node].outputs.iter().flatten();
        let users = results.flat_map(|&v| uses.of_value(v)).filter_map(|user| match user {
            Use::Input(reader, _) => top.get(reader).copied(),
            Use::Output(..) => None,
        });
        // The outputs of a nested graph belong to the node that contains it, which does not count as a reader.
        for reader in users.filter(|&reader| reader != node) {
            match (selected.contains(&reader), selected.contains(&node)) {
                (true, true) => {}
                (true, false) => return Err(vec![path(model, id, &came, node, reader)]),
                (false, _) => {
                    if !came.contains_key(&reader) {
                        came.insert(reader, node);
                        open.push(reader);
                    }
                }
            }
        }
    }
    Ok(came.into_keys().collect())
}

/// The finding that a path leaves the region and returns to `reader`, from `last`.
fn path(model: &Model, id: BodyId, came: &Map<NodeId, NodeId>, last: NodeId, reader: NodeId) -> Diagnostic {
    let op = |node: NodeId| model.text(model.bodies[id].nodes[node].op);
    let message = format!(
        "this `{}` needs the result of `{}`, which is not selected and needs a selected node",
        op(reader),
        op(last)
    );
    let mut diagnostic = Diagnostic::new(&code::OUTLINE_PATH, Entity::Node(id, reader), message);
    let mut at = last;
    for _ in 0..5 {
        let Some(&before) = came.get(&at) else { break };
        diagnostic = diagnostic.related(Entity::Node(id, at), format!("needs `{}`", op(before)));
        at = before;
    }
    diagnostic.help("select these nodes as well")
}
