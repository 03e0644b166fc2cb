//! A body: one main graph or function with everything nested in it, in arenas of its own.
//!
//! Nested graphs share the arenas of their body, so a value that an `If` branch captures is the same [`ValueId`]
//! inside and outside. Names are resolved once, by [`BodyBuilder`](crate::BodyBuilder): a use of a name that nothing
//! defines is a value with [`ValueDef::Unbound`], and a name defined twice is two values of that name.

use crate::attr::{Attr, AttrValue};
use crate::entity::{PrimaryMap, SecondaryMap};
use crate::ids::{GraphId, NodeId, TensorId, TypeId, ValueId};
use crate::names::Name;
use crate::tensor::{Entry, SparseTensor, Tensor};
use smallvec::SmallVec;

/// The source location of an entity: an opaque number, assigned and interpreted by the owner of the source text. Passes copy it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Origin(pub u32);

impl Origin {
    /// An unknown origin.
    pub const NONE: Origin = Origin(u32::MAX);
}

impl Default for Origin {
    fn default() -> Self {
        Origin::NONE
    }
}

/// One main graph or function body with all that is nested in it.
///
/// A value that a nested graph reads from outside is the same [`ValueId`] there, because all graphs share the arenas:
///
/// ```
/// use onnx_ir::{Body, GraphBuilder, Model, ValueDef};
///
/// let mut model = Model::of_opset(21);
/// let mut b = GraphBuilder::main(&mut model, "g");
/// let x = b.input("x", None);
/// let y = b.op("Neg", [x]);
/// b.output("y", y, None);
/// let main = b.finish();
///
/// let body: &Body = &model.bodies[main];
/// let root = body.root().unwrap();
/// let neg = body.graphs[root].nodes[0];
/// assert_eq!(body.nodes[neg].inputs[0], Some(x));
/// assert_eq!(body.values[y].def, ValueDef::Output(neg, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The graphs, an enclosing one before those nested in it.
    pub graphs: PrimaryMap<GraphId, Graph>,
    /// The nodes of all graphs, in order of creation; [`Graph::nodes`] has their order.
    pub nodes: PrimaryMap<NodeId, Node>,
    /// The values of all graphs.
    pub values: PrimaryMap<ValueId, Value>,
    /// The tensors of initializers and attributes.
    pub tensors: PrimaryMap<TensorId, Tensor>,
    /// The origin of each node.
    pub origins: SecondaryMap<NodeId, Origin>,
}

impl Body {
    /// The outermost graph, if the body has been filled.
    pub fn root(&self) -> Option<GraphId> {
        self.graphs.ids().next()
    }

    /// Shrinks the capacity of lists: a model may have a hundred thousand bodies of one node.
    pub(crate) fn fit(&mut self) {
        self.nodes.shrink_to_fit();
        self.values.shrink_to_fit();
        self.tensors.shrink_to_fit();
        self.origins.shrink_to_fit();
        self.graphs.shrink_to_fit();
        for graph in self.graphs.values_mut() {
            graph.inputs.shrink_to_fit();
            graph.outputs.shrink_to_fit();
            graph.value_info.shrink_to_fit();
            graph.initializers.shrink_to_fit();
            graph.nodes.shrink_to_fit();
        }
    }

    /// The declared types of values in the graphs of the body: those of inputs, outputs and `value_info`.
    ///
    /// Initializers have the types of their tensors; other types are inferred.
    pub fn declared_types(&self) -> SecondaryMap<ValueId, Option<TypeId>> {
        let mut types = SecondaryMap::with_len(None, self.values.len());
        for graph in self.walk().graphs().map(|graph| &self.graphs[graph]) {
            for port in graph.value_info.iter().chain(&graph.outputs).chain(&graph.inputs) {
                if let (Some(value), Some(ty)) = (port.value, port.ty) {
                    types[value] = Some(ty);
                }
            }
        }
        types
    }

