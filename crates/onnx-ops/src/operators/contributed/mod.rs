//! Operators of ONNX Runtime (`com.microsoft`).

mod bodies;
mod infer;

use super::elementwise::infer::same_shape;
use super::{Operator, attention, conv, matmul, of_runtime, op, pool, recurrent};
use crate::work::Work;

/// Why operators are refused whose attributes are models, with caches as inputs and outputs in an order of ONNX Runtime's own.
const SEARCH: &str =
    "it generates texts with a whole model in an attribute; run that model, once for each token";

pub(super) const ROWS: &[Operator] = &[
    of_runtime("Attention").infer(infer::attention::projecting),
    of_runtime("AttnLSTM").infer(infer::attentive_lstm),
    of_runtime("BeamSearch").refused(SEARCH),
    of_runtime("BiasDropout").infer(infer::dropout),
    of_runtime("BiasSoftmax").infer(same_shape),
    of_runtime("BranchwiseRMSNorm").body(18, bodies::streams::branchwise_normalization),
    of_runtime("CDist").infer(infer::distances).body(18, bodies::added::distances),
    of_runtime("CausalConvWithState").body(18, bodies::states::causal_convolution),
    of_runtime("ConvTransposeWithDynamicPads").body(18, bodies::added::transposed_convolution),
    op("Crop").body(18, bodies::old::crop),
    of_runtime("DecoderMaskedMultiHeadAttention")
        .infer(infer::attention::multi_head)
        .body(18, bodies::states::decoding),
    of_runtime("DequantizeLinear").infer(same_shape),
    of_runtime("DynamicQuantizeLSTM").infer(recurrent::infer::lstm_transposed),
    of_runtime("DynamicQuantizeMatMul")
        .infer(matmul::infer::matmul)
        .body(18, bodies::products::of_dynamic_bytes)
        .work(Work::Products(|cx, n| matmul::cost::product(cx, n, 0), None)),
    op("DynamicSlice").body(18, bodies::old::dynamic_slice),
    of_runtime("EmbedLayerNormalization").infer(infer::embed),
    of_runtime("EngramGate").body(18, bodies::streams::engram_gate),
    of_runtime("FastGelu").infer(same_shape),
    of_runtime("FusedConv")
        .infer(conv::infer::conv)
        .body(18, bodies::fused::conv)
        .work(Work::Products(|cx, n| conv::cost::convolution(cx, n, 1), Some(2))),
    of_runtime("FusedGemm")
        .infer(infer::matmul::gemm)
        .body(18, bodies::fused::gemm)
        .work(Work::Products(matmul::cost::gemm, Some(2))),
    of_runtime("FusedMatMul").work(Work::Products(|cx, n| matmul::cost::product(cx, n, 0), None)),
    of_runtime("FusedMatMulActivation").infer(infer::matmul::fused),
    of_runtime("GatedRMSNorm").body(18, bodies::streams::gated_normalization),
    of_runtime("GatherBlockQuantized").infer(infer::quantized::gather),
    of_runtime("GemmFastGelu").infer(matmul::infer::matmul),
    of_runtime("GreedySearch").refused(SEARCH),
    of_runtime("GroupNorm").infer(same_shape),
    of_runtime("GroupQueryAttention").infer(infer::attention::grouped),
    of_runtime("HyperConnectionPostMix").body(18, bodies::streams::post_mix),
    of_runtime("HyperConnectionPreMix").body(18, bodies::streams::pre_mix),
    of_runtime("Inverse").infer(same_shape),
    of_runtime("IsAllFinite").infer(infer::scalar),
    of_runtime("LinearAttention").body(18, attention::linear::linear_attention),
    of_runtime("LinearAttentionGate").body(18, bodies::streams::linear_attention_gate),
    of_runtime("MRotaryEmbedding").infer(same_shape).body(18, bodies::states::rotary_embedding),
    of_runtime("MatMulBnb4").infer(infer::matmul::packed),
    of_runtime("MatMulInteger16").body(18, bodies::added::product_of_shorts),
    of_runtime("MatMulIntegerToFloat").infer(matmul::infer::matmul).body(18, bodies::products::to_floats),
    of_runtime("MatMulNBits")
        .infer(infer::matmul::packed)
        .work(Work::Products(|cx, n| matmul::cost::product(cx, n, 0), None)),
    of_runtime("MaxpoolWithMask").infer(pool::infer::pool),
    of_runtime("MoE").infer(same_shape),
    of_runtime("MultiHeadAttention")
        .infer(infer::attention::multi_head)
        .body(18, bodies::heads::multi_head)
        .work(Work::Products(attention::cost::attention, None)),
    of_runtime("MurmurHash3").infer(infer::hashes),
    of_runtime("NGramRepeatBlock").infer(infer::like_second),
    of_runtime("NhwcMaxPool").body(18, bodies::fused::max_pool),
    of_runtime("PackedAttention").infer(infer::attention::without_padding),
    of_runtime("QAttention").infer(infer::attention::quantized).body(18, bodies::heads::quantized),
    of_runtime("QEmbedLayerNormalization").infer(infer::embed).body(18, bodies::linear::embeddings),
    of_runtime("QGemm").infer(infer::matmul::quantized_gemm).body(18, bodies::products::gemm),
    of_runtime("QLinearAdd").body(18, bodies::linear::add),
    of_runtime("QLinearAveragePool")
        .infer(infer::quantized::average_pool)
        .body(18, bodies::fused::average_pool),
    of_runtime("QLinearConcat").infer(infer::quantized::concat).body(18, bodies::linear::concat),
    of_runtime("QLinearConv").infer(infer::quantized::convolution).body(18, bodies::fused::quantized_conv),
    of_runtime("QLinearGlobalAveragePool")
        .infer(infer::quantized::global_pool)
        .body(18, bodies::linear::global_average_pool),
    of_runtime("QLinearLeakyRelu").body(18, bodies::linear::leaky_relu),
    of_runtime("QLinearMul").body(18, bodies::linear::mul),
    of_runtime("QLinearReduceMean").body(18, bodies::linear::mean),
    of_runtime("QLinearSigmoid").body(18, bodies::linear::sigmoid),
    of_runtime("QLinearSoftmax").infer(same_shape).body(18, bodies::fused::softmax),
    of_runtime("QMoE").infer(same_shape),
    of_runtime("QuantizeLinear").infer(same_shape),
    of_runtime("Range").infer(infer::range).body(18, bodies::added::range),
    of_runtime("ReduceSumInteger").work(Work::PerInput(1)),
    of_runtime("RelativePositionBias").infer(infer::relative_positions),
    of_runtime("RotaryEmbedding").infer(same_shape),
    of_runtime("Sampling").refused(SEARCH),
    of_runtime("ScaledSiLU").infer(same_shape).body(18, bodies::streams::scaled_silu),
    op("SimplifiedLayerNormalization").work(Work::PerInput(4)),
    of_runtime("SkipGroupNorm").infer(infer::two_of_same_shape),
    of_runtime("SkipLayerNormalization").infer(infer::skip_norm).work(Work::PerInput(8)),
    of_runtime("SkipSimplifiedLayerNormalization").infer(infer::skip_norm),
    of_runtime("SparseAttention").infer(infer::attention::sparse).body(18, bodies::states::sparse_attention),
    of_runtime("SparseToDenseMatMul").infer(infer::matmul::sparse),
    of_runtime("Tokenizer").infer(infer::tokens),
    of_runtime("UnfoldTensor").body(18, bodies::added::unfolded),
    of_runtime("Unique").infer(infer::unique),
    of_runtime("WhisperBeamSearch").refused(SEARCH),
];
