//! Readers and declarations of each value, computed at one time.

use crate::body::{Body, QuantizationAnnotation};
use crate::entity::{EntityId, SecondaryMap};
use crate::ids::{GraphId, NodeId, ValueId};
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// A place that reads a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Input `i` of a node.
    Input(NodeId, u32),
    /// Output `i` of a graph.
    Output(GraphId, u32),
}

/// A place that declares a value and has its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// Input `i` of a graph.
    Input(GraphId, u32),
    /// Entry `i` of a graph's `value_info`.
    ValueInfo(GraphId, u32),
    /// Initializer `i` of a graph.
    Initializer(GraphId, u32),
    /// Sparse initializer `i` of a graph.
    SparseInitializer(GraphId, u32),
}

/// The uses and declarations of all values of a body, nested graphs included, in the order of its graphs and nodes.
///
/// A snapshot: edits do not change it. Values that are newer have no entries.
#[derive(Clone, Debug)]
pub struct Uses {
    reads: Lists<Use>,
    declarations: Lists<Declaration>,
    annotated: Vec<GraphId>,
    named: HashSet<Name, RandomState>,
    homes: SecondaryMap<NodeId, Option<GraphId>>,
}

impl Uses {
    /// Finds all uses in time linear in the size of the body.
    pub fn of(body: &Body) -> Self {
        let graphs: Vec<GraphId> = body.walk().graphs().collect();
        let mut reads = Vec::new();
        let mut declarations = Vec::new();
        let mut homes = SecondaryMap::with_len(None, body.nodes.len());
        for &g in &graphs {
            let graph = &body.graphs[g];
            for (i, port) in (0u32..).zip(&graph.inputs) {
                declarations.extend(port.value.map(|v| (v, Declaration::Input(g, i))));
            }
            for (i, port) in (0u32..).zip(&graph.value_info) {
                declarations.extend(port.value.map(|v| (v, Declaration::ValueInfo(g, i))));
            }
            for (i, init) in (0u32..).zip(&graph.initializers) {
                declarations.push((init.value, Declaration::Initializer(g, i)));
            }
            for (i, init) in (0u32..).zip(&graph.sparse_initializers) {
                declarations.push((init.value, Declaration::SparseInitializer(g, i)));
            }
            for &node in &graph.nodes {
                homes[node] = Some(g);
                for (i, value) in (0u32..).zip(&body.nodes[node].inputs) {
                    reads.extend(value.map(|v| (v, Use::Input(node, i))));
                }
            }
            for (i, port) in (0u32..).zip(&graph.outputs) {
                reads.extend(port.value.map(|v| (v, Use::Output(g, i))));
            }
        }
        let annotated: Vec<_> =
            graphs.into_iter().filter(|&g| !body.graphs[g].quantization.is_empty()).collect();
        let annotations = annotated.iter().flat_map(|&g| &body.graphs[g].quantization);
        let named = annotations.flat_map(QuantizationAnnotation::names).collect();
        let values = body.values.len();
        Uses {
            reads: Lists::new(values, &reads),
            declarations: Lists::new(values, &declarations),
            annotated,
            named,
            homes,
        }
    }

    /// The readers of a value.
    pub fn of_value(&self, value: ValueId) -> &[Use] {
        self.reads.get(value)
    }

    /// The declarations of a value.
    pub fn declarations(&self, value: ValueId) -> &[Declaration] {
        self.declarations.get(value)
    }

    /// Whether nothing reads a value.
    pub fn is_unused(&self, value: ValueId) -> bool {
        self.of_value(value).is_empty()
    }

    /// The graph that lists a node, if the node is part of the body.
    pub fn graph_of(&self, node: NodeId) -> Option<GraphId> {
        self.homes[node]
    }

    /// Graphs with quantization annotations, which name values.
    pub(super) fn annotated(&self) -> &[GraphId] {
        &self.annotated
    }

    /// Whether a quantization annotation names a value of this name.
    pub fn is_annotated(&self, name: Name) -> bool {
        self.named.contains(&name)
    }
}

/// A list for each value, all in one buffer: the list of value `v` is `items[starts[v]..starts[v + 1]]`.
#[derive(Clone, Debug)]
struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    fn new(values: usize, pairs: &[(ValueId, T)]) -> Self {
        let mut starts = vec![0u32; values + 1];
        for (value, _) in pairs {
            starts[value.index() + 1] += 1;
        }
        for i in 0..values {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut items: Vec<T> = pairs.iter().map(|&(_, item)| item).collect();
        for &(value, item) in pairs {
            let at = &mut next[value.index()];
            items[*at as usize] = item;
            *at += 1;
        }
        Lists { starts, items }
    }

    fn get(&self, value: ValueId) -> &[T] {
        match self.starts.get(value.index()..=value.index() + 1) {
            Some(&[start, end]) => &self.items[start as usize..end as usize],
            Some(_) | None => &[],
        }
    }
}
