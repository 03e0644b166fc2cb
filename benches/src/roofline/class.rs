//! Classes of kernels: the operator that takes the time, and the sizes that determine which loops compute it.
//!
//! ```text
//! Conv+BatchNormalization+Clip, group = channels, 3×3, stride 2      depthwise 3×3 stride 2
//! Mul+Conv, 1×1                                                       conv 1×1 after a gate
//! LayerNormalization+MatMul, 16 rows                                  product of 1–64 rows
//! ```

use onnx_exec::KernelProfile;
use onnx_ir::{Body, Model, Node};

/// Convolutions of any encoding.
const CONVOLUTIONS: &[&str] = &["Conv", "ConvInteger", "QLinearConv", "FusedConv"];
/// Matrix products of any encoding.
const PRODUCTS: &[&str] = &["MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "Einsum"];
/// Other operators that name their kernel, before those that are computed on the way.
const LEADING: &[&str] = &[
    "ConvTranspose",
    "Attention",
    "LSTM",
    "GRU",
    "RNN",
    "Softmax",
    "LogSoftmax",
    "LayerNormalization",
    "RMSNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LRN",
    "GlobalAveragePool",
    "MaxPool",
    "AveragePool",
    "ReduceMean",
    "ReduceSum",
    "Resize",
    "Concat",
    "Gather",
    "Pad",
    "Split",
    "Slice",
    "Transpose",
];
/// Functions that cost as much as many sums.
const FUNCTIONS: &[&str] = &["Erf", "Gelu", "Tanh", "Sigmoid", "Softplus", "Mish", "Exp", "Elu"];
/// Products of at most so many rows read their weights once for few results.
const FEW_ROWS: usize = 64;
/// Groups of at most so many channels do not fill a micro-kernel.
const FEW_CHANNELS: i64 = 64;

/// The class of a kernel of a model.
pub(super) fn class(kernel: &KernelProfile, model: &Model) -> String {
    let ops: Vec<&str> = kernel.op.split('+').collect();
    let body = model.main.map(|main| &model.bodies[main]);
    let is_byte = kernel.work.byte_products > 0;
    let bytes = if is_byte { "bytes: " } else { "" };
    if let Some(at) = ops.iter().position(|op| CONVOLUTIONS.contains(op)) {
        let node = kernel.nodes.iter().filter_map(|id| Some(&body?.nodes[*id]));
        let mut node = node.filter(|node| has_op(node, model, CONVOLUTIONS));
        let taps = node.next().zip(body).and_then(|(node, body)| taps(node, body, model));
        return format!("{bytes}{}{}", taps.unwrap_or("conv".to_owned()), around(&ops, at));
    }
    if let Some(at) = ops.iter().position(|op| PRODUCTS.contains(op)) {
        return match product(kernel, &ops) {
            Ok(product) => format!("{bytes}{product}{}", around(&ops, at)),
            Err(of_values) => format!("{bytes}{of_values}"),
        };
    }
    match LEADING.iter().find(|op| ops.contains(op)) {
        Some(op) if ops.iter().any(|op| FUNCTIONS.contains(op)) => format!("{op} with a function"),
        Some(op) => (*op).to_owned(),
        None if ops.len() == 1 => ops[0].to_owned(),
        None if ops.iter().any(|op| FUNCTIONS.contains(op)) => "elementwise with a function".to_owned(),
        None => "elementwise".to_owned(),
    }
}

fn has_op(node: &Node, model: &Model, of: &[&str]) -> bool {
    node.op.is_some_and(|op| of.contains(&&model.names[op]))
}

/// The kind of a convolution: its groups, taps, stride and dilation.
fn taps(node: &Node, body: &Body, model: &Model) -> Option<String> {
    let is = |name: &str| {
        node.attrs.iter().find(move |attr| attr.name.is_some_and(|found| &model.names[found] == name))
    };
    let ints = |name: &str| match is(name)?.value()? {
        onnx_ir::AttrValue::Ints(list) => Some(list.to_vec()),
        _ => None,
    };
    let group = match is("group").and_then(|attr| attr.value()) {
        Some(onnx_ir::AttrValue::Int(group)) => *group,
        Some(_) | None => 1,
    };
    let size = ints("kernel_shape").or_else(|| Some(weights(node, body)?.get(2..)?.to_vec()))?;
    let channels = weights(node, body).and_then(|dims| dims.get(1).copied());
    let mut text = match (group, channels) {
        (1, _) => "conv ".to_owned(),
        (_, Some(1)) => "depthwise ".to_owned(),
        (_, Some(few)) if few <= FEW_CHANNELS => "conv in groups of few channels ".to_owned(),
        _ => "conv in groups ".to_owned(),
    };
    text += &size.iter().map(i64::to_string).collect::<Vec<_>>().join("×");
    if let Some(stride) = ints("strides").and_then(|strides| strides.into_iter().max()).filter(|by| *by > 1) {
        text += &format!(" stride {stride}");
    }
    if ints("dilations").is_some_and(|all| all.iter().any(|by| *by > 1)) {
        text += " dilated";
    }
    Some(text)
}

/// The shape of the first constant of rank 3 or more that a convolution reads.
fn weights<'b>(node: &Node, body: &'b Body) -> Option<&'b [i64]> {
    let root = body.root()?;
    let stored = &body.graphs[root].initializers;
    node.inputs.iter().flatten().find_map(|input| {
        let of = stored.iter().find(|it| it.value == *input)?;
        Some(&body.tensors[of.tensor].dims[..]).filter(|dims| dims.len() > 2)
    })
}

