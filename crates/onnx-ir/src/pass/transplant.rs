//! Copies graphs and nodes within a body, between bodies, and between models.
//!
//! A [`Transplant`] maps copied values: a reader of a source value reads its copy in the target. A value can be
//! [bound](Transplant::bind) to an existing one of the target before its readers are copied. This is how a function is inlined:
//!
//! ```text
//! source:  f (a, b) => (c) { t = Add(a, b)          c = Relu(t) }
//! target:  g (x) => (y)    { y = f(x, x) }
//! after binding a and b to x, c to y, and copying the nodes with the prefix `f__`:
//!          g (x) => (y)    { f__t = Add(x, x)       y = Relu(f__t) }
//! ```
//!
//! Copies get ids in document order, independent of the source's ids. Nothing recurses.

mod attrs;
mod names;

use crate::attr::Attr;
use crate::body::*;
use crate::ids::{GraphId, NodeId, TensorId, TypeId, ValueId};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::tensor::{SparseTensor, Tensor};
use crate::types::Types;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::borrow::Cow;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The source of copies.
#[derive(Clone, Copy)]
pub struct CopySource<'s> {
    /// `None`: the body that is copied to.
    body: Option<&'s Body>,
    /// Names and types of another model; `None`: those of the target.
    other: Option<(&'s Names, &'s Types)>,
}

impl<'s> CopySource<'s> {
    /// Copies within a body. Values that are not defined in the copied part keep their identity.
    pub fn same() -> Self {
        CopySource { body: None, other: None }
    }

    /// Another body of the same model.
    pub fn body(body: &'s Body) -> Self {
        CopySource { body: Some(body), other: None }
    }

    /// A body of another model.
    pub fn other(model: &'s Model, body: &'s Body) -> Self {
        CopySource { body: Some(body), other: Some((&model.names, &model.types)) }
    }
}

/// The destination of copies.
pub struct CopyTarget<'t> {
    /// Names of the target's model.
    pub names: &'t mut Names,
    /// Types of the target's model.
    pub types: &'t mut Types,
    /// The body that grows.
    pub body: &'t mut Body,
}

/// Options of copies.
#[derive(Clone, Debug, Default)]
pub struct CopyOptions {
    /// The prefix for names of copied values, nodes and nested graphs. A name that exists already gets a number appended. `None`
    /// keeps names.
    pub prefix: Option<String>,
    /// Whether symbolic dimensions get the prefix too, because they are other ones than those of the target.
    pub symbols: bool,
    /// The origin of copied nodes; `None` keeps those of the originals.
    pub origin: Option<Origin>,
}

/// Copies from one body into another.
pub struct Transplant<'a> {
    source: CopySource<'a>,
    target: CopyTarget<'a>,
    style: CopyOptions,
    /// The graph of values that nothing copied defines.
    home: GraphId,
    /// The copies of source values; `None` drops reads of the value.
    values: Map<ValueId, Option<ValueId>>,
    graphs: Map<GraphId, GraphId>,
    /// Names that got the prefix.
    prefixed: Map<Name, Name>,
    /// Names of values that were bound.
    bound: Map<Name, Option<Name>>,
    /// Names and types of another model that were translated.
    names: Map<Name, Name>,
    types: Map<TypeId, TypeId>,
    /// The arguments of attribute parameters, in the target; `None` keeps references.
    arguments: Option<Map<Name, Attr>>,
    /// Attributes of the target that were arguments.
    grafts: Vec<(NodeId, usize)>,
    /// Graphs of arguments that have an owner.
    taken: HashSet<GraphId, RandomState>,
}

/// Remaining work, the last first.
enum Task {
    /// Copies a node to the end of a graph.
    Node(NodeId, GraphId),
    /// Defines the outputs of a node.
    Results(NodeId, NodeId),
    /// Copies a graph that is held by an attribute of a node.
    Graph { node: NodeId, place: GraphSlot },
    /// Ends a graph.
    Close(GraphId, GraphId),
}

/// A graph among the attributes of a node.
#[derive(Clone, Copy)]
struct GraphSlot {
    attr: usize,
    value: usize,
    /// Position in a list of graphs.
    item: usize,
}

impl<'a> Transplant<'a> {
    /// Copies from `source` to `target`. Values that the source leaves undefined will be undefined in `home`, a graph of the
    /// target.
    pub fn new(source: CopySource<'a>, target: CopyTarget<'a>, home: GraphId, style: CopyOptions) -> Self {
        Transplant {
            source,
            target,
            style,
            home,
            values: Map::default(),
            graphs: Map::default(),
            prefixed: Map::default(),
            bound: Map::default(),
            names: Map::default(),
            types: Map::default(),
            arguments: None,
            grafts: Vec::new(),
            taken: HashSet::default(),
        }
    }

