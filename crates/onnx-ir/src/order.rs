//! The order of the nodes of a graph: dependencies between them, by values and through nested graphs.

mod components;

pub use components::components;

use crate::body::{Body, ValueDef};
use crate::entity::{EntityId as _, FromIndex as _, SecondaryMap};
use crate::ids::{GraphId, NodeId, ValueId};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which nodes of a graph need which others of it.
pub(crate) struct Order {
    /// Pairs of nodes of one graph, the needed one first; sorted.
    pairs: Vec<(NodeId, NodeId)>,
    /// The positions of nodes in the current graph.
    positions: SecondaryMap<NodeId, usize>,
    /// The number of dependencies that are not yet placed.
    missing: SecondaryMap<NodeId, usize>,
}

impl Order {
    pub(crate) fn of(body: &Body) -> Self {
        let (all, len) = (body.walk().graphs().collect::<Vec<_>>(), body.nodes.len());
        let mut homes: SecondaryMap<NodeId, Option<GraphId>> = SecondaryMap::with_len(None, len);
        let mut holders: SecondaryMap<GraphId, Option<NodeId>> =
            SecondaryMap::with_len(None, body.graphs.len());
        for &graph in &all {
            for &node in &body.graphs[graph].nodes {
                homes[node] = Some(graph);
                body.subgraphs(node).for_each(|inner| holders[inner] = Some(node));
            }
        }
        let mut pairs = Vec::new();
        let mut read = |value: ValueId, graph: GraphId, reader: Option<NodeId>| {
            let ValueDef::Output(maker, _) = body.values[value].def else { return };
            let (mut graph, mut reader) = (graph, reader);
            // A reader's dependency on a value of an enclosing graph is a dependency of the node there that contains the reader.
            // Graphs nest, so this ends; the bound handles a graph that contains itself.
            for _ in 0..=all.len() {
                if homes[maker] == Some(graph) {
                    pairs.extend(reader.map(|reader| (maker, reader)));
                    return;
                }
                let Some(holder) = holders[graph] else { return };
                let Some(outer) = homes[holder] else { return };
                (graph, reader) = (outer, Some(holder));
            }
        };
        for &graph in &all {
            for &node in &body.graphs[graph].nodes {
                body.nodes[node].inputs.iter().flatten().for_each(|&v| read(v, graph, Some(node)));
            }
            body.graphs[graph].outputs.iter().filter_map(|p| p.value).for_each(|v| read(v, graph, None));
        }
        pairs.sort_unstable();
        pairs.dedup();
        Order { pairs, positions: SecondaryMap::with_len(0, len), missing: SecondaryMap::with_len(0, len) }
    }

    /// Positions of the pairs of a node with those that need it.
    fn readers(&self, node: NodeId) -> std::ops::Range<usize> {
        let start = self.pairs.partition_point(|&(maker, _)| maker < node);
        start..start + self.pairs[start..].partition_point(|&(maker, _)| maker == node)
    }

    /// The nodes of a body that need their own results.
    pub(crate) fn circular(&self, body: &Body) -> SecondaryMap<NodeId, bool> {
        let mut circular = SecondaryMap::with_len(false, body.nodes.len());
        let mut next = vec![Vec::new(); body.nodes.len()];
        for &(maker, reader) in &self.pairs {
            next[maker.index()].push(reader.index());
            circular[maker] |= maker == reader;
        }
        for component in components(&next).iter().filter(|component| component.len() > 1) {
            component.iter().for_each(|&node| circular[NodeId::from_index(node)] = true);
        }
        circular
    }

    /// The nodes of a graph in order, or a node that needs itself.
    pub(crate) fn sorted(&mut self, nodes: &[NodeId]) -> Result<Vec<NodeId>, NodeId> {
        for (position, &node) in nodes.iter().enumerate() {
            (self.positions[node], self.missing[node]) = (position, 0);
        }
        for &node in nodes {
            for at in self.readers(node) {
                self.missing[self.pairs[at].1] += 1;
            }
        }
        let ready = nodes.iter().filter(|&&n| self.missing[n] == 0).map(|&n| Reverse(self.positions[n]));
        let mut ready: BinaryHeap<Reverse<usize>> = ready.collect();
        let mut sorted = Vec::with_capacity(nodes.len());
        while let Some(Reverse(position)) = ready.pop() {
            sorted.push(nodes[position]);
            for at in self.readers(nodes[position]) {
                let reader = self.pairs[at].1;
                self.missing[reader] -= 1;
                let position = self.positions[reader];
                // Otherwise the reader is listed by another graph as well.
                if self.missing[reader] == 0 && nodes.get(position) == Some(&reader) {
                    ready.push(Reverse(position));
                }
            }
        }
        match nodes.iter().find(|&&n| self.missing[n] > 0) {
            Some(&node) => Err(self.on_circle(node)),
            None => Ok(sorted),
        }
    }

    /// A node of a circle, from one that needs a node without a place.
    fn on_circle(&self, mut node: NodeId) -> NodeId {
        let open =
            self.pairs.iter().filter(|(maker, reader)| self.missing[*maker].min(self.missing[*reader]) > 0);
        let makers: HashMap<NodeId, NodeId, RandomState> =
            open.map(|&(maker, reader)| (reader, maker)).collect();
        let mut seen: HashSet<NodeId, RandomState> = HashSet::default();
        while seen.insert(node) {
            match makers.get(&node) {
                Some(&maker) => node = maker,
                None => break,
            }
        }
        node
    }
}
