//! From a model to boxes and wires.
//!
//! Values are resolved when all boxes are there, so nothing depends on the order of nodes: a broken model has a drawing as well. The
//! body of a function is drawn at each call, with values of its own: a scope.

use super::details;
use super::family::Family;
use super::scene::{BoxLine, GroupId, Item, ItemId, Kind, Mark, Reason, Scene, ValueIndex};
use super::{Options, text};
use crate::distribution::Distribution;
use onnx_ir::{
    AttrValue, BodyId, FunctionId, GraphId, Model, NodeId, SecondaryMap, TensorId, TypeId, ValueId,
    normalize_domain,
};
use onnx_ops::infer::{Facts, InferOptions, Ty, infer};
use onnx_ops::schema::{Lookup, ParamKind, Registry};
use std::collections::{HashMap, HashSet};

/// A value of a body that is drawn: functions have a scope for each call.
pub(super) type Key = (usize, ValueId);

/// Calls within calls that are deeper are boxes without contents: a function may call itself.
const MAX_CALLS: usize = 24;
/// Nested graphs that are deeper are not drawn.
const MAX_NESTING: usize = 120;
/// Calls are boxes without contents once there are so many boxes.
const MAX_ITEMS: usize = 20_000;
/// Elements of constants that are shown in boxes, other than floats.
const SHOWN: u64 = 4;

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum ValueSource {
    Item(ItemId),
    /// An initializer, with its type as text.
    Weight(TensorId, String),
    /// A constant in a node, as text.
    Constant(String),
    /// A value of another scope.
    Alias(Key),
}

/// An operand of a box.
pub(super) struct Use {
    pub(super) key: Key,
    pub(super) to: ItemId,
    pub(super) parameter: String,
    pub(super) mark: Mark,
}

/// Makes a scene of a model.
pub(super) struct Builder<'m> {
    pub(super) model: &'m Model,
    registry: &'m Registry,
    pub(super) facts: Facts,
    functions: HashMap<(&'m str, &'m str, &'m str), FunctionId>,
    declared: HashMap<BodyId, SecondaryMap<ValueId, Option<TypeId>>>,
    pub(super) scene: Scene,
    /// The body of each scope.
    pub(super) scopes: Vec<BodyId>,
    pub(super) sources: HashMap<Key, ValueSource>,
    pub(super) uses: Vec<Use>,
    pub(super) indices: HashMap<Key, ValueIndex>,
    pub(super) outside: HashMap<Key, ItemId>,
    pub(super) counted: HashMap<(BodyId, TensorId), Option<Distribution>>,
    /// The boxes of the nodes of the main graph.
    pub(super) items: HashMap<NodeId, ItemId>,
    /// Weights that differ, and how.
    pub(super) changed_weights: HashMap<String, String>,
    pub(super) statistics: bool,
    calls: usize,
    nesting: usize,
}

impl<'m> Builder<'m> {
    pub(super) fn new(model: &'m Model, registry: &'m Registry) -> Self {
        let mut functions = HashMap::new();
        for (id, function) in model.functions.iter() {
            let domain = normalize_domain(model.text(function.domain));
            let key = (domain, model.text(function.name), model.text(function.overload));
            functions.entry(key).or_insert(id);
        }
        Builder {
            model,
            registry,
            functions,
            facts: infer(model, registry, &InferOptions::default()).facts,
            declared: HashMap::new(),
            scene: Scene::new(""),
            scopes: Vec::new(),
            sources: HashMap::new(),
            uses: Vec::new(),
            indices: HashMap::new(),
            outside: HashMap::new(),
            counted: HashMap::new(),
            items: HashMap::new(),
            changed_weights: HashMap::new(),
            statistics: false,
            calls: 0,
            nesting: 0,
        }
    }

    /// The whole scene.
    pub(super) fn scene(mut self, options: &Options) -> Scene {
        self.scene.title.clone_from(&options.title);
        self.statistics = options.statistics;
        self.main(options);
        self.resolve();
        self.scene
    }

    /// The main graph, before values are resolved.
    pub(super) fn main(&mut self, options: &Options) {
        let Some(id) = self.model.main else { return };
        let Some(root) = self.model.bodies[id].root() else { return };
        self.scopes.push(id);
        match &options.nodes {
            None => self.graph(0, root, 0),
            Some(nodes) => self.part(root, nodes),
        }
    }

