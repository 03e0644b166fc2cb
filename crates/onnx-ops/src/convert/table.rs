//! How nodes are converted at each version of their operator: a row for each operator with more than one version.
//!
//! `same` is for versions that allow more types, values or shapes, clarify the specification, or add inputs, outputs and
//! attributes whose defaults keep the meaning: the walk compares nodes with the target signature, removes attributes that have
//! their default, and refuses what the target does not support. All other versions have an adapter or a reason why there is none.
//! The first version of an operator has a row if it replaces another operator.
//!
//! From the documentation of the operators; a test compares the table with the versions and signatures of the registry.

use super::site::Adapter;
use super::{broadcast, coerced, inputs, norm, resize, scan, trees, values};
use Conversion::{By, No, Same};

/// How a node is converted at a version boundary.
#[derive(Clone, Copy)]
pub(super) enum Conversion {
    /// Unchanged.
    Same,
    /// By an adapter.
    By(Adapter),
    /// Not possible, for this reason.
    No(&'static str),
}

/// A version of an operator, and the conversions at its boundary.
#[derive(Clone, Copy)]
pub(super) struct VersionChange {
    /// The version.
    pub(super) since: u32,
    /// From the version before to this one.
    pub(super) up: Conversion,
    /// From this one to the version before.
    pub(super) down: Conversion,
}

/// An operator with its versions except the first.
pub(super) type Row = (&'static str, &'static [VersionChange]);

const fn step(since: u32, up: Conversion, down: Conversion) -> VersionChange {
    VersionChange { since, up, down }
}

const fn same(since: u32) -> VersionChange {
    step(since, Same, Same)
}

const fn up(since: u32, adapter: Adapter) -> VersionChange {
    step(since, By(adapter), Same)
}

const fn down(since: u32, adapter: Adapter) -> VersionChange {
    step(since, Same, By(adapter))
}

/// The row of a version of an operator.
pub(super) fn change(domain: &str, op: &str, since: u32) -> Option<&'static VersionChange> {
    let rows = rows(domain);
    let at = rows.binary_search_by(|(name, _)| (*name).cmp(op)).ok()?;
    rows[at].1.iter().find(|change| change.since == since)
}

/// The rows of a domain, sorted.
pub(super) fn rows(domain: &str) -> &'static [Row] {
    match domain {
        "" => AI_ONNX,
        "ai.onnx.ml" => ML,
        _ => &[],
    }
}