    /// Lets what reads `value` of the source read `to` of the target, or leave the input out.
    pub fn bind(&mut self, value: ValueId, to: Option<ValueId>) {
        let name = self.source().values[value].name;
        self.bound.insert(name, to.map(|v| self.target.body.values[v].name));
        self.values.insert(value, to);
    }

    /// The copy of a source value; `None` if it is bound to nothing. An unknown one is created.
    pub fn value(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        if self.source.body.is_none() {
            return Some(value);
        }
        Some(self.make(value))
    }

    /// Makes the copy of a value, undefined so far.
    fn make(&mut self, value: ValueId) -> ValueId {
        let Value { name, def } = self.source().values[value];
        let graph = match def {
            ValueDef::Unbound(graph) => self.graphs.get(&graph).copied().unwrap_or(self.home),
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Output(..) => self.home,
        };
        let name = self.prefixed(name);
        let copy = self.target.body.values.push(Value { name, def: ValueDef::Unbound(graph) });
        self.values.insert(value, Some(copy));
        copy
    }

    fn define(&mut self, value: ValueId, def: ValueDef) -> ValueId {
        let copy = match self.values.get(&value) {
            Some(&Some(copy)) => copy,
            Some(None) | None => self.make(value),
        };
        self.target.body.values[copy].def = def;
        copy
    }

    /// Copies a node with all that is nested in it. The target lists it in no graph yet.
    pub fn node(&mut self, node: NodeId) -> NodeId {
        let mut tasks = Vec::new();
        let copy = self.begin_node(node, &mut tasks);
        self.work(tasks);
        copy
    }

    /// Copies a graph with all that is nested in it.
    pub fn graph(&mut self, graph: GraphId, owner: Option<NodeId>) -> GraphId {
        if self.source.body.is_none() {
            self.make_all(graph);
        }
        let mut tasks = Vec::new();
        let copy = self.begin_graph(graph, owner, &mut tasks);
        self.work(tasks);
        copy
    }

