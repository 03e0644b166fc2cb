//! Formulas as text: what a scheduler gets to see.

use conformance::formulas::{only_definition, only_node};
use std::fmt::Write as _;

/// Declarations of initializers, and a node.
const NODES: &[(&str, &str)] = &[
    ("float[2,3] x, float[3] b", "y = Add(x, b)"),
    ("float[2,3] x", "y = LeakyRelu <alpha = 0.25> (x)"),
    ("float16[2,3] x", "y = Gelu(x)"),
    ("int32[3] x, float[3] p", "y = Pow(x, p)"),
    ("float[2,3,4] x", "y = Flatten <axis = 2> (x)"),
    ("float[2,6] x", "y = Transpose(x)"),
    ("float[2,3] a, float[2,1] b, float[2,2] c", "y = Concat <axis = 1> (a, b, c)"),
    ("float[5,4] x, int64[2] i = {0, 4}", "y = Gather(x, i)"),
    ("float[2,3] x", "y = ReduceMean(x)"),
    ("float[2,3] x", "y = ReduceLogSumExp(x)"),
    ("float[2,3] x", "y = ArgMax <axis = 1> (x)"),
    ("float[2,3] x", "y = Softmax(x)"),
    ("float16[2,3] a, float16[3,4] b", "y = MatMul(a, b)"),
    ("float[5,2,3] a, float[3,4] b", "y = MatMul(a, b)"),
    ("float[2,3] a, float[4,3] b, float[4] c", "y = Gemm <alpha = 0.5, transB = 1> (a, b, c)"),
    ("float[5,2,3] a, float[5,3,4] b", "y = Einsum <equation = \"bij,bjk->ikb\"> (a, b)"),
    ("float[1,2,5,5] x, float[4,2,3,3] w, float[4] b", "y = Conv(x, w, b)"),
    ("float[1,4,5] x, float[4,1,3] w", "y = Conv <group = 4, pads = [1, 1], strides = [2]> (x, w)"),
    ("float[1,4,5] x, float[6,2,3] w", "y = Conv <group = 2> (x, w)"),
    ("float[1,2,4] x, float[2,3,3] w", "y = ConvTranspose <strides = [2]> (x, w)"),
    ("uint8[2,3] a, int8[3,4] b, uint8 p, int8[4] q", "y = MatMulInteger(a, b, p, q)"),
    ("float[1,2,5,4] x", "y, i = MaxPool <kernel_shape = [2, 2], pads = [1, 0, 0, 0]> (x)"),
    ("float[1,2,5] x", "y = AveragePool <kernel_shape = [3], pads = [1, 1]> (x)"),
    (
        "float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v",
        "y = BatchNormalization(x, s, b, m, v)",
    ),
    ("float16[2,3] x, float16[3] s, float16[3] b", "y = LayerNormalization(x, s, b)"),
    ("float[2,3] x, float s, uint8 z", "y = QuantizeLinear(x, s, z)"),
    ("int8[2,4] x, float[2,2] s, int8[2,2] z", "y = DequantizeLinear <block_size = 2> (x, s, z)"),
    ("float[3] x", "y = Cast <to = 17> (x)"),
    ("float[2,3] x", "y, z = Split <num_outputs = 2, axis = 1> (x)"),
    ("float[1,8,2,2] x", "y = DepthToSpace <blocksize = 2> (x)"),
    ("int64[3] x, int64 d = {4}, float[2] v", "y = OneHot(x, d, v)"),
    ("float[3] x, int64[2] p = {1, 2}", "y = Pad(x, p)"),
    ("float[3] x, int64[2] p = {1, 2}", "y = Pad <mode = \"reflect\"> (x, p)"),
    ("float[2,3,4] x", "y = Shape(x)"),
];

#[test]
fn formulas_can_be_read() {
    let mut text = String::new();
    for (values, node) in NODES {
        let model = only_node(21, values, node);
        let definition = only_definition(&model).unwrap_or_else(|| panic!("{node} has no definition"));
        let _ = writeln!(text, "{node}    # {values}\n{definition}\n");
    }
    insta::assert_snapshot!(text);
}
