//! Nodes by the element type of what they take.

use super::{Chain, ChainNode, Named};
use onnx_exec::Tensor;
use onnx_ir::ElemType;

/// One operand, floats.
const FLOATS: &[&str] = &[
    "Abs",
    "Atan",
    "Asinh",
    "Ceil",
    "Cos",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "LeakyRelu <alpha = 0.3>",
    "Mish",
    "Neg",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Celu",
    "Celu <alpha = 2.0>",
    "Gelu <approximate = \"tanh\">",
    "Shrink <lambd = 0.5, bias = 0.25>",
    "Hardmax",
    "Softmax",
    "LogSoftmax",
    "Softmax <axis = 0>",
    "LpNormalization",
    "Sqrt",
    "Log",
    "Reciprocal",
    "Acos",
    "Acosh",
    "Asin",
    "Atanh",
    "Cosh",
    "HardSigmoid <alpha = 0.4, beta = 0.1>",
];

/// One operand, integers.
const INTS: &[&str] = &["Abs", "Neg", "Sign", "Identity", "BitwiseNot"];

impl Chain {
    /// A possible next node, which the caller runs.
    pub fn draw(&mut self) -> ChainNode {
        let x = self.operand();
        let is_float = !x.tensor.elem().is_integer() && x.tensor.elem() != ElemType::BOOL;
        let rank = x.tensor.rank();
        let name = x.name.clone();
        let (text, inputs) = match self.below(20) {
            _ if x.tensor.elem() == ElemType::BOOL => self.of_bools(&x),
            _ if x.tensor.elem() == ElemType::UINT8 => self.of_bytes(&x),
            0..5 => {
                let op = if is_float { self.one_of(FLOATS) } else { self.one_of(INTS) };
                (op.to_owned(), vec![name])
            }
            5..10 => self.binary(&x, is_float),
            10..14 if rank > 0 => self.view(&x),
            10..16 if rank > 0 => self.reduction(&x, is_float),
            16 | 17 if is_float && rank > 0 => self.contraction(&x),
            18 => {
                let to = self.one_of(&[1, 1, 1, 6, 7, 10, 11, 9]);
                (format!("Cast <to = {to}>"), vec![name])
            }
            _ if is_float => self.several(&x),
            _ => self.binary(&x, is_float),
        };
        self.fresh += 1;
        ChainNode {
            output: format!("y{}", self.fresh),
            text: format!("{text} ({})", inputs.join(", ")),
            inputs: inputs.into_iter().filter(|i| !i.is_empty()).collect(),
        }
    }

    fn of_bools(&mut self, x: &Named) -> (String, Vec<String>) {
        match self.below(4) {
            0 => ("Not".to_owned(), vec![x.name.clone()]),
            1 => ("Cast <to = 1>".to_owned(), vec![x.name.clone()]),
            2 => {
                let other = Tensor::of_bools(x.tensor.dims(), (0..x.tensor.len()).map(|i| i % 2 == 0))
                    .expect("as many");
                let other = self.keep(other, true);
                (self.one_of(&["And", "Or", "Xor"]).to_owned(), vec![x.name.clone(), other])
            }
            _ => {
                let like = Named {
                    tensor: Tensor::zeros(ElemType::FLOAT, x.tensor.dims()).expect("small"),
                    ..x.clone()
                };
                let (a, b) = (self.value(ElemType::FLOAT, like.tensor.dims(), true), self.partner(&like));
                ("Where".to_owned(), vec![x.name.clone(), a, b])
            }
        }
    }

    /// Bytes, as quantized values are.
    fn of_bytes(&mut self, x: &Named) -> (String, Vec<String>) {
        let step = self.keep(Tensor::scalar(0.05f32).expect("one"), true);
        let zero = self.keep(Tensor::scalar(120u8).expect("one"), true);
        let last = x.tensor.dims().last().copied().unwrap_or(1);
        match self.below(5) {
            0 if x.tensor.rank() >= 1 => {
                let elem = self.one_of(&[ElemType::UINT8, ElemType::INT8]);
                let columns = self.one_of(&[3, 12, 33]);
                let w = self.value(elem, &[last, columns], true);
                let mut inputs = vec![x.name.clone(), w, zero];
                if self.chance(2) {
                    inputs.push(self.value(elem, &[columns], true));
                }
                ("MatMulInteger".to_owned(), inputs)
            }
            4 if x.tensor.rank() >= 3 => {
                let kernel = vec![1; x.tensor.rank() - 2];
                let dims: Vec<usize> = [5, x.tensor.dims()[1]].into_iter().chain(kernel).collect();
                let elem = self.one_of(&[ElemType::UINT8, ElemType::INT8]);
                let w = self.value(elem, &dims, true);
                let pads = vec!["1"; 2 * (dims.len() - 2)].join(", ");
                (format!("ConvInteger <pads = [{pads}]>"), vec![x.name.clone(), w, zero])
            }
            1 if x.tensor.rank() >= 2 => {
                let w = self.value(ElemType::UINT8, &[last, 5], true);
                (
                    "QLinearMatMul".to_owned(),
                    [&x.name, &step, &zero, &w, &step, &zero, &step, &zero].map(String::clone).to_vec(),
                )
            }
            2 => {
                let by = Tensor::of(&[], &[2u8]).expect("one");
                let by = self.keep(by, true);
                (
                    format!("BitShift <direction = \"{}\">", self.one_of(&["LEFT", "RIGHT"])),
                    vec![x.name.clone(), by],
                )
            }
            _ => ("DequantizeLinear".to_owned(), vec![x.name.clone(), step, zero]),
        }
    }

    pub(super) fn binary(&mut self, x: &Named, is_float: bool) -> (String, Vec<String>) {
        let ops: &[&str] = if is_float {
            &[
                "Add",
                "Sub",
                "Mul",
                "Div",
                "Max",
                "Min",
                "Add",
                "Mul",
                "Greater",
                "LessOrEqual",
                "Equal",
                "Less",
                "GreaterOrEqual",
                "PRelu",
                "Pow",
                "Mod <fmod = 1>",
            ]
        } else {
            &[
                "Add",
                "Sub",
                "Mul",
                "Max",
                "Min",
                "Div",
                "Mod",
                "BitwiseAnd",
                "BitwiseOr",
                "BitwiseXor",
                "Greater",
                "Equal",
            ]
        };
        let (op, y) = (self.one_of(ops), self.partner(x));
        let is_turned = self.chance(3) && op != "PRelu";
        (op.to_owned(), if is_turned { vec![y, x.name.clone()] } else { vec![x.name.clone(), y] })
    }
}
