//! The definitions of operators, a file for each family.

mod activation;
mod contract;
mod convolve;
mod elementwise;
mod generate;
mod join;
mod ml;
mod norm;
mod pick;
mod pool;
mod quantize;
mod reduce;
mod repeat;
mod slice;
mod softmax;
mod transposed;
mod view;
mod window;

use super::ops::{Binary, Unary};
use super::{Attributes, Combine, Cx, Definition};
use crate::schema::Schema;

/// The definition of a node, if its operator has formulas and the node is valid.
pub fn define(cx: &Cx<'_>) -> Option<Definition> {
    let schema = cx.attributes.schema();
    let table = match &*schema.domain {
        "" => ROWS,
        "ai.onnx.ml" => ML_ROWS,
        _ => return None,
    };
    let at = table.binary_search_by(|row| row.0.cmp(&schema.name)).ok()?;
    table[at].1(cx).filter(|definition| definition.is_sound(cx))
}

/// Whether nodes of an operator can have definitions.
pub fn has_definition(schema: &Schema) -> bool {
    schema.domain.is_empty() && ROWS.binary_search_by(|row| row.0.cmp(&schema.name)).is_ok()
}

/// The inputs whose elements determine shapes and formulas, so they must be known; also for operators without a definition.
pub fn value_inputs(schema: &Schema) -> &'static [usize] {
    if !schema.domain.is_empty() {
        return &[];
    }
    let found = VALUES.binary_search_by(|row| row.0.cmp(&schema.name));
    found.map_or(&[], |at| VALUES[at].1)
}

/// The output shape of a node where the documentation leaves it open, so inference does not know it, but all implementations
/// agree. `input` is the shape of the first input.
pub fn open_shape(attributes: &Attributes<'_>, input: &[usize]) -> Option<Vec<usize>> {
    let schema = attributes.schema();
    let is_pool = schema.domain.is_empty() && ["AveragePool", "LpPool", "MaxPool"].contains(&&*schema.name);
    is_pool.then(|| window::open_shape(attributes, input))?
}