    /// The graphs in attributes of a node, in order.
    pub fn subgraphs(&self, node: NodeId) -> impl Iterator<Item = GraphId> + '_ {
        self.nodes[node].attrs.iter().flat_map(|a| &a.values).flat_map(AttrValue::graphs).copied()
    }
}

/// A named value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// Its name; may be empty in a broken model.
    pub name: Name,
    /// Its definition.
    pub def: ValueDef,
}

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// An input of a graph (which may have an initializer of the same name as well).
    Input(GraphId),
    /// An initializer, dense or sparse, of a graph.
    Initializer(GraphId),
    /// The output of a node at a position.
    Output(NodeId, u32),
    /// Nothing: the name is used in this graph, or in one nested in it, and never defined.
    Unbound(GraphId),
}

/// A name with its declaration: a graph input, a graph output, or an entry of `value_info`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Port {
    /// The name as written.
    pub name: Option<Name>,
    /// The value it declares; `None` for an entry of `value_info` that names no value of its graph, and for an
    /// output without a name.
    pub value: Option<ValueId>,
    /// The declared type.
    pub ty: Option<TypeId>,
    /// `doc_string`.
    pub doc: Option<Name>,
    /// `metadata_props`.
    pub metadata: Vec<Entry>,
}

/// A dense initializer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Initializer {
    /// The value that it initializes.
    pub value: ValueId,
    /// The stored tensor, whose name is the value's.
    pub tensor: TensorId,
}

/// A sparse initializer.
#[derive(Clone, PartialEq, Debug)]
pub struct SparseInitializer {
    /// The value that it initializes.
    pub value: ValueId,
    /// The stored tensor; the name is that of its values.
    pub tensor: SparseTensor,
}

/// The quantization parameters of a tensor (`TensorAnnotation`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct QuantizationAnnotation {
    /// The quantized tensor.
    pub tensor_name: Option<Name>,
    /// `SCALE_TENSOR` and `ZERO_POINT_TENSOR` with the names of tensors.
    pub parameters: Vec<Entry>,
}

impl QuantizationAnnotation {
    /// The names of values that it has: the tensor, its scale, its zero point.
    pub fn names(&self) -> impl Iterator<Item = Name> + '_ {
        self.tensor_name.into_iter().chain(self.parameters.iter().filter_map(|e| e.value))
    }
}

/// A graph: an ordered list of nodes between inputs and outputs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// The name.
    pub name: Option<Name>,
    /// The node whose attribute holds this graph; `None` for the root.
    pub owner: Option<NodeId>,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// Declarations of other values, in order.
    pub value_info: Vec<Port>,
    /// Dense initializers in order.
    pub initializers: Vec<Initializer>,
    /// Sparse initializers in order.
    pub sparse_initializers: Vec<SparseInitializer>,
    /// Nodes in order; in a valid model each comes after the producers of its inputs.
    pub nodes: Vec<NodeId>,
    /// `quantization_annotation`.
    pub quantization: Vec<QuantizationAnnotation>,
    /// `doc_string`.
    pub doc: Option<Name>,
    /// `metadata_props`.
    pub metadata: Vec<Entry>,
}

impl Graph {
    /// The values that the graph itself defines: inputs, initializers, and what its nodes compute.
    pub fn values<'b>(&'b self, body: &'b Body) -> impl Iterator<Item = ValueId> + 'b {
        let inputs = self.inputs.iter().filter_map(|port| port.value);
        let dense = self.initializers.iter().map(|init| init.value);
        let sparse = self.sparse_initializers.iter().map(|init| init.value);
        let computed = self.nodes.iter().flat_map(|&node| body.nodes[node].outputs.iter().flatten().copied());
        inputs.chain(dense).chain(sparse).chain(computed)
    }
}

