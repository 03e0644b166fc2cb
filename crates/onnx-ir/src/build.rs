//! Makes bodies: [`GraphBuilder`] for programs that make models, and [`BodyBuilder`] for readers, which fills a body in document order
//! and resolves names.
//!
//! ```
//! use onnx_ir::{BodyBuilder, DimValue, ElemType, Model, NodeSpec};
//!
//! let mut model = Model::new();
//! model.header.ir_version = Some(10);
//! let float3 = model.types.tensor(ElemType::FLOAT, [DimValue::Value(3)]);
//!
//! // g (float[3] x) => (float[3] y) { y = Relu(x) }
//! let mut b = BodyBuilder::new(&mut model);
//! let name = b.name("g");
//! b.begin_graph(Some(name), None);
//! let x = b.name("x");
//! b.input(x, Some(float3));
//! let (relu, y) = (b.name("Relu"), b.name("y"));
//! let node = b.begin_node(NodeSpec { op: Some(relu), ..NodeSpec::default() }, [x]);
//! b.end_node(node, [y]);
//! b.output(y, Some(float3));
//! b.end_graph();
//! let main = b.finish();
//! model.main = Some(main);
//! assert_eq!(model.bodies[main].nodes.len(), 1);
//! ```

mod graph;
mod new_node;

pub use graph::GraphBuilder;
pub use new_node::NewNode;
pub(crate) use new_node::NodeHost;

use crate::attr::Attr;
use crate::body::*;
use crate::entity::EntityId as _;
use crate::ids::{BodyId, GraphId, NodeId, TensorId, TypeId, ValueId};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::tensor::{SparseTensor, Tensor};
use crate::types::Types;

/// The names of a node and its operator.
#[derive(Clone, Copy, Default, Debug)]
pub struct NodeSpec {
    /// Name of the node.
    pub name: Option<Name>,
    /// `op_type`.
    pub op: Option<Name>,
    /// Domain of the operator.
    pub domain: Option<Name>,
    /// Overload of a function.
    pub overload: Option<Name>,
    /// The origin of the node.
    pub origin: Origin,
}

/// Fills one body. Graphs nest: between [`begin_node`](Self::begin_node) and [`end_node`](Self::end_node) there may be graphs,
/// whose nodes see the names of the enclosing ones.
///
/// In a graph, call in this order: inputs, initializers, nodes, outputs, value infos.
pub struct BodyBuilder<'m> {
    /// The model's names.
    pub names: &'m mut Names,
    /// The model's types.
    pub types: &'m mut Types,
    bodies: &'m mut crate::PrimaryMap<BodyId, Body>,
    filling: Box<Filling>,
}

/// A body that is being filled.
#[derive(Default)]
struct Filling {
    body: Body,
    /// The visible value of each name.
    visible: Visible,
    /// Shadowed entries of `visible`, to restore at the end of a graph.
    log: Vec<(Name, Option<ValueId>)>,
    scopes: Vec<Scope>,
}

/// A [`BodyBuilder`] that does not borrow its model, between two calls of who reads a text in pieces.
pub struct PausedBody(Box<Filling>);

impl PausedBody {
    /// The builder again, of the model that it was paused in.
    #[inline]
    pub fn resume(self, model: &mut Model) -> BodyBuilder<'_> {
        let Model { names, types, bodies, .. } = model;
        BodyBuilder { names, types, bodies, filling: self.0 }
    }
}

/// A value for each name, in pages: of all the names of a model, a body has a few, and a model may have as many bodies
/// as names.
#[derive(Default)]
struct Visible(Vec<Option<Box<Page>>>);

/// Names of a page.
const PAGE: usize = 128;
type Page = [Option<ValueId>; PAGE];

impl Visible {
    #[inline]
    fn slot(&mut self, name: Name) -> &mut Option<ValueId> {
        let (page, at) = (name.index() / PAGE, name.index() % PAGE);
        if page >= self.0.len() {
            self.0.resize_with(page + 1, || None);
        }
        &mut self.0[page].get_or_insert_with(|| Box::new([None; PAGE]))[at]
    }
}

struct Scope {
    graph: GraphId,
    log_start: usize,
}

impl<'m> BodyBuilder<'m> {
    /// Starts a new body of `model`.
    pub fn new(model: &'m mut Model) -> Self {
        Self::of_parts(&mut model.names, &mut model.types, &mut model.bodies)
    }

