//! The operators with bodies, and the first version of ai.onnx for which each body is valid.
//!
//! A body may need a later version than its operator, because it uses newer operators such as `CastLike`, which gives constants
//! the type of an input.

use super::draft::Draft;
use super::site::Site;
use super::{Row, Source};
use super::{
    added, attention, elements, fused, graphs, heads, layout, linear, losses, norms, products, recurrent,
    rotary,
};

/// A body in a file.
macro_rules! text {
    ($name:literal, $since:literal) => {
        Row {
            domain: "",
            name: $name,
            since: $since,
            source: Source::Text(include_str!(concat!("text/", $name, "-", $since, ".onnxtxt"))),
        }
    };
}

/// A body built by a function.
const fn draft(name: &'static str, since: i64, draft: fn(&Site<'_>) -> Option<Draft>) -> Row {
    Row { domain: "", name, since, source: Source::Draft(draft) }
}

/// A body of an operator of ONNX Runtime. It imports version 18 of ai.onnx, or the later one of its user.
const fn of_runtime(name: &'static str, draft: fn(&Site<'_>) -> Option<Draft>) -> Row {
    Row { domain: "com.microsoft", name, since: 18, source: Source::Draft(draft) }
}

pub(super) const ROWS: &[Row] = &[
    of_runtime("CDist", added::distances),
    of_runtime("ConvTransposeWithDynamicPads", added::transposed_convolution),
    of_runtime("DynamicQuantizeMatMul", products::of_dynamic_bytes),
    of_runtime("FusedConv", fused::conv),
    of_runtime("FusedGemm", fused::gemm),
    of_runtime("MatMulInteger16", added::product_of_shorts),
    of_runtime("MatMulIntegerToFloat", products::to_floats),
    of_runtime("MultiHeadAttention", heads::multi_head),
    of_runtime("NhwcMaxPool", fused::max_pool),
    of_runtime("QAttention", heads::quantized),
    of_runtime("QEmbedLayerNormalization", linear::embeddings),
    of_runtime("QGemm", products::gemm),
    of_runtime("QLinearAdd", linear::add),
    of_runtime("QLinearAveragePool", fused::average_pool),
    of_runtime("QLinearConcat", linear::concat),
    of_runtime("QLinearConv", fused::quantized_conv),
    of_runtime("QLinearGlobalAveragePool", linear::global_average_pool),
    of_runtime("QLinearLeakyRelu", linear::leaky_relu),
    of_runtime("QLinearMul", linear::mul),
    of_runtime("QLinearReduceMean", linear::mean),
    of_runtime("QLinearSigmoid", linear::sigmoid),
    of_runtime("QLinearSoftmax", fused::softmax),
    of_runtime("Range", added::range),
    of_runtime("UnfoldTensor", added::unfolded),
    text!("AffineGrid", 20),
    draft("Attention", 23, attention::attention),
    draft("Bernoulli", 15, elements::bernoulli),
    text!("BlackmanWindow", 17),
    draft("CastLike", 15, elements::cast_like),
    draft("CausalConvWithState", 27, recurrent::causal_convolution),
    text!("Celu", 12),
    text!("Celu", 28),
    draft("CenterCropPad", 18, layout::center_crop_pad),
    draft("Clip", 13, elements::clip),
    draft("DepthToSpace", 28, layout::depth_to_space),
    text!("DynamicQuantizeLinear", 11),
    text!("Elu", 15),
    Row { domain: "ai.onnx.preview", ..draft("FlexAttention", 15, attention::flex_attention) },
    draft("Gelu", 20, elements::gelu),
    text!("GreaterOrEqual", 12),
    draft("GroupNormalization", 18, norms::group_normalization),
    text!("HammingWindow", 17),
    text!("HannWindow", 17),
    text!("HardSigmoid", 15),
    text!("HardSwish", 14),
    draft("LayerNormalization", 17, norms::layer_normalization),
    text!("LeakyRelu", 16),
    text!("LessOrEqual", 12),
    draft("LinearAttention", 27, recurrent::linear_attention),
    draft("LogSoftmax", 13, norms::log_softmax),
    draft("MeanVarianceNormalization", 9, norms::mean_variance_normalization),
    text!("Mish", 18),
    draft("NegativeLogLikelihoodLoss", 12, losses::negative_log_likelihood),
    text!("PRelu", 16),
    draft("RMSNormalization", 23, norms::rms_normalization),
    draft("Range", 11, elements::range),
    text!("ReduceL1", 18),
    text!("ReduceL2", 18),
    text!("ReduceLogSum", 18),
    text!("ReduceLogSumExp", 18),
    text!("ReduceSumSquare", 18),
    text!("Relu", 15),
    draft("RotaryEmbedding", 23, rotary::rotary_embedding),
    text!("Selu", 15),
    draft("SequenceMap", 17, graphs::sequence_map),
    text!("Shrink", 15),
    draft("Softmax", 13, norms::softmax),
    draft("SoftmaxCrossEntropyLoss", 12, losses::softmax_cross_entropy),
    text!("Softplus", 15),
    text!("Softsign", 15),
    draft("SpaceToDepth", 28, layout::space_to_depth),
    text!("SwiGLU", 28),
    text!("Swish", 24),
    text!("ThresholdedRelu", 15),
];
