//! The derivative of each operator.
//!
//! Lines of a text are nodes of ONNX text: `x0` is the first operand, `y0` the first result, `dy0` its gradient, `dx0` the
//! gradient of the first operand. A number as an operand is a scalar of the element type of `x0`. Gradients of broadcast operands
//! are summed after the lines.
//!
//! An operator without a row is differentiated through its function body, if it has one.

use super::cell::{Cell, Done};
use super::rules::{
    contract, cumulative, determinant, elementwise, equation, fourier, movement, norm, placement, recurrent,
    reduce, sample, window,
};

/// How an operator is differentiated.
pub(super) enum Rule {
    /// By lines of ONNX text.
    Text(&'static str),
    /// By lines that a function builds for the node.
    Build(fn(&mut Cell<'_>) -> Done),
    /// By differentiating equivalent nodes that a function builds: `y0` … from `x0` …
    Rewrite(fn(&mut Cell<'_>) -> Done),
    /// By differentiating the graphs of the node.
    Graphs,
    /// The derivative is zero, for this reason.
    Zero(&'static str),
    /// There is none, for this reason.
    None(&'static str),
}

use Rule::{Build, Graphs, None as Nothing, Rewrite, Text, Zero};

/// The row of an operator.
pub(super) fn find(domain: &str, name: &str) -> Option<&'static Rule> {
    let (_, _, rule) = ROWS.iter().find(|(d, n, _)| *d == domain && *n == name)?;
    Some(rule)
}

const STEPS: &str = "its result is constant between jumps";
const NOT_NUMBERS: &str = "its result is integers, booleans or strings";
const GENERATED: &str = "its result does not depend on the elements of its operands";
const INTEGERS: &str = "its operands are integers, booleans or strings";
const SEQUENCES: &str = "gradients of sequences, optional values and maps are not supported";

/// Domain, name, rule.
#[rustfmt::skip]
pub(super) const ROWS: &[(&str, &str, Rule)] = &[
    // Element by element
    ("", "Abs", Text("sign = Sign (x0)
        dx0 = Mul (dy0, sign)")),
    ("", "Acos", Text("square = Mul (x0, x0)
        rest = Sub (1, square)
        root = Sqrt (rest)
        slope = Div (dy0, root)
        dx0 = Neg (slope)")),
    ("", "Acosh", Text("square = Mul (x0, x0)
        rest = Sub (square, 1)
        root = Sqrt (rest)
        dx0 = Div (dy0, root)")),
    ("", "Add", Build(elementwise::sum)),
    ("", "Asin", Text("square = Mul (x0, x0)
        rest = Sub (1, square)
        root = Sqrt (rest)
        dx0 = Div (dy0, root)")),
    ("", "Asinh", Text("square = Mul (x0, x0)
        more = Add (square, 1)
        root = Sqrt (more)
        dx0 = Div (dy0, root)")),
    ("", "Atan", Text("square = Mul (x0, x0)
        more = Add (square, 1)
        dx0 = Div (dy0, more)")),
    ("", "Atanh", Text("square = Mul (x0, x0)
        rest = Sub (1, square)
        dx0 = Div (dy0, rest)")),
    ("", "Cast", Build(elementwise::cast)),
    ("", "CastLike", Build(elementwise::cast)),
    ("", "Ceil", Zero(STEPS)),
    ("", "Celu", Build(elementwise::celu)),
    ("", "Clip", Build(elementwise::clip)),
    ("", "Cos", Text("sine = Sin (x0)
        slope = Neg (sine)
        dx0 = Mul (dy0, slope)")),
    ("", "Cosh", Text("slope = Sinh (x0)
        dx0 = Mul (dy0, slope)")),
    ("", "Div", Text("dx0 = Div (dy0, x1)
        scaled = Mul (dx0, y0)
        dx1 = Neg (scaled)")),
    ("", "Dropout", Build(elementwise::dropout)),
    ("", "Elu", Build(elementwise::elu)),
    ("", "Erf", Text("square = Mul (x0, x0)
        negative = Neg (square)
        power = Exp (negative)
        slope = Mul (power, 1.1283791670955126)
        dx0 = Mul (dy0, slope)")),
    ("", "Exp", Text("dx0 = Mul (dy0, y0)")),
    ("", "Floor", Zero(STEPS)),
    ("", "HardSigmoid", Build(elementwise::hard_sigmoid)),
    ("", "Identity", Build(elementwise::identity)),
    ("", "LeakyRelu", Build(elementwise::leaky_relu)),
    ("", "Log", Text("dx0 = Div (dy0, x0)")),
    ("", "Max", Build(elementwise::extreme)),
    ("", "Mean", Build(elementwise::mean)),
    ("", "Min", Build(elementwise::extreme)),
    ("", "Mod", Build(elementwise::remainder)),
    ("", "Mul", Text("dx0 = Mul (dy0, x1)
        dx1 = Mul (dy0, x0)")),
    ("", "Neg", Text("dx0 = Neg (dy0)")),
    ("", "Pow", Build(elementwise::power)),
    ("", "PRelu", Text("is_less = Less (x0, 0)
        scaled = Mul (dy0, x1)
        dx0 = Where (is_less, scaled, dy0)
        below = Mul (dy0, x0)
        dx1 = Where (is_less, below, 0)")),
    ("", "Reciprocal", Text("square = Mul (y0, y0)
        scaled = Mul (dy0, square)
        dx0 = Neg (scaled)")),
    ("", "Relu", Text("is_greater = Greater (x0, 0)
        dx0 = Where (is_greater, dy0, 0)")),
    ("", "Round", Zero(STEPS)),
    ("", "Selu", Build(elementwise::selu)),
    ("", "Shrink", Build(elementwise::shrink)),
    ("", "Sigmoid", Text("rest = Sub (1, y0)
        slope = Mul (y0, rest)
        dx0 = Mul (dy0, slope)")),
    ("", "Sign", Zero(STEPS)),
    ("", "Sin", Text("slope = Cos (x0)
        dx0 = Mul (dy0, slope)")),
    ("", "Sinh", Text("slope = Cosh (x0)
        dx0 = Mul (dy0, slope)")),
    ("", "Softplus", Text("slope = Sigmoid (x0)
        dx0 = Mul (dy0, slope)")),
    ("", "Softsign", Text("magnitude = Abs (x0)
        more = Add (magnitude, 1)
        square = Mul (more, more)
        dx0 = Div (dy0, square)")),
    ("", "Sqrt", Text("half = Mul (dy0, 0.5)
        dx0 = Div (half, y0)")),
    ("", "Sub", Text("dx0 = Identity (dy0)
        dx1 = Neg (dy0)")),
    ("", "Sum", Build(elementwise::sum)),
    ("", "Tan", Text("square = Mul (y0, y0)
        slope = Add (square, 1)
        dx0 = Mul (dy0, slope)")),
    ("", "Tanh", Text("square = Mul (y0, y0)
        slope = Sub (1, square)
        dx0 = Mul (dy0, slope)")),
    ("", "ThresholdedRelu", Build(elementwise::thresholded_relu)),
    ("", "Where", Build(elementwise::choice)),
    // Products
    ("", "Det", Build(determinant::determinant)),
    ("", "Einsum", Build(equation::einsum)),
    ("", "Gemm", Build(contract::gemm)),
    ("", "MatMul", Build(contract::matmul)),
    // Fourier transforms
    ("", "DFT", Build(fourier::dft)),
    ("", "STFT", Rewrite(fourier::stft)),
    // Convolutions and pooling
    ("", "AveragePool", Build(window::average_pool)),
    ("", "Conv", Build(window::conv)),
    ("", "ConvTranspose", Build(window::conv_transpose)),
    ("", "DeformConv", Rewrite(sample::deform_conv)),
    ("", "GlobalAveragePool", Build(reduce::global_mean)),
    ("", "GlobalLpPool", Build(window::global_lp_pool)),
    ("", "GlobalMaxPool", Build(reduce::global_max)),
    ("", "LpPool", Build(window::lp_pool)),
    ("", "MaxPool", Build(window::max_pool)),
    ("", "MaxUnpool", Build(placement::unpool)),
    ("", "RoiAlign", Rewrite(sample::roi_align)),
    // Reductions
    ("", "CumProd", Build(cumulative::product)),
    ("", "CumSum", Build(reduce::cumulative_sum)),
    ("", "LogSoftmax", Build(reduce::log_softmax)),
    ("", "ReduceL1", Build(reduce::l1)),
    ("", "ReduceL2", Build(reduce::l2)),
    ("", "ReduceLogSum", Build(reduce::log_sum)),
    ("", "ReduceLogSumExp", Build(reduce::log_sum_exp)),
    ("", "ReduceMax", Build(reduce::extreme)),
    ("", "ReduceMean", Build(reduce::mean)),
    ("", "ReduceMin", Build(reduce::extreme)),
    ("", "ReduceProd", Build(reduce::product)),
    ("", "ReduceSum", Build(reduce::sum)),
    ("", "ReduceSumSquare", Build(reduce::sum_square)),
    ("", "Softmax", Build(reduce::softmax)),
    // Normalizations
    ("", "BatchNormalization", Rewrite(norm::batch)),
    ("", "DequantizeLinear", Rewrite(norm::dequantize)),
    ("", "InstanceNormalization", Rewrite(norm::instance)),
    ("", "LpNormalization", Rewrite(norm::lp)),
    ("", "LRN", Rewrite(norm::local_response)),
    // Movement
    ("", "Col2Im", Build(placement::columns_to_image)),
    ("", "Compress", Build(movement::compress)),
    ("", "Concat", Build(movement::concat)),
    ("", "DepthToSpace", Build(movement::depth_to_space)),
    ("", "Expand", Build(movement::expand)),
    ("", "Flatten", Build(movement::reshape)),
    ("", "Gather", Build(movement::gather)),
    ("", "GatherElements", Build(movement::gather_elements)),
    ("", "GatherND", Build(movement::gather_nd)),
    ("", "GridSample", Rewrite(sample::grid_sample)),
    ("", "OneHot", Build(movement::one_hot)),
    ("", "Pad", Build(movement::pad)),
    ("", "Reshape", Build(movement::reshape)),
    ("", "Resize", Build(movement::resize)),
    ("", "ReverseSequence", Build(movement::reverse_sequence)),
    ("", "ScatterElements", Build(movement::scatter_elements)),
    ("", "ScatterND", Build(movement::scatter_nd)),
    ("", "Slice", Build(movement::slice)),
    ("", "SpaceToDepth", Build(movement::space_to_depth)),
    ("", "Split", Build(movement::split)),
    ("", "Squeeze", Build(movement::reshape)),
    ("", "TensorScatter", Build(placement::tensor_scatter)),
    ("", "Tile", Build(movement::tile)),
    ("", "TopK", Build(movement::top_k)),
    ("", "Transpose", Build(movement::transpose)),
    ("", "Trilu", Build(movement::triangle)),
    ("", "Unsqueeze", Build(movement::reshape)),
    // Results that are not floats
    ("", "And", Zero(NOT_NUMBERS)),
    ("", "ArgMax", Zero(NOT_NUMBERS)),
    ("", "ArgMin", Zero(NOT_NUMBERS)),
    ("", "Equal", Zero(NOT_NUMBERS)),
    ("", "Greater", Zero(NOT_NUMBERS)),
    ("", "GreaterOrEqual", Zero(NOT_NUMBERS)),
    ("", "IsInf", Zero(NOT_NUMBERS)),
    ("", "IsNaN", Zero(NOT_NUMBERS)),
    ("", "Less", Zero(NOT_NUMBERS)),
    ("", "LessOrEqual", Zero(NOT_NUMBERS)),
    ("", "NonMaxSuppression", Zero(NOT_NUMBERS)),
    ("", "NonZero", Zero(NOT_NUMBERS)),
    ("", "Not", Zero(NOT_NUMBERS)),
    ("", "Or", Zero(NOT_NUMBERS)),
    ("", "RegexFullMatch", Zero(NOT_NUMBERS)),
    ("", "Shape", Zero(NOT_NUMBERS)),
    ("", "Size", Zero(NOT_NUMBERS)),
    ("", "StringNormalizer", Zero(NOT_NUMBERS)),
    ("", "StringSplit", Zero(NOT_NUMBERS)),
    ("", "TfIdfVectorizer", Zero(NOT_NUMBERS)),
    ("", "Xor", Zero(NOT_NUMBERS)),
    // Steps
    ("", "Bernoulli", Zero(STEPS)),
    ("", "DynamicQuantizeLinear", Zero(STEPS)),
    ("", "Hardmax", Zero(STEPS)),
    ("", "Multinomial", Zero(STEPS)),
    ("", "QuantizeLinear", Zero(STEPS)),
    // Generators
    ("", "BlackmanWindow", Zero(GENERATED)),
    ("", "Constant", Zero(GENERATED)),
    ("", "ConstantOfShape", Zero(GENERATED)),
    ("", "EyeLike", Zero(GENERATED)),
    ("", "HammingWindow", Zero(GENERATED)),
    ("", "HannWindow", Zero(GENERATED)),
    ("", "MelWeightMatrix", Zero(GENERATED)),
    ("", "RandomNormal", Zero(GENERATED)),
    ("", "RandomNormalLike", Zero(GENERATED)),
    ("", "RandomUniform", Zero(GENERATED)),
    ("", "RandomUniformLike", Zero(GENERATED)),
    ("", "Range", Zero(GENERATED)),
    // Operands that are not floats
    ("", "BitCast", Zero(INTEGERS)),
    ("", "BitShift", Zero(INTEGERS)),
    ("", "BitwiseAnd", Zero(INTEGERS)),
    ("", "BitwiseNot", Zero(INTEGERS)),
    ("", "BitwiseOr", Zero(INTEGERS)),
    ("", "BitwiseXor", Zero(INTEGERS)),
    ("", "ConvInteger", Zero(INTEGERS)),
    ("", "ImageDecoder", Zero(INTEGERS)),
    ("", "MatMulInteger", Zero(INTEGERS)),
    ("", "QLinearConv", Zero(INTEGERS)),
    ("", "QLinearMatMul", Zero(INTEGERS)),
    ("", "StringConcat", Zero(INTEGERS)),
    // Recurrent networks
    ("", "GRU", Rewrite(recurrent::gru)),
    ("", "LSTM", Rewrite(recurrent::lstm)),
    ("", "RNN", Rewrite(recurrent::rnn)),
    // Control flow
    ("", "If", Graphs),
    ("", "Loop", Graphs),
    ("", "Scan", Graphs),
    // Sequences and similar types
    ("", "ConcatFromSequence", Nothing(SEQUENCES)),
    ("", "Optional", Nothing(SEQUENCES)),
    ("", "OptionalGetElement", Nothing(SEQUENCES)),
    ("", "OptionalHasElement", Nothing(SEQUENCES)),
    ("", "SequenceAt", Nothing(SEQUENCES)),
    ("", "SequenceConstruct", Nothing(SEQUENCES)),
    ("", "SequenceEmpty", Nothing(SEQUENCES)),
    ("", "SequenceErase", Nothing(SEQUENCES)),
    ("", "SequenceInsert", Nothing(SEQUENCES)),
    ("", "SequenceLength", Nothing(SEQUENCES)),
    ("", "SequenceMap", Nothing(SEQUENCES)),
    ("", "SplitToSequence", Nothing(SEQUENCES)),
];
