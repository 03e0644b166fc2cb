//! Makes a training model of an inference model.
//!
//! ```text
//! before:  g (float[N,2] x) => (float[N,3] scores) <float[2,3] w = …> { scores = MatMul(x, w) }
//! after:   the same graph, with a training of
//!          algorithm (int64[N] label) => (float loss, float accuracy, float[2,3] w_new) <float learning_rate = {0.01}> {
//!             loss = SoftmaxCrossEntropyLoss(scores, label)      accuracy = …
//!             d_w = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
//!             change = Mul(learning_rate, d_w)                   w_new = Sub(w, change)
//!          }
//!          update_binding: ["w": "w_new"]
//! ```
//!
//! The main graph stays as it is: the algorithm reads its values. The initialization graph has the usual distributions
//! (He et al. 2015; Glorot and Bengio 2010), and resets what the optimizer keeps.

mod draft;
mod initial;
mod loss;
mod optimizer;

pub use initial::Initial;
pub use loss::Loss;
pub use optimizer::{Optimizer, OptimizerKind};

use crate::edit::{Edited, main_graph, relocate};
use draft::{Draft, TRAINING};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::pass::{Report, compact, upgrade_ir_version};
use onnx_ir::{
    Attr, AttrValue, BodyId, ElemType, Entry, GraphId, Model, Name, NodeId, OpsetImport, TrainingInfo,
    ValueDef, ValueId,
};
use onnx_ops::gradient::{Results, expand_gradient, expand_gradient_recomputing};
use onnx_ops::schema::Registry;

/// How a model shall be trained.
pub struct Trainable<'t> {
    /// The loss to minimize.
    pub loss: Loss,
    /// How weights follow the gradients.
    pub optimizer: Optimizer,
    /// The output that the loss compares with the label; `None`: the first one of floats.
    pub output: Option<String>,
    /// The name of the input with the right answers; a number is appended if the model has the name already.
    pub label: String,
    /// The values that the initialization graph sets weights to; `None`: without such a graph.
    pub initial: Option<Initial>,
    /// Weights that stay as they are, by name.
    pub is_frozen: &'t dyn Fn(&str) -> bool,
    /// The treatment of intermediate results that the gradients need. If they are computed again, the algorithm has the nodes that
    /// do so instead of `Gradient`.
    pub gradient_results: Results,
}

/// A weight that is trained.
struct Weight {
    name: Name,
    elem: ElemType,
    dims: Vec<i64>,
    role: Role,
}

/// How the main graph uses a weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Filters of a convolution: outputs, inputs, extents of the kernel.
    Filter,
    /// The right operand of a product of matrices, `[inputs, outputs]`.
    Matrix,
    /// The same, transposed.
    Transposed,
    /// A factor, such as the scale of a normalization.
    Scale,
    /// Something that is added, or that is used in another way.
    Other,
    /// Statistics of a normalization, or the parameters of a quantization: these are not trained.
    Constant,
}

/// The oldest version of ai.onnx that has all operators of the losses.
const OLDEST: i64 = 12;

/// Adds a training to a model. The report has the number of weights that are trained.
///
/// # Errors
///
/// The model has a training already, no output fits the loss, no weight is left to be trained, or the derivative of a node is not
/// known.
pub fn trainable(model: &mut Model, registry: &Registry, options: &Trainable<'_>) -> Edited {
    let (body, root) = main_graph(model).ok_or_else(|| vec![refused("the model has no graph")])?;
    if !model.training.is_empty() {
        return Err(vec![refused("the model has a training already")]);
    }
    let version = model.newest_import(body, "");
    if version.is_none_or(|version| version < OLDEST) {
        let found = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        let message =
            format!("training needs version {OLDEST} of ai.onnx or later, the model imports {found}");
        return Err(vec![
            refused(message).help(format!("bring it there: onnxtxt set-opset ai.onnx={OLDEST}")),
        ]);
    }
    let prediction = loss::prediction(model, options)?;
    let weights = weights(model, body, root, options.is_frozen);
    if weights.is_empty() {
        return Err(vec![refused("no weight is left to be trained")]);
    }
    // Inputs of the format before version 4 could replace weights.
    let unchanged = weights.iter().find(|weight| is_input(model, body, root, weight.name));
    if let Some(weight) = unchanged {
        let message = format!("weight `{}` is also an input of the graph", &model.names[weight.name]);
        return Err(vec![refused(message)]);
    }
    let original = model.clone();
    upgrade_ir_version(model, 7);
    import_training(model);
    let mut algorithm = Draft::default();
    let loss = loss::add(&mut algorithm, model, &prediction, options);
    let gradients = gradients(&mut algorithm, model, &weights, loss);
    let states = optimizer::add(&mut algorithm, model, &weights, &gradients, &options.optimizer);
    let mut info = TrainingInfo {
        update_bindings: states.iter().map(|s| entry(s.variable, s.new)).collect(),
        ..TrainingInfo::default()
    };
    if let Some(initial) = options.initial {
        let mut draft = Draft::default();
        info.initialization_bindings = initial::add(&mut draft, model, &weights, &states, initial);
        info.initialization = Some(draft.finish(model, "initialization"));
    }
    info.algorithm = Some(algorithm.finish(model, "algorithm"));
    model.training.push(info);
    compact(model);
    // Nodes without a derivative are found now, and not when the training begins.
    let added = model.clone();
    let mut found = match options.gradient_results {
        Results::Kept => expand_gradient(&mut model.clone(), registry).diagnostics,
        Results::Recomputed => expand_gradient_recomputing(model, registry).diagnostics,
    };
    if !found.is_empty() {
        // The nodes of the algorithm are not in the caller's model.
        relocate(&mut found, &added, &original);
        return Err(found);
    }
    let mut report = Report::default();
    report.note(weights.len(), "weight", "trained");
    Ok(report)
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&code::TRAINABLE, Place::Nowhere, message.into())
}

