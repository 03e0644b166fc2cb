//! Renames values, nodes and graphs.
//!
//! With `|_, name| Some(format!("a_{name}"))`:
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) <float[1] w = {1}>       { [n] y = Mul(x, w) }
//! after:   a_g (float[N] a_x) => (float[N] a_y) <float[1] a_w = {1}> { [a_n] a_y = Mul(a_x, a_w) }
//! ```
//!
//! A name is renamed everywhere: declarations, tensors of initializers, quantization annotations, shardings, training
//! bindings, and attributes of `Gradient`. Names of functions, attributes and symbolic dimensions are kept.

use super::calls::bodies;
use super::{Report, gradient_names, watched};
use crate::body::{Body, Graph, Port};
use crate::diag::{Diagnostic, Place, code};
use crate::entity::SecondaryMap;
use crate::ids::{BodyId, ValueId};
use crate::model::Model;
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

pub(super) type Map = HashMap<Name, Name, RandomState>;
pub(super) type Set = HashSet<Name, RandomState>;

/// The kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// An input of the main graph.
    Input,
    /// An output of the main graph.
    Output,
    /// Any other value.
    Value,
    /// A node.
    Node,
    /// A graph, nested or not.
    Graph,
}

/// Renames everything for which `new_name` returns another name. It is called once for each name in the main graph and training
/// graphs, which share their names, and once in each function.
///
/// Nothing changes if two values of different names would get the same one; the report explains that.
pub fn rename(model: &mut Model, new_name: &mut dyn FnMut(Named, &str) -> Option<String>) -> Report {
    watched("rename", model, |model| {
        let mut report = Report::default();
        let mut all = Vec::new();
        for scope in scopes(model) {
            let found = Found::in_scope(model, &scope);
            let renaming = found.renaming(model, new_name);
            for [first, second, name] in found.conflicts(&renaming) {
                let [first, second, name] = [first, second, name].map(|n| &model.names[n]);
                let message = format!("`{first}` and `{second}` would both be named `{name}`");
                report.diagnostics.push(Diagnostic::new(&code::VALUE_REDEFINED, Place::Nowhere, message));
            }
            all.push((scope, renaming));
        }
        if report.diagnostics.is_empty() {
            let count = all.iter().map(|(scope, renaming)| renaming.apply(model, scope).len()).sum();
            report.note(count, "name", "changed");
        }
        report
    })
}

/// Bodies whose values share their names.
pub(super) struct Scope {
    bodies: Vec<BodyId>,
    /// Whether this is the main graph with the trainings, and no function.
    pub(super) is_shared: bool,
}

/// The main graph with the trainings, then each function.
pub(super) fn scopes(model: &Model) -> Vec<Scope> {
    let (functions, shared): (Vec<_>, Vec<_>) = bodies(model).into_iter().partition(|(_, f)| f.is_some());
    let shared = Scope { bodies: shared.into_iter().map(|(body, _)| body).collect(), is_shared: true };
    let functions = functions.into_iter().map(|(body, _)| Scope { bodies: vec![body], is_shared: false });
    std::iter::once(shared).chain(functions).collect()
}

/// Kinds of named entities, finer than [`Named`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Value,
    Node,
    Graph,
}

/// Visits every nonempty name of a scope, in order, at every place.
pub(super) fn visit(model: &mut Model, scope: &Scope, look: &mut dyn FnMut(Slot, &mut Name)) {
    for &id in &scope.bodies {
        let all: Vec<_> = model.bodies[id].walk().graphs().collect();
        let Body { graphs, nodes, values, tensors, .. } = &mut model.bodies[id];
        let mut seen: SecondaryMap<ValueId, bool> = SecondaryMap::with_len(false, values.len());
        for graph in all {
            let graph = &mut graphs[graph];
            let mut look = |slot: Slot, name: &mut Name| {
                if !name.is_empty() {
                    look(slot, name);
                }
            };
            graph.name.iter_mut().for_each(|n| look(Slot::Graph, n));
            let mut value = |v: ValueId, look: &mut dyn FnMut(Slot, &mut Name)| {
                if !std::mem::replace(&mut seen[v], true) {
                    look(Slot::Value, &mut values[v].name);
                }
            };
            let ports = graph.inputs.iter_mut().chain(&mut graph.value_info).chain(&mut graph.outputs);
            for port in ports {
                port.value.into_iter().for_each(|v| value(v, &mut look));
                port.name.iter_mut().for_each(|n| look(Slot::Value, n));
            }
            for initializer in &graph.initializers {
                value(initializer.value, &mut look);
                tensors[initializer.tensor].name.iter_mut().for_each(|n| look(Slot::Value, n));
            }
            for initializer in &graph.sparse_initializers {
                value(initializer.value, &mut look);
                let tensor = initializer.tensor.values.map(|t| &mut tensors[t].name);
                tensor.into_iter().flatten().for_each(|n| look(Slot::Value, n));
            }
            for &node in &graph.nodes {
                let node = &mut nodes[node];
                node.name.iter_mut().for_each(|n| look(Slot::Node, n));
                node.inputs.iter().chain(&node.outputs).flatten().for_each(|&v| value(v, &mut look));
                let extra = node.extra.as_deref_mut().into_iter();
                let shardings = extra.flat_map(|e| &mut e.devices).flat_map(|d| &mut d.sharding);
                shardings.filter_map(|s| s.tensor_name.as_mut()).for_each(|n| look(Slot::Value, n));
            }
            for annotation in &mut graph.quantization {
                let parameters = annotation.parameters.iter_mut().filter_map(|e| e.value.as_mut());
                annotation.tensor_name.iter_mut().chain(parameters).for_each(|n| look(Slot::Value, n));
            }
        }
    }
    if scope.is_shared {
        for training in &mut model.training {
            let bindings = training.initialization_bindings.iter_mut().chain(&mut training.update_bindings);
            let named = bindings.flat_map(|e| [&mut e.key, &mut e.value]).flatten();
            named.filter(|n| !n.is_empty()).for_each(|n| look(Slot::Value, n));
        }
    }
}