    fn work(&mut self, mut tasks: Vec<Task>) {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Node(node, graph) => {
                    let copy = self.begin_node(node, &mut tasks);
                    self.target.body.graphs[graph].nodes.push(copy);
                }
                Task::Results(node, copy) => self.end_node(node, copy),
                Task::Graph { node, place } => {
                    let Some(graph) = self.graph_at(node, place) else { continue };
                    let copy = self.begin_graph(graph, Some(node), &mut tasks);
                    self.set_graph_at(node, place, copy);
                }
                Task::Close(graph, copy) => self.end_graph(graph, copy),
            }
        }
        self.graft();
    }

    /// Values of the source that are defined in a graph of it or in one nested there become other values.
    fn make_all(&mut self, graph: GraphId) {
        let body = self.source();
        let values: Vec<ValueId> =
            body.walk_graph(graph).graphs().flat_map(|graph| body.graphs[graph].values(body)).collect();
        for value in values {
            if !self.values.contains_key(&value) {
                self.make(value);
            }
        }
    }

    fn begin_node(&mut self, node: NodeId, tasks: &mut Vec<Task>) -> NodeId {
        let from = self.source_node(node);
        let new = Node {
            name: from.name.map(|n| self.prefixed(n)),
            op: self.maybe_name(from.op),
            domain: self.maybe_name(from.domain),
            overload: self.maybe_name(from.overload),
            inputs: from.inputs.iter().map(|v| v.and_then(|v| self.value(v))).collect(),
            ..Node::default()
        };
        let copy = self.target.body.nodes.push(new);
        let origin = self.style.origin.unwrap_or(self.source().origins[node]);
        if origin != Origin::NONE {
            self.target.body.origins[copy] = origin;
        }
        tasks.push(Task::Results(node, copy));
        self.attrs(&from, copy, tasks);
        if let Some(extra) = &from.extra {
            let extra = self.node_extra(extra, &from);
            self.target.body.nodes[copy].extra = Some(Box::new(extra));
        }
        copy
    }

    fn end_node(&mut self, node: NodeId, copy: NodeId) {
        let from = self.source_node(node);
        let outputs = (0u32..).zip(&from.outputs);
        let outputs = outputs.map(|(i, v)| v.map(|v| self.define(v, ValueDef::Output(copy, i)))).collect();
        self.target.body.nodes[copy].outputs = outputs;
    }

    fn begin_graph(&mut self, graph: GraphId, owner: Option<NodeId>, tasks: &mut Vec<Task>) -> GraphId {
        // A graph that two attributes contain, or that contains itself, is copied once.
        if let Some(&copy) = self.graphs.get(&graph) {
            return copy;
        }
        let from = self.source_graph(graph);
        let new = Graph {
            name: from.name.map(|n| self.prefixed(n)),
            owner,
            doc: self.maybe_name(from.doc),
            metadata: self.entries(&from.metadata),
            ..Graph::default()
        };
        let copy = self.target.body.graphs.push(new);
        self.graphs.insert(graph, copy);
        for port in &from.inputs {
            port.value.iter().for_each(|&v| _ = self.define(v, ValueDef::Input(copy)));
            let port = self.port(port);
            self.target.body.graphs[copy].inputs.push(port);
        }
        for initializer in &from.initializers {
            let initializer = self.initializer(*initializer, copy);
            self.target.body.graphs[copy].initializers.push(initializer);
        }
        for initializer in &from.sparse_initializers {
            let initializer = self.sparse_initializer(initializer, copy);
            self.target.body.graphs[copy].sparse_initializers.push(initializer);
        }
        tasks.push(Task::Close(graph, copy));
        tasks.extend(from.nodes.iter().rev().map(|&node| Task::Node(node, copy)));
        copy
    }

    fn end_graph(&mut self, graph: GraphId, copy: GraphId) {
        let from = self.source_graph(graph);
        let outputs = from.outputs.iter().map(|p| self.port(p)).collect();
        let value_info = from.value_info.iter().map(|p| self.port(p)).collect();
        let quantization = self.annotations(&from);
        let graph = &mut self.target.body.graphs[copy];
        (graph.outputs, graph.value_info, graph.quantization) = (outputs, value_info, quantization);
    }

    /// Copies an initializer into a graph of the target, which does not list it yet.
    pub fn initializer(&mut self, initializer: Initializer, graph: GraphId) -> Initializer {
        let value = self.initialized(initializer.value, graph);
        let tensor = self.tensor_of_value(initializer.tensor, value);
        Initializer { value, tensor }
    }

    /// Copies a sparse initializer.
    pub fn sparse_initializer(
        &mut self,
        initializer: &SparseInitializer,
        graph: GraphId,
    ) -> SparseInitializer {
        let value = self.initialized(initializer.value, graph);
        let SparseTensor { values, indices, dims } = &initializer.tensor;
        let values = values.map(|t| self.tensor_of_value(t, value));
        let indices = indices.map(|t| self.tensor(t));
        SparseInitializer { value, tensor: SparseTensor { values, indices, dims: dims.clone() } }
    }

    /// An initializer of an input is its default and does not define it.
    fn initialized(&mut self, value: ValueId, graph: GraphId) -> ValueId {
        match self.source().values[value].def {
            ValueDef::Input(_) => match self.values.get(&value) {
                Some(&Some(copy)) => copy,
                Some(None) | None => self.define(value, ValueDef::Initializer(graph)),
            },
            ValueDef::Initializer(_) | ValueDef::Output(..) | ValueDef::Unbound(_) => {
                self.define(value, ValueDef::Initializer(graph))
            }
        }
    }

    fn source(&self) -> &Body {
        self.source.body.unwrap_or(self.target.body)
    }

    /// A node of the source, owned where the body grows meanwhile.
    fn source_node(&self, node: NodeId) -> Cow<'a, Node> {
        match self.source.body {
            Some(body) => Cow::Borrowed(&body.nodes[node]),
            None => Cow::Owned(self.target.body.nodes[node].clone()),
        }
    }

    fn source_graph(&self, graph: GraphId) -> Cow<'a, Graph> {
        match self.source.body {
            Some(body) => Cow::Borrowed(&body.graphs[graph]),
            None => Cow::Owned(self.target.body.graphs[graph].clone()),
        }
    }

    /// Copies a tensor, sharing its payload.
    fn tensor(&mut self, tensor: TensorId) -> TensorId {
        let mut copy = self.source().tensors[tensor].clone();
        copy.name = self.maybe_name(copy.name);
        self.push_tensor(copy)
    }

    /// Copies the tensor of an initializer, whose name is that of the value.
    fn tensor_of_value(&mut self, tensor: TensorId, value: ValueId) -> TensorId {
        let mut copy = self.source().tensors[tensor].clone();
        copy.name = copy.name.map(|_| self.target.body.values[value].name);
        self.push_tensor(copy)
    }

    fn push_tensor(&mut self, mut copy: Tensor) -> TensorId {
        if let Some(extra) = copy.extra.as_deref_mut() {
            extra.external = self.entries(&extra.external);
            extra.doc = self.maybe_name(extra.doc);
            extra.metadata = self.entries(&extra.metadata);
        }
        self.target.body.tensors.push(copy)
    }
}
