//! Families of operators, which have a color each.

use onnx_ops::family;

/// The purpose of operators of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Family {
    Convolution,
    Product,
    Pooling,
    Normalization,
    Activation,
    Arithmetic,
    Reduction,
    Movement,
    Quantization,
    Control,
    Recurrent,
    /// A function of the model.
    Function,
    #[default]
    Other,
}

impl Family {
    pub(super) const ALL: [Family; 13] = [
        Family::Convolution,
        Family::Product,
        Family::Pooling,
        Family::Normalization,
        Family::Activation,
        Family::Arithmetic,
        Family::Reduction,
        Family::Movement,
        Family::Quantization,
        Family::Control,
        Family::Recurrent,
        Family::Function,
        Family::Other,
    ];

    /// The family of an operator of a domain (`""` for ai.onnx).
    pub(super) fn of(domain: &str, op: &str) -> Family {
        let Some((rules, operands)) = family(domain, op) else { return Family::Other };
        match rules {
            "conv" => Family::Convolution,
            "matmul" | "einsum" | "attention" => Family::Product,
            "pool" => Family::Pooling,
            "norm" => Family::Normalization,
            "activation" => Family::Activation,
            "elementwise" if operands == 1 => Family::Activation,
            "elementwise" => Family::Arithmetic,
            "reduce" | "softmax" => Family::Reduction,
            "cast" | "gather" | "parts" | "reshape" | "resize" | "scatter" | "select" | "shape" | "view" => {
                Family::Movement
            }
            "quantize" => Family::Quantization,
            "control" | "optional" | "sequence" => Family::Control,
            "recurrent" => Family::Recurrent,
            _ => Family::Other,
        }
    }

    /// Its name, also as a class of styles.
    pub(super) fn name(self) -> &'static str {
        match self {
            Family::Convolution => "convolution",
            Family::Product => "product",
            Family::Pooling => "pooling",
            Family::Normalization => "normalization",
            Family::Activation => "activation",
            Family::Arithmetic => "arithmetic",
            Family::Reduction => "reduction",
            Family::Movement => "movement",
            Family::Quantization => "quantization",
            Family::Control => "control",
            Family::Recurrent => "recurrent",
            Family::Function => "function",
            Family::Other => "other",
        }
    }

    /// The colors of its boxes on a light and on a dark background: fill and border.
    pub(super) fn colors(self) -> [[&'static str; 2]; 2] {
        match self {
            Family::Convolution => [["#d6e6fb", "#5b8fd0"], ["#1b3a5f", "#5c93d8"]],
            Family::Product => [["#dfdcfb", "#7b72cf"], ["#332f66", "#8f86e6"]],
            Family::Pooling => [["#d5efe9", "#4a9e8c"], ["#16443b", "#4fae9a"]],
            Family::Normalization => [["#dcf0d6", "#66a355"], ["#25462a", "#6fb35d"]],
            Family::Activation => [["#fbdcd8", "#cf6f64"], ["#5a2725", "#dd7c70"]],
            Family::Arithmetic => [["#fdebc8", "#c39534"], ["#4d3a14", "#cfa243"]],
            Family::Reduction => [["#f6d9ec", "#bd6a9f"], ["#52264a", "#cc79b1"]],
            Family::Movement => [["#e6e8ec", "#868f9c"], ["#343a44", "#8892a0"]],
            Family::Quantization => [["#d3eef6", "#4596ad"], ["#123f4d", "#4ba5be"]],
            Family::Control => [["#f3e0cf", "#b07d4c"], ["#4a3420", "#bf8b59"]],
            Family::Recurrent => [["#e6d9f7", "#8d67c1"], ["#3e2860", "#a07ad5"]],
            Family::Function => [["#eceafa", "#8a86ad"], ["#2c2b40", "#8f8bb5"]],
            Family::Other => [["#eeeeee", "#8b8b8b"], ["#363636", "#8f8f8f"]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn operators_have_the_family_of_their_rule() {
        let of = |op| Family::of("", op);
        assert_eq!(
            ["Conv", "Gemm", "Relu", "Add", "Softmax", "Reshape", "If", "Nothing"].map(of),
            [
                Family::Convolution,
                Family::Product,
                Family::Activation,
                Family::Arithmetic,
                Family::Reduction,
                Family::Movement,
                Family::Control,
                Family::Other
            ]
        );
        assert_eq!(Family::of("com.acme", "Conv"), Family::Other);
    }
}
