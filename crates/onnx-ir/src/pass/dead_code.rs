//! Dead code elimination.
//!
//! ```text
//! before:  <ir_version: 10, opset_import: ["": 21, "l": 1]>
//!          g (float[N] x) => (float[N] y) <float[1] w = {1}, float[N] u> { t = Abs(x)  u = Mul(t, w)  y = Relu(t) }
//!          <domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }
//! after:   <ir_version: 10, opset_import: ["": 21]>
//!          g (float[N] x) => (float[N] y) { t = Abs(x)  y = Relu(t) }
//! ```
//!
//! A value is used if a used node of any graph reads it, if it is an output of a graph, if training reads or assigns it, if `Gradient` names it, or if a
//! quantization annotation of a used value names it. Inputs of graphs and functions are kept with their defaults, because they
//! are the interface; so are nodes without any output. An ONNX operator has no side effects, so a node without used results is
//! dead.

use super::calls::{Functions, Imports, bodies, nodes};
use super::{Operators, Report, gradient_names, watched};
use crate::body::{Body, Node, ValueDef};
use crate::entity::{PrimaryMap, SecondaryMap};
use crate::ids::{BodyId, FunctionId, GraphId, NodeId, ValueId};
use crate::model::{Model, OpsetImport};
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

type Set<T> = HashSet<T, RandomState>;
type Map<K, V> = HashMap<K, V, RandomState>;

/// Removes unused nodes, initializers and declarations, then functions without calls and imports of domains without nodes. An
/// unused output is omitted if the operator allows it.
pub fn dead_code(model: &mut Model, operators: &dyn Operators) -> Report {
    watched("dead-code", model, |model| {
        let mut counts = Counts::default();
        let functions = Functions::of(model);
        let mut trained = assigned_names(model);
        let mut all = bodies(model);
        if model.main.is_some() {
            all.rotate_left(1); // last, after the uses by training are known
        }
        for (id, function) in all {
            let imports = Imports::within(model, function);
            let body = std::mem::take(&mut model.bodies[id]);
            let mut named: Set<Name> = gradient_names::named(&model.names, &body).into_iter().collect();
            if function.is_none() {
                named.extend(&trained);
            }
            let used = used(&body, &named);
            let may_leave_out = |node: &Node, i: usize| {
                functions.callee(node).is_none()
                    && operators.may_leave_out_output(imports.op_ref(&model.names, node), i)
            };
            let body = cleaned(body, &used, &may_leave_out, &mut counts);
            if function.is_none() && model.main != Some(id) {
                trained.extend(undefined_names(&body));
                trained.extend(gradient_names::named(&model.names, &body));
            }
            model.bodies[id] = body;
        }
        let removed = uncalled(model, &functions);
        let imports = unused_imports(model, operators);
        let mut report = Report::default();
        report.note(counts.nodes, "node", "removed");
        report.note(counts.initializers, "initializer", "removed");
        report.note(counts.outputs, "output", "left out");
        report.note(counts.declarations, "declaration", "removed");
        report.note(removed, "function", "removed");
        report.note(imports, "import", "removed");
        report
    })
}

#[derive(Default)]
struct Counts {
    nodes: usize,
    initializers: usize,
    outputs: usize,
    declarations: usize,
}

/// Names of values of the main graph that trainings assign or read, or that `Gradient` names.
pub(super) fn trained_names(model: &Model) -> Set<Name> {
    let mut names = assigned_names(model);
    let trainings = model.training.iter().flat_map(|info| [info.initialization, info.algorithm]).flatten();
    for body in model.main.into_iter().chain(trainings) {
        names.extend(gradient_names::named(&model.names, &model.bodies[body]));
    }
    for info in &model.training {
        for body in [info.initialization, info.algorithm].into_iter().flatten() {
            names.extend(undefined_names(&model.bodies[body]));
        }
    }
    names
}

/// Names that the bindings of trainings mention.
fn assigned_names(model: &Model) -> Set<Name> {
    let entries =
        model.training.iter().flat_map(|t| t.initialization_bindings.iter().chain(&t.update_bindings));
    entries.flat_map(|e| [e.key, e.value]).flatten().collect()
}

/// Names that the nodes of a body read and that it does not define: those of a training step are of the main graph.
fn undefined_names(body: &Body) -> Set<Name> {
    let inputs = nodes(body).flat_map(|node| node.inputs.iter().flatten());
    let outputs =
        body.root().into_iter().flat_map(|g| &body.graphs[g].outputs).filter_map(|p| p.value.as_ref());
    let values = inputs.chain(outputs).map(|&v| &body.values[v]);
    values.filter(|v| matches!(v.def, ValueDef::Unbound(_))).map(|v| v.name).collect()
}

/// The used entities of a body.
struct Used {
    values: SecondaryMap<ValueId, bool>,
    nodes: SecondaryMap<NodeId, bool>,
    graphs: SecondaryMap<GraphId, bool>,
}