/// An application of an operator or function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Node {
    /// The name of the node, not of a value.
    pub name: Option<Name>,
    /// `op_type`.
    pub op: Option<Name>,
    /// The domain of the operator; absent and empty both mean ai.onnx.
    pub domain: Option<Name>,
    /// Which overload of a model-local function.
    pub overload: Option<Name>,
    /// Operands in order; `None` is an optional one that is left out.
    pub inputs: SmallVec<[Option<ValueId>; 4]>,
    /// Results in order; `None` is an omitted output.
    pub outputs: SmallVec<[Option<ValueId>; 1]>,
    /// Attributes in order.
    pub attrs: Vec<Attr>,
    /// Everything that few nodes have.
    pub extra: Option<Box<NodeExtra>>,
}

/// The rare parts of a [`Node`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeExtra {
    /// `doc_string`.
    pub doc: Option<Name>,
    /// `metadata_props`.
    pub metadata: Vec<Entry>,
    /// `device_configurations`.
    pub devices: Vec<NodeDeviceConfiguration>,
}

impl Node {
    /// The rare parts, read-only.
    pub fn extra(&self) -> &NodeExtra {
        static NONE: NodeExtra = NodeExtra { doc: None, metadata: Vec::new(), devices: Vec::new() };
        self.extra.as_deref().unwrap_or(&NONE)
    }

    /// The rare parts, made when missing.
    pub fn extra_mut(&mut self) -> &mut NodeExtra {
        self.extra.get_or_insert_default()
    }

    /// Whether devices share the operand or result of this name.
    pub fn is_sharded(&self, name: Name) -> bool {
        let mut shardings = self.extra().devices.iter().flat_map(|d| &d.sharding);
        shardings.any(|s| s.tensor_name == Some(name))
    }

    /// The first attribute of this name.
    pub fn attr(&self, name: Name) -> Option<&Attr> {
        self.attrs.iter().find(|a| a.name == Some(name))
    }

    /// Sets an attribute.
    pub fn set_attr(&mut self, name: Name, value: impl Into<AttrValue>) {
        let new = Attr::new(name, value);
        match self.attrs.iter_mut().find(|a| a.name == Some(name)) {
            Some(attr) => *attr = new,
            None => self.attrs.push(new),
        }
    }

    /// Removes an attribute. Returns whether it existed.
    pub fn remove_attr(&mut self, name: Name) -> bool {
        let before = self.attrs.len();
        self.attrs.retain(|a| a.name != Some(name));
        self.attrs.len() < before
    }
}

/// The sharding of a node in one device configuration (IR 11 and later).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NodeDeviceConfiguration {
    /// Name of a configuration of the model.
    pub configuration: Option<Name>,
    /// The sharding of the node's tensors.
    pub sharding: Vec<ShardingSpec>,
    /// Stage of a pipeline.
    pub pipeline_stage: Option<i32>,
}

/// The sharding of one tensor.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShardingSpec {
    /// An input or output of the node.
    pub tensor_name: Option<Name>,
    /// Device numbers, or keys of [`groups`](Self::groups).
    pub devices: Vec<i64>,
    /// Keys for groups of devices.
    pub groups: Vec<DeviceGroup>,
    /// The axes that are split.
    pub axes: Vec<ShardedAxis>,
}

/// A key for a group of devices (`IntIntListEntryProto`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeviceGroup {
    /// The number used in the list of devices.
    pub key: Option<i64>,
    /// The devices.
    pub devices: Vec<i64>,
}

/// The split of one axis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ShardedAxis {
    /// The axis, from the end if negative.
    pub axis: Option<i64>,
    /// The parts, usually one.
    pub parts: Vec<SimpleSharding>,
}

/// One stretch of an axis and into how many shards it is split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SimpleSharding {
    /// Length of the stretch.
    pub dim: crate::types::DimValue,
    /// Number of shards.
    pub shards: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_data_is_small() {
        assert_eq!(size_of::<Value>(), 16);
        assert!(size_of::<Node>() <= 104, "{}", size_of::<Node>());
        assert!(size_of::<AttrValue>() <= 40, "{}", size_of::<AttrValue>());
    }
}
