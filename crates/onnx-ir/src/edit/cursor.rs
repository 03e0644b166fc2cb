//! A place among the nodes of a graph, where nodes are inserted and removed.

use super::{Use, drop_declarations};
use crate::body::{Body, Initializer, Node, Origin, Value, ValueDef};
use crate::build::{NewNode, NodeHost, NodeSpec};
use crate::entity::SecondaryMap;
use crate::ids::{BodyId, GraphId, NodeId, ValueId};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::node::NodeRef;
use crate::tensor::Tensor;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A position among the nodes of one graph, where nodes can be inserted and removed in constant time.
///
/// The cursor is at a node, or before the first or after the last one. Until it moves to another graph or is dropped, the list of
/// its graph ([`Body::graphs`]) is unchanged: insertions and removals are applied then, and [`nodes`](Self::nodes) includes them
/// before.
///
/// A pass edits while it moves. Inserted nodes get the origin of the current node, so that they refer to the user's line. Unused
/// values and removed nodes remain in the arenas, but are not part of the graph and are not written.
///
/// - [`Cursor::replace`] replaces a node by several. Its results keep their names and ids, so nothing else changes.
/// - [`Cursor::replace_uses`] redirects the readers of a value to another one, for example to remove a node. It needs the
///   [`Uses`](crate::Uses), which a pass computes once.
///
/// This pass replaces `Neg` by a multiplication:
///
/// ```text
/// before:  g (float[3] x) => (float[3] y)                      { t = Neg(x)            y = Relu(t) }
/// after:   g (float[3] x) => (float[3] y) <float minus = {-1}> { t = Mul(x, minus)     y = Relu(t) }
/// ```
/// ```
/// use onnx_ir::{Cursor, GraphBuilder, Model, Tensor};
///
/// let mut model = Model::of_opset(21);
/// let mut b = GraphBuilder::main(&mut model, "g");
/// let x = b.input("x", None);
/// let t = b.op("Neg", [x]);
/// let y = b.op("Relu", [t]);
/// b.output("y", y, None);
/// let main = b.finish();
///
/// let mut cursor = Cursor::new(&mut model, main);
/// while cursor.next_node().is_some() {
///     let Some(x) = cursor.node_ref().filter(|node| node.is_op("Neg")).and_then(|node| node.input(0)) else { continue };
///     let minus = cursor.add_initializer("minus", Tensor::scalar(-1f32));
///     let product = cursor.op("Mul", [x, minus]);
///     cursor.replace([product]);
/// }
/// drop(cursor); // lists the nodes
///
/// let operators: Vec<&str> = model.walk_main().map(|node| node.op()).collect();
/// assert_eq!(operators, ["Mul", "Relu"]);
/// ```
pub struct Cursor<'m> {
    pub(super) model: &'m mut Model,
    pub(super) body: BodyId,
    pub(super) graph: GraphId,
    /// The nodes before the current one, as they will be listed.
    before: Vec<NodeId>,
    pub(super) current: Option<NodeId>,
    /// Nodes inserted after the current one.
    inserted: Vec<NodeId>,
    /// The number of listed nodes up to the current one.
    passed: usize,
    /// Whether nodes were inserted or removed in this graph.
    pub(super) is_changed: bool,
    /// The nodes and graphs from here on were made since the cursor came to its place.
    pub(super) arrival: (NodeId, GraphId),
    origin: Origin,
    /// The graphs that are still to be visited, in order.
    following: Option<VecDeque<GraphId>>,
    /// The graphs of inserted nodes.
    pub(super) homes: SecondaryMap<NodeId, Option<GraphId>>,
    /// The places that read a value since [`replace_uses`](Cursor::replace_uses) gave it to them: no [`Uses`](super::Uses) lists these.
    pub(super) moved: HashMap<ValueId, Vec<Use>, RandomState>,
    /// Whether values have become undefined.
    pub(super) has_removed: bool,
}

impl<'m> Cursor<'m> {
    /// Before the first node of a body's outermost graph.
    ///
    /// # Panics
    /// If the body has no graph.
    pub fn new(model: &'m mut Model, body: BodyId) -> Self {
        let graph = model.bodies[body].root().expect("a body to edit has a graph");
        let arrival = (model.bodies[body].nodes.next_id(), model.bodies[body].graphs.next_id());
        Cursor {
            model,
            body,
            graph,
            before: Vec::new(),
            current: None,
            inserted: Vec::new(),
            passed: 0,
            is_changed: false,
            arrival,
            origin: Origin::NONE,
            following: None,
            homes: SecondaryMap::default(),
            moved: HashMap::default(),
            has_removed: false,
        }
    }

    /// Moves before the first node of a graph of the same body.
    pub fn goto_graph(&mut self, graph: GraphId) {
        self.put_back();
        self.graph = graph;
        self.arrive();
    }

