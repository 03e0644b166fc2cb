//! Models that a seed draws: networks of well-known families in small random configurations.
//!
//! A kernel that is tuned to the models that are measured daily shows here how it does on others. Sizes are drawn from what published
//! networks of a family have (channels, groups, taps, strides, dilations, heads, sequence lengths); weights are random.

mod images;
mod quantized;
mod sequences;

use crate::generate::random;
use onnx_exec::Tensor;
use onnx_ir::{ElemType, GraphBuilder, Model, NewNode, ValueId};
use std::time::SystemTime;

/// A model with its inputs.
pub(crate) struct Drawn {
    pub(crate) name: String,
    pub(crate) model: Model,
    pub(crate) inputs: Vec<(String, Tensor)>,
}

/// A family of networks: its name, and the function that draws one of it.
type Family = (&'static str, fn(&mut Net<'_>));

impl Drawn {
    /// How far results of two runtimes may be apart, as a part of the largest: where numbers are rounded to few bits, one that is nearly
    /// halfway goes up here and down there.
    pub(crate) fn tolerance(&self) -> f64 {
        let mut ops = self.model.walk_main().map(|node| node.op());
        if ops.any(|op| op.contains("Quantize")) { 1e-1 } else { 1e-2 }
    }
}

/// The families by name.
const FAMILIES: &[Family] = &[
    ("residual", images::residual),
    ("grouped", images::grouped),
    ("mobile", images::mobile),
    ("shuffle", images::shuffle),
    ("dense", images::dense),
    ("segmentation", images::segmentation),
    ("convnext", images::convnext),
    ("unet", images::unet),
    ("classic", images::classic),
    ("style", images::style),
    ("encoder", sequences::encoder),
    ("decoder", sequences::decoder),
    ("patches", sequences::patches),
    ("mixer", sequences::mixer),
    ("recurrent", sequences::recurrent),
    ("layers", sequences::layers),
    ("speech", sequences::speech),
    ("qdq", quantized::qdq),
    ("dynamic", quantized::dynamic),
];

/// A seed that was not used before.
pub(crate) fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Few digits, to be typed.
    since.map_or(0, |since| since.as_secs()) % 1_000_000
}

/// The models of a seed whose names contain one of some words; without words, all `count`.
pub(crate) fn drawn(seed: u64, count: usize, words: &[String]) -> Vec<Drawn> {
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let all = (0..count).zip(FAMILIES.iter().cycle());
    let named = all.map(|(at, (family, build))| (format!("{family}-{at}"), at, build));
    named.filter(|(name, ..)| is_wanted(name)).map(|(name, at, build)| draw(seed, at, name, *build)).collect()
}

fn draw(seed: u64, at: usize, name: String, build: fn(&mut Net<'_>)) -> Drawn {
    let mut model = Model::of_opset(21);
    let mut net = Net {
        b: GraphBuilder::main(&mut model, "drawn"),
        // Far apart, so that models of neighbouring seeds share no numbers.
        state: random(seed ^ random(at as u64)),
        inputs: Vec::new(),
    };
    build(&mut net);
    let Net { b, inputs, .. } = net;
    b.finish();
    Drawn { name, model, inputs }
}

/// A network that is being drawn.
struct Net<'m> {
    b: GraphBuilder<'m>,
    state: u64,
    inputs: Vec<(String, Tensor)>,
}

/// A value with its shape `[1, channels, side, side]`.
#[derive(Clone, Copy)]
struct Image {
    value: ValueId,
    channels: i64,
    side: i64,
}

/// The window of a convolution.
#[derive(Clone, Copy)]
struct Window {
    size: i64,
    stride: i64,
    dilation: i64,
    groups: i64,
}

impl Window {
    fn of(size: i64) -> Window {
        Window { size, stride: 1, dilation: 1, groups: 1 }
    }

    fn by(self, stride: i64) -> Window {
        Window { stride, ..self }
    }

    fn in_groups(self, groups: i64) -> Window {
        Window { groups, ..self }
    }

    /// As much padding as keeps the size at stride 1.
    fn padding(self) -> i64 {
        (self.size - 1) * self.dilation / 2
    }
}