/// The size of a product with constants, or the kind of a product of two values.
fn product(kernel: &KernelProfile, ops: &[&str]) -> Result<String, &'static str> {
    if ops.iter().any(|op| op.ends_with("Softmax")) {
        return Err("attention");
    }
    if kernel.work.constants == 0 {
        return Err("product of two values");
    }
    let rows = kernel.results.last().map_or(0, |(_, dims)| {
        let (_, before) = dims.split_last().unwrap_or((&0, &[]));
        before.iter().product()
    });
    Ok(match rows <= FEW_ROWS {
        true => format!("product of 1–{FEW_ROWS} rows"),
        false => "product".to_owned(),
    })
}

/// How the operators before and after the main one change it.
fn around(ops: &[&str], at: usize) -> String {
    let (before, after) = (&ops[..at], &ops[at + 1..]);
    let mut text = String::new();
    for (op, name) in [
        ("Mul", " after a gate"),
        ("Concat", " after Concat"),
        ("Transpose", " after Transpose"),
        ("Resize", " after Resize"),
    ] {
        if before.contains(&op) {
            text += name;
        }
    }
    if before.iter().any(|op| op.ends_with("Normalization") && *op != "BatchNormalization") {
        text += " after a normalization";
    }
    if after.contains(&"Erf") || after.contains(&"Gelu") {
        text += " with erf";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_exec::Work;
    use onnx_ir::{ElemType, NodeId, PrimaryMap};
    use std::time::Duration;

    fn kernel(op: &str, nodes: Vec<NodeId>, dims: &[usize], constants: u64) -> KernelProfile {
        KernelProfile {
            op: op.to_owned(),
            name: String::new(),
            nodes,
            results: vec![(ElemType::FLOAT, dims.to_vec())],
            start: Duration::ZERO,
            times: Vec::new(),
            work: Work { constants, ..Work::default() },
        }
    }

    #[test]
    fn convolutions_are_named_by_groups_and_taps() {
        let text = "<ir_version: 10, opset_import: [\"\" : 21]>
            g (float[1,4,9,9] x) => (float[1,4,?,?] z)
            <float[4,1,3,3] w = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1},
             float[4,2,1,1] v = {1,1,1,1,1,1,1,1}> {
                y = Conv <group = 4, strides = [2, 2]> (x, w)
                z = Conv <group = 2, dilations = [2, 2]> (y, v)
            }";
        let model = onnx_text::read_model(text).value;
        let body = &model.bodies[model.main.unwrap()];
        let nodes: Vec<NodeId> = body.nodes.ids().collect();
        let of = |at: usize, op: &str| class(&kernel(op, vec![nodes[at]], &[1, 4, 4, 4], 100), &model);
        assert_eq!(of(0, "Conv+Relu"), "depthwise 3×3 stride 2");
        assert_eq!(of(1, "Mul+Conv+Erf"), "conv in groups of few channels 1×1 dilated after a gate with erf");
    }

    #[test]
    fn other_kernels_are_named_by_their_main_operator() {
        let model = Model::of_opset(21);
        let ids: PrimaryMap<NodeId, ()> = PrimaryMap::new();
        let of = |op: &str, dims: &[usize], constants| {
            class(&kernel(op, ids.ids().collect(), dims, constants), &model)
        };
        assert_eq!(
            of("LayerNormalization+MatMul+Add", &[1, 16, 8], 99),
            "product of 1–64 rows after a normalization"
        );
        assert_eq!(of("MatMul", &[100, 8], 99), "product");
        assert_eq!(of("Transpose+MatMul+Softmax", &[1, 2, 3, 4], 0), "attention");
        assert_eq!(of("Mul+Add", &[4], 0), "elementwise");
        assert_eq!(of("Exp+Add", &[4], 0), "elementwise with a function");
        assert_eq!(of("Add+Transpose+LayerNormalization", &[4], 0), "LayerNormalization");
    }
}