    /// Some nodes of the main graph, and what leads to and from the others.
    fn part(&mut self, root: GraphId, nodes: &[NodeId]) {
        let body = &self.model.bodies[self.scopes[0]];
        let graph = &body.graphs[root];
        self.weights(0, root);
        let holders = Holders::of(body);
        let requested: HashSet<NodeId> = nodes.iter().map(|&node| holders.outermost(node)).collect();
        let outputs: HashSet<ValueId> = graph.outputs.iter().filter_map(|port| port.value).collect();
        let (mut made, mut leaving) = (HashSet::new(), HashSet::new());
        for &node in graph.nodes.iter().filter(|node| requested.contains(node)) {
            self.node(0, node, 0, None);
            made.extend(body.nodes[node].outputs.iter().flatten().copied());
        }
        for &node in graph.nodes.iter().filter(|node| !requested.contains(node)) {
            let mut read: Vec<ValueId> = body.nodes[node].inputs.iter().flatten().copied().collect();
            let inner = body.subgraphs(node).flat_map(|graph| body.walk_graph(graph).nodes());
            read.extend(inner.flat_map(|inner| body.nodes[inner].inputs.iter().flatten().copied()));
            leaving.extend(read.into_iter().filter(|value| made.contains(value) && !outputs.contains(value)));
        }
        self.outputs(0, root, 0, Some(&made));
        let mut leaving: Vec<ValueId> = leaving.into_iter().collect();
        leaving.sort_unstable();
        for value in leaving {
            let name = self.model.names[body.values[value].name].to_owned();
            let to = self.pill(0, Kind::Outside, &name, String::new());
            self.uses.push(Use { key: (0, value), to, parameter: String::new(), mark: Mark::None });
        }
    }

    /// Whether there are very many boxes.
    pub(super) fn is_large(&self) -> bool {
        self.scene.items.len() >= MAX_ITEMS
    }

    fn graph(&mut self, scope: usize, id: GraphId, group: GroupId) {
        let graph = &self.model.bodies[self.scopes[scope]].graphs[id];
        self.weights(scope, id);
        for port in &graph.inputs {
            let Some(value) = port.value.filter(|value| !self.sources.contains_key(&(scope, *value))) else {
                continue;
            };
            let (name, ty) = (self.model.text(port.name).to_owned(), self.type_text(scope, value));
            let item = self.pill(group, Kind::Input, &name, ty);
            self.sources.insert((scope, value), ValueSource::Item(item));
        }
        let kept: HashSet<ValueId> = graph.outputs.iter().filter_map(|port| port.value).collect();
        for &node in &graph.nodes {
            self.node(scope, node, group, Some(&kept));
        }
        if self.scene.groups[group].reason != Reason::Function {
            self.outputs(scope, id, group, None);
        }
    }

    fn weights(&mut self, scope: usize, id: GraphId) {
        let body = &self.model.bodies[self.scopes[scope]];
        let graph = &body.graphs[id];
        for init in &graph.initializers {
            let text = self.type_text(scope, init.value);
            let text = text + &self.elements(&body.tensors[init.tensor]);
            self.sources.insert((scope, init.value), ValueSource::Weight(init.tensor, text));
        }
        for init in &graph.sparse_initializers {
            let text = self.type_text(scope, init.value);
            self.sources.insert((scope, init.value), ValueSource::Constant(text));
        }
    }

    fn outputs(&mut self, scope: usize, id: GraphId, group: GroupId, of: Option<&HashSet<ValueId>>) {
        for port in &self.model.bodies[self.scopes[scope]].graphs[id].outputs {
            let Some(value) = port.value.filter(|value| of.is_none_or(|of| of.contains(value))) else {
                continue;
            };
            let (name, ty) = (self.model.text(port.name).to_owned(), self.type_text(scope, value));
            let to = self.pill(group, Kind::Output, &name, ty);
            self.uses.push(Use { key: (scope, value), to, parameter: String::new(), mark: Mark::None });
        }
    }

    pub(super) fn pill(&mut self, group: GroupId, kind: Kind, name: &str, ty: String) -> ItemId {
        let mut item = Item::new(group, kind, name);
        item.name = name.to_owned();
        if !ty.is_empty() {
            item.lines.push(BoxLine { label: String::new(), text: ty, link: None });
        }
        self.scene.add(item)
    }

