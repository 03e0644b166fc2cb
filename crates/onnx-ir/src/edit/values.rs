//! Edits of values: replacement, renaming, and replacing their nodes.

use super::cursor::Cursor;
use super::{Declaration, Use, Uses};
use crate::body::{Graph, ValueDef};
use crate::entity::EntityId;
use crate::ids::{NodeId, ValueId};
use crate::model::TrainingInfo;
use crate::names::Name;

impl Cursor<'_> {
    /// Replaces the current node by the nodes that compute `results`.
    ///
    /// There is one result per output of the node, in order; `None` for outputs that are dropped. The values keep their names and
    /// ids, so all readers, including nested graphs and graph outputs, read the results of the new nodes.
    ///
    /// ```text
    /// before:  y = Gelu(x)
    /// after:   erf = Erf(x)  sum = Add(erf, one)  y = Mul(x, sum)          replace([product of x and sum])
    /// ```
    ///
    /// A result that none of the new nodes computes, such as an operand of the replaced node, is passed on by an `Identity`.
    pub fn replace(&mut self, results: impl IntoIterator<Item = impl Into<Option<ValueId>>>) {
        let Some(node) = self.current else { return };
        let outputs = self.body().nodes[node].outputs.clone();
        let mut became: Vec<(ValueId, ValueId)> = Vec::new();
        for (&old, new) in outputs.iter().zip(results) {
            let (Some(old), Some(new)) = (old, new.into()) else { continue };
            let new = became.iter().find(|(before, _)| *before == new).map_or(new, |&(_, value)| value);
            match self.body().values[new].def {
                ValueDef::Output(by, i) if by >= self.arrival.0 && !outputs.contains(&Some(new)) => {
                    self.take_over(by, i, old, new);
                    became.push((new, old));
                }
                _ => {
                    let by = self.insert_node("Identity").input(new).id();
                    self.body_mut().nodes[by].outputs.push(Some(old));
                    self.body_mut().values[old].def = ValueDef::Output(by, 0);
                }
            }
        }
        self.remove();
    }

    /// Lets output `i` of a node that was made at this place be `old` in place of `new`. That is read by nodes that were made here,
    /// and by those that [`replace_uses`](Self::replace_uses) gave it to.
    fn take_over(&mut self, by: NodeId, i: u32, old: ValueId, new: ValueId) {
        let (arrival, graph) = (self.arrival, self.graph);
        let body = self.body_mut();
        body.nodes[by].outputs[i as usize] = Some(old);
        body.values[old].def = ValueDef::Output(by, i);
        body.values[new].def = ValueDef::Unbound(graph);
        for node in (body.nodes.ids()).skip(arrival.0.index()) {
            body.nodes[node]
                .inputs
                .iter_mut()
                .filter(|input| **input == Some(new))
                .for_each(|v| *v = Some(old));
        }
        let name = body.values[old].name;
        let outputs = |graph: &mut Graph| {
            for port in graph.outputs.iter_mut().filter(|port| port.value == Some(new)) {
                (port.value, port.name) = (Some(old), Some(name));
            }
        };
        for graph in (body.graphs.ids()).skip(arrival.1.index()) {
            outputs(&mut body.graphs[graph]);
        }
        let moved = self.moved.remove(&new).unwrap_or_default();
        for user in &moved {
            match *user {
                Use::Input(node, i) => self.body_mut().nodes[node].inputs[i as usize] = Some(old),
                Use::Output(graph, _) => outputs(&mut self.body_mut().graphs[graph]),
            }
        }
        self.moved.entry(old).or_default().extend(moved);
    }

    /// Redirects all readers of `old` in `uses`, and those added by this cursor since, to `new`; returns whether `old` is unused
    /// now. Values may be replaced in any order.
    ///
    /// A graph output keeps its name, which callers use: `new` takes over the name, and `old` gets a fresh one. This needs a
    /// `new` that a node of that graph computes and that is not a graph output itself; otherwise the output is not changed, and
    /// the result is `false`. The same applies if a quantization annotation names `old`, or if a sharding of a node names it as
    /// an operand: these need not apply to `new`.
    pub fn replace_uses(&mut self, uses: &Uses, old: ValueId, new: ValueId) -> bool {
        let old_name = self.body().values[old].name;
        let mut all = !uses.is_annotated(old_name);
        let since = self.moved.remove(&old).unwrap_or_default();
        let mut taken: Vec<Use> = Vec::new();
        let mut left: Vec<Use> = Vec::new();
        for &user in uses.of_value(old).iter().chain(&since) {
            match user {
                Use::Input(node, i) => {
                    let node = &mut self.body_mut().nodes[node];
                    if node.inputs[i as usize] != Some(old) {
                        continue;
                    }
                    if node.is_sharded(old_name) {
                        all = false;
                        left.push(user);
                        continue;
                    }
                    node.inputs[i as usize] = Some(new);
                    taken.push(user);
                }
                Use::Output(graph, i) => {
                    let port = &self.body().graphs[graph].outputs[i as usize];
                    if port.value != Some(old) {
                        continue;
                    }
                    let name = self.body().values[old].name;
                    let home = match self.body().values[new].def {
                        ValueDef::Output(node, _) => self.homes[node].or(uses.graph_of(node)),
                        ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
                    };
                    let is_free = home == Some(graph) && !self.is_output(uses, new);
                    let has_name = self.body().values[new].name == name;
                    if !is_free && !has_name {
                        all = false;
                        left.push(user);
                        continue;
                    }
                    if !has_name {
                        let stem = self.model.names[name].to_owned();
                        let fresh = self.fresh_name(&stem);
                        self.body_mut().values[old].name = fresh;
                        self.rename(uses, new, name);
                    }
                    self.body_mut().graphs[graph].outputs[i as usize].value = Some(new);
                    self.moved.entry(new).or_default().push(user);
                }
            }
        }
        if !left.is_empty() {
            self.moved.insert(old, left);
        }
        if !taken.is_empty() {
            self.moved.entry(new).or_default().append(&mut taken);
        }
        all
    }

    /// Whether a value is an output of a graph, or was one when `uses` were computed.
    fn is_output(&self, uses: &Uses, value: ValueId) -> bool {
        let since = self.moved.get(&value).into_iter().flatten();
        uses.of_value(value).iter().chain(since).any(|u| matches!(u, Use::Output(..)))
    }

    /// Renames a value with all references by name: declarations, its tensor, quantization annotations, shardings and training
    /// bindings. `uses` may be older than the value.
    pub fn rename(&mut self, uses: &Uses, value: ValueId, name: Name) {
        // The value, its declarations and its tensor.
        let old = std::mem::replace(&mut self.body_mut().values[value].name, name);
        let body = &mut self.model.bodies[self.body];
        for &declaration in uses.declarations(value) {
            let (port, tensor) = match declaration {
                Declaration::Input(g, i) => (body.graphs[g].inputs.get_mut(i as usize), None),
                Declaration::ValueInfo(g, i) => (body.graphs[g].value_info.get_mut(i as usize), None),
                Declaration::Initializer(g, i) => {
                    (None, body.graphs[g].initializers.get(i as usize).map(|i| i.tensor))
                }
                Declaration::SparseInitializer(g, i) => {
                    (None, body.graphs[g].sparse_initializers.get(i as usize).and_then(|i| i.tensor.values))
                }
            };
            if let Some(port) = port.filter(|p| p.value == Some(value)) {
                port.name = Some(name);
            }
            if let Some(tensor) = tensor {
                body.tensors[tensor].name = Some(name);
            }
        }
        // Outputs of graphs, and shardings of the nodes that compute or read it.
        let renamed = |n: &mut Option<Name>| {
            if *n == Some(old) {
                *n = Some(name);
            }
        };
        let mut nodes: Vec<NodeId> = Vec::new();
        if let ValueDef::Output(node, _) = body.values[value].def {
            nodes.push(node);
        }
        let since = self.moved.get(&value).into_iter().flatten();
        for &user in uses.of_value(value).iter().chain(since) {
            match user {
                Use::Input(node, _) => nodes.push(node),
                Use::Output(g, i) => {
                    let port = &mut body.graphs[g].outputs[i as usize];
                    if port.value == Some(value) {
                        port.name = Some(name);
                    }
                }
            }
        }
        for node in nodes {
            let extra = body.nodes[node].extra.as_deref_mut();
            let shardings = extra.into_iter().flat_map(|e| &mut e.devices).flat_map(|d| &mut d.sharding);
            shardings.for_each(|s| renamed(&mut s.tensor_name));
        }
        // Quantization annotations, and bindings of the training.
        for &graph in uses.annotated() {
            for annotation in &mut body.graphs[graph].quantization {
                renamed(&mut annotation.tensor_name);
                annotation.parameters.iter_mut().for_each(|p| renamed(&mut p.value));
            }
        }
        let id = Some(self.body);
        let is_main = self.model.main == id;
        let of_body = |t: &&mut TrainingInfo| is_main || t.initialization == id || t.algorithm == id;
        for training in self.model.training.iter_mut().filter(of_body) {
            let bindings = training.initialization_bindings.iter_mut().chain(&mut training.update_bindings);
            for entry in bindings {
                renamed(&mut entry.key);
                renamed(&mut entry.value);
            }
        }
    }
}
