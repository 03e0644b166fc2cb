//! Places of findings: a span of a source, or an entity of a model.

use crate::ids::{BodyId, FunctionId, GraphId, NodeId};

/// A range of bytes of a source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The empty span at a byte.
    pub const fn at(at: u32) -> Self {
        Span { start: at, end: at }
    }

    /// The span from the start of this to the end of `other`.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }

    /// As a range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it covers no byte.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// The place of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Place {
    /// Bytes of the source (text, or a file that could not be decoded).
    Source(Span),
    /// An entity of the model, to be found in the text that it came from or is printed as.
    Entity(Entity),
    /// The model as a whole.
    Nowhere,
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Place::Source(span)
    }
}

impl From<Entity> for Place {
    fn from(entity: Entity) -> Self {
        Place::Entity(entity)
    }
}

/// Anything of a model that a finding can point at. Numbers are positions in the list that the variant names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the variants name fields of the IR, which have documentation")]
pub enum Entity {
    /// The header, or the first thing of the model if it has none.
    Header,
    IrVersion,
    ModelVersion,
    OpsetImport(u32),
    ModelMetadata(u32),
    Function(FunctionId),
    FunctionOpsetImport(FunctionId, u32),
    FunctionAttribute(FunctionId, u32),
    FunctionAttributeDefault(FunctionId, u32),
    Graph(BodyId, GraphId),
    Input(BodyId, GraphId, u32),
    Output(BodyId, GraphId, u32),
    ValueInfo(BodyId, GraphId, u32),
    Initializer(BodyId, GraphId, u32),
    /// An entry of the external data of an initializer.
    InitializerEntry(BodyId, GraphId, u32, u32),
    SparseInitializer(BodyId, GraphId, u32),
    QuantizationAnnotation(BodyId, GraphId, u32),
    Node(BodyId, NodeId),
    NodeInput(BodyId, NodeId, u32),
    NodeOutput(BodyId, NodeId, u32),
    /// The operator that the node names.
    NodeOp(BodyId, NodeId),
    Attr(BodyId, NodeId, u32),
    /// The parameter of a function that the attribute refers to.
    AttrReference(BodyId, NodeId, u32),
    /// An entry of the external data of the tensor in an attribute.
    AttrEntry(BodyId, NodeId, u32, u32),
    Training(u32),
    /// `opset_version` of an operator set.
    OpsetVersion,
    /// An operator of an operator set.
    Operator(u32),
    /// An input in the signature of the operator with the first index.
    OperatorInput(u32, u32),
    OperatorOutput(u32, u32),
    OperatorAttribute(u32, u32),
    OperatorVariable(u32, u32),
    Configuration(u32),
    /// A part of a value in a separate file: 0 is the whole, its parts follow in document order.
    Data(u32),
}

impl Entity {
    /// The kind of the entity in a few words, without an article: `node`, `input`, `opset import`.
    pub fn kind(self) -> &'static str {
        match self {
            Entity::Header => "model",
            Entity::IrVersion => "IR version",
            Entity::ModelVersion => "model version",
            Entity::OpsetImport(..) | Entity::FunctionOpsetImport(..) => "opset import",
            Entity::ModelMetadata(..) => "metadata entry",
            Entity::Function(..) => "function",
            Entity::FunctionAttribute(..) | Entity::Attr(..) | Entity::OperatorAttribute(..) => "attribute",
            Entity::FunctionAttributeDefault(..) => "default",
            Entity::Graph(..) => "graph",
            Entity::Input(..) | Entity::NodeInput(..) | Entity::OperatorInput(..) => "input",
            Entity::Output(..) | Entity::NodeOutput(..) | Entity::OperatorOutput(..) => "output",
            Entity::ValueInfo(..) => "`value_info` entry",
            Entity::Initializer(..) => "initializer",
            Entity::InitializerEntry(..) | Entity::AttrEntry(..) => "entry",
            Entity::SparseInitializer(..) => "sparse initializer",
            Entity::QuantizationAnnotation(..) => "quantization annotation",
            Entity::Node(..) => "node",
            Entity::NodeOp(..) | Entity::Operator(..) => "operator",
            Entity::AttrReference(..) => "reference",
            Entity::Training(..) => "training entry",
            Entity::OpsetVersion => "opset version",
            Entity::OperatorVariable(..) => "type variable",
            Entity::Configuration(..) => "device configuration",
            Entity::Data(..) => "value",
        }
    }

    /// The corresponding part of another node. An entity that is not a part of a node stays as it is.
    #[must_use]
    pub fn with_node(mut self, body: BodyId, node: NodeId) -> Entity {
        if let Some(place) = self.node_mut() {
            *place.0 = body;
            *place.1 = node;
        }
        self
    }

    /// The node that it is, or is a part of.
    #[must_use]
    pub fn node(mut self) -> Option<(BodyId, NodeId)> {
        self.node_mut().map(|(body, node)| (*body, *node))
    }

    fn node_mut(&mut self) -> Option<(&mut BodyId, &mut NodeId)> {
        match self {
            Entity::Node(body, node)
            | Entity::NodeInput(body, node, _)
            | Entity::NodeOutput(body, node, _)
            | Entity::NodeOp(body, node)
            | Entity::Attr(body, node, _)
            | Entity::AttrReference(body, node, _)
            | Entity::AttrEntry(body, node, _, _) => Some((body, node)),
            Entity::Header
            | Entity::IrVersion
            | Entity::ModelVersion
            | Entity::OpsetImport(..)
            | Entity::ModelMetadata(..)
            | Entity::Function(..)
            | Entity::FunctionOpsetImport(..)
            | Entity::FunctionAttribute(..)
            | Entity::FunctionAttributeDefault(..)
            | Entity::Graph(..)
            | Entity::Input(..)
            | Entity::Output(..)
            | Entity::ValueInfo(..)
            | Entity::Initializer(..)
            | Entity::InitializerEntry(..)
            | Entity::SparseInitializer(..)
            | Entity::QuantizationAnnotation(..)
            | Entity::Training(..)
            | Entity::OpsetVersion
            | Entity::Operator(..)
            | Entity::OperatorInput(..)
            | Entity::OperatorOutput(..)
            | Entity::OperatorAttribute(..)
            | Entity::OperatorVariable(..)
            | Entity::Configuration(..)
            | Entity::Data(..) => None,
        }
    }
}