    /// A node, with the graphs that it runs. `kept` are values that have to have a box.
    pub(super) fn node(
        &mut self,
        scope: usize,
        id: NodeId,
        group: GroupId,
        kept: Option<&HashSet<ValueId>>,
    ) -> Option<ItemId> {
        let body_id = self.scopes[scope];
        let body = &self.model.bodies[body_id];
        let node = &body.nodes[id];
        // A constant is a line in the boxes that read it.
        if let Some(text) = self.constant(body_id, id)
            && let Some(value) = node.outputs.first().copied().flatten()
            && !kept.is_some_and(|kept| kept.contains(&value))
        {
            self.sources.insert((scope, value), ValueSource::Constant(text));
            return None;
        }
        // A call or a node with graphs becomes a group, any other node a box.
        let (domain, op) = (normalize_domain(self.model.text(node.domain)), self.model.text(node.op));
        let function = self.function(domain, op, self.model.text(node.overload));
        let graphs: Vec<(String, GraphId)> = node
            .attrs
            .iter()
            .flat_map(|attr| attr.values.iter().flat_map(AttrValue::graphs).map(move |graph| (attr, *graph)))
            .map(|(attr, graph)| (self.model.text(attr.name).to_owned(), graph))
            .collect();
        let is_call = function.is_some() && self.calls < MAX_CALLS && !self.is_large();
        let has_graphs = !graphs.is_empty() && self.nesting < MAX_NESTING;
        let title =
            if domain.is_empty() || function.is_some() { op.to_owned() } else { format!("{domain}.{op}") };
        let item = match (is_call, has_graphs) {
            (true, _) => self.scene.add_group(group, title, Reason::Function),
            (false, true) => self.scene.add_group(group, title, Reason::Subgraph),
            (false, false) => self.scene.add(Item::new(group, Kind::Node, title)),
        };
        let family = if function.is_some() { Family::Function } else { Family::of(domain, op) };
        let detail = details::of(self, scope, body_id, id);
        let made = &mut self.scene.items[item];
        made.family = family;
        made.detail = detail;
        made.name = self.model.text(node.name).to_owned();
        if made.name.is_empty() {
            let first = node.outputs.iter().flatten().next();
            made.name = first.map(|&v| self.model.names[body.values[v].name].to_owned()).unwrap_or_default();
        }
        if scope == 0 {
            self.items.insert(id, item);
        }
        for value in node.outputs.iter().flatten() {
            self.sources.insert((scope, *value), ValueSource::Item(item));
        }
        if let (true, Some(function), Some(inside)) = (is_call, function, self.scene.items[item].group()) {
            self.call(scope, id, function, inside);
            return Some(item);
        }
        // Its operands become wires, and its graphs are drawn inside.
        let parameters = self.parameters(body_id, id);
        for (at, value) in node.inputs.iter().enumerate() {
            let Some(value) = *value else { continue };
            let parameter = parameters.get(at).cloned().unwrap_or_default();
            self.uses.push(Use { key: (scope, value), to: item, parameter, mark: Mark::None });
        }
        if let (true, Some(inside)) = (has_graphs, self.scene.items[item].group()) {
            self.nesting += 1;
            let is_alone = graphs.len() == 1;
            for (name, graph) in graphs {
                let place =
                    if is_alone { item } else { self.scene.add_group(inside, name, Reason::Subgraph) };
                if let Some(place) = self.scene.items[place].group() {
                    self.graph(scope, graph, place);
                }
            }
            self.nesting -= 1;
        }
        Some(item)
    }

    /// The body of a function, at a call.
    fn call(&mut self, scope: usize, node: NodeId, function: FunctionId, group: GroupId) {
        let called = self.model.functions[function].body;
        let Some(root) = self.model.bodies[called].root() else { return };
        let inner = self.scopes.len();
        self.scopes.push(called);
        let graph = &self.model.bodies[called].graphs[root];
        let node = &self.model.bodies[self.scopes[scope]].nodes[node];
        for (port, actual) in graph.inputs.iter().zip(&node.inputs) {
            if let (Some(formal), Some(actual)) = (port.value, *actual) {
                self.sources.insert((inner, formal), ValueSource::Alias((scope, actual)));
            }
        }
        self.calls += 1;
        self.graph(inner, root, group);
        self.calls -= 1;
        for (port, actual) in graph.outputs.iter().zip(&node.outputs) {
            if let (Some(formal), Some(actual)) = (port.value, *actual) {
                self.sources.insert((scope, actual), ValueSource::Alias((inner, formal)));
            }
        }
    }