impl<'m> Net<'m> {
    /// A number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(1);
        random(self.state) % bound.max(1)
    }

    /// One of several.
    fn pick<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.below(N as u64) as usize]
    }

    /// A number from a range, both ends included, that a step divides.
    fn between(&mut self, least: i64, most: i64, step: i64) -> i64 {
        least + step * self.below(((most - least) / step + 1).unsigned_abs()).cast_signed()
    }

    /// Numbers around 0 of about this magnitude.
    fn numbers(&mut self, count: usize, magnitude: f32) -> Vec<f32> {
        let first = random(self.state) << 32;
        self.state = self.state.wrapping_add(1);
        let uniform = |i: usize| (random(first.wrapping_add(i as u64)) >> 40) as f32 / (1 << 24) as f32 - 0.5;
        (0..count).map(|i| uniform(i) * 2.0 * magnitude).collect()
    }

    /// Constant weights, whose products over `over` elements keep the magnitude of the other factor.
    fn weights(&mut self, dims: &[i64], over: i64) -> ValueId {
        let numbers = self.numbers(count(dims), (3.0 / over.max(1) as f32).sqrt());
        self.b.constant(onnx_ir::Tensor::new(dims.iter().copied(), numbers))
    }

    /// A constant list of integers.
    fn list(&mut self, elements: &[i64]) -> ValueId {
        self.b.constant(onnx_ir::Tensor::list(elements.to_vec()))
    }

    fn scalar(&mut self, element: f32) -> ValueId {
        self.b.constant(onnx_ir::Tensor::scalar(element))
    }

    fn node(&mut self, op: &str) -> NewNode<'_, GraphBuilder<'m>> {
        self.b.node(op)
    }

    fn op<const N: usize>(&mut self, op: &str, inputs: [ValueId; N]) -> ValueId {
        self.b.op(op, inputs)
    }

    /// An input of floats from −1 to 1.
    fn input(&mut self, name: &str, dims: &[i64]) -> ValueId {
        let numbers = self.numbers(count(dims), 1.0);
        self.given(name, ElemType::FLOAT, dims, &numbers)
    }

    /// An input of integers below a bound.
    fn indices(&mut self, name: &str, dims: &[i64], bound: u64) -> ValueId {
        let numbers: Vec<i64> = (0..count(dims)).map(|_| self.below(bound).cast_signed()).collect();
        self.given(name, ElemType::INT64, dims, &numbers)
    }

    fn given<T: onnx_exec::Element>(
        &mut self,
        name: &str,
        elem: ElemType,
        dims: &[i64],
        elements: &[T],
    ) -> ValueId {
        let shape: Vec<usize> = dims.iter().map(|d| d.unsigned_abs() as usize).collect();
        let tensor = Tensor::of(&shape, elements).expect("as many elements as the shape has");
        self.inputs.push((name.to_owned(), tensor));
        let ty = self.b.tensor_type(elem, dims.iter().copied());
        self.b.input(name, ty)
    }

    /// The output, of which only the rank is declared.
    fn output(&mut self, value: ValueId, rank: usize) {
        let dims: Vec<_> = (0..rank).map(|axis| self.b.symbol(&format!("d{axis}"))).collect();
        let ty = self.b.tensor_type(ElemType::FLOAT, dims);
        self.b.output("y", value, ty);
    }

    /// An image as input.
    fn image(&mut self, channels: i64, side: i64) -> Image {
        Image { value: self.input("x", &[1, channels, side, side]), channels, side }
    }

    /// A convolution with a bias.
    fn convolution(&mut self, x: Image, channels: i64, window: Window) -> Image {
        let Window { size, stride, dilation, groups } = window;
        let of_group = x.channels / groups;
        let weights = self.weights(&[channels, of_group, size, size], of_group * size * size);
        let bias = self.weights(&[channels], channels);
        let node = self.node("Conv").inputs([x.value, weights, bias]);
        let node = node.attr("group", groups).attr("kernel_shape", [size; 2]).attr("strides", [stride; 2]);
        let value = node.attr("dilations", [dilation; 2]).attr("pads", [window.padding(); 4]).value();
        let side = (x.side + 2 * window.padding() - (size - 1) * dilation - 1) / stride + 1;
        Image { value, channels, side }
    }

    /// A convolution, batch normalization and an activation.
    fn block(&mut self, x: Image, channels: i64, window: Window, activation: &str) -> Image {
        let x = self.convolution(x, channels, window);
        let x = self.normalized(x);
        self.activated(x, activation)
    }

    fn normalized(&mut self, x: Image) -> Image {
        let [scale, bias, mean] = [(); 3].map(|()| self.weights(&[x.channels], 3));
        let ones = vec![1.0f32; x.channels.unsigned_abs() as usize];
        let variance = self.b.constant(onnx_ir::Tensor::list(ones));
        let value = self.op("BatchNormalization", [x.value, scale, bias, mean, variance]);
        Image { value, ..x }
    }

    fn activated(&mut self, x: Image, activation: &str) -> Image {
        Image { value: self.activation(x.value, activation), ..x }
    }

    /// An activation by the name of its operator, or composed as exporters write it.
    fn activation(&mut self, x: ValueId, activation: &str) -> ValueId {
        match activation {
            "" => x,
            "Silu" => {
                let gate = self.op("Sigmoid", [x]);
                self.op("Mul", [x, gate])
            }
            "Relu6" => {
                let [least, most] = [0.0, 6.0].map(|bound| self.scalar(bound));
                self.op("Clip", [x, least, most])
            }
            "Erf" => {
                let root = self.scalar(std::f32::consts::SQRT_2);
                let quotient = self.op("Div", [x, root]);
                let erf = self.op("Erf", [quotient]);
                let one = self.scalar(1.0);
                let sum = self.op("Add", [erf, one]);
                let product = self.op("Mul", [x, sum]);
                let half = self.scalar(0.5);
                self.op("Mul", [product, half])
            }
            op => self.op(op, [x]),
        }
    }

    /// A matrix product with constant weights, and a bias.
    fn linear(&mut self, x: ValueId, from: i64, to: i64) -> ValueId {
        let weights = self.weights(&[from, to], from);
        let product = self.op("MatMul", [x, weights]);
        let bias = self.weights(&[to], to);
        self.op("Add", [product, bias])
    }

    fn layer_normalized(&mut self, x: ValueId, channels: i64) -> ValueId {
        let [scale, bias] = [(); 2].map(|()| self.weights(&[channels], 3));
        self.node("LayerNormalization").inputs([x, scale, bias]).attr("axis", -1i64).value()
    }

    fn reshaped(&mut self, x: ValueId, dims: &[i64]) -> ValueId {
        let dims = self.list(dims);
        self.op("Reshape", [x, dims])
    }

    fn transposed<const N: usize>(&mut self, x: ValueId, order: [i64; N]) -> ValueId {
        self.node("Transpose").input(x).attr("perm", order).value()
    }

    fn concatenated(&mut self, parts: &[ValueId], axis: i64) -> ValueId {
        self.node("Concat").inputs(parts.iter().copied()).attr("axis", axis).value()
    }
}

