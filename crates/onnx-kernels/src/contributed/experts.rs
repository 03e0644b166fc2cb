//! Mixture of experts (MoE, QMoE): each token is processed by the experts that a router selects, and the results are summed with
//! their weights.
//!
//! An expert has two layers of shape `[experts, outputs, inputs]` with an activation between them. In QMoE, weights are codes of
//! few bits along the inputs, with a scale per output, or per block of inputs of an output.

use super::heads::softmax;
use super::packed::code;
use crate::real::Real;
use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::Matrix;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::{Tensor, count_of};

pub(super) const ROWS: &[Row] = &[
    row("com.microsoft", "MoE", |call| experts(call, &[2, 4], &[3, 5], None)),
    row("com.microsoft", "QMoE", |call| experts(call, &[2, 5], &[4, 7], Some([(3, 11), (6, 12)]))),
];

/// The stored weights of a layer.
enum Stored<'l> {
    Floats(List<f32>),
    Codes {
        codes: &'l [u8],
        bits: usize,
        /// Inputs per scale.
        block: usize,
        scales: List<f32>,
        zeros: Option<&'l [u8]>,
    },
}

/// A layer of all experts.
struct Layer<'l> {
    stored: Stored<'l>,
    bias: Option<List<f32>>,
    experts: usize,
    inputs: usize,
    outputs: usize,
}

impl<'l> Layer<'l> {
    fn of(
        call: &'l Call<'_>,
        weights: usize,
        bias: usize,
        quantized: Option<(usize, usize)>,
    ) -> Result<Layer<'l>, Failure> {
        let tensor = call.tensor(weights)?;
        let &[experts, outputs, stored] = tensor.dims() else {
            fail!("weights of shape {:?} are none of experts", tensor.dims())
        };
        let (stored, inputs) = match quantized {
            None => (Stored::Floats(f32::numbers(tensor)?), stored),
            Some((scales, zeros)) => codes(call, tensor, scales, zeros)?,
        };
        let bias = match call.optional_tensor(bias)? {
            Some(bias) if bias.dims() == [experts, outputs] => Some(f32::numbers(bias)?),
            Some(bias) => fail!("a bias of shape {:?} does not fit {:?}", bias.dims(), tensor.dims()),
            None => None,
        };
        Ok(Layer { stored, bias, experts, inputs, outputs })
    }

    /// Applies the layer of an expert to rows.
    fn apply(&self, expert: usize, rows: &[f32]) -> Result<List<f32>, Failure> {
        let count = rows.len().checked_div(self.inputs).unwrap_or(0);
        let size = self.inputs * self.outputs;
        spend(size.saturating_mul(count + 1))?;
        let matrix = match &self.stored {
            Stored::Floats(all) => Matrix::of_columns(&all[expert * size..][..size], self.inputs, None)?,
            Stored::Codes { .. } => {
                let mut weights = filled(size, 0.0)?;
                for (output, to) in weights.chunks_exact_mut(self.inputs.max(1)).enumerate() {
                    self.unpack(expert, output, to);
                }
                Matrix::of_columns(&weights, self.inputs, None)?
            }
        };
        let mut out = filled(count_of(&[count, self.outputs])?, 0.0)?;
        if let Some(bias) = &self.bias {
            let bias = &bias[expert * self.outputs..][..self.outputs];
            out.chunks_exact_mut(self.outputs.max(1)).for_each(|row| row.copy_from_slice(bias));
        }
        matrix.add_products(rows, &mut out)?;
        Ok(out)
    }

    /// Dequantizes the weights of an output of an expert.
    fn unpack(&self, expert: usize, output: usize, to: &mut [f32]) {
        let Stored::Codes { codes, bits, block, scales, zeros } = &self.stored else { return };
        let row = expert * self.outputs + output;
        let blocks = self.inputs.div_ceil(*block);
        let codes = &codes[row * self.inputs * bits / 8..];
        let middle = f64::from(1u8 << (bits - 1));
        for (i, x) in to.iter_mut().enumerate() {
            let at = i / block;
            let zero = match zeros {
                None => middle,
                // With single blocks, the zero points of outputs are contiguous.
                Some(zeros)
                    if blocks == 1 && zeros.len() < row_bytes(1, *bits) * self.experts * self.outputs =>
                {
                    code(&zeros[expert * row_bytes(self.outputs, *bits)..], output, *bits)
                }
                Some(zeros) => code(&zeros[row * row_bytes(blocks, *bits)..], at, *bits),
            };
            *x = f32::of(code(codes, i, *bits) - zero) * scales[row * blocks + at];
        }
    }
}