    fn of_parts(
        names: &'m mut Names,
        types: &'m mut Types,
        bodies: &'m mut crate::PrimaryMap<BodyId, Body>,
    ) -> Self {
        Self { names, types, bodies, filling: Box::default() }
    }

    /// Releases the model, to be continued by [`PausedBody::resume`].
    #[inline]
    pub fn pause(self) -> PausedBody {
        PausedBody(self.filling)
    }

    /// Makes room for as many nodes and values more, where a reader knows about how many will come.
    pub fn reserve(&mut self, nodes: usize, values: usize) {
        self.filling.body.nodes.reserve(nodes);
        self.filling.body.origins.reserve(nodes);
        self.filling.body.values.reserve(values);
    }

    /// Interns a name.
    pub fn name(&mut self, text: &str) -> Name {
        self.names.intern(text)
    }

    /// The body so far.
    pub fn body(&self) -> &Body {
        &self.filling.body
    }

    /// The body so far, for what has no method here (attributes, documentation, metadata).
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.filling.body
    }

    /// Adds the body to the model.
    pub fn finish(mut self) -> BodyId {
        debug_assert!(self.filling.scopes.is_empty(), "every graph has ended");
        self.filling.body.fit();
        self.bodies.push(self.filling.body)
    }

    /// Begins the root graph, or a graph of the node that is being built.
    pub fn begin_graph(&mut self, name: Option<Name>, owner: Option<NodeId>) -> GraphId {
        let graph = self.filling.body.graphs.push(Graph { name, owner, ..Graph::default() });
        self.filling.scopes.push(Scope { graph, log_start: self.filling.log.len() });
        graph
    }

    /// Ends the innermost graph. Names that it used and nothing has defined yet may still be defined by the
    /// enclosing one.
    pub fn end_graph(&mut self) {
        let Some(scope) = self.filling.scopes.pop() else { return };
        let Some(outer) = self.filling.scopes.last().map(|s| s.graph) else {
            // Nothing was visible before the root began.
            self.filling.visible = Visible::default();
            self.filling.log.clear();
            return;
        };
        let mut kept = Vec::new();
        // From the newest to the oldest, so that a name logged twice gets its first value back.
        while self.filling.log.len() > scope.log_start
            && let Some((name, before)) = self.filling.log.pop()
        {
            let unbound = self.filling.visible.slot(name).filter(|&v| {
                self.filling.body.values[v].def == ValueDef::Unbound(scope.graph) && before.is_none()
            });
            if let Some(value) = unbound {
                self.filling.body.values[value].def = ValueDef::Unbound(outer);
                kept.push((name, None));
            } else {
                *self.filling.visible.slot(name) = before;
            }
        }
        self.filling.log.extend(kept.into_iter().rev());
    }

    #[inline]
    fn graph(&self) -> GraphId {
        self.filling.scopes.last().expect("a graph has begun").graph
    }

    /// The graph that is being filled.
    #[inline]
    pub fn current_graph(&mut self) -> &mut Graph {
        let graph = self.graph();
        &mut self.filling.body.graphs[graph]
    }

    #[inline]
    fn show(&mut self, name: Name, value: ValueId) {
        let slot = self.filling.visible.slot(name);
        let before = slot.replace(value);
        self.filling.log.push((name, before));
    }

    /// Restores the previous meaning of a name in the current graph, so that its value is reachable only by id.
    fn hide(&mut self, name: Name) {
        *self.filling.visible.slot(name) = None;
    }

    /// Whether `graph` is the current one (a value defined there belongs to it).
    fn is_here(&self, def: ValueDef) -> bool {
        let here = self.graph();
        match def {
            ValueDef::Input(g) | ValueDef::Initializer(g) | ValueDef::Unbound(g) => g == here,
            ValueDef::Output(node, _) => self.owner_of(node) == Some(here),
        }
    }

    fn owner_of(&self, node: NodeId) -> Option<GraphId> {
        // A visible output belongs to a graph that is still open; its node is in that graph's list. Open graphs are
        // few, and nodes are created in order, so the innermost graph whose first node is not after it owns it.
        self.filling
            .scopes
            .iter()
            .rev()
            .find(|s| self.filling.body.graphs[s.graph].nodes.first().is_some_and(|&first| first <= node))
            .map(|s| s.graph)
    }

    /// Defines a name in the current graph: binds uses that came before, or makes a new value.
    #[inline]
    fn define(&mut self, name: Name, def: ValueDef) -> ValueId {
        if name.is_empty() {
            return self.filling.body.values.push(Value { name, def });
        }
        let here = self.graph();
        let shown = *self.filling.visible.slot(name);
        match shown {
            Some(value) if self.filling.body.values[value].def == ValueDef::Unbound(here) => {
                self.filling.body.values[value].def = def;
                value
            }
            _ => {
                let value = self.filling.body.values.push(Value { name, def });
                self.show(name, value);
                value
            }
        }
    }

    /// The visible value of a name; `None` for the empty name. An undefined name becomes an unbound value.
    #[inline]
    pub fn resolve(&mut self, name: Name) -> Option<ValueId> {
        if name.is_empty() {
            return None;
        }
        if let Some(value) = *self.filling.visible.slot(name) {
            return Some(value);
        }
        let def = ValueDef::Unbound(self.graph());
        let value = self.filling.body.values.push(Value { name, def });
        self.show(name, value);
        Some(value)
    }

    /// Adds an input to the current graph.
    pub fn input(&mut self, name: Name, ty: Option<TypeId>) -> ValueId {
        self.input_port(Port { name: Some(name), ty, ..Port::default() })
    }

    /// Adds an input with its full declaration; `port.value` is set.
    pub fn input_port(&mut self, mut port: Port) -> ValueId {
        let graph = self.graph();
        let value = self.define(port.name.unwrap_or(Name::empty()), ValueDef::Input(graph));
        port.value = Some(value);
        self.filling.body.graphs[graph].inputs.push(port);
        value
    }

    /// Adds an output to the current graph.
    pub fn output(&mut self, name: Name, ty: Option<TypeId>) -> Option<ValueId> {
        self.output_port(Port { name: Some(name), ty, ..Port::default() })
    }

    /// Adds an output with its full declaration; `port.value` is set.
    pub fn output_port(&mut self, mut port: Port) -> Option<ValueId> {
        port.value = port.name.and_then(|n| self.resolve(n));
        let value = port.value;
        self.current_graph().outputs.push(port);
        value
    }

    /// Adds an entry of `value_info`; it is tied to a value only if this graph defines one of that name.
    pub fn value_info(&mut self, mut port: Port) {
        port.value = port
            .name
            .filter(|n| !n.is_empty())
            .and_then(|n| *self.filling.visible.slot(n))
            .filter(|&v| self.is_here(self.filling.body.values[v].def));
        self.current_graph().value_info.push(port);
    }

    /// Stores a tensor of an attribute or a sparse tensor.
    pub fn tensor(&mut self, tensor: Tensor) -> TensorId {
        self.filling.body.tensors.push(tensor)
    }

    /// Adds an initializer: a default for the input of its name, or a value of its own.
    pub fn initializer(&mut self, tensor: Tensor) -> ValueId {
        let value = self.initialized(tensor.name.unwrap_or(Name::empty()));
        let tensor = self.filling.body.tensors.push(tensor);
        self.current_graph().initializers.push(Initializer { value, tensor });
        value
    }

    /// Adds a sparse initializer; its name is that of its values.
    pub fn sparse_initializer(&mut self, tensor: SparseTensor) -> ValueId {
        let name = tensor.values.and_then(|t| self.filling.body.tensors[t].name).unwrap_or(Name::empty());
        let value = self.initialized(name);
        self.current_graph().sparse_initializers.push(SparseInitializer { value, tensor });
        value
    }

    fn initialized(&mut self, name: Name) -> ValueId {
        let here = self.graph();
        if !name.is_empty()
            && let Some(value) = *self.filling.visible.slot(name)
            && matches!(self.filling.body.values[value].def, ValueDef::Input(g) | ValueDef::Initializer(g) if g == here)
        {
            return value;
        }
        self.define(name, ValueDef::Initializer(here))
    }

    /// Begins a node at the end of the current graph. Its attributes, nested graphs included, follow; then
    /// [`end_node`](Self::end_node).
    pub fn begin_node(&mut self, spec: NodeSpec, inputs: impl IntoIterator<Item = Name>) -> NodeId {
        let NodeSpec { name, op, domain, overload, origin } = spec;
        let make = || Node { name, op, domain, overload, ..Node::default() };
        let node = self.filling.body.nodes.push_with(make);
        for name in inputs {
            let value = self.resolve(name);
            self.filling.body.nodes[node].inputs.push(value);
        }
        if origin != Origin::NONE {
            self.filling.body.origins[node] = origin;
        }
        self.current_graph().nodes.push(node);
        node
    }

    /// Ends a node: its outputs become visible to later nodes. An empty name is an omitted output.
    pub fn end_node(&mut self, node: NodeId, outputs: impl IntoIterator<Item = Name>) {
        self.filling.body.nodes[node].outputs.clear();
        for (i, name) in outputs.into_iter().enumerate() {
            let position = u32::try_from(i).expect("a node has fewer than 2^32 outputs");
            let value = (!name.is_empty()).then(|| self.define(name, ValueDef::Output(node, position)));
            self.filling.body.nodes[node].outputs.push(value);
        }
    }

    /// Adds an attribute to a node.
    pub fn attr(&mut self, node: NodeId, attr: Attr) {
        self.filling.body.nodes[node].attrs.push(attr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::FromIndex as _;

    /// `"t = x"` lines, `"{"` and `"}"` around nested graphs; returns the body.
    fn body(lines: &[&str]) -> (Model, BodyId) {
        let mut model = Model::new();
        let mut b = BodyBuilder::new(&mut model);
        b.begin_graph(None, None);
        let mut open = Vec::new();
        for line in lines {
            match *line {
                "{" => {
                    let node = b.begin_node(NodeSpec::default(), []);
                    open.push(node);
                    b.begin_graph(None, Some(node));
                }
                "}" => {
                    b.end_graph();
                    let node = open.pop().expect("balanced");
                    b.end_node(node, []);
                }
                line => {
                    let (out, arg) = line.split_once(" = ").expect("an assignment");
                    let (out, arg) = (b.name(out), b.name(arg));
                    let node = b.begin_node(NodeSpec::default(), [arg]);
                    b.end_node(node, [out]);
                }
            }
        }
        b.end_graph();
        let id = b.finish();
        (model, id)
    }

    fn defs(model: &Model, body: BodyId) -> Vec<(String, ValueDef)> {
        model.bodies[body].values.values().map(|v| (model.names[v.name].to_owned(), v.def)).collect()
    }

    #[test]
    fn a_use_before_the_definition_is_the_same_value() {
        let (m, b) = body(&["y = t", "t = x"]);
        let body = &m.bodies[b];
        let [y, t] = [0, 1].map(|i| &body.nodes[NodeId::from_index(i)]);
        assert_eq!(y.inputs[0], t.outputs[0]);
        assert_eq!(body.values[y.inputs[0].unwrap()].def, ValueDef::Output(NodeId::from_index(1), 0));
    }

    #[test]
    fn a_capture_is_the_outer_value_even_if_defined_later() {
        let (m, b) = body(&["{", "a = t", "}", "t = x", "{", "b = t", "}"]);
        let body = &m.bodies[b];
        let uses: Vec<_> = body.nodes.values().filter_map(|n| n.inputs.first().copied().flatten()).collect();
        assert_eq!(uses[0], uses[2]);
        assert!(matches!(body.values[uses[0]].def, ValueDef::Output(..)));
    }

    #[test]
    fn a_capture_goes_through_graphs_that_define_other_names() {
        let (m, b) = body(&["{", "{", "a = b", "b = t", "}", "}", "t = x", "c = b"]);
        let body = &m.bodies[b];
        let read = |i| body.nodes[NodeId::from_index(i)].inputs[0];
        let t = body.nodes[NodeId::from_index(4)].outputs[0];
        assert_eq!(read(3), t);
        assert_ne!(read(5), read(2));
    }

    #[test]
    fn names_of_a_nested_graph_end_with_it() {
        let (m, b) = body(&["{", "t = x", "}", "y = t"]);
        let d = defs(&m, b);
        assert_eq!(d.iter().filter(|(n, _)| n == "t").count(), 2);
        assert_eq!(d.iter().filter(|(_, d)| matches!(d, ValueDef::Unbound(_))).count(), 2);
    }

    #[test]
    fn an_unbound_outer_name_is_not_bound_by_a_nested_definition() {
        let (m, b) = body(&["y = t", "{", "t = x", "z = t", "}", "w = t"]);
        let body = &m.bodies[b];
        let n = |i| body.nodes[NodeId::from_index(i)].inputs[0];
        assert_eq!(n(0), n(4));
        assert_ne!(n(0), n(3));
    }

    #[test]
    fn a_second_definition_is_a_second_value() {
        let (m, b) = body(&["y = x", "y = x", "z = y"]);
        let body = &m.bodies[b];
        let node = |i| &body.nodes[NodeId::from_index(i)];
        assert_ne!(node(0).outputs, node(1).outputs);
        assert_eq!(node(2).inputs[0], node(1).outputs[0]);
    }
}