#[rustfmt::skip]
const AI_ONNX: &[Row] = &[
    ("Abs", &[up(6, values::consumed), same(13)]),
    ("Acos", &[same(22)]),
    ("Acosh", &[same(22)]),
    ("Add", &[up(6, values::consumed), up(7, broadcast::up), same(13), same(14)]),
    ("And", &[up(7, broadcast::up)]),
    ("ArgMax", &[down(11, values::axis_down), same(12), same(13)]),
    ("ArgMin", &[down(11, values::axis_down), same(12), same(13)]),
    ("Asin", &[same(22)]),
    ("Asinh", &[same(22)]),
    ("Atan", &[same(22)]),
    ("Atanh", &[same(22)]),
    ("Attention", &[same(24), same(25)]),
    ("AveragePool", &[same(7), same(10), same(11), down(19, values::dilations_down), same(22)]),
    ("BatchNormalization", &[up(6, values::consumed), up(7, norm::is_test_up), up(9, norm::spatial_up), step(14, By(norm::batch_up), By(norm::batch_down)), same(15)]),
    ("Bernoulli", &[same(22)]),
    ("BitShift", &[same(28)]),
    ("Cast", &[up(6, values::cast_up), same(9), same(13), same(19), same(21), same(23), same(24), same(25), same(28)]),
    ("CastLike", &[same(19), same(21), same(23), same(24), same(25)]),
    ("Ceil", &[up(6, values::consumed), same(13)]),
    ("Celu", &[same(28)]),
    ("Clip", &[up(6, values::consumed), step(11, By(inputs::clip_up), By(inputs::clip_down)), same(12), same(13)]),
    ("Compress", &[down(11, values::axis_down), same(28)]),
    ("Concat", &[up(4, values::concat_up), down(11, values::axis_down), same(13)]),
    ("Constant", &[down(9, inputs::constant_floats_down), same(11), down(12, inputs::constant_down), same(13), same(19), same(21), same(23), same(24), same(25)]),
    ("ConstantOfShape", &[same(20), same(21), same(23), same(24), same(25)]),
    ("Conv", &[same(11), same(22)]),
    ("ConvTranspose", &[same(11), same(22)]),
    ("Cos", &[same(22)]),
    ("Cosh", &[same(22)]),
    ("CumSum", &[same(14)]),
    ("DFT", &[step(20, By(inputs::dft_up), By(inputs::dft_down))]),
    ("DeformConv", &[same(22)]),
    ("DepthToSpace", &[same(11), same(13), same(28)]),
    ("DequantizeLinear", &[same(13), same(19), same(21), same(23), same(24), same(25), same(28)]),
    ("Det", &[same(22)]),
    ("Div", &[up(6, values::consumed), up(7, broadcast::up), same(13), same(14)]),
    ("Dropout", &[up(6, values::consumed), up(7, norm::is_test_up), step(10, By(inputs::mask_up), By(inputs::mask_down)), step(12, By(inputs::dropout_up), By(inputs::dropout_down)), same(13), same(22)]),
    ("Einsum", &[same(28)]),
    ("Elu", &[up(6, values::consumed), same(22)]),
    ("Equal", &[up(7, broadcast::up), same(11), same(13), same(19)]),
    ("Erf", &[same(13)]),
    ("Exp", &[up(6, values::consumed), same(13)]),
    ("Expand", &[same(13)]),
    ("EyeLike", &[same(22)]),
    ("Flatten", &[same(9), down(11, values::axis_down), same(13), same(21), same(23), same(24), same(25)]),
    ("Floor", &[up(6, values::consumed), same(13)]),
    ("GRU", &[up(3, values::gru_up), up(7, values::output_sequence), same(14), same(22)]),
    ("Gather", &[down(11, values::axis_down), same(13)]),
    ("GatherElements", &[same(13)]),
    ("GatherND", &[same(12), same(13)]),
    ("Gemm", &[same(6), up(7, broadcast::gemm_up), same(9), down(11, values::gemm_down), same(13)]),
    ("GlobalAveragePool", &[same(22)]),
    ("GlobalLpPool", &[up(2, values::p_up), same(22)]),
    ("GlobalMaxPool", &[same(22)]),
    ("Greater", &[up(7, broadcast::up), same(9), same(13)]),
    ("GreaterOrEqual", &[same(16)]),
    ("GridSample", &[step(20, By(values::grid_up), By(values::grid_down)), same(22)]),
    ("GroupNormalization", &[step(21, By(norm::group_up), No("`scale` and `bias` are per group before version 21, and per channel from then on"))]),
    ("HardSigmoid", &[up(6, values::consumed), same(22)]),
    ("HardSwish", &[same(22)]),
    ("Hardmax", &[down(11, values::axis_down), step(13, By(coerced::up), By(coerced::down))]),
    ("Identity", &[same(13), same(14), same(16), same(19), same(21), same(23), same(24), same(25)]),
    ("If", &[same(11), same(13), same(16), same(19), same(21), same(23), same(24), same(25)]),
    ("InstanceNormalization", &[up(6, values::consumed), same(22)]),
    ("IsInf", &[same(20)]),
    ("IsNaN", &[same(13), same(20)]),
    ("LRN", &[same(13)]),
    ("LSTM", &[up(7, values::output_sequence), same(14), same(22)]),
    ("LeakyRelu", &[up(6, values::consumed), same(16)]),
    ("Less", &[up(7, broadcast::up), same(9), same(13)]),
    ("LessOrEqual", &[same(16)]),
    ("Log", &[up(6, values::consumed), same(13)]),
    ("LogSoftmax", &[down(11, values::axis_down), step(13, By(coerced::up), By(coerced::down))]),
    ("Loop", &[same(11), same(13), same(16), same(19), same(21), same(23), same(24), same(25)]),
    ("LpNormalization", &[same(22)]),
    ("LpPool", &[up(2, values::p_up), same(11), down(18, values::dilations_down), same(22)]),
    ("MatMul", &[same(9), same(13)]),
    ("Max", &[up(6, values::consumed), down(8, broadcast::one_shape_down), same(12), same(13)]),
    ("MaxPool", &[same(8), down(10, values::dilations_down), same(11), same(12), same(22)]),
    ("MaxRoiPool", &[same(22)]),
    ("MaxUnpool", &[same(11), same(22)]),
    ("Mean", &[up(6, values::consumed), down(8, broadcast::one_shape_down), same(13)]),
    ("MeanVarianceNormalization", &[same(13)]),
    ("Min", &[up(6, values::consumed), down(8, broadcast::one_shape_down), same(12), same(13)]),
    ("Mish", &[same(22)]),
    ("Mod", &[same(13), down(28, values::mod_down)]),
    ("Mul", &[up(6, values::consumed), up(7, broadcast::up), same(13), same(14)]),
    ("Multinomial", &[same(22)]),
    ("Neg", &[up(6, values::consumed), same(13)]),
    ("NegativeLogLikelihoodLoss", &[same(13), same(22)]),
    ("NonMaxSuppression", &[same(11)]),
    ("NonZero", &[same(13)]),
    ("OneHot", &[down(11, values::one_hot_down), same(28)]),
    ("Optional", &[same(28)]),
    ("OptionalGetElement", &[down(18, values::has_element_down), same(28)]),
    ("OptionalHasElement", &[down(18, values::has_element_down), same(28)]),
    ("Or", &[up(7, broadcast::up)]),
    ("PRelu", &[up(6, values::consumed), up(7, broadcast::p_relu_up), same(9), same(16)]),
    ("Pad", &[up(2, values::paddings_up), step(11, By(inputs::pad_up), By(inputs::pad_down)), same(13), down(18, inputs::pad_axes_down), same(19), same(21), same(23), same(24), same(25)]),
    ("Pow", &[up(7, broadcast::up), same(12), same(13), same(15)]),
    ("QLinearMatMul", &[same(21)]),
    ("QuantizeLinear", &[same(13), same(19), same(21), same(23), same(24), same(25), same(28)]),
    ("RNN", &[up(7, values::output_sequence), same(14), same(22)]),
    ("RandomNormal", &[same(22)]),
    ("RandomNormalLike", &[same(22)]),
    ("RandomUniform", &[same(22)]),
    ("RandomUniformLike", &[same(22)]),
    ("Range", &[same(27)]),
    ("Reciprocal", &[up(6, values::consumed), same(13)]),
    ("ReduceL1", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("ReduceL2", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("ReduceLogSum", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down)), same(28)]),
    ("ReduceLogSumExp", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down)), same(28)]),
    ("ReduceMax", &[down(11, values::axis_down), same(12), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down)), same(20)]),
    ("ReduceMean", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("ReduceMin", &[down(11, values::axis_down), same(12), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down)), same(20)]),
    ("ReduceProd", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("ReduceSum", &[down(11, values::axis_down), step(13, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("ReduceSumSquare", &[down(11, values::axis_down), same(13), step(18, By(inputs::reduce_up), By(inputs::reduce_down))]),
    ("Relu", &[up(6, values::consumed), same(13), same(14)]),
    ("Reshape", &[up(5, inputs::reshape_up), same(13), same(14), same(19), same(21), same(23), same(24), same(25)]),
    ("Resize", &[down(10, resize::to_upsample), step(11, By(resize::up), By(resize::down)), down(13, resize::fill_down), same(18), same(19)]),
    ("ReverseSequence", &[same(28)]),
    ("RoiAlign", &[step(16, By(values::roi_up), By(values::roi_down)), same(22)]),
    ("Round", &[same(22)]),
    ("Scan", &[step(9, By(scan::up), No("before version 9 it has a batch axis")), same(11), same(16), same(19), same(21), same(23), same(24), same(25)]),
    ("Scatter", &[up(11, values::to_scatter_elements)]),
    ("ScatterElements", &[down(11, values::to_scatter), same(13), same(16), same(18)]),
    ("ScatterND", &[same(13), same(16), same(18)]),
    ("Selu", &[up(6, values::selu_up), same(22)]),
    ("Shape", &[same(13), down(15, inputs::shape_down), same(19), same(21), same(23), same(24), same(25)]),
    ("Sigmoid", &[up(6, values::consumed), same(13)]),
    ("Sign", &[same(13)]),
    ("Sin", &[same(22)]),
    ("Sinh", &[same(22)]),
    ("Size", &[same(13), same(19), same(21), same(23), same(24), same(25)]),
    ("Slice", &[step(10, By(inputs::slice_up), By(inputs::slice_down)), same(11), same(13)]),
    ("Softmax", &[down(11, values::axis_down), step(13, By(coerced::up), By(coerced::down))]),
    ("SoftmaxCrossEntropyLoss", &[same(13)]),
    ("Softplus", &[same(22)]),
    ("Softsign", &[same(22)]),
    ("SpaceToDepth", &[same(13), same(28)]),
    ("Split", &[up(2, broadcast::split_up), down(11, values::axis_down), step(13, By(inputs::split_up), By(inputs::split_down)), step(18, By(inputs::split_count_up), By(inputs::split_count_down))]),
    ("SplitToSequence", &[same(24)]),
    ("Sqrt", &[up(6, values::consumed), same(13)]),
    ("Squeeze", &[down(11, values::axis_down), step(13, By(inputs::axes_up), By(inputs::axes_down)), same(21), same(23), same(24), same(25)]),
    ("Sub", &[up(6, values::consumed), up(7, broadcast::up), same(13), same(14)]),
    ("Sum", &[up(6, values::consumed), down(8, broadcast::one_shape_down), same(13)]),
    ("Tan", &[same(22)]),
    ("Tanh", &[up(6, values::consumed), same(13)]),
    ("ThresholdedRelu", &[same(22)]),
    ("Tile", &[up(6, broadcast::tile_up), same(13)]),
    ("TopK", &[step(10, By(inputs::top_k_up), By(inputs::top_k_down)), same(11), same(24)]),
    ("Transpose", &[same(13), same(21), same(23), same(24), same(25)]),
    ("Unique", &[same(28)]),
    ("Unsqueeze", &[down(11, values::unsqueeze_axis_down), step(13, By(inputs::axes_up), By(inputs::axes_down)), same(21), same(23), same(24), same(25)]),
    ("Upsample", &[up(7, resize::scales_up), step(9, By(inputs::upsample_up), By(inputs::upsample_down)), up(10, resize::from_upsample)]),
    ("Where", &[same(16)]),
    ("Xor", &[up(7, broadcast::up)]),
];

#[rustfmt::skip]
const ML: &[Row] = &[
    ("LabelEncoder", &[step(2, By(trees::labels_up), By(trees::labels_down)), same(4)]),
    ("TreeEnsembleClassifier", &[same(3), step(5, No("`TreeEnsemble` of version 5 represents trees in another way"), Same)]),
    ("TreeEnsembleRegressor", &[same(3), step(5, No("`TreeEnsemble` of version 5 represents trees in another way"), Same)]),
];