fn count(dims: &[i64]) -> usize {
    dims.iter().map(|d| d.unsigned_abs() as usize).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::serve::{inputs, outputs};
    use onnx_exec::{CompileOptions, RunOptions, compile};
    use onnx_ir::VerifyOptions;
    use onnx_ir::diag::{Diagnostic, Level};
    use onnx_ops::opset::registry_of;
    use onnx_ops::schema::Registry;

    #[test]
    fn every_family_is_sound_whatever_is_drawn() {
        for seed in 0..6 {
            for Drawn { name, model, inputs } in drawn(seed, FAMILIES.len(), &[]) {
                let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
                let mut found = onnx_ops::check::check(&model, Registry::builtin(), &options);
                found.retain(Diagnostic::is_error);
                assert!(found.is_empty() && !inputs.is_empty(), "{name} of seed {seed}: {found:?}");
            }
        }
    }

    #[test]
    fn a_seed_draws_the_same_models_each_time() {
        let seen = |seed| {
            let all = drawn(seed, 4, &[]);
            all.iter().map(|it| onnx_proto::write(&it.model).unwrap().len()).collect::<Vec<_>>()
        };
        assert_eq!(seen(7), seen(7));
        assert_ne!(seen(7), seen(8));
        let names: Vec<String> = drawn(7, 40, &["mobile".to_owned()]).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["mobile-2", "mobile-21"]);
    }

    #[test]
    fn a_drawn_model_runs() {
        // The smallest family: the others take seconds without optimisation.
        let drawn = drawn(3, FAMILIES.len(), &["layers".to_owned()]).remove(0);
        let executable =
            compile(&drawn.model, registry_of(&drawn.model), &CompileOptions::default()).unwrap();
        let given = drawn.inputs.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
        let inputs = inputs(&executable, given).unwrap();
        let results = outputs(&executable, &inputs, &RunOptions::default()).unwrap();
        let numbers = results[0].floats().unwrap();
        assert!(numbers.iter().all(|x| x.is_finite()) && numbers.iter().any(|x| *x != 0.0));
    }
}