/// A used entity whose dependencies are not yet marked.
enum UsedEntity {
    Value(ValueId),
    Node(NodeId),
    Graph(GraphId),
}

struct Marker<'b> {
    body: &'b Body,
    used: Used,
    /// The values that quantization annotations of a value name.
    annotations: Map<ValueId, Vec<ValueId>>,
    open: Vec<UsedEntity>,
}

fn used(body: &Body, trained: &Set<Name>) -> Used {
    let used = Used {
        values: SecondaryMap::with_len(false, body.values.len()),
        nodes: SecondaryMap::with_len(false, body.nodes.len()),
        graphs: SecondaryMap::with_len(false, body.graphs.len()),
    };
    let mut marker = Marker { body, used, annotations: annotations(body), open: Vec::new() };
    let Some(root) = body.root() else { return marker.used };
    marker.graph(root);
    if !trained.is_empty() {
        for (_, value) in defined(body, root).filter(|(name, _)| trained.contains(name)) {
            marker.value(value);
        }
    }
    marker.spread();
    marker.used
}

/// The values that a graph defines, with their names.
fn defined(body: &Body, graph: GraphId) -> impl Iterator<Item = (Name, ValueId)> {
    let g = &body.graphs[graph];
    let inputs = g.inputs.iter().filter_map(|p| p.value);
    let dense = g.initializers.iter().map(|i| i.value);
    let sparse = g.sparse_initializers.iter().map(|i| i.value);
    let outputs = g.nodes.iter().flat_map(|&n| body.nodes[n].outputs.iter().flatten().copied());
    inputs.chain(dense).chain(sparse).chain(outputs).map(|v| (body.values[v].name, v))
}

fn annotations(body: &Body) -> Map<ValueId, Vec<ValueId>> {
    let mut named: Map<ValueId, Vec<ValueId>> = Map::default();
    for graph in body.walk().graphs().filter(|&g| !body.graphs[g].quantization.is_empty()) {
        let values: Map<Name, ValueId> = defined(body, graph).collect();
        for annotation in &body.graphs[graph].quantization {
            let Some(tensor) = annotation.tensor_name.and_then(|n| values.get(&n)) else { continue };
            let parameters = annotation.parameters.iter().filter_map(|e| values.get(&e.value?).copied());
            named.entry(*tensor).or_default().extend(parameters);
        }
    }
    named
}

impl Marker<'_> {
    fn value(&mut self, value: ValueId) {
        if !std::mem::replace(&mut self.used.values[value], true) {
            self.open.push(UsedEntity::Value(value));
        }
    }

    fn node(&mut self, node: NodeId) {
        if !std::mem::replace(&mut self.used.nodes[node], true) {
            self.open.push(UsedEntity::Node(node));
        }
    }

    fn graph(&mut self, graph: GraphId) {
        if !std::mem::replace(&mut self.used.graphs[graph], true) {
            self.open.push(UsedEntity::Graph(graph));
        }
    }

    /// A value that stays, used or not, and with it what its annotation names.
    fn stays(&mut self, value: ValueId) {
        for named in self.annotations.remove(&value).unwrap_or_default() {
            self.value(named);
        }
    }

    fn spread(&mut self) {
        let body = self.body;
        while let Some(item) = self.open.pop() {
            match item {
                UsedEntity::Value(value) => {
                    self.stays(value);
                    if let ValueDef::Output(node, _) = body.values[value].def {
                        self.node(node);
                    }
                }
                UsedEntity::Node(node) => {
                    body.nodes[node].inputs.iter().flatten().for_each(|&v| self.value(v));
                    body.nodes[node].outputs.iter().flatten().for_each(|&v| self.stays(v));
                    body.subgraphs(node).for_each(|g| self.graph(g));
                }
                UsedEntity::Graph(graph) => {
                    let graph = &body.graphs[graph];
                    graph.inputs.iter().filter_map(|p| p.value).for_each(|v| self.stays(v));
                    graph.outputs.iter().filter_map(|p| p.value).for_each(|v| self.value(v));
                    let without = graph.nodes.iter().filter(|&&n| body.nodes[n].outputs.is_empty());
                    without.for_each(|&n| self.node(n));
                }
            }
        }
    }
}

