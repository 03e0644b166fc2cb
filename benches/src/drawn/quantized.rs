//! Networks of bytes.

use super::{Image, Net, Window};
use onnx_ir::{Tensor, ValueId};

impl Net<'_> {
    /// A value through `QuantizeLinear` and `DequantizeLinear`.
    fn quantized(&mut self, x: ValueId, scale: f32) -> ValueId {
        let scale = self.scalar(scale);
        let zero = self.b.constant(Tensor::scalar(128u8));
        let bytes = self.op("QuantizeLinear", [x, scale, zero]);
        self.op("DequantizeLinear", [bytes, scale, zero])
    }

    /// Signed bytes.
    fn bytes(&mut self, dims: &[i64]) -> ValueId {
        let numbers = self.numbers(super::count(dims), 127.0);
        let bytes = numbers.into_iter().map(|x| x as i8).collect();
        self.b.constant(Tensor::new(dims.iter().copied(), bytes))
    }

    /// A convolution whose weights are bytes with a scale for each channel, between quantized values.
    fn quantized_block(&mut self, x: Image, channels: i64, window: Window) -> Image {
        let Window { size, stride, groups, .. } = window;
        let bytes = self.bytes(&[channels, x.channels / groups, size, size]);
        let over = (x.channels / groups * size * size) as f32;
        let scales = vec![(3.0 / over).sqrt() / 127.0; channels.unsigned_abs() as usize];
        let scales = self.b.constant(Tensor::list(scales));
        let node = self.node("DequantizeLinear").inputs([bytes, scales]).attr("axis", 0i64);
        let weights = node.value();
        let node = self.node("Conv").inputs([x.value, weights]).attr("group", groups);
        let node = node.attr("kernel_shape", [size; 2]).attr("strides", [stride; 2]);
        let value = node.attr("pads", [window.padding(); 4]).value();
        let side = (x.side + 2 * window.padding() - size) / stride + 1;
        let value = self.activation(value, "Relu");
        Image { value: self.quantized(value, 0.02), channels, side }
    }
}

/// Residual and depthwise blocks between `QuantizeLinear` and `DequantizeLinear`.
pub(super) fn qdq(net: &mut Net<'_>) {
    let channels = net.between(16, 64, 8);
    let side = net.between(64, 160, 16);
    let x = net.image(3, side);
    let x = Image { value: net.quantized(x.value, 0.01), ..x };
    let mut x = net.quantized_block(x, channels, Window::of(3).by(2));
    for stride in [1, 2] {
        let y = net.quantized_block(x, 2 * x.channels, Window::of(1));
        let y = net.quantized_block(y, y.channels, Window::of(3).by(stride).in_groups(y.channels));
        let y = net.quantized_block(y, x.channels, Window::of(3));
        x = if stride == 1 {
            let sum = net.op("Add", [x.value, y.value]);
            Image { value: net.quantized(sum, 0.03), ..x }
        } else {
            y
        };
    }
    let pooled = net.op("GlobalAveragePool", [x.value]);
    net.output(pooled, 4);
}

/// Products of bytes with what each run quantizes.
pub(super) fn dynamic(net: &mut Net<'_>) {
    let (rows, mut width) = (net.between(1, 128, 5), net.between(64, 384, 16));
    let mut x = net.input("x", &[rows, width]);
    for _ in 0..4 {
        let next = net.between(64, 512, 16);
        let [bytes, scale, zero] = net.node("DynamicQuantizeLinear").input(x).values();
        let weights = net.bytes(&[width, next]);
        let weights_zero = net.b.constant(Tensor::scalar(0i8));
        let sums = net.op("MatMulInteger", [bytes, weights, zero, weights_zero]);
        let floats = net.node("Cast").input(sums).attr("to", onnx_ir::ElemType::FLOAT).value();
        let of_weights = net.scalar((3.0 / width as f32).sqrt() / 127.0);
        let factor = net.op("Mul", [scale, of_weights]);
        let product = net.op("Mul", [floats, factor]);
        (x, width) = (net.activation(product, "Erf"), next);
    }
    net.output(x, 2);
}
