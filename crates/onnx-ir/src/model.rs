//! A model: header, main graph, functions, and what training and multi-device execution add.

use crate::attr::Attr;
use crate::body::Body;
use crate::entity::PrimaryMap;
use crate::ids::{BodyId, FunctionId};
use crate::names::{Name, Names};
use crate::tensor::Entry;
use crate::types::Types;

/// A whole model, right or wrong.
///
/// Names and types are interned here and shared by all bodies; graphs, nodes, values and tensors are in arenas of
/// the body that they belong to.
///
/// ```
/// use onnx_ir::{GraphBuilder, Model};
///
/// let mut model = Model::of_opset(21);
/// let mut b = GraphBuilder::main(&mut model, "g");
/// let x = b.input("x", None);
/// let y = b.op("Relu", [x]);
/// b.output("y", y, None);
/// b.finish();
///
/// let body = model.main_body().unwrap();
/// let (node, relu) = body.nodes.iter().next().unwrap();
/// assert_eq!((model.text(relu.op), relu.outputs[0]), ("Relu", Some(y)));
/// assert_eq!(body.nodes.id_at(0), Some(node));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Every string of the model.
    pub names: Names,
    /// Every type of the model.
    pub types: Types,
    /// Main graph, function bodies and training graphs, in order of creation.
    pub bodies: PrimaryMap<BodyId, Body>,
    /// The header.
    pub header: Header,
    /// The body whose root is the main graph; a broken model may lack it.
    pub main: Option<BodyId>,
    /// Model-local functions in order.
    pub functions: PrimaryMap<FunctionId, Function>,
    /// `training_info` in order.
    pub training: Vec<TrainingInfo>,
    /// Device configurations that nodes refer to (IR 11 and later).
    pub configurations: Vec<DeviceConfiguration>,
}

/// The header of a model. `None` is a field that is not set, which differs from one that is set to its default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Header {
    /// Version of the format.
    pub ir_version: Option<i64>,
    /// The operator sets in use.
    pub opset_imports: Vec<OpsetImport>,
    /// The program that made the model.
    pub producer_name: Option<Name>,
    /// Its version.
    pub producer_version: Option<Name>,
    /// Reverse-DNS domain of the model.
    pub domain: Option<Name>,
    /// Version of the model.
    pub model_version: Option<i64>,
    /// Documentation.
    pub doc: Option<Name>,
    /// Named metadata.
    pub metadata: Vec<Entry>,
}

/// One imported operator set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct OpsetImport {
    /// Its domain; absent and empty both mean ai.onnx.
    pub domain: Option<Name>,
    /// Its version.
    pub version: Option<i64>,
}

/// A model-local function. The ports of its root graph have names only (the inputs and outputs of a function are
/// untyped), and its entries of `value_info` carry what types there are.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Name, domain and overload identify the function.
    pub name: Option<Name>,
    /// See [`name`](Self::name).
    pub domain: Option<Name>,
    /// See [`name`](Self::name).
    pub overload: Option<Name>,
    /// Attribute parameters without a default.
    pub attributes: Vec<Name>,
    /// Attribute parameters with their default.
    pub attribute_defaults: Vec<Attr>,
    /// The operator sets that the body uses.
    pub opset_imports: Vec<OpsetImport>,
    /// Documentation.
    pub doc: Option<Name>,
    /// Named metadata.
    pub metadata: Vec<Entry>,
    /// Inputs, outputs and nodes.
    pub body: BodyId,
}

/// Training information (`TrainingInfoProto`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TrainingInfo {
    /// The graph that computes initial values.
    pub initialization: Option<BodyId>,
    /// Graph of one training step.
    pub algorithm: Option<BodyId>,
    /// Initializer (key) and the output of [`initialization`](Self::initialization) that sets it.
    pub initialization_bindings: Vec<Entry>,
    /// Initializer (key) and the output of a step that updates it.
    pub update_bindings: Vec<Entry>,
}

/// A named set of devices (`DeviceConfigurationProto`).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DeviceConfiguration {
    /// Name that nodes refer to.
    pub name: Option<Name>,
    /// Number of devices.
    pub num_devices: Option<i32>,
    /// Names of the devices, as many as there are devices, or none.
    pub devices: Vec<Name>,
}

impl Model {
    /// An empty model.
    pub fn new() -> Self {
        Self::default()
    }

    /// The main graph's body.
    pub fn main_body(&self) -> Option<&Body> {
        self.main.map(|b| &self.bodies[b])
    }

    /// Text of an optional name, `""` if it is absent.
    pub fn text(&self, name: Option<Name>) -> &str {
        name.map_or("", |n| &self.names[n])
    }

    /// The imports of a body: those of its function, otherwise those of the model.
    pub fn imports_of(&self, body: BodyId) -> &[OpsetImport] {
        let function = self.functions.values().find(|function| function.body == body);
        function.map_or(&self.header.opset_imports, |function| &function.opset_imports)
    }

    /// The newest version of a domain that a body imports, where `""` and `"ai.onnx"` name the same one.
    pub fn newest_import(&self, body: BodyId, domain: &str) -> Option<i64> {
        let requested = normalize_domain(domain);
        let of_domain = |import: &&OpsetImport| normalize_domain(self.text(import.domain)) == requested;
        self.imports_of(body).iter().filter(of_domain).filter_map(|import| import.version).max()
    }

    /// The imported version of a domain, where `""` and `"ai.onnx"` name the same one.
    pub fn opset_version(&self, imports: &[OpsetImport], domain: &str) -> Option<i64> {
        let requested = normalize_domain(domain);
        imports.iter().find(|i| normalize_domain(self.text(i.domain)) == requested).and_then(|i| i.version)
    }
}

/// `""` for the default domain by either of its names.
pub fn normalize_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
