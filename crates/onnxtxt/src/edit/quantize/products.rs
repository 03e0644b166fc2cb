//! The nodes that are quantized.

use onnx_ir::diag::counted;
use onnx_ir::{
    AttrValue, Body, BodyId, ElemType, Model, NodeId, Tensor, ValueDef, ValueId, normalize_domain,
};
use std::collections::HashMap;

/// A product with a constant weight.
pub(super) struct Product<'t> {
    pub(super) input: ValueId,
    pub(super) weight: ValueId,
    pub(super) tensor: &'t Tensor,
    /// The axis of the weight that the output has.
    pub(super) channel: usize,
    pub(super) is_convolution: bool,
    /// The bias that is added to the product.
    pub(super) bias: Option<ValueId>,
    /// Whether the third operand is added as it is.
    pub(super) has_plain_bias: bool,
}

impl Product<'_> {
    /// The weight with its two axes exchanged.
    pub(super) fn transposed(&self) -> Result<Tensor, String> {
        let numbers = self.tensor.view::<f32>().map_err(|error| error.to_string())?;
        let [rows, columns] = self.tensor.dims[..] else {
            return Err("its weight does not have two axes".to_owned());
        };
        let size = |d: i64| usize::try_from(d).unwrap_or(0);
        let at = |i: usize, j: usize| numbers[i * size(columns) + j];
        let all = (0..size(columns)).flat_map(|j| (0..size(rows)).map(move |i| (i, j)));
        Ok(Tensor::new([columns, rows], all.map(|(i, j)| at(i, j)).collect()))
    }
}

/// The tensors of values that are constant: initializers without an input, and results of `Constant`.
pub(super) fn constants(model: &Model, id: BodyId) -> HashMap<ValueId, Tensor> {
    let body = &model.bodies[id];
    let mut all = HashMap::new();
    for init in body.graphs.values().flat_map(|graph| &graph.initializers) {
        if matches!(body.values[init.value].def, ValueDef::Initializer(_)) {
            all.insert(init.value, body.tensors[init.tensor].clone());
        }
    }
    for node in body.nodes.values().filter(|node| model.text(node.op) == "Constant") {
        let tensor =
            node.attrs.iter().filter(|attr| model.text(attr.name) == "value").find_map(|attr| attr.value());
        if let (Some(&Some(value)), Some(AttrValue::Tensor(tensor))) = (node.outputs.first(), tensor) {
            all.insert(value, body.tensors[*tensor].clone());
        }
    }
    all
}

/// The product that a node is. `None`: it is none with a constant weight; `Err`: why it cannot be quantized.
pub(super) fn product<'t>(
    model: &Model,
    body: &Body,
    node: NodeId,
    constants: &'t HashMap<ValueId, Tensor>,
) -> Option<Result<Product<'t>, String>> {
    let n = &body.nodes[node];
    if !normalize_domain(model.text(n.domain)).is_empty() {
        return None;
    }
    let op = model.text(n.op);
    let (&Some(input), &Some(weight)) = (n.inputs.first()?, n.inputs.get(1)?) else { return None };
    let tensor = constants.get(&weight)?;
    let attr = |name: &str| n.attrs.iter().find(|attr| model.text(attr.name) == name);
    let int = |name: &str| match attr(name).and_then(|attr| attr.value()) {
        Some(AttrValue::Int(value)) => *value,
        _ => 0,
    };
    let is_one = |name: &str| match attr(name).and_then(|attr| attr.value()) {
        Some(AttrValue::Float(value)) => (value - 1.0).abs() < f32::EPSILON,
        _ => true,
    };
    let bias = n.inputs.get(2).copied().flatten();
    let rank = tensor.dims.len();
    let mut product = Product {
        input,
        weight,
        tensor,
        channel: 1,
        is_convolution: false,
        bias: None,
        has_plain_bias: false,
    };
    match op {
        "MatMul" if rank == 2 => {}
        "MatMul" => return Some(Err(format!("its weight has {}, not 2", counted(rank, "axis")))),
        "Gemm" => {
            if int("transA") != 0 || !is_one("alpha") || bias.is_some() && !is_one("beta") {
                return Some(Err("it has `transA`, `alpha` or `beta`".to_owned()));
            }
            product.channel = if int("transB") == 0 { 1 } else { 0 };
            (product.bias, product.has_plain_bias) = (bias, true);
        }
        "Conv" => (product.channel, product.is_convolution, product.has_plain_bias) = (0, true, true),
        _ => return None,
    }
    if constants.contains_key(&input) {
        return Some(Err("both operands are constant".to_owned()));
    }
    match tensor.elem {
        Some(ElemType::FLOAT) if !tensor.is_external() => Some(Ok(product)),
        Some(ElemType::FLOAT) => Some(Err("its weight is in another file".to_owned())),
        elem => Some(Err(format!("its weight is {}", elem.and_then(ElemType::name).unwrap_or("of no type")))),
    }
}
