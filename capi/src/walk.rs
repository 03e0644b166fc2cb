//! Graphs, nodes, values, functions, and the header.

use crate::abi::{Str, numbered, put};
use crate::model::Model;
use crate::tensor::Tensor;
use onnx_ir::{BodyId, EntityId, GraphId, Name, NodeId, OpsetImport, Port, TypeId, ValueDef, ValueId};

/// The index that stands for "none".
pub const NONE: u32 = u32::MAX;

/// A graph of a model. Of "none", `index` is `ONNXTXT_NONE`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Graph {
    /// The main graph or function in which it is nested.
    pub body: u32,
    /// Its number there.
    pub index: u32,
}

/// A node of a model. Of "none", `index` is `ONNXTXT_NONE`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The main graph or function in which it is.
    pub body: u32,
    /// Its number there.
    pub index: u32,
}

/// A value of a model: what a node computes, an input, an initializer. All uses of one value have the same numbers, those in nested graphs too.
/// Of "none" (an operand that is left out), `index` is `ONNXTXT_NONE`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// The main graph or function in which it is.
    pub body: u32,
    /// Its number there.
    pub index: u32,
}

/// A view of a graph.
#[repr(C)]
pub struct GraphView {
    /// Its name.
    pub name: Str,
    /// Its documentation.
    pub doc: Str,
    /// The node whose attribute it is, or none.
    pub owner: Node,
    /// The numbers of its parts.
    pub inputs: usize,
    /// See `inputs`.
    pub outputs: usize,
    /// Declarations of other values.
    pub value_infos: usize,
    /// See `inputs`.
    pub initializers: usize,
    /// See `inputs`.
    pub nodes: usize,
}

/// A list of declarations of a graph.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// Its inputs.
    Inputs = 0,
    /// Its outputs.
    Outputs = 1,
    /// Its `value_info`.
    ValueInfos = 2,
}

numbered!(Ports: Inputs, Outputs, ValueInfos);

/// A view of a declaration.
#[repr(C)]
pub struct PortView {
    /// The name.
    pub name: Str,
    /// The value that it declares, or none.
    pub value: Value,
    /// The type, or `ONNXTXT_NONE`.
    pub ty: u32,
    /// Its documentation.
    pub doc: Str,
}

/// A view of a node.
#[repr(C)]
pub struct NodeView {
    /// The operator.
    pub op: Str,
    /// The domain of the operator; that of ONNX is empty.
    pub domain: Str,
    /// The overload of a function; may be empty.
    pub overload: Str,
    /// The name of the node; may be empty.
    pub name: Str,
    /// Its documentation.
    pub doc: Str,
    /// The numbers of its parts. Operands that are left out count.
    pub inputs: usize,
    /// See `inputs`.
    pub outputs: usize,
    /// See `inputs`.
    pub attributes: usize,
}

/// The kind of the definition of a value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    /// An input of `graph`, which may have an initializer too.
    Input = 0,
    /// An initializer of `graph`.
    Initializer = 1,
    /// Output `output` of `node`.
    Output = 2,
    /// Nothing: the model is wrong, and the name is used in `graph`.
    Nothing = 3,
}

/// A view of a value.
#[repr(C)]
pub struct ValueView {
    /// Its name.
    pub name: Str,
    /// The kind of its definition.
    pub definition: Definition,
    /// The graph that defines it, unless a node does.
    pub graph: Graph,
    /// The node that computes it, or none.
    pub node: Node,
    /// Which of the outputs of the node it is.
    pub output: u32,
    /// The declared type, or `ONNXTXT_NONE`. `onnxtxt_infer` declares types of all values.
    pub ty: u32,
    /// The tensor of an initializer, or none.
    pub tensor: Tensor,
}

/// A view of a function.
#[repr(C)]
pub struct FunctionView {
    /// Name, domain and overload identify it.
    pub name: Str,
    /// See `name`.
    pub domain: Str,
    /// See `name`.
    pub overload: Str,
    /// Its documentation.
    pub doc: Str,
    /// Its inputs, outputs and nodes.
    pub graph: Graph,
    /// The number of attribute parameters without a default.
    pub attributes: usize,
}

/// A view of the header of a model.
#[repr(C)]
pub struct HeaderView {
    /// The version of the format; 0 if it is not set.
    pub ir_version: i64,
    /// The version of the model; 0 if it is not set.
    pub model_version: i64,
    /// The domain of the model.
    pub domain: Str,
    /// The program that made it.
    pub producer_name: Str,
    /// The version of that program.
    pub producer_version: Str,
    /// Its documentation.
    pub doc: Str,
    /// The number of imported operator sets.
    pub opset_imports: usize,
    /// The number of entries of metadata.
    pub metadata: usize,
    /// The number of functions.
    pub functions: usize,
}

/// An imported operator set.
#[repr(C)]
pub struct OpsetView {
    /// The domain; that of ONNX is empty.
    pub domain: Str,
    /// The version; 0 if it is not set.
    pub version: i64,
}

/// A name with a text.
#[repr(C)]
pub struct EntryView {
    /// The name.
    pub key: Str,
    /// The text.
    pub value: Str,
}