    /// Moves before the first node of the graph that follows in document order. Returns whether there is one. Graphs that were made
    /// since this was first called are not visited.
    ///
    /// To visit all nodes of a body, nested graphs included:
    ///
    /// ```
    /// # use onnx_ir::Cursor;
    /// # fn visit(mut cursor: Cursor<'_>) {
    /// loop {
    ///     while let Some(node) = cursor.next_node() {
    ///         // …
    /// #       _ = node;
    ///     }
    ///     if !cursor.goto_next_graph() {
    ///         break;
    ///     }
    /// }
    /// # }
    /// ```
    pub fn goto_next_graph(&mut self) -> bool {
        self.put_back();
        let (body, graph) = (&self.model.bodies[self.body], self.graph);
        let following = || body.walk().graphs().skip_while(|other| *other != graph).skip(1).collect();
        let next = self.following.get_or_insert_with(following).pop_front();
        self.graph = next.unwrap_or(graph);
        self.arrive();
        next.is_some()
    }

    /// Moves to the next node and returns it; after the last, there is none. Nodes that the cursor inserted are
    /// passed over.
    pub fn next_node(&mut self) -> Option<NodeId> {
        self.before.extend(self.current.take());
        self.before.append(&mut self.inserted);
        self.current = self.body().graphs[self.graph].nodes.get(self.passed).copied();
        self.passed += usize::from(self.current.is_some());
        self.arrival = (self.body().nodes.next_id(), self.body().graphs.next_id());
        if let Some(node) = self.current {
            self.origin = self.body().origins[node];
        }
        self.current
    }

    /// Moves past the last node, where [`insert`](Self::insert) appends.
    pub fn goto_end(&mut self) {
        while self.next_node().is_some() {}
    }

    /// Moves to a node of a graph of the same body; returns whether the graph has it. If not, the cursor is after the last node.
    ///
    /// ```
    /// # use onnx_ir::{Cursor, GraphBuilder, Model};
    /// # let mut model = Model::of_opset(21);
    /// # let mut b = GraphBuilder::main(&mut model, "g");
    /// # let x = b.input("x", None);
    /// # let t = b.op("Neg", [x]);
    /// # let y = b.op("Relu", [t]);
    /// # b.output("y", y, None);
    /// # let main = b.finish();
    /// let graph = model.bodies[main].root().unwrap();
    /// let relu = model.bodies[main].graphs[graph].nodes[1];
    /// let mut cursor = Cursor::new(&mut model, main);
    /// assert!(cursor.goto_node(graph, relu));
    /// cursor.op("Abs", [x]);
    /// drop(cursor);
    /// assert_eq!(model.walk_main().map(|node| node.op()).collect::<Vec<_>>(), ["Neg", "Abs", "Relu"]);
    /// ```
    pub fn goto_node(&mut self, graph: GraphId, node: NodeId) -> bool {
        self.goto_graph(graph);
        let listed = &self.model.bodies[self.body].graphs[graph].nodes;
        let at = listed.iter().position(|&other| other == node);
        self.before.extend_from_slice(&listed[..at.unwrap_or(listed.len())]);
        self.passed = self.before.len();
        if at.is_some() {
            self.next_node();
        }
        at.is_some()
    }

    /// The current node.
    pub fn node(&self) -> Option<NodeId> {
        self.current
    }

