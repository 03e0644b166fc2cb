//! Attributes of copies: values, nested graphs, and arguments of attribute parameters.

use super::{CopyOptions, CopySource, CopyTarget, GraphSlot, Task, Transplant};
use crate::attr::{Attr, AttrValue};
use crate::body::Node;
use crate::ids::{GraphId, NodeId};
use crate::names::Name;
use crate::tensor::SparseTensor;

impl Transplant<'_> {
    /// From now on, references to attribute parameters are replaced by their arguments. An attribute that refers to a parameter
    /// without argument is dropped.
    pub fn close_parameters(&mut self) {
        self.arguments.get_or_insert_default();
    }

    /// Sets the argument of a parameter of the source.
    pub fn give(&mut self, parameter: Name, attr: Attr) {
        self.arguments.get_or_insert_default().insert(parameter, attr);
    }

    /// Whether a parameter of the source has an argument.
    pub fn is_given(&self, parameter: Name) -> bool {
        self.arguments.as_ref().is_some_and(|a| a.contains_key(&parameter))
    }

    /// Copies an attribute that belongs to no node.
    pub fn attr(&mut self, attr: &Attr) -> Attr {
        let mut copy = self.plain(attr);
        for graph in copy.values.iter_mut().flat_map(graphs_mut) {
            *graph = self.graph(*graph, None);
        }
        copy
    }

    /// Copies the attributes of a node, its graphs later.
    pub(super) fn attrs(&mut self, from: &Node, node: NodeId, tasks: &mut Vec<Task>) {
        let first = tasks.len();
        for attr in &from.attrs {
            let at = self.target.body.nodes[node].attrs.len();
            let copy = match (&self.arguments, attr.reference) {
                (Some(arguments), Some(parameter)) => {
                    let Some(argument) = arguments.get(&parameter).cloned() else { continue };
                    self.grafts.push((node, at));
                    Attr { name: self.maybe_name(attr.name), doc: self.maybe_name(attr.doc), ..argument }
                }
                (None, _) | (_, None) => {
                    let copy = self.plain(attr);
                    tasks.extend(places(&copy, at).map(|place| Task::Graph { node, place }));
                    copy
                }
            };
            self.target.body.nodes[node].attrs.push(copy);
        }
        tasks[first..].reverse();
    }

    /// An attribute whose graphs are still those of the source.
    fn plain(&mut self, attr: &Attr) -> Attr {
        Attr {
            name: self.maybe_name(attr.name),
            ty: attr.ty,
            reference: self.maybe_name(attr.reference),
            doc: self.maybe_name(attr.doc),
            values: attr.values.iter().map(|v| self.attr_value(v)).collect(),
        }
    }

    fn attr_value(&mut self, value: &AttrValue) -> AttrValue {
        match value {
            AttrValue::Tensor(tensor) => AttrValue::Tensor(self.tensor(*tensor)),
            AttrValue::Tensors(tensors) => {
                AttrValue::Tensors(tensors.iter().map(|&t| self.tensor(t)).collect())
            }
            AttrValue::SparseTensor(sparse) => AttrValue::SparseTensor(Box::new(self.sparse(sparse))),
            AttrValue::SparseTensors(list) => {
                AttrValue::SparseTensors(list.iter().map(|s| self.sparse(s)).collect())
            }
            AttrValue::Type(ty) => AttrValue::Type(self.ty(*ty)),
            AttrValue::Types(types) => AttrValue::Types(types.iter().map(|&t| self.ty(t)).collect()),
            AttrValue::Graph(_)
            | AttrValue::Graphs(_)
            | AttrValue::Float(_)
            | AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Floats(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_) => value.clone(),
        }
    }

    fn sparse(&mut self, sparse: &SparseTensor) -> SparseTensor {
        SparseTensor {
            values: sparse.values.map(|t| self.tensor(t)),
            indices: sparse.indices.map(|t| self.tensor(t)),
            dims: sparse.dims.clone(),
        }
    }

    pub(super) fn graph_at(&self, node: NodeId, place: GraphSlot) -> Option<GraphId> {
        let value = self.target.body.nodes[node].attrs.get(place.attr)?.values.get(place.value)?;
        value.graphs().get(place.item).copied()
    }

    pub(super) fn set_graph_at(&mut self, node: NodeId, place: GraphSlot, graph: GraphId) {
        let attr = &mut self.target.body.nodes[node].attrs[place.attr];
        graphs_mut(&mut attr.values[place.value])[place.item] = graph;
    }

    /// Moves graphs of arguments to the nodes that received them: the first gets the graph, others get copies.
    pub(super) fn graft(&mut self) {
        for (node, at) in std::mem::take(&mut self.grafts) {
            let all: Vec<_> = places(&self.target.body.nodes[node].attrs[at], at).collect();
            for place in all {
                let Some(graph) = self.graph_at(node, place) else { continue };
                if self.taken.insert(graph) {
                    self.target.body.graphs[graph].owner = Some(node);
                } else {
                    let copy = self.copy_of_graph(graph, node);
                    self.set_graph_at(node, place, copy);
                }
            }
        }
    }

    fn copy_of_graph(&mut self, graph: GraphId, owner: NodeId) -> GraphId {
        let target =
            CopyTarget { names: self.target.names, types: self.target.types, body: self.target.body };
        let style = CopyOptions { prefix: self.style.prefix.clone(), ..CopyOptions::default() };
        Transplant::new(CopySource::same(), target, self.home, style).graph(graph, Some(owner))
    }
}

/// The graphs of an attribute at a position.
fn places(attr: &Attr, at: usize) -> impl Iterator<Item = GraphSlot> {
    let values = attr.values.iter().enumerate();
    values.flat_map(move |(value, graphs)| {
        (0..graphs.graphs().len()).map(move |item| GraphSlot { attr: at, value, item })
    })
}

fn graphs_mut(value: &mut AttrValue) -> &mut [GraphId] {
    match value {
        AttrValue::Graph(graph) => std::slice::from_mut(graph),
        AttrValue::Graphs(graphs) => graphs,
        AttrValue::Float(_)
        | AttrValue::Int(_)
        | AttrValue::String(_)
        | AttrValue::Tensor(_)
        | AttrValue::Floats(_)
        | AttrValue::Ints(_)
        | AttrValue::Strings(_)
        | AttrValue::Tensors(_)
        | AttrValue::Type(_)
        | AttrValue::Types(_)
        | AttrValue::SparseTensor(_)
        | AttrValue::SparseTensors(_) => &mut [],
    }
}