impl Graph {
    pub(crate) const NONE: Graph = Graph { body: NONE, index: NONE };

    pub(crate) fn new(body: BodyId, graph: GraphId) -> Graph {
        Graph { body: number(body), index: number(graph) }
    }

    pub(crate) fn ids(self, model: &onnx_ir::Model) -> Option<(BodyId, GraphId)> {
        let body = body(model, self.body)?;
        Some((body, model.bodies[body].graphs.id_at(self.index as usize)?))
    }
}

impl Node {
    pub(crate) const NONE: Node = Node { body: NONE, index: NONE };

    pub(crate) fn new(body: BodyId, node: NodeId) -> Node {
        Node { body: number(body), index: number(node) }
    }

    pub(crate) fn ids(self, model: &onnx_ir::Model) -> Option<(BodyId, NodeId)> {
        let body = body(model, self.body)?;
        Some((body, model.bodies[body].nodes.id_at(self.index as usize)?))
    }
}

impl Value {
    pub(crate) const NONE: Value = Value { body: NONE, index: NONE };

    pub(crate) fn new(body: BodyId, value: Option<ValueId>) -> Value {
        value.map_or(Value::NONE, |value| Value { body: number(body), index: number(value) })
    }

    fn ids(self, model: &onnx_ir::Model) -> Option<(BodyId, ValueId)> {
        let body = body(model, self.body)?;
        Some((body, model.bodies[body].values.id_at(self.index as usize)?))
    }
}

/// An id as a number.
pub(crate) fn number(id: impl EntityId) -> u32 {
    u32::try_from(id.index()).unwrap_or(NONE)
}

pub(crate) fn body(model: &onnx_ir::Model, index: u32) -> Option<BodyId> {
    model.bodies.id_at(index as usize)
}

pub(crate) fn type_number(ty: Option<TypeId>) -> u32 {
    ty.map_or(NONE, number)
}

/// A string of the model.
pub(crate) fn string(model: &onnx_ir::Model, name: Option<Name>) -> Str {
    name.map_or(Str::EMPTY, |name| Str::new(model.names.bytes(name)))
}

/// A domain, normalized.
fn domain(model: &onnx_ir::Model, name: Option<Name>) -> Str {
    match string(model, name) {
        _ if onnx_ir::normalize_domain(model.text(name)).is_empty() => Str::EMPTY,
        domain => domain,
    }
}

/// The main graph; none if the model has none, or for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_main_graph(model: *const Model) -> Graph {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Graph::NONE };
    let main = model.model().main.and_then(|body| Some((body, model.model().bodies[body].root()?)));
    main.map_or(Graph::NONE, |(body, graph)| Graph::new(body, graph))
}

/// The header of a model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_header_get(model: *const Model, out: *mut HeaderView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let header = &model.header;
        put(
            out,
            HeaderView {
                ir_version: header.ir_version.unwrap_or(0),
                model_version: header.model_version.unwrap_or(0),
                domain: string(model, header.domain),
                producer_name: string(model, header.producer_name),
                producer_version: string(model, header.producer_version),
                doc: string(model, header.doc),
                opset_imports: header.opset_imports.len(),
                metadata: header.metadata.len(),
                functions: model.functions.len(),
            },
        )
    }
}

fn opset(model: &onnx_ir::Model, import: &OpsetImport) -> OpsetView {
    OpsetView { domain: domain(model, import.domain), version: import.version.unwrap_or(0) }
}

/// An operator set that the model imports. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_opset_import(model: *const Model, at: usize, out: *mut OpsetView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let import = model.model().header.opset_imports.get(at);
        import.is_some_and(|import| put(out, opset(model.model(), import)))
    }
}

/// The version of an operator set that a graph may use, or 0: that of its function, or of the model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_opset_version(model: *const Model, graph: Graph, domain: Str) -> i64 {
    // SAFETY: a model of this library, or null; the string as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return 0 };
        let model = model.model();
        let Some((body, _)) = graph.ids(model) else { return 0 };
        model.opset_version(model.imports_of(body), &domain.text()).unwrap_or(0)
    }
}

/// An entry of the metadata of a model. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_metadata(model: *const Model, at: usize, out: *mut EntryView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some(entry) = model.header.metadata.get(at) else { return false };
        put(out, EntryView { key: string(model, entry.key), value: string(model, entry.value) })
    }
}

/// A function of the model. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_function(model: *const Model, at: usize, out: *mut FunctionView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some(function) = model.functions.values().nth(at) else { return false };
        let root = model.bodies[function.body].root();
        put(
            out,
            FunctionView {
                name: string(model, function.name),
                domain: domain(model, function.domain),
                overload: string(model, function.overload),
                doc: string(model, function.doc),
                graph: root.map_or(Graph::NONE, |root| Graph::new(function.body, root)),
                attributes: function.attributes.len(),
            },
        )
    }
}