    /// The current node, with its model.
    pub fn node_ref(&self) -> Option<NodeRef<'_>> {
        self.current.map(|node| self.model.node(self.body, node))
    }

    /// The nodes of the graph with insertions and removals applied.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let listed = &self.body().graphs[self.graph].nodes;
        let rest = listed.get(self.passed..).unwrap_or_default();
        self.before.iter().chain(self.current.as_slice()).chain(&self.inserted).chain(rest).copied()
    }

    /// The graph that the cursor is in.
    pub fn graph(&self) -> GraphId {
        self.graph
    }

    /// The body. The cursor's graph lists the nodes that it had when the cursor came.
    pub fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    /// The body, for changes that have no method here.
    pub fn body_mut(&mut self) -> &mut Body {
        &mut self.model.bodies[self.body]
    }

    /// The model, for its types and header.
    pub fn model(&self) -> &Model {
        self.model
    }

    /// Interns a name.
    pub fn name(&mut self, text: &str) -> Name {
        self.model.names.intern(text)
    }

    /// The text of an optional name, `""` if it is absent.
    pub fn text(&self, name: Option<Name>) -> &str {
        self.model.text(name)
    }

    /// A name that nothing in the model has, nested graphs and functions included: `stem`, or `stem_1` and so on.
    pub fn fresh_name(&mut self, stem: &str) -> Name {
        self.model.names.fresh(stem)
    }

    /// The origin that inserted nodes get: that of the current node, unless it was set since.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sets the origin of inserted nodes, until the cursor moves.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Inserts a node before the current one. Each name of `outputs` becomes a new value; the empty name is an omitted output.
    pub fn insert(
        &mut self,
        spec: NodeSpec,
        inputs: impl IntoIterator<Item = Option<ValueId>>,
        outputs: impl IntoIterator<Item = Name>,
    ) -> NodeId {
        let node = self.make(spec, inputs, outputs);
        self.before.push(node);
        self.is_changed = true;
        node
    }

    /// Inserts a node after the current one and after those inserted there before.
    pub fn insert_after(
        &mut self,
        spec: NodeSpec,
        inputs: impl IntoIterator<Item = Option<ValueId>>,
        outputs: impl IntoIterator<Item = Name>,
    ) -> NodeId {
        let node = self.make(spec, inputs, outputs);
        self.inserted.push(node);
        self.is_changed = true;
        node
    }

    fn make(
        &mut self,
        spec: NodeSpec,
        inputs: impl IntoIterator<Item = Option<ValueId>>,
        outputs: impl IntoIterator<Item = Name>,
    ) -> NodeId {
        let NodeSpec { name, op, domain, overload, origin } = spec;
        let origin = if origin == Origin::NONE { self.origin } else { origin };
        let body = &mut self.model.bodies[self.body];
        let inputs = inputs.into_iter().collect();
        let node = body.nodes.push(Node { name, op, domain, overload, inputs, ..Node::default() });
        body.origins[node] = origin;
        self.homes[node] = Some(self.graph);
        let values = &mut body.values;
        body.nodes[node].outputs = (0u32..)
            .zip(outputs)
            .map(|(i, name)| {
                (!name.is_empty()).then(|| values.push(Value { name, def: ValueDef::Output(node, i) }))
            })
            .collect();
        node
    }

    /// An output of a node, unless it is omitted.
    pub fn result(&self, node: NodeId, i: usize) -> Option<ValueId> {
        self.body().nodes[node].outputs.get(i).copied().flatten()
    }

    /// Inserts a node of ai.onnx before the current one and returns its only result, which has a fresh name.
    ///
    /// `cursor.op("Mul", [x, y])` is all there is to it; [`node`](Self::insert_node) is for nodes that have more.
    pub fn op(&mut self, op: &str, inputs: impl IntoIterator<Item = impl Into<Option<ValueId>>>) -> ValueId {
        self.insert_node(op).inputs(inputs).value()
    }

    /// Begins a node before the current one, to be completed by the methods of [`NewNode`].
    pub fn insert_node(&mut self, op: &str) -> NewNode<'_, Self> {
        NewNode::begin(self, op)
    }

    /// Removes the current node and returns it. Its outputs become undefined, so replace their uses first; declarations of
    /// them go with the cursor.
    pub fn remove(&mut self) -> Option<NodeId> {
        let node = self.current.take()?;
        self.is_changed = true;
        let (graph, body) = (self.graph, &mut self.model.bodies[self.body]);
        for value in body.nodes[node].outputs.iter().flatten() {
            // A replacement may define the value now.
            if matches!(body.values[*value].def, ValueDef::Output(by, _) if by == node) {
                body.values[*value].def = ValueDef::Unbound(graph);
                self.has_removed = true;
            }
        }
        Some(node)
    }

    /// Adds an initializer of a fresh name to the graph.
    pub fn add_initializer(&mut self, stem: &str, tensor: Tensor) -> ValueId {
        let (name, graph) = (self.fresh_name(stem), self.graph);
        let body = self.body_mut();
        let value = body.values.push(Value { name, def: ValueDef::Initializer(graph) });
        let tensor = body.tensors.push(Tensor { name: Some(name), ..tensor });
        body.graphs[graph].initializers.push(Initializer { value, tensor });
        value
    }

    /// Moves before the first node of the graph.
    fn arrive(&mut self) {
        self.passed = 0;
        self.arrival = (self.body().nodes.next_id(), self.body().graphs.next_id());
    }

    /// Lists the nodes of the graph as they are now.
    fn put_back(&mut self) {
        self.before.extend(self.current.take());
        self.before.append(&mut self.inserted);
        let (graph, passed) = (self.graph, self.passed);
        let nodes = &mut self.model.bodies[self.body].graphs[graph].nodes;
        if std::mem::take(&mut self.is_changed) {
            self.before.extend(nodes.get(passed..).unwrap_or_default());
            *nodes = std::mem::take(&mut self.before);
        }
        self.before.clear();
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        self.put_back();
        if self.has_removed {
            drop_declarations(self.body_mut());
        }
    }
}

impl NodeHost for Cursor<'_> {
    fn begin(&mut self, op: &str) -> NodeId {
        let op = Some(self.name(op));
        self.insert(NodeSpec { op, ..NodeSpec::default() }, [], [])
    }

    fn parts(&mut self) -> (&mut Names, &mut Body) {
        (&mut self.model.names, &mut self.model.bodies[self.body])
    }

    fn output(&mut self, node: NodeId, name: Option<&str>, stem: &str) -> ValueId {
        let name = match name {
            Some(name) => self.name(name),
            None => self.fresh_name(stem),
        };
        let node_outputs = &self.body().nodes[node].outputs;
        let at = u32::try_from(node_outputs.len()).expect("a node has fewer than 2^32 outputs");
        let body = self.body_mut();
        let value = body.values.push(Value { name, def: ValueDef::Output(node, at) });
        body.nodes[node].outputs.push(Some(value));
        value
    }
}