/// The names of a scope, each once, in order.
#[derive(Default)]
struct Found {
    values: Vec<Name>,
    nodes: Vec<Name>,
    graphs: Vec<Name>,
    inputs: Set,
    outputs: Set,
}

impl Found {
    fn in_scope(model: &mut Model, scope: &Scope) -> Self {
        let mut found = Found::default();
        let mut seen: [Set; 3] = Default::default();
        visit(model, scope, &mut |slot, name| {
            let (list, seen) = match slot {
                Slot::Value => (&mut found.values, &mut seen[0]),
                Slot::Node => (&mut found.nodes, &mut seen[1]),
                Slot::Graph => (&mut found.graphs, &mut seen[2]),
            };
            if seen.insert(*name) {
                list.push(*name);
            }
        });
        if scope.is_shared {
            (found.inputs, found.outputs) = interface(model);
        }
        found
    }

    fn renaming(
        &self,
        model: &mut Model,
        new_name: &mut dyn FnMut(Named, &str) -> Option<String>,
    ) -> Renaming {
        let mut new = |named: Named, name: Name| {
            let new = new_name(named, &model.names[name])?;
            Some((name, model.names.intern(&new))).filter(|(_, new)| *new != name)
        };
        let of_value = |name: Name| match (self.inputs.contains(&name), self.outputs.contains(&name)) {
            (true, _) => Named::Input,
            (false, true) => Named::Output,
            (false, false) => Named::Value,
        };
        Renaming {
            values: self.values.iter().filter_map(|&n| new(of_value(n), n)).collect(),
            nodes: self.nodes.iter().filter_map(|&n| new(Named::Node, n)).collect(),
            graphs: self.graphs.iter().filter_map(|&n| new(Named::Graph, n)).collect(),
        }
    }

    /// Names of values that would become equal, with the new name.
    fn conflicts(&self, renaming: &Renaming) -> Vec<[Name; 3]> {
        let mut taken = Map::default();
        let news = self.values.iter().map(|&old| (old, renaming.values.get(&old).copied().unwrap_or(old)));
        news.filter_map(|(old, new)| taken.insert(new, old).map(|first| [first, old, new])).collect()
    }
}

/// The names of the main graph's inputs and outputs.
pub(super) fn interface(model: &Model) -> (Set, Set) {
    let root = model.main_body().and_then(|body| body.root().map(|root| &body.graphs[root]));
    let names =
        |ports: fn(&Graph) -> &Vec<Port>| root.into_iter().flat_map(ports).filter_map(|p| p.name).collect();
    (names(|g| &g.inputs), names(|g| &g.outputs))
}

/// Other names for those that have one, in one scope.
#[derive(Default)]
pub(super) struct Renaming {
    pub(super) values: Map,
    pub(super) nodes: Map,
    pub(super) graphs: Map,
}

impl Renaming {
    /// Renames, and returns the names that existed.
    pub(super) fn apply(&self, model: &mut Model, scope: &Scope) -> Set {
        let mut renamed = Set::default();
        visit(model, scope, &mut |slot, name| {
            let map = match slot {
                Slot::Value => &self.values,
                Slot::Node => &self.nodes,
                Slot::Graph => &self.graphs,
            };
            if let Some(&new) = map.get(name) {
                renamed.insert(std::mem::replace(name, new));
            }
        });
        for &body in &scope.bodies {
            gradient_names::rename(&model.names, &mut model.bodies[body], &self.values);
        }
        renamed
    }
}
