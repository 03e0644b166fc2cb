//! Changes a body: a [`Cursor`] that walks over the nodes of a graph, and the [`Uses`] of its values.
//!
//! A pass computes the uses once, walks, and edits as it goes. Nodes that it inserts carry the origin of the node
//! that it stands at, so that they still point at the user's line. What a pass leaves behind (a value that nothing
//! uses, a removed node in the arena) is no part of the graph and is not written.
//!
//! This pass replaces `Neg` by a multiplication:
//!
//! ```text
//! before:  g (float[3] x) => (float[3] y)                      { t = Neg(x)              y = Relu(t) }
//! after:   g (float[3] x) => (float[3] y) <float minus = {-1}> { t_1 = Mul(x, minus)     y = Relu(t_1) }
//! ```
//! ```
//! use onnx_ir::{Cursor, ElemType, Model, NodeSpec, Payload, Tensor, Uses};
//! # use onnx_ir::{BodyBuilder, BodyId, DimValue};
//! # fn example() -> (Model, BodyId) {
//! #     let mut model = Model::new();
//! #     let ty = model.types.tensor(ElemType::FLOAT, [DimValue::Value(3)]);
//! #     let mut b = BodyBuilder::new(&mut model);
//! #     let [g, x, t, y, neg, relu] = ["g", "x", "t", "y", "Neg", "Relu"].map(|n| b.name(n));
//! #     b.begin_graph(Some(g), None);
//! #     b.input(x, Some(ty));
//! #     for (op, from, to) in [(neg, x, t), (relu, t, y)] {
//! #         let node = b.begin_node(NodeSpec { op: Some(op), ..NodeSpec::default() }, [from]);
//! #         b.end_node(node, [to]);
//! #     }
//! #     b.output(y, Some(ty));
//! #     b.end_graph();
//! #     let main = b.finish();
//! #     model.main = Some(main);
//! #     (model, main)
//! # }
//! # fn text(model: &Model, main: BodyId) -> String {
//! #     let body = &model.bodies[main];
//! #     let name = |v: &Option<onnx_ir::ValueId>| &model.names[body.values[v.unwrap()].name];
//! #     let node = |n: &onnx_ir::NodeId| {
//! #         let n = &body.nodes[*n];
//! #         let inputs: Vec<_> = n.inputs.iter().map(name).collect();
//! #         format!("{} = {}({})", name(&n.outputs[0]), model.text(n.op), inputs.join(", "))
//! #     };
//! #     body.graphs[body.root().unwrap()].nodes.iter().map(node).collect::<Vec<_>>().join("  ")
//! # }
//! let (mut model, main) = example();
//! assert_eq!(text(&model, main), "t = Neg(x)  y = Relu(t)");
//!
//! let uses = Uses::of(&model.bodies[main]);
//! let mut cursor = Cursor::new(&mut model, main);
//! while let Some(node) = cursor.next_node() {
//!     let (op, input, output) = {
//!         let node = &cursor.body().nodes[node];
//!         (node.op, node.inputs[0], node.outputs[0].expect("Neg and Relu have an output"))
//!     };
//!     if cursor.text(op) != "Neg" {
//!         continue;
//!     }
//!     let mut minus = Tensor { elem: Some(ElemType::FLOAT), ..Tensor::default() };
//!     minus.data.push(Payload::floats(vec![-1.0]));
//!     let minus = cursor.add_initializer("minus", minus);
//!     let mul = NodeSpec { op: Some(cursor.name("Mul")), ..NodeSpec::default() };
//!     let result = cursor.fresh_name("t");
//!     let product = cursor.insert(mul, [input, Some(minus)], [result]);
//!     let product = cursor.result(product, 0).expect("one output was asked for");
//!     assert!(cursor.replace_uses(&uses, output, product));
//!     cursor.remove();
//! }
//! drop(cursor); // puts the nodes back
//!
//! assert_eq!(text(&model, main), "t_1 = Mul(x, minus)  y = Relu(t_1)");
//! ```

use crate::body::{Body, GraphId, Initializer, Node, NodeId, Origin, Value, ValueDef, ValueId};
use crate::build::NodeSpec;
use crate::entity::SecondaryMap;
use crate::model::{BodyId, Model, TrainingInfo};
use crate::names::Name;
use crate::tensor::Tensor;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

#[cfg(test)]
mod tests;
mod uses;

pub use uses::{Declaration, Use, Uses};

/// A place among the nodes of one graph, where nodes can be inserted and removed in constant time.
///
/// The cursor stands at a node, or at neither end. It holds the nodes of its graph itself: [`Body::graphs`] shows none
/// of them until the cursor moves to another graph or is dropped.
pub struct Cursor<'m> {
    model: &'m mut Model,
    body: BodyId,
    graph: GraphId,
    /// The nodes before the current one.
    before: Vec<NodeId>,
    current: Option<NodeId>,
    /// Nodes inserted after the current one.
    inserted: Vec<NodeId>,
    /// The nodes after that, the last first.
    after: Vec<NodeId>,
    origin: Origin,
    /// The graphs of inserted nodes.
    homes: SecondaryMap<NodeId, Option<GraphId>>,
    /// The places that read a value since [`replace_uses`](Cursor::replace_uses) gave it to them: no [`Uses`] lists these.
    moved: HashMap<ValueId, Vec<Use>, RandomState>,
    /// Whether values have become undefined.
    has_removed: bool,
    fresh: u64,
}