/// The number of bytes of packed codes.
fn row_bytes(count: usize, bits: usize) -> usize {
    count.div_ceil(8 / bits)
}

/// The codes of a layer, and its number of inputs.
fn codes<'l>(
    call: &'l Call<'_>,
    tensor: &'l Tensor,
    scales: usize,
    zeros: usize,
) -> Result<(Stored<'l>, usize), Failure> {
    let bits = match call.attrs.int("expert_weight_bits") {
        Some(4) => 4,
        Some(8) => 8,
        bits => fail!("weights of {} cannot be unpacked", counted(bits.unwrap_or(0), "bit")),
    };
    if tensor.elem() != ElemType::UINT8 || call.attrs.string("quant_type").is_some_and(|kind| kind != "int") {
        fail!("weights that are not integers cannot be unpacked");
    }
    let &[experts, outputs, stored] = tensor.dims() else {
        fail!("weights of shape {:?} are none of experts", tensor.dims())
    };
    let inputs = stored.saturating_mul(8 / bits);
    let block = call.attrs.int("block_size").and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let block = block.unwrap_or(inputs).max(1);
    let blocks = inputs.div_ceil(block);
    let scales = call.tensor(scales)?;
    if scales.len() != count_of(&[experts, outputs, blocks])? {
        fail!("scales of shape {:?} do not fit {:?}", scales.dims(), tensor.dims());
    }
    let of_blocks = count_of(&[experts, outputs, row_bytes(blocks, bits)])?;
    let of_outputs = count_of(&[experts, row_bytes(outputs, bits)])?;
    let zeros = match call.optional_tensor(zeros)? {
        None => None,
        Some(zeros)
            if zeros.elem() == ElemType::UINT8
                && (zeros.len() == of_blocks || blocks == 1 && zeros.len() == of_outputs) =>
        {
            Some(zeros.words::<u8>())
        }
        Some(zeros) => fail!("zero points of shape {:?} do not fit {:?}", zeros.dims(), tensor.dims()),
    };
    let codes = tensor.words::<u8>();
    Ok((Stored::Codes { codes, bits, block, scales: f32::numbers(scales)?, zeros }, inputs))
}

/// The activation between the layers.
struct Activation {
    kind: Kind,
    alpha: f32,
    beta: f32,
    limit: f32,
}

enum Kind {
    Identity,
    Relu,
    Gelu,
    Silu,
    /// SwiGLU: of adjacent pairs, the first gates the second.
    Gate,
}

impl Activation {
    fn of(call: &Call<'_>) -> Result<Activation, Failure> {
        let name = call.attrs.string("activation_type").unwrap_or_default();
        let kind = match &*name {
            "identity" => Kind::Identity,
            "relu" => Kind::Relu,
            "gelu" => Kind::Gelu,
            "silu" => Kind::Silu,
            "swiglu" if call.attrs.int("swiglu_fusion") == Some(1) => Kind::Gate,
            _ => fail!("the activation `{name}` cannot be run, or not in two layers"),
        };
        let number = |name: &str, default: f32| call.attrs.float(name).unwrap_or(default);
        Ok(Activation {
            kind,
            alpha: number("activation_alpha", 1.0),
            beta: number("activation_beta", 0.0),
            limit: number("swiglu_limit", f32::INFINITY),
        })
    }

    fn apply(&self, mut numbers: List<f32>) -> Result<List<f32>, Failure> {
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        let each: fn(f32) -> f32 = match self.kind {
            Kind::Identity => return Ok(numbers),
            Kind::Relu => |x| x.max(0.0),
            Kind::Gelu => |x| 0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh()),
            Kind::Silu => |x| x / (1.0 + (-x).exp()),
            Kind::Gate => {
                let limit = self.limit;
                let bound = |x: f32| if x > limit { limit } else { x };
                let (pairs, _) = numbers.as_chunks::<2>();
                return pairs
                    .iter()
                    .map(|&[gate, x]| {
                        let (gate, x) = (bound(gate), if x < -limit { -limit } else { bound(x) });
                        gate * sigmoid(self.alpha * gate) * (x + self.beta)
                    })
                    .listed();
            }
        };
        numbers.iter_mut().for_each(|x| *x = each(*x));
        Ok(numbers)
    }

    /// Inputs per output.
    fn inputs(&self) -> usize {
        match self.kind {
            Kind::Gate => 2,
            Kind::Identity | Kind::Relu | Kind::Gelu | Kind::Silu => 1,
        }
    }
}