fn entry(key: Name, value: Name) -> Entry {
    Entry { key: Some(key), value: Some(value) }
}

fn is_input(model: &Model, body: BodyId, root: GraphId, name: Name) -> bool {
    model.bodies[body].graphs[root].inputs.iter().any(|port| port.name == Some(name))
}

fn import_training(model: &mut Model) {
    if model.opset_version(&model.header.opset_imports, TRAINING).is_none() {
        let domain = Some(model.names.intern(TRAINING));
        model.header.opset_imports.push(OpsetImport { domain, version: Some(1) });
    }
}

/// The weights that are trained: float and double initializers with at least one axis, as far as they are not frozen.
fn weights(model: &Model, body: BodyId, root: GraphId, is_frozen: &dyn Fn(&str) -> bool) -> Vec<Weight> {
    let b = &model.bodies[body];
    let mut all = Vec::new();
    for init in &b.graphs[root].initializers {
        let (name, tensor) = (b.values[init.value].name, &b.tensors[init.tensor]);
        let Some(elem @ (ElemType::FLOAT | ElemType::DOUBLE)) = tensor.elem else { continue };
        let role = role(model, body, init.value);
        if tensor.dims.is_empty() || role == Role::Constant || is_frozen(&model.names[name]) {
            continue;
        }
        all.push(Weight { name, elem, dims: tensor.dims.to_vec(), role });
    }
    all
}

/// How a weight is used first.
fn role(model: &Model, body: BodyId, value: ValueId) -> Role {
    let b = &model.bodies[body];
    let mut uses = model.walk_nodes(body).filter_map(|node| {
        let at = node.inputs.iter().position(|input| *input == Some(value))?;
        Some((node, at))
    });
    let Some((node, at)) = uses.next() else { return Role::Constant };
    let is_transposed = |id: NodeId| {
        let name = model.names.find("transB");
        let value = name.and_then(|name| b.nodes[id].attr(name)?.value());
        matches!(value, Some(AttrValue::Int(1)))
    };
    match (node.op(), at) {
        ("Conv", 1) => Role::Filter,
        ("MatMul", 1) => Role::Matrix,
        ("Gemm", 1) if is_transposed(node.id()) => Role::Transposed,
        ("Gemm", 1) => Role::Matrix,
        ("BatchNormalization", 3 | 4) => Role::Constant,
        ("QuantizeLinear" | "DequantizeLinear", 1 | 2) => Role::Constant,
        (
            "BatchNormalization"
            | "LayerNormalization"
            | "InstanceNormalization"
            | "GroupNormalization"
            | "RMSNormalization",
            1,
        )
        | ("Mul", _) => Role::Scale,
        _ => Role::Other,
    }
}

/// Adds the node that computes the gradients, and returns their names.
fn gradients(draft: &mut Draft, model: &mut Model, weights: &[Weight], loss: Name) -> Vec<Name> {
    let names: Vec<String> = weights.iter().map(|weight| model.names[weight.name].to_owned()).collect();
    let gradients: Vec<Name> = names.iter().map(|name| model.names.fresh(&format!("d_{name}"))).collect();
    let xs: Vec<&str> = names.iter().map(String::as_str).collect();
    let xs = AttrValue::from(&xs[..]);
    let y = AttrValue::from(&model.names[loss]);
    let inputs: Vec<Name> = weights.iter().map(|weight| weight.name).collect();
    draft.node((TRAINING, "Gradient"), &inputs, &gradients).attr("xs", xs).attr("y", y);
    gradients
}

/// The value that the output of the main graph with a name is, and the node that computes it.
fn computed_by(model: &Model, body: BodyId, value: ValueId) -> Option<NodeId> {
    match model.bodies[body].values[value].def {
        ValueDef::Output(node, _) => Some(node),
        ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
    }
}

/// An attribute by name.
fn int_attr(model: &Model, body: BodyId, node: NodeId, name: &str) -> Option<i64> {
    let name = model.names.find(name)?;
    match model.bodies[body].nodes[node].attr(name).and_then(Attr::value)? {
        AttrValue::Int(value) => Some(*value),
        _ => None,
    }
}