impl<'m> Cursor<'m> {
    /// Before the first node of a body's outermost graph.
    ///
    /// # Panics
    /// If the body has no graph.
    pub fn new(model: &'m mut Model, body: BodyId) -> Self {
        let graph = model.bodies[body].root().expect("a body to edit has a graph");
        let mut cursor = Cursor {
            model,
            body,
            graph,
            before: Vec::new(),
            current: None,
            inserted: Vec::new(),
            after: Vec::new(),
            origin: Origin::NONE,
            homes: SecondaryMap::default(),
            moved: HashMap::default(),
            has_removed: false,
            fresh: 0,
        };
        cursor.take();
        cursor
    }

    /// Moves before the first node of a graph of the same body.
    pub fn goto_graph(&mut self, graph: GraphId) {
        self.put_back();
        self.graph = graph;
        self.take();
    }

    /// Moves to the next node and returns it; after the last, there is none. Nodes that the cursor inserted are
    /// passed over.
    pub fn next_node(&mut self) -> Option<NodeId> {
        self.before.extend(self.current.take());
        self.before.append(&mut self.inserted);
        self.current = self.after.pop();
        if let Some(node) = self.current {
            self.origin = self.body().origins[node];
        }
        self.current
    }

    /// Moves past the last node, where [`insert`](Self::insert) appends.
    pub fn goto_end(&mut self) {
        while self.next_node().is_some() {}
    }

    /// The node that the cursor stands at.
    pub fn node(&self) -> Option<NodeId> {
        self.current
    }

    /// The graph that the cursor is in.
    pub fn graph(&self) -> GraphId {
        self.graph
    }

    /// The body. The list of nodes of the cursor's graph is empty meanwhile.
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

    /// A name that nothing in the model has: `stem`, or `stem_1` and so on.
    pub fn fresh_name(&mut self, stem: &str) -> Name {
        let mut text = stem.to_owned();
        while stem.is_empty() && text.is_empty() || self.model.names.find(&text).is_some() {
            self.fresh += 1;
            text = format!("{stem}_{}", self.fresh);
        }
        self.name(&text)
    }

    /// The origin that inserted nodes get: that of the current node, unless it was set since.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sets the origin of inserted nodes, until the cursor moves.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Inserts a node before the current one. Each name of `outputs` becomes a new value; the empty name is an output
    /// that nobody wants.
    pub fn insert(
        &mut self,
        spec: NodeSpec,
        inputs: impl IntoIterator<Item = Option<ValueId>>,
        outputs: impl IntoIterator<Item = Name>,
    ) -> NodeId {
        let node = self.make(spec, inputs, outputs);
        self.before.push(node);
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

    /// An output of a node, if somebody wants it.
    pub fn result(&self, node: NodeId, i: usize) -> Option<ValueId> {
        self.body().nodes[node].outputs.get(i).copied().flatten()
    }

    /// Removes the current node and returns it. Its outputs become undefined, so replace their uses first; declarations of
    /// them go with the cursor.
    pub fn remove(&mut self) -> Option<NodeId> {
        let node = self.current.take()?;
        let (graph, body) = (self.graph, &mut self.model.bodies[self.body]);
        for value in body.nodes[node].outputs.iter().flatten() {
            // A replacement may have taken the value over.
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

    /// Lets everything that read `old` when `uses` were computed read `new`, and what this cursor has let read `old` since;
    /// whether nothing reads `old` any more. So values may be replaced in any order, a reader before what it reads.
    ///
    /// A graph output keeps its name, which callers know: `new` takes the name over, and `old` gets a fresh one. That
    /// needs a `new` that a node of that graph computes and that is no graph output itself; otherwise the output stays as it is, and
    /// the answer is `false`. So it is where a quantization annotation names `old`, and where devices share it as an operand
    /// of a node: what is said of `old` need not hold for `new`.
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

    /// Gives a value another name, with all that names it: declarations, its tensor, quantization annotations,
    /// shardings and training bindings. `uses` may be older than the value.
    pub fn rename(&mut self, uses: &Uses, value: ValueId, name: Name) {
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

    fn take(&mut self) {
        let nodes = &mut self.model.bodies[self.body].graphs[self.graph].nodes;
        self.after = std::mem::take(nodes);
        self.after.reverse();
    }

    fn put_back(&mut self) {
        self.before.extend(self.current.take());
        self.before.append(&mut self.inserted);
        self.before.extend(self.after.drain(..).rev());
        let nodes = std::mem::take(&mut self.before);
        self.model.bodies[self.body].graphs[self.graph].nodes = nodes;
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

/// Takes away the declarations of values that nothing in the body defines any more, and of two of one value in one graph the
/// one that stood outside of the graph that defined it.
pub fn drop_declarations(body: &mut Body) {
    let graphs: Vec<GraphId> = body.walk().graphs().collect();
    let mut defined: HashSet<Name, RandomState> = HashSet::default();
    for &graph in &graphs {
        defined.extend(body.graphs[graph].values(body).map(|v| body.values[v].name));
    }
    for graph in graphs {
        let Body { graphs, values, .. } = &mut *body;
        let declarations = &mut graphs[graph].value_info;
        let own: HashSet<Name, RandomState> =
            declarations.iter().filter(|port| port.value.is_some()).filter_map(|port| port.name).collect();
        declarations.retain(|port| match port.value {
            Some(value) => !matches!(values[value].def, ValueDef::Unbound(_)),
            // In a function, what its nested graphs define may be declared outside of them.
            None => port.name.is_none_or(|name| defined.contains(&name) && !own.contains(&name)),
        });
    }
}
