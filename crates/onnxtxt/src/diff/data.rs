//! The data of a difference. Serialized, these types are the JSON form of `onnxtxt diff`: fields are added, never renamed.

use serde::Serialize;

/// Options of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only what users of the model see: inputs, outputs, operator sets and header.
    pub interface: bool,
}

/// Whether something was added, removed or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Only the second model has it.
    Added,
    /// Only the first model has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
}

/// A named property with its value in both models; `None` where a model does not have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PropertyChange {
    /// The property: `alpha`, `inputs[1]`, the name of an input.
    pub name: String,
    /// The name in the first model, where it is another one.
    pub old_name: Option<String>,
    /// The value in the first model, as ONNX text.
    pub old: Option<String>,
    /// The value in the second model, as ONNX text.
    pub new: Option<String>,
    /// More about the difference, for people.
    pub note: Option<String>,
}

impl PropertyChange {
    /// A property, if it differs.
    pub(crate) fn of(name: &str, old: Option<String>, new: Option<String>) -> Option<PropertyChange> {
        (old != new).then(|| PropertyChange { name: name.to_owned(), old_name: None, old, new, note: None })
    }

    pub(crate) fn added(name: &str, new: &str) -> PropertyChange {
        PropertyChange {
            name: name.to_owned(),
            old_name: None,
            old: None,
            new: Some(new.to_owned()),
            note: None,
        }
    }

    pub(crate) fn removed(name: &str, old: &str) -> PropertyChange {
        PropertyChange {
            name: name.to_owned(),
            old_name: None,
            old: Some(old.to_owned()),
            new: None,
            note: None,
        }
    }

    /// Whether it was added, removed or changed.
    pub fn kind(&self) -> Kind {
        match (&self.old, &self.new) {
            (None, Some(_)) => Kind::Added,
            (Some(_), None) => Kind::Removed,
            (Some(_), Some(_)) | (None, None) => Kind::Changed,
        }
    }
}

/// The part of `model_version` that a difference asks to raise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    /// The interface is the same.
    Patch,
    /// The interface has grown.
    Minor,
    /// A use of the model may break.
    Major,
}

impl Bump {
    /// `major`
    pub fn name(self) -> &'static str {
        match self {
            Bump::Patch => "patch",
            Bump::Minor => "minor",
            Bump::Major => "major",
        }
    }
}

/// The differences between two models.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct ModelDiff {
    /// Versions, producer, documentation, metadata, device configurations.
    pub header: Vec<PropertyChange>,
    /// Operator sets by domain.
    pub opsets: Vec<PropertyChange>,
    /// The main graph.
    pub graph: GraphDiff,
    /// Functions by domain, name and overload.
    pub functions: Vec<FunctionDiff>,
    /// Training graphs.
    pub training: Vec<FunctionDiff>,
    /// The part of the version to raise; `None` without differences.
    pub bump: Option<Bump>,
}

/// The differences between two graphs.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct GraphDiff {
    /// Inputs: name and type.
    pub inputs: Vec<PropertyChange>,
    /// Outputs: name and type.
    pub outputs: Vec<PropertyChange>,
    /// Initializers.
    pub weights: Vec<WeightDiff>,
    /// Nodes: those of the second graph in order, each removed one where it was.
    pub nodes: Vec<NodeDiff>,
    /// Declared types of other values.
    pub value_info: Vec<PropertyChange>,
    /// Name, documentation, metadata, quantization annotations.
    pub properties: Vec<PropertyChange>,
}

/// A node, for people.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeSummary {
    /// Its name; may be empty.
    pub name: String,
    /// Its operator, with a domain that is not the default one.
    pub op: String,
    /// Its results; those left out are empty.
    pub outputs: Vec<String>,
    /// Its position in the graph, from 0.
    pub index: usize,
    /// The node as ONNX text; weights and long lists are cut.
    pub text: String,
}

/// A node that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeDiff {
    /// Whether it was added, removed or changed.
    pub kind: Kind,
    /// The node of the first model.
    pub old: Option<NodeSummary>,
    /// The node of the second model.
    pub new: Option<NodeSummary>,
    /// Whether its place among the nodes that both models have is another one.
    pub moved: bool,
    /// Operator, domain and overload.
    pub operator: Vec<PropertyChange>,
    /// Names of the node and of its results.
    pub renamed: Vec<PropertyChange>,
    /// Operands that are other values, by position.
    pub operands: Vec<PropertyChange>,
    /// Attributes.
    pub attributes: Vec<PropertyChange>,
    /// Documentation, metadata, devices.
    pub properties: Vec<PropertyChange>,
    /// Graphs in attributes that differ.
    pub graphs: Vec<FunctionDiff>,
}

/// A weight that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WeightDiff {
    /// Whether it was added, removed or changed.
    pub kind: Kind,
    /// Its name, in the second model if that has it.
    pub name: String,
    /// The name in the first model, where it is another one.
    pub old_name: Option<String>,
    /// Type and shape in the first model.
    pub old_type: Option<String>,
    /// Type and shape in the second model.
    pub new_type: Option<String>,
    /// SHA-256 of the elements in the first model; `None` where they cannot be read.
    pub old_digest: Option<String>,
    /// SHA-256 of the elements in the second model.
    pub new_digest: Option<String>,
    /// How many elements differ, where both have as many.
    pub differing: Option<u64>,
    /// The largest absolute difference; `None` where elements are not numbers or shapes differ.
    pub largest_difference: Option<f64>,
    /// The mean absolute difference of all elements.
    pub mean_difference: Option<f64>,
    /// Documentation, metadata, the external file of elements that were not read.
    pub properties: Vec<PropertyChange>,
}

/// A function or nested graph that differs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FunctionDiff {
    /// Whether it was added, removed or changed.
    pub kind: Kind,
    /// Its name; of a nested graph the attribute.
    pub name: String,
    /// Attributes, operator sets, documentation.
    pub properties: Vec<PropertyChange>,
    /// Its graph.
    pub graph: GraphDiff,
}

impl ModelDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.header.is_empty()
            && self.opsets.is_empty()
            && self.graph.is_empty()
            && self.functions.is_empty()
            && self.training.is_empty()
    }
}

impl GraphDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
            && self.outputs.is_empty()
            && self.weights.is_empty()
            && self.nodes.is_empty()
            && self.value_info.is_empty()
            && self.properties.is_empty()
    }
}

impl NodeDiff {
    /// An empty difference of a node.
    pub(crate) fn of(kind: Kind) -> NodeDiff {
        NodeDiff {
            kind,
            old: None,
            new: None,
            moved: false,
            operator: Vec::new(),
            renamed: Vec::new(),
            operands: Vec::new(),
            attributes: Vec::new(),
            properties: Vec::new(),
            graphs: Vec::new(),
        }
    }

    /// Whether nothing differs but names.
    pub fn is_only_renamed(&self) -> bool {
        !self.renamed.is_empty() && NodeDiff { renamed: Vec::new(), ..self.clone() }.is_same()
    }

    /// Whether nothing differs in a node that both models have.
    pub(crate) fn is_same(&self) -> bool {
        self.kind == Kind::Changed
            && !self.moved
            && self.operator.is_empty()
            && self.renamed.is_empty()
            && self.operands.is_empty()
            && self.attributes.is_empty()
            && self.properties.is_empty()
            && self.graphs.is_empty()
    }
}