/// The tokens of each expert, with their weights.
fn routed(call: &Call<'_>, tokens: usize, experts: usize) -> Result<List<List<(usize, f32)>>, Failure> {
    let router = call.tensor(1)?;
    if router.dims() != [tokens, experts] {
        fail!(
            "routes of shape {:?} do not lead {} to {}",
            router.dims(),
            counted(tokens, "token"),
            counted(experts, "expert")
        );
    }
    let best = match call.attrs.int("k").and_then(|k| usize::try_from(k).ok()) {
        Some(best) if (1..=experts).contains(&best) => best,
        _ => fail!("a token goes to 1 to {experts} experts"),
    };
    let is_normal = call.attrs.flag("normalize_routing_weights");
    let mut routed: List<List<(usize, f32)>> = (0..experts).map(|_| List::new()).listed()?;
    for (token, numbers) in f32::numbers(router)?.chunks_exact_mut(experts).enumerate() {
        let mut order = (0..experts).listed()?;
        order.sort_unstable_by(|&a, &b| numbers[b].total_cmp(&numbers[a]).then(a.cmp(&b)));
        let order = &order[..best];
        let mut weights = order.iter().map(|&expert| numbers[expert]).listed()?;
        if is_normal {
            softmax(&mut weights);
        } else {
            softmax(numbers);
            weights = order.iter().map(|&expert| numbers[expert]).listed()?;
        }
        for (&expert, weight) in order.iter().zip(weights) {
            routed[expert].push((token, weight))?;
        }
    }
    Ok(routed)
}

fn experts(
    call: &mut Call<'_>,
    weights: &[usize; 2],
    biases: &[usize; 2],
    quantized: Option<[(usize, usize); 2]>,
) -> Result<Vec<Value>, Failure> {
    let third = if quantized.is_some() { 8 } else { 6 };
    let is_other = |i: &usize| !weights.contains(i) && !biases.contains(i);
    let known = |i: &usize| quantized.is_some_and(|all| all.iter().any(|(s, z)| s == i || z == i));
    if let Some(i) =
        (third..call.inputs.len()).filter(is_other).find(|i| !known(i) && call.optional(*i).is_some())
    {
        fail!("input {i} cannot be run");
    }
    if call.attrs.flag("use_sparse_mixer") {
        fail!("a sparse mixer cannot be run");
    }
    let x = call.tensor(0)?;
    let Some((&width, outer)) = x.dims().split_last() else { fail!("the input is a scalar") };
    let first = Layer::of(call, weights[0], biases[0], quantized.map(|all| all[0]))?;
    let second = Layer::of(call, weights[1], biases[1], quantized.map(|all| all[1]))?;
    let activation = Activation::of(call)?;
    if first.experts != second.experts
        || first.inputs != width
        || second.outputs != width
        || second.inputs.checked_mul(activation.inputs()) != Some(first.outputs)
    {
        fail!(
            "layers of {} by {} and of {} by {} do not fit rows of {width}",
            first.inputs,
            first.outputs,
            second.inputs,
            second.outputs
        );
    }
    let numbers = f32::numbers(x)?;
    let mut y = filled(numbers.len(), 0.0)?;
    for (expert, tokens) in routed(call, count_of(outer)?, first.experts)?.into_iter().enumerate() {
        if tokens.is_empty() || width == 0 {
            continue;
        }
        let mut rows = List::with_room(tokens.len() * width)?;
        let of_token = |token: usize| numbers[token * width..][..width].iter().copied();
        tokens.iter().try_for_each(|(token, _)| rows.extend(of_token(*token)))?;
        let made = second.apply(expert, &activation.apply(first.apply(expert, &rows)?)?)?;
        for ((token, weight), row) in tokens.iter().zip(made.chunks_exact(width)) {
            y[token * width..][..width].iter_mut().zip(row).for_each(|(y, x)| *y += weight * x);
        }
    }
    Ok(vec![f32::tensor(x.elem(), x.dims(), &y)?.into()])
}
