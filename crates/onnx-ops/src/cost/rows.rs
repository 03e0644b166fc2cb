//! Operations of each operator.

use super::Counter;
use crate::dims::Dim;
use onnx_ir::NodeId;

/// Multiply-accumulate operations of a node, if its shapes are known.
type Macs = fn(&mut Counter<'_>, NodeId) -> Option<Dim>;

/// Sums of products.
static SUMS: &[(&str, Macs)] = &[
    ("Conv", |cx, n| convolution(cx, n, 1)),
    ("ConvInteger", |cx, n| convolution(cx, n, 1)),
    ("QLinearConv", |cx, n| convolution(cx, n, 3)),
    ("FusedConv", |cx, n| convolution(cx, n, 1)),
    ("DeformConv", |cx, n| convolution(cx, n, 1)),
    ("ConvTranspose", transposed),
    ("MatMul", |cx, n| product(cx, n, 0)),
    ("MatMulInteger", |cx, n| product(cx, n, 0)),
    ("QLinearMatMul", |cx, n| product(cx, n, 0)),
    ("FusedMatMul", |cx, n| product(cx, n, 0)),
    ("DynamicQuantizeMatMul", |cx, n| product(cx, n, 0)),
    ("MatMulNBits", |cx, n| product(cx, n, 0)),
    ("Gemm", gemm),
    ("FusedGemm", gemm),
    ("Einsum", einsum),
    ("LSTM", |cx, n| recurrent(cx, n, 4)),
    ("GRU", |cx, n| recurrent(cx, n, 3)),
    ("RNN", |cx, n| recurrent(cx, n, 1)),
    ("Attention", attention),
    ("MultiHeadAttention", attention),
];

/// Operators whose elements are only moved, named or chosen.
static MOVES: &[&str] = &[
    "BitCast",
    "Cast",
    "CastLike",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Dropout",
    "Expand",
    "EyeLike",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "NonZero",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "Range",
    "Reshape",
    "ReverseSequence",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "TensorScatter",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

/// Operations per element of the first operand: reductions and operators with several steps.
static BY_INPUT: &[(&str, i64)] = &[
    ("ArgMax", 1),
    ("ArgMin", 1),
    ("CumProd", 1),
    ("CumSum", 1),
    ("GlobalAveragePool", 1),
    ("GlobalMaxPool", 1),
    ("GroupNormalization", 7),
    ("Hardmax", 1),
    ("InstanceNormalization", 7),
    ("LayerNormalization", 7),
    ("LogSoftmax", 5),
    ("LpNormalization", 3),
    ("MeanVarianceNormalization", 5),
    ("RMSNormalization", 4),
    ("SimplifiedLayerNormalization", 4),
    ("SkipLayerNormalization", 8),
    ("Softmax", 5),
    ("TopK", 1),
];

/// Operations per element of the first result, if not 1.
static BY_OUTPUT: &[(&str, i64)] =
    &[("BatchNormalization", 2), ("DequantizeLinear", 2), ("QuantizeLinear", 2)];

/// Operators that process a window per element of the result.
static WINDOWS: &[&str] = &["AveragePool", "LpPool", "MaxPool"];

/// Multiply-accumulate operations and all operations of a node without graphs.
pub(super) fn operations(cx: &mut Counter<'_>, node: NodeId) -> Option<(Dim, Dim)> {
    let (domain, op) = cx.op(node);
    if !matches!(domain, "" | "com.microsoft") {
        return None;
    }
    if let Some((_, macs)) = SUMS.iter().find(|(name, _)| *name == op) {
        let macs = macs(cx, node)?;
        let mut flops = cx.mul(macs, Dim::Const(2));
        let bias = if op == "QLinearConv" { 8 } else { 2 };
        if matches!(op, "Conv" | "FusedConv" | "QLinearConv" | "ConvTranspose" | "Gemm" | "FusedGemm")
            && cx.n(node).inputs.get(bias).copied().flatten().is_some()
        {
            let more = cx.output(node, 0).map(|shape| cx.product(&shape))?;
            flops = cx.facts.dims.add(flops, more);
        }
        return Some((macs, flops));
    }
    let none = Dim::Const(0);
    if MOVES.contains(&op) {
        return Some((none, none));
    }
    let factor = |rows: &[(&str, i64)]| rows.iter().find(|(name, _)| *name == op).map(|(_, n)| *n);
    if let Some(n) = factor(BY_INPUT).or(op.starts_with("Reduce").then_some(1)) {
        let shape = cx.input(node, 0)?;
        let count = cx.product(&shape);
        return Some((none, cx.mul(count, Dim::Const(n))));
    }
    // For other domains only listed operators are known.
    if !domain.is_empty() && factor(BY_OUTPUT).is_none() {
        return None;
    }
    let shape = cx.output(node, 0)?;
    let mut count = cx.product(&shape);
    if WINDOWS.contains(&op) {
        let kernel = cx.ints(node, "kernel_shape")?;
        for extent in kernel {
            count = cx.mul(count, Dim::Const(extent));
        }
    }
    Some((none, cx.mul(count, Dim::Const(factor(BY_OUTPUT).unwrap_or(1)))))
}

/// Each element of the result is a sum over the channels of a group and the kernel.
fn convolution(cx: &mut Counter<'_>, node: NodeId, weights: usize) -> Option<Dim> {
    let (result, weights) = (cx.output(node, 0)?, cx.input(node, weights)?);
    let count = cx.product(&result);
    let each = cx.product(weights.get(1..)?);
    Some(cx.mul(count, each))
}

/// Each element of the operand contributes to the channels of a group, at each position of the kernel.
fn transposed(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (operand, weights) = (cx.input(node, 0)?, cx.input(node, 1)?);
    let count = cx.product(&operand);
    let each = cx.product(weights.get(1..)?);
    Some(cx.mul(count, each))
}

fn product(cx: &mut Counter<'_>, node: NodeId, operand: usize) -> Option<Dim> {
    let (result, operand) = (cx.output(node, 0)?, cx.input(node, operand)?);
    let is_turned = cx.int(node, "transA").unwrap_or(0) != 0;
    let axis = if is_turned { operand.len().checked_sub(2)? } else { operand.len().checked_sub(1)? };
    let count = cx.product(&result);
    Some(cx.mul(count, operand[axis]))
}

fn gemm(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (result, operand) = (cx.output(node, 0)?, cx.input(node, 0)?);
    let is_turned = cx.int(node, "transA").unwrap_or(0) != 0;
    let inner = *operand.get(usize::from(!is_turned))?;
    let count = cx.product(&result);
    Some(cx.mul(count, inner))
}

/// The product of all different labels, if there are products.
fn einsum(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let onnx_ir::AttrValue::String(equation) = cx.attr(node, "equation")? else { return None };
    let equation: String =
        std::str::from_utf8(equation).ok()?.chars().filter(|c| !c.is_whitespace()).collect();
    let operands = equation.split("->").next()?;
    if operands.contains('.') {
        return None;
    }
    let mut seen: Vec<(char, Dim)> = Vec::new();
    let terms: Vec<&str> = operands.split(',').collect();
    for (i, term) in terms.iter().enumerate() {
        let shape = cx.input(node, i)?;
        for (label, dim) in term.chars().zip(shape) {
            match seen.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if *known == Dim::Const(1) => *known = dim,
                Some(_) => {}
                None => seen.push((label, dim)),
            }
        }
    }
    let dims: Vec<Dim> = seen.into_iter().map(|(_, dim)| dim).collect();
    let products = i64::try_from(terms.len()).ok()?.checked_sub(1)?;
    let all = cx.product(&dims);
    Some(cx.mul(all, Dim::Const(products)))
}

/// Each gate is a product with the operand and one with the state, per step and direction.
fn recurrent(cx: &mut Counter<'_>, node: NodeId, gates: i64) -> Option<Dim> {
    let (x, weights, states) = (cx.input(node, 0)?, cx.input(node, 1)?, cx.input(node, 2)?);
    let ([a, b, size], [directions, _, _], [_, _, hidden]) = (&x[..], &weights[..], &states[..]) else {
        return None;
    };
    let both = cx.facts.dims.add(*size, *hidden);
    let each = cx.product(&[*a, *b, *directions, *hidden, both]);
    Some(cx.mul(each, Dim::Const(gates)))
}

/// Products of queries with keys, and of weights with values.
fn attention(cx: &mut Counter<'_>, node: NodeId) -> Option<Dim> {
    let (q, k, v) = (cx.input(node, 0)?, cx.input(node, 1)?, cx.input(node, 2)?);
    let past = cx.input(node, 4);
    let (rows, width) = match &q[..] {
        [batch, heads, length, width] => (cx.product(&[*batch, *heads, *length]), *width),
        [batch, length, width] => (cx.product(&[*batch, *length]), *width),
        _ => return None,
    };
    let (mut keys, value_width) = match (&k[..], &v[..]) {
        ([_, _, keys, _], [_, _, _, width]) => (*keys, *width),
        // Heads are packed in the last axis: the width of the queries counts.
        ([_, keys, _], [_, _, _]) => (*keys, width),
        _ => return None,
    };
    if let Some([_, _, more, _]) = past.as_deref() {
        keys = cx.facts.dims.add(keys, *more);
    }
    let both = cx.facts.dims.add(width, value_width);
    Some(cx.product(&[rows, keys, both]))
}