type Define = fn(&Cx<'_>) -> Option<Definition>;

/// For ai.onnx, sorted by name.
const ROWS: &[(&str, Define)] = &[
    ("Abs", |cx| elementwise::unary(cx, Unary::Abs)),
    ("Acos", |cx| elementwise::unary(cx, Unary::Acos)),
    ("Acosh", |cx| elementwise::unary(cx, Unary::Acosh)),
    ("Add", |cx| elementwise::binary(cx, Binary::Add)),
    ("And", |cx| elementwise::binary(cx, Binary::And)),
    ("ArgMax", |cx| reduce::position(cx, Combine::ArgMax)),
    ("ArgMin", |cx| reduce::position(cx, Combine::ArgMin)),
    ("Asin", |cx| elementwise::unary(cx, Unary::Asin)),
    ("Asinh", |cx| elementwise::unary(cx, Unary::Asinh)),
    ("Atan", |cx| elementwise::unary(cx, Unary::Atan)),
    ("Atanh", |cx| elementwise::unary(cx, Unary::Atanh)),
    ("AveragePool", pool::average),
    ("BatchNormalization", norm::batch),
    ("BitCast", elementwise::bits),
    ("BitShift", elementwise::shift),
    ("BitwiseAnd", |cx| elementwise::binary(cx, Binary::BitwiseAnd)),
    ("BitwiseNot", |cx| elementwise::unary(cx, Unary::BitwiseNot)),
    ("BitwiseOr", |cx| elementwise::binary(cx, Binary::BitwiseOr)),
    ("BitwiseXor", |cx| elementwise::binary(cx, Binary::BitwiseXor)),
    ("Cast", elementwise::cast),
    ("CastLike", elementwise::cast),
    ("Ceil", |cx| elementwise::unary(cx, Unary::Ceil)),
    ("Celu", activation::celu),
    ("Clip", elementwise::clip),
    ("Concat", join::concat),
    ("ConstantOfShape", generate::constant_of_shape),
    ("Conv", convolve::conv),
    ("ConvInteger", convolve::conv_integer),
    ("ConvTranspose", transposed::conv_transpose),
    ("Cos", |cx| elementwise::unary(cx, Unary::Cos)),
    ("Cosh", |cx| elementwise::unary(cx, Unary::Cosh)),
    ("DepthToSpace", view::depth_to_space),
    ("DequantizeLinear", quantize::dequantize),
    ("Div", |cx| elementwise::binary(cx, Binary::Div)),
    ("Dropout", elementwise::dropout),
    ("DynamicQuantizeLinear", quantize::dynamic),
    ("Einsum", contract::einsum),
    ("Elu", activation::elu),
    ("Equal", |cx| elementwise::binary(cx, Binary::Equal)),
    ("Erf", |cx| elementwise::unary(cx, Unary::Erf)),
    ("Exp", |cx| elementwise::unary(cx, Unary::Exp)),
    ("Expand", view::expand),
    ("EyeLike", generate::eye_like),
    ("Flatten", view::same_order),
    ("Floor", |cx| elementwise::unary(cx, Unary::Floor)),
    ("Gather", pick::gather),
    ("GatherElements", pick::gather_elements),
    ("GatherND", pick::gather_nd),
    ("Gelu", activation::gelu),
    ("Gemm", contract::gemm),
    ("GlobalAveragePool", pool::global_average),
    ("GlobalLpPool", pool::global_lp),
    ("GlobalMaxPool", pool::global_max),
    ("Greater", |cx| elementwise::binary(cx, Binary::Greater)),
    ("GreaterOrEqual", |cx| elementwise::binary(cx, Binary::GreaterOrEqual)),
    ("GroupNormalization", norm::group),
    ("HardSigmoid", activation::hard_sigmoid),
    ("HardSwish", activation::hard_swish),
    ("Hardmax", softmax::hardmax),
    ("Identity", view::same_order),
    ("InstanceNormalization", norm::instance),
    ("IsInf", elementwise::is_infinite),
    ("IsNaN", |cx| elementwise::unary(cx, Unary::IsNaN)),
    ("LRN", norm::local_response),
    ("LayerNormalization", norm::layer),
    ("LeakyRelu", activation::leaky_relu),
    ("Less", |cx| elementwise::binary(cx, Binary::Less)),
    ("LessOrEqual", |cx| elementwise::binary(cx, Binary::LessOrEqual)),
    ("Log", |cx| elementwise::unary(cx, Unary::Log)),
    ("LogSoftmax", softmax::log_softmax),
    ("LpNormalization", norm::lp),
    ("LpPool", pool::lp),
    ("MatMul", contract::matmul),
    ("MatMulInteger", contract::matmul_integer),
    ("Max", |cx| elementwise::several(cx, Binary::Max)),
    ("MaxPool", pool::max),
    ("Mean", elementwise::mean),
    ("Min", |cx| elementwise::several(cx, Binary::Min)),
    ("Mish", activation::mish),
    ("Mod", elementwise::modulo),
    ("Mul", |cx| elementwise::binary(cx, Binary::Mul)),
    ("Neg", |cx| elementwise::unary(cx, Unary::Neg)),
    ("Not", |cx| elementwise::unary(cx, Unary::Not)),
    ("OneHot", pick::one_hot),
    ("Or", |cx| elementwise::binary(cx, Binary::Or)),
    ("PRelu", activation::prelu),
    ("Pad", slice::pad),
    ("Pow", elementwise::power),
    ("QLinearConv", convolve::qlinear_conv),
    ("QLinearMatMul", contract::qlinear_matmul),
    ("QuantizeLinear", quantize::quantize),
    ("RMSNormalization", norm::root_mean_square),
    ("Range", generate::range),
    ("Reciprocal", |cx| elementwise::unary(cx, Unary::Reciprocal)),
    ("ReduceL1", reduce::l1),
    ("ReduceL2", reduce::l2),
    ("ReduceLogSum", reduce::log_of_sum),
    ("ReduceLogSumExp", reduce::log_of_sum_of_powers),
    ("ReduceMax", |cx| reduce::extreme(cx, Combine::Max)),
    ("ReduceMean", reduce::mean),
    ("ReduceMin", |cx| reduce::extreme(cx, Combine::Min)),
    ("ReduceProd", reduce::product),
    ("ReduceSum", reduce::sum),
    ("ReduceSumSquare", reduce::sum_of_squares),
    ("Relu", activation::relu),
    ("Reshape", view::same_order),
    ("Resize", repeat::resize),
    ("ReverseSequence", pick::reverse_sequence),
    ("Round", |cx| elementwise::unary(cx, Unary::Round)),
    ("Selu", activation::selu),
    ("Shape", generate::shape),
    ("Shrink", activation::shrink),
    ("Sigmoid", activation::sigmoid),
    ("Sign", |cx| elementwise::unary(cx, Unary::Sign)),
    ("Sin", |cx| elementwise::unary(cx, Unary::Sin)),
    ("Sinh", |cx| elementwise::unary(cx, Unary::Sinh)),
    ("Size", generate::size),
    ("Slice", slice::slice),
    ("Softmax", softmax::softmax),
    ("Softplus", activation::softplus),
    ("Softsign", activation::softsign),
    ("SpaceToDepth", view::space_to_depth),
    ("Split", slice::split),
    ("Sqrt", |cx| elementwise::unary(cx, Unary::Sqrt)),
    ("Squeeze", view::same_order),
    ("Sub", |cx| elementwise::binary(cx, Binary::Sub)),
    ("Sum", |cx| elementwise::several(cx, Binary::Add)),
    ("Swish", activation::swish),
    ("Tan", |cx| elementwise::unary(cx, Unary::Tan)),
    ("Tanh", |cx| elementwise::unary(cx, Unary::Tanh)),
    ("ThresholdedRelu", activation::thresholded_relu),
    ("Tile", view::tile),
    ("Transpose", view::transpose),
    ("Trilu", generate::triangle),
    ("Unsqueeze", view::same_order),
    ("Upsample", repeat::upsample),
    ("Where", elementwise::choose),
    ("Xor", |cx| elementwise::binary(cx, Binary::Xor)),
];

/// For ai.onnx.ml, sorted by name.
const ML_ROWS: &[(&str, Define)] = &[
    ("ArrayFeatureExtractor", pick::columns),
    ("Binarizer", ml::binarizer),
    ("Imputer", ml::imputer),
    ("Normalizer", ml::normalizer),
    ("Scaler", ml::scaler),
];

/// Sorted by name.
const VALUES: &[(&str, &[usize])] = &[
    ("AffineGrid", &[1]),
    ("BlackmanWindow", &[0]),
    ("CenterCropPad", &[1]),
    ("Col2Im", &[1, 2]),
    ("ConstantOfShape", &[0]),
    ("CumProd", &[1]),
    ("CumSum", &[1]),
    ("DFT", &[1, 2]),
    ("Dropout", &[1, 2]),
    ("Expand", &[1]),
    ("HammingWindow", &[0]),
    ("HannWindow", &[0]),
    ("MaxUnpool", &[2]),
    ("MelWeightMatrix", &[0, 1, 2, 3, 4]),
    ("OneHot", &[1]),
    ("Pad", &[1, 3]),
    ("Range", &[0, 1, 2]),
    ("ReduceL1", &[1]),
    ("ReduceL2", &[1]),
    ("ReduceLogSum", &[1]),
    ("ReduceLogSumExp", &[1]),
    ("ReduceMax", &[1]),
    ("ReduceMean", &[1]),
    ("ReduceMin", &[1]),
    ("ReduceProd", &[1]),
    ("ReduceSum", &[1]),
    ("ReduceSumSquare", &[1]),
    ("Reshape", &[1]),
    ("Resize", &[1, 2, 3]),
    ("STFT", &[1, 3]),
    ("Slice", &[1, 2, 3, 4]),
    ("Split", &[1]),
    ("SplitToSequence", &[1]),
    ("Squeeze", &[1]),
    ("Tile", &[1, 2]),
    ("TopK", &[1]),
    ("Trilu", &[1]),
    ("Unsqueeze", &[1]),
    ("Upsample", &[1]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_name_operators() {
        assert!(ROWS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(ML_ROWS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(VALUES.is_sorted_by(|a, b| a.0 < b.0));
        let registry = crate::schema::Registry::builtin();
        for name in ROWS.iter().map(|row| row.0).chain(VALUES.iter().map(|row| row.0)) {
            assert!(!registry.versions("", name).is_empty(), "{name} is not an operator");
        }
        for (name, _) in ML_ROWS {
            assert!(!registry.versions("ai.onnx.ml", name).is_empty(), "{name} is not an operator");
        }
    }

    #[test]
    fn inputs_with_values_are_there() {
        let registry = crate::schema::Registry::builtin();
        for (name, inputs) in VALUES {
            let most = registry.versions("", name).iter().map(|id| registry.get(*id).inputs.len()).max();
            assert!(inputs.iter().all(|i| most.is_some_and(|most| *i < most)), "{name}");
        }
    }
}