    fn function(&self, domain: &str, op: &str, overload: &str) -> Option<FunctionId> {
        self.functions.get(&(domain, op, overload)).copied()
    }

    /// The text of a `Constant` that is no more than its value.
    fn constant(&self, body: BodyId, id: NodeId) -> Option<String> {
        let node = self.model.node(body, id);
        if !node.is_op("Constant") || node.outputs.len() != 1 {
            return None;
        }
        let [attr] = &*node.attrs else { return None };
        let value = node.output(0)?;
        let ty = self.facts.get(body, value).ty.text(&self.facts.dims);
        Some(match attr.value()? {
            AttrValue::Tensor(tensor) => ty + &self.elements(&self.model.bodies[body].tensors[*tensor]),
            AttrValue::Int(n) => format!("{ty} {n}"),
            AttrValue::Float(x) => format!("{ty} {x}"),
            _ => ty,
        })
    }

    /// The elements of a small tensor, after its type.
    fn elements(&self, tensor: &onnx_ir::Tensor) -> String {
        // Shapes and axes say more than weights.
        let is_float = tensor.elem.is_none_or(|elem| elem.name().is_none_or(|name| name.contains("float")));
        let max = if is_float { 1 } else { SHOWN };
        if tensor.element_count().is_none_or(|n| n > max) || tensor.is_external() {
            return String::new();
        }
        let printed = onnx_text::print_tensor_of(self.model, tensor, &details::options());
        printed.split_once('{').map(|(_, rest)| format!(" {{{}", text::cut_end(rest, 24))).unwrap_or_default()
    }

    /// The names of the operands of a node, as its operator calls them.
    pub(super) fn parameters(&self, body: BodyId, id: NodeId) -> Vec<String> {
        let node = &self.model.bodies[body].nodes[id];
        let (domain, op) = (self.model.text(node.domain), self.model.text(node.op));
        if let Some(function) = self.function(normalize_domain(domain), op, self.model.text(node.overload)) {
            let called = &self.model.bodies[self.model.functions[function].body];
            let ports = called.root().map(|root| called.graphs[root].inputs.iter()).into_iter().flatten();
            return ports.map(|port| self.model.text(port.name).to_owned()).collect();
        }
        let version = self.model.newest_import(body, domain).unwrap_or(i64::MAX);
        let Lookup::Found(schema) = self.registry.lookup(domain, op, version) else { return Vec::new() };
        let schema = self.registry.get(schema);
        let name = |at: usize| match schema.inputs.get(at.min(schema.inputs.len().checked_sub(1)?)) {
            Some(last) if matches!(last.kind, ParamKind::Variadic { .. }) => Some(String::new()),
            Some(_) if at >= schema.inputs.len() => None,
            parameter => parameter.map(|parameter| parameter.name.to_string()),
        };
        (0..node.inputs.len()).map_while(name).collect()
    }

    /// The type of a value, inferred or declared; empty if nothing is known.
    pub(super) fn type_text(&mut self, scope: usize, value: ValueId) -> String {
        let body = self.scopes[scope];
        let fact = self.facts.resolved(body, value);
        if fact.ty != Ty::Unknown {
            return fact.ty.text(&self.facts.dims);
        }
        let model = self.model;
        let declared = self.declared.entry(body).or_insert_with(|| model.bodies[body].declared_types());
        declared[value].map(|ty| onnx_text::print_type(model, ty, &details::options())).unwrap_or_default()
    }

    /// The body of a scope.
    pub(super) fn begin_scope(&mut self, body: BodyId) {
        self.scopes.push(body);
    }
}

/// The graphs that nodes are in.
pub(super) struct Holders<'b> {
    body: &'b onnx_ir::Body,
    graphs: HashMap<NodeId, GraphId>,
}

impl<'b> Holders<'b> {
    pub(super) fn of(body: &'b onnx_ir::Body) -> Self {
        let mut graphs = HashMap::with_capacity(body.nodes.len());
        for (id, graph) in body.graphs.iter() {
            graphs.extend(graph.nodes.iter().map(|&node| (node, id)));
        }
        Holders { body, graphs }
    }

    /// The node of the outermost graph that a node is in.
    pub(super) fn outermost(&self, mut node: NodeId) -> NodeId {
        while let Some(owner) = self.graphs.get(&node).and_then(|&graph| self.body.graphs[graph].owner) {
            node = owner;
        }
        node
    }
}
