//! Integers that are structure rather than data: shapes, axes, counts, conditions of loops, and what these are computed from.

use onnx_ir::{
    AttrValue, BodyId, ElemType, FunctionId, Model, NodeId, TensorId, ValueDef, ValueId, normalize_domain,
};
use onnx_ops::schema::{ElemSet, Lookup, ParamKind, Registry, Schema};
use std::collections::{HashMap, HashSet};

/// Parameters that also accept floats, and whose elements are structure.
const NUMBERS: &[(&str, &str)] = &[
    ("OneHot", "depth"),
    ("Range", "start"),
    ("Range", "limit"),
    ("Range", "delta"),
    ("Resize", "scales"),
    ("Upsample", "scales"),
];
/// Operators whose results do not depend on the elements of their operand.
const OF_SHAPE: &[&str] = &["Shape", "Size"];

type Key<'m> = (&'m str, &'m str, &'m str);

/// Values whose elements are structure.
pub(super) struct Structure(HashSet<(BodyId, ValueId)>);

impl Structure {
    pub(super) fn of(model: &Model, registry: &Registry) -> Structure {
        let mut search = Search::new(model, registry);
        for (body, b) in model.bodies.iter() {
            for node in b.nodes.ids() {
                search.begin(body, node);
            }
        }
        while let Some((body, value)) = search.open.pop() {
            search.follow(body, value);
        }
        Structure(search.found)
    }

    pub(super) fn has(&self, body: BodyId, value: ValueId) -> bool {
        self.0.contains(&(body, value))
    }

    /// The tensors of a body that hold such values: initializers and constants.
    pub(super) fn tensors(&self, model: &Model, body: BodyId) -> HashSet<TensorId> {
        let b = &model.bodies[body];
        let initializers = b.graphs.values().flat_map(|graph| &graph.initializers);
        let initializers = initializers.map(|init| (Some(init.value), init.tensor));
        let constants = b.nodes.values().flat_map(|node| {
            let output = node.outputs.first().copied().flatten();
            let tensors = node.attrs.iter().flat_map(|attr| &attr.values).filter_map(|value| match value {
                AttrValue::Tensor(tensor) => Some(*tensor),
                _ => None,
            });
            tensors.map(move |tensor| (output, tensor))
        });
        let held = initializers.chain(constants);
        held.filter(|(value, _)| value.is_some_and(|value| self.has(body, value))).map(|(_, id)| id).collect()
    }
}

struct Search<'m> {
    model: &'m Model,
    registry: &'m Registry,
    functions: HashMap<Key<'m>, FunctionId>,
    /// The calls of each function.
    calls: HashMap<FunctionId, Vec<(BodyId, NodeId)>>,
    owners: HashMap<BodyId, FunctionId>,
    found: HashSet<(BodyId, ValueId)>,
    open: Vec<(BodyId, ValueId)>,
}

impl<'m> Search<'m> {
    fn new(model: &'m Model, registry: &'m Registry) -> Search<'m> {
        let text = |name| model.text(name);
        let key = |domain, name, overload| (normalize_domain(text(domain)), text(name), text(overload));
        let functions: HashMap<Key<'m>, FunctionId> =
            model.functions.iter().map(|(id, f)| (key(f.domain, f.name, f.overload), id)).collect();
        let mut calls: HashMap<FunctionId, Vec<(BodyId, NodeId)>> = HashMap::new();
        for (body, b) in model.bodies.iter() {
            for (node, n) in b.nodes.iter() {
                if let Some(&f) = functions.get(&key(n.domain, n.op, n.overload)) {
                    calls.entry(f).or_default().push((body, node));
                }
            }
        }
        let owners = model.functions.iter().map(|(id, function)| (function.body, id)).collect();
        Search { model, registry, functions, calls, owners, found: HashSet::new(), open: Vec::new() }
    }

    fn add(&mut self, body: BodyId, value: Option<ValueId>) {
        if let Some(value) = value
            && self.found.insert((body, value))
        {
            self.open.push((body, value));
        }
    }

    fn function(&self, body: BodyId, node: NodeId) -> Option<FunctionId> {
        let n = &self.model.bodies[body].nodes[node];
        let text = |name| self.model.text(name);
        self.functions.get(&(normalize_domain(text(n.domain)), text(n.op), text(n.overload))).copied()
    }

    /// Marks the operands of a node that its operator reads as structure.
    fn begin(&mut self, body: BodyId, node: NodeId) {
        let model = self.model;
        let n = &model.bodies[body].nodes[node];
        let (domain, op) = (normalize_domain(model.text(n.domain)), model.text(n.op));
        let version = model.newest_import(body, domain).unwrap_or(i64::MAX);
        let Lookup::Found(id) = self.registry.lookup(domain, op, version) else { return };
        if self.function(body, node).is_some() {
            return;
        }
        let schema = self.registry.get(id);
        let runs_graphs = model.bodies[body].subgraphs(node).next().is_some();
        for (i, value) in n.inputs.iter().enumerate() {
            if is_structure(schema, i, runs_graphs) {
                self.add(body, *value);
            }
        }
    }

    /// Marks what a value is computed from.
    fn follow(&mut self, body: BodyId, value: ValueId) {
        let b = &self.model.bodies[body];
        match b.values[value].def {
            ValueDef::Initializer(_) | ValueDef::Unbound(_) => {}
            ValueDef::Input(graph) => match b.graphs[graph].owner {
                Some(owner) => b.nodes[owner].inputs.iter().for_each(|&input| self.add(body, input)),
                None => {
                    let at = b.graphs[graph].inputs.iter().position(|port| port.value == Some(value));
                    let calls = self.owners.get(&body).and_then(|f| self.calls.get(f)).cloned();
                    for (caller, node) in calls.unwrap_or_default() {
                        let inputs = &self.model.bodies[caller].nodes[node].inputs;
                        self.add(caller, at.and_then(|at| inputs.get(at).copied().flatten()));
                    }
                }
            },
            ValueDef::Output(node, at) => {
                if let Some(function) = self.function(body, node) {
                    let inner = self.model.functions[function].body;
                    let called = &self.model.bodies[inner];
                    let outputs = called.root().map(|root| &called.graphs[root].outputs);
                    let port = outputs.and_then(|outputs| outputs.get(at as usize));
                    self.add(inner, port.and_then(|port| port.value));
                    return;
                }
                if OF_SHAPE.contains(&self.model.text(b.nodes[node].op)) {
                    return;
                }
                b.nodes[node].inputs.iter().for_each(|&input| self.add(body, input));
                let outputs = b.subgraphs(node).flat_map(|graph| &b.graphs[graph].outputs);
                outputs.for_each(|port| self.add(body, port.value));
            }
        }
    }
}

/// Whether an operator reads the elements of an operand as structure: an operand that can only be integers is, unless it selects
/// elements of another one by indices, which may be others in the same range.
fn is_structure(schema: &Schema, i: usize, runs_graphs: bool) -> bool {
    let param = match schema.inputs.get(i) {
        Some(param) => param,
        None => match schema.inputs.last() {
            Some(last) if matches!(last.kind, ParamKind::Variadic { .. }) => last,
            _ => return false,
        },
    };
    if NUMBERS.contains(&(&*schema.name, &*param.name)) {
        return true;
    }
    let elems = param.types.tensors;
    let name = param.name.to_ascii_lowercase();
    let selects = name.contains("indices") || name.contains("zero_point") || name == "y";
    let is_integers = elems != ElemSet::NONE && elems.iter().all(ElemType::is_integer);
    is_integers && !selects || runs_graphs && elems.single() == Some(ElemType::BOOL)
}