/// The body without unused entities.
fn cleaned(
    mut body: Body,
    used: &Used,
    may_leave_out: &dyn Fn(&Node, usize) -> bool,
    counts: &mut Counts,
) -> Body {
    let kept: Vec<GraphId> = body.walk().graphs().filter(|&g| used.graphs[g]).collect();
    for id in kept {
        let Body { graphs, nodes, values, .. } = &mut body;
        let graph = &mut graphs[id];
        let mut gone: Set<Name> = Set::default();
        let mut remove = |value: ValueId| {
            gone.insert(values[value].name);
            values[value].def = ValueDef::Unbound(id);
        };
        let before = graph.nodes.len();
        graph.nodes.retain(|&node| {
            let is_used = used.nodes[node];
            let node = &mut nodes[node];
            if is_used {
                let unread = unread_outputs(node, used, may_leave_out);
                counts.outputs += unread.len();
                unread.into_iter().for_each(|i| node.outputs[i].take().into_iter().for_each(&mut remove));
                while node.outputs.last() == Some(&None) && node.outputs.len() > 1 {
                    node.outputs.pop();
                }
            } else {
                node.outputs.iter().flatten().for_each(|&v| remove(v));
            }
            is_used
        });
        counts.nodes += before - graph.nodes.len();

        // The default of an input is not a definition.
        let stays = |value: ValueId| used.values[value] || matches!(values[value].def, ValueDef::Input(_));
        let before = graph.initializers.len() + graph.sparse_initializers.len();
        let dense = graph.initializers.iter().map(|i| i.value);
        let unused = dense.chain(graph.sparse_initializers.iter().map(|i| i.value)).filter(|&v| !stays(v));
        let unused: Set<ValueId> = unused.collect();
        graph.initializers.retain(|i| !unused.contains(&i.value));
        graph.sparse_initializers.retain(|i| !unused.contains(&i.value));
        counts.initializers += before - graph.initializers.len() - graph.sparse_initializers.len();
        for value in unused {
            gone.insert(values[value].name);
            values[value].def = ValueDef::Unbound(id);
        }

        let before = graph.value_info.len();
        let is_defined = |value: ValueId| !matches!(values[value].def, ValueDef::Unbound(_));
        graph.value_info.retain(|port| port.value.is_some_and(is_defined));
        counts.declarations += before - graph.value_info.len();
        graph.quantization.retain(|a| a.tensor_name.is_none_or(|n| !gone.contains(&n)));
    }
    body
}

/// The outputs of a used node that nothing reads or names, and that may be left out.
fn unread_outputs(node: &Node, used: &Used, may_leave_out: &dyn Fn(&Node, usize) -> bool) -> Vec<usize> {
    let is_sharded = node.extra().devices.iter().any(|d| !d.sharding.is_empty());
    if node.outputs.len() < 2 || is_sharded {
        return Vec::new();
    }
    let unread = |(i, value): (usize, &Option<ValueId>)| value.filter(|&v| !used.values[v]).map(|_| i);
    node.outputs.iter().enumerate().filter_map(unread).filter(|&i| may_leave_out(node, i)).collect()
}

/// Removes functions that neither the main graph nor a training calls, directly or through others.
fn uncalled(model: &mut Model, functions: &Functions) -> usize {
    if model.main.is_none() || model.functions.is_empty() {
        return 0;
    }
    let mut called: SecondaryMap<FunctionId, bool> = SecondaryMap::with_len(false, model.functions.len());
    let roots = bodies(model).into_iter().filter(|(_, function)| function.is_none());
    let mut open: Vec<BodyId> = roots.map(|(body, _)| body).collect();
    while let Some(body) = open.pop() {
        for callee in nodes(&model.bodies[body]).filter_map(|node| functions.callee(node)) {
            if !std::mem::replace(&mut called[callee], true) {
                open.push(model.functions[callee].body);
            }
        }
    }
    retain_functions(model, |f| called[f])
}

/// Removes the other functions and returns their number. Ids of functions change.
pub(super) fn retain_functions(model: &mut Model, stays: impl Fn(FunctionId) -> bool) -> usize {
    let before = model.functions.len();
    let mut kept = PrimaryMap::new();
    let functions = std::mem::take(&mut model.functions);
    for (f, function) in functions.ids().zip(functions.into_values()) {
        if stays(f) {
            kept.push(function);
        } else {
            model.bodies[function.body] = Body::default();
        }
    }
    model.functions = kept;
    before - model.functions.len()
}

/// Removes imports of domains that no node uses and that define no operator of another domain. The default domain is kept.
fn unused_imports(model: &mut Model, operators: &dyn Operators) -> usize {
    let mut all: Set<Name> = Set::default();
    let mut removed = 0;
    for (body, function) in bodies(model) {
        let imports = Imports::within(model, function);
        let names = &model.names;
        let known_by = |node: &Node| names.find(operators.known_by(imports.op_ref(names, node))?);
        let needed = |node: &Node| std::iter::once(imports.domain(node.domain)).chain(known_by(node));
        let own: Set<Name> = nodes(&model.bodies[body]).flat_map(needed).collect();
        if let Some(function) = function {
            removed += retain_imports(&mut model.functions[function].opset_imports, &imports, &own);
        }
        all.extend(own);
    }
    let imports = Imports::within(model, None);
    removed + retain_imports(&mut model.header.opset_imports, &imports, &all)
}

/// A list of imports may not become empty: a model has at least one.
fn retain_imports(list: &mut Vec<OpsetImport>, imports: &Imports, used: &Set<Name>) -> usize {
    let is_used = |import: &OpsetImport| {
        let domain = imports.domain(import.domain);
        domain.is_empty() || used.contains(&domain)
    };
    let before = list.len();
    if list.iter().any(is_used) {
        list.retain(is_used);
    }
    before - list.len()
}