/// The name of an attribute parameter of a function without a default; empty if there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_function_attribute(model: *const Model, at: usize, attribute: usize) -> Str {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Str::EMPTY };
    let function = model.model().functions.values().nth(at);
    let name = function.and_then(|function| function.attributes.get(attribute).copied());
    string(model.model(), name)
}

/// A view of a graph. Returns whether there is such a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_graph_get(model: *const Model, graph: Graph, out: *mut GraphView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some((body, graph)) = graph.ids(model) else { return false };
        let graph = &model.bodies[body].graphs[graph];
        put(
            out,
            GraphView {
                name: string(model, graph.name),
                doc: string(model, graph.doc),
                owner: graph.owner.map_or(Node::NONE, |node| Node::new(body, node)),
                inputs: graph.inputs.len(),
                outputs: graph.outputs.len(),
                value_infos: graph.value_info.len(),
                initializers: graph.initializers.len(),
                nodes: graph.nodes.len(),
            },
        )
    }
}

/// A declaration of a graph, in an `onnxtxt_ports`. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_graph_port(
    model: *const Model,
    graph: Graph,
    list: u32,
    at: usize,
    out: *mut PortView,
) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some((body, graph)) = graph.ids(model) else { return false };
        let graph = &model.bodies[body].graphs[graph];
        let ports: &[Port] = match Ports::numbered(list) {
            Some(Ports::Inputs) => &graph.inputs,
            Some(Ports::Outputs) => &graph.outputs,
            Some(Ports::ValueInfos) => &graph.value_info,
            None => return false,
        };
        let Some(port) = ports.get(at) else { return false };
        put(
            out,
            PortView {
                name: string(model, port.name),
                value: Value::new(body, port.value),
                ty: type_number(port.ty),
                doc: string(model, port.doc),
            },
        )
    }
}

/// An initializer of a graph: its value; the view of the value has the tensor. None if there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_graph_initializer(model: *const Model, graph: Graph, at: usize) -> Value {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Value::NONE };
    let Some((body, graph)) = graph.ids(model.model()) else { return Value::NONE };
    let initializer = model.model().bodies[body].graphs[graph].initializers.get(at);
    Value::new(body, initializer.map(|initializer| initializer.value))
}

/// A node of a graph, in the order of the model; none if there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_graph_node(model: *const Model, graph: Graph, at: usize) -> Node {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Node::NONE };
    let Some((body, graph)) = graph.ids(model.model()) else { return Node::NONE };
    let node = model.model().bodies[body].graphs[graph].nodes.get(at);
    node.map_or(Node::NONE, |node| Node::new(body, *node))
}

/// A view of a node. Returns whether there is such a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_node_get(model: *const Model, node: Node, out: *mut NodeView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        let Some((body, node)) = node.ids(model) else { return false };
        let node = &model.bodies[body].nodes[node];
        put(
            out,
            NodeView {
                op: string(model, node.op),
                domain: domain(model, node.domain),
                overload: string(model, node.overload),
                name: string(model, node.name),
                doc: string(model, node.extra().doc),
                inputs: node.inputs.len(),
                outputs: node.outputs.len(),
                attributes: node.attrs.len(),
            },
        )
    }
}

/// An operand of a node; none if it is left out, or there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_node_input(model: *const Model, node: Node, at: usize) -> Value {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Value::NONE };
    let Some((body, node)) = node.ids(model.model()) else { return Value::NONE };
    Value::new(body, model.model().bodies[body].nodes[node].inputs.get(at).copied().flatten())
}

/// A result of a node; none if it is left out, or there is none at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_node_output(model: *const Model, node: Node, at: usize) -> Value {
    // SAFETY: a model of this library, or null.
    let Some(model) = (unsafe { model.as_ref() }) else { return Value::NONE };
    let Some((body, node)) = node.ids(model.model()) else { return Value::NONE };
    Value::new(body, model.model().bodies[body].nodes[node].outputs.get(at).copied().flatten())
}

/// A view of a value. Returns whether there is such a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_value_get(model: *const Model, value: Value, out: *mut ValueView) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let ir = model.model();
        let Some((body, value)) = value.ids(ir) else { return false };
        let b = &ir.bodies[body];
        let (definition, graph, node, output) = match b.values[value].def {
            ValueDef::Input(graph) => (Definition::Input, Some(graph), None, 0),
            ValueDef::Initializer(graph) => (Definition::Initializer, Some(graph), None, 0),
            ValueDef::Output(node, output) => (Definition::Output, None, Some(node), output),
            ValueDef::Unbound(graph) => (Definition::Nothing, Some(graph), None, 0),
        };
        let initializers = graph.map_or(&[][..], |graph| &b.graphs[graph].initializers);
        let initializer = initializers.iter().find(|initializer| initializer.value == value);
        put(
            out,
            ValueView {
                name: string(ir, Some(b.values[value].name)),
                definition,
                graph: graph.map_or(Graph::NONE, |graph| Graph::new(body, graph)),
                node: node.map_or(Node::NONE, |node| Node::new(body, node)),
                output,
                ty: type_number(model.types(body)[value]),
                tensor: initializer.map_or(Tensor::NONE, |found| Tensor::new(body, found.tensor)),
            },
        )
    }
}
