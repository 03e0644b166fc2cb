//! Networks of images.

use super::{Image, Net, Window};
use onnx_ir::ValueId;

const ACTIVATIONS: [&str; 5] = ["Relu", "Relu6", "HardSwish", "Silu", "LeakyRelu"];

impl Net<'_> {
    /// The first layer: few channels, a stride of 2.
    fn stem(&mut self, channels: i64, activation: &str) -> Image {
        let side = self.between(96, 256, 32);
        let x = self.image(3, side);
        let size = self.pick([3, 5, 7]);
        self.block(x, channels, Window::of(size).by(2), activation)
    }

    /// Global pooling and a classifier.
    fn head(&mut self, x: Image) {
        let pooled = self.op("GlobalAveragePool", [x.value]);
        let flat = self.node("Flatten").input(pooled).attr("axis", 1i64).value();
        let scores = self.linear(flat, x.channels, 100);
        let scores = self.node("Softmax").input(scores).attr("axis", -1i64).value();
        self.output(scores, 2);
    }

    fn sum(&mut self, a: Image, b: Image) -> Image {
        Image { value: self.op("Add", [a.value, b.value]), ..a }
    }

    /// Squeeze and excitation: the channels times a gate of their means.
    fn gated(&mut self, x: Image, squeezed: i64) -> Image {
        let pooled = Image { value: self.op("GlobalAveragePool", [x.value]), side: 1, ..x };
        let inner = self.convolution(pooled, squeezed, Window::of(1));
        let inner = self.activated(inner, "Relu");
        let gate = self.convolution(inner, x.channels, Window::of(1));
        let function = self.pick(["Sigmoid", "HardSigmoid"]);
        let gate = self.op(function, [gate.value]);
        Image { value: self.op("Mul", [x.value, gate]), ..x }
    }

    fn pooled(&mut self, x: Image, op: &str, size: i64, stride: i64) -> Image {
        let node = self.node(op).input(x.value).attr("kernel_shape", [size; 2]).attr("strides", [stride; 2]);
        let value = node.attr("pads", [size / 2; 4]).value();
        Image { value, side: (x.side + size / 2 * 2 - size) / stride + 1, ..x }
    }

    /// An image in the size of another one.
    fn resized(&mut self, x: Image, side: i64) -> Image {
        let mode = self.pick(["linear", "nearest"]);
        let to = self.pick(["half_pixel", "align_corners", "asymmetric"]);
        let sizes = self.list(&[1, x.channels, side, side]);
        let node = self.node("Resize").input(x.value).inputs([None, None]).input(sizes).attr("mode", mode);
        Image { value: node.attr("coordinate_transformation_mode", to).value(), side, ..x }
    }
}

/// Residual blocks of two convolutions of 3×3, as in ResNet.
pub(super) fn residual(net: &mut Net<'_>) {
    let mut channels = net.between(16, 64, 8);
    let mut x = net.stem(channels, "Relu");
    for stage in 0..3 {
        let stride = if stage > 0 { 2 } else { 1 };
        channels *= stride;
        let short = net.convolution(x, channels, Window::of(1).by(stride));
        let y = net.block(x, channels, Window::of(3).by(stride), "Relu");
        let y = net.block(y, channels, Window::of(3), "");
        let y = net.sum(y, short);
        x = net.activated(y, "Relu");
    }
    net.head(x);
}

/// Bottlenecks with grouped convolutions and gates, as in ResNeXt and RegNet.
pub(super) fn grouped(net: &mut Net<'_>) {
    let width = net.pick([4, 8, 16, 24, 32, 40, 48, 64]);
    let mut groups = net.between(2, 6, 1);
    let mut x = net.stem(32, "Relu");
    let is_gated = net.below(2) == 0;
    for _ in 0..3 {
        let channels = width * groups;
        let y = net.block(x, channels, Window::of(1), "Relu");
        let mut y = net.block(y, channels, Window::of(3).by(2).in_groups(groups), "Relu");
        if is_gated {
            y = net.gated(y, (channels / 4).max(4));
        }
        let y = net.block(y, channels, Window::of(1), "");
        let short = net.convolution(x, channels, Window::of(1).by(2));
        let y = net.sum(y, short);
        x = net.activated(y, "Relu");
        let y = net.block(x, channels, Window::of(3).in_groups(groups), "Relu");
        let y = net.block(y, channels, Window::of(1), "");
        let y = net.sum(y, x);
        x = net.activated(y, "Relu");
        groups *= 2;
    }
    net.head(x);
}

/// Inverted residual blocks, as in MobileNet and EfficientNet.
pub(super) fn mobile(net: &mut Net<'_>) {
    let activation = net.pick(ACTIVATIONS);
    let is_gated = net.below(2) == 0;
    let first = net.between(8, 32, 8);
    let mut x = net.stem(first, activation);
    for _ in 0..5 {
        let (size, stride, by) = (net.pick([3, 5, 7]), net.pick([1, 2]), net.pick([3, 4, 6]));
        let channels = if stride == 1 { x.channels } else { x.channels + net.between(8, 32, 8) };
        let inner = x.channels * by;
        let y = net.block(x, inner, Window::of(1), activation);
        let mut y = net.block(y, inner, Window::of(size).by(stride).in_groups(inner), activation);
        if is_gated {
            y = net.gated(y, (x.channels / 4).max(4));
        }
        let y = net.block(y, channels, Window::of(1), "");
        x = if stride == 1 { net.sum(y, x) } else { y };
    }
    net.head(x);
}

/// Split, depthwise convolution, Concat and a channel shuffle, as in ShuffleNet.
pub(super) fn shuffle(net: &mut Net<'_>) {
    let channels = 2 * net.between(24, 96, 4);
    let mut x = net.stem(channels, "Relu");
    x = net.pooled(x, "MaxPool", 3, 2);
    for _ in 0..4 {
        let half = channels / 2;
        let parts = net.node("Split").input(x.value).attr("axis", 1i64).attr("num_outputs", 2i64);
        let [kept, changed] = parts.values();
        let y = Image { value: changed, channels: half, side: x.side };
        let y = net.block(y, half, Window::of(1), "Relu");
        let y = net.block(y, half, Window::of(3).in_groups(half), "");
        let y = net.block(y, half, Window::of(1), "Relu");
        let both = net.concatenated(&[kept, y.value], 1);
        let apart = net.reshaped(both, &[1, 2, half, x.side, x.side]);
        let mixed = net.transposed(apart, [0, 2, 1, 3, 4]);
        x.value = net.reshaped(mixed, &[1, channels, x.side, x.side]);
    }
    net.head(x);
}

/// Each block appends channels to the previous ones, as in DenseNet.
pub(super) fn dense(net: &mut Net<'_>) {
    let growth = net.between(12, 48, 4);
    let mut x = net.stem(2 * growth, "Relu");
    for _ in 0..2 {
        for _ in 0..4 {
            let y = net.normalized(x);
            let y = net.activated(y, "Relu");
            let y = net.block(y, 4 * growth, Window::of(1), "Relu");
            let y = net.convolution(y, growth, Window::of(3));
            let value = net.concatenated(&[x.value, y.value], 1);
            x = Image { value, channels: x.channels + growth, ..x };
        }
        let y = net.block(x, x.channels / 2, Window::of(1), "Relu");
        x = net.pooled(y, "AveragePool", 2, 2);
    }
    net.head(x);
}

/// Dilated convolutions side by side, their concatenation, and an upsampled result, as in DeepLab.
pub(super) fn segmentation(net: &mut Net<'_>) {
    let channels = net.between(16, 48, 8);
    let first = net.stem(channels, "Relu");
    let x = net.block(first, 2 * channels, Window::of(3).by(2), "Relu");
    let x = net.block(x, 4 * channels, Window::of(3).by(2), "Relu");
    let rate = net.pick([2, 4, 6, 12]);
    let mut parts: Vec<ValueId> = vec![net.block(x, channels, Window::of(1), "Relu").value];
    for dilation in [rate, 2 * rate, 3 * rate] {
        parts.push(net.block(x, channels, Window { dilation, ..Window::of(3) }, "Relu").value);
    }
    let all = Image { value: net.concatenated(&parts, 1), channels: 4 * channels, side: x.side };
    let y = net.block(all, channels, Window::of(1), "Relu");
    let y = net.resized(y, first.side);
    let both = net.concatenated(&[y.value, first.value], 1);
    let y = Image { value: both, channels: 2 * channels, side: first.side };
    let y = net.block(y, channels, Window::of(3), "Relu");
    let y = net.convolution(y, 21, Window::of(1));
    let y = net.resized(y, 2 * first.side);
    net.output(y.value, 4);
}

/// Depthwise convolutions, layer normalization of channels, and a perceptron of each pixel, as in ConvNeXt.
pub(super) fn convnext(net: &mut Net<'_>) {
    let mut channels = net.between(32, 96, 16);
    let mut x = net.stem(channels, "");
    for stage in 0..2 {
        if stage > 0 {
            channels *= 2;
            x = net.convolution(x, channels, Window::of(2).by(2));
        }
        let size = net.pick([3, 5, 7]);
        let y = net.convolution(x, channels, Window::of(size).in_groups(channels));
        let last = net.transposed(y.value, [0, 2, 3, 1]);
        let last = net.layer_normalized(last, channels);
        let wide = net.linear(last, channels, 4 * channels);
        let gelu = net.pick(["Gelu", "Erf"]);
        let wide = net.activation(wide, gelu);
        let narrow = net.linear(wide, 4 * channels, channels);
        let first = net.transposed(narrow, [0, 3, 1, 2]);
        let y = Image { value: first, ..x };
        x = net.sum(x, y);
    }
    net.head(x);
}

/// Down by pooling and up by Resize or transposed convolution, with Concat between, as in U-Net.
pub(super) fn unet(net: &mut Net<'_>) {
    let channels = net.between(8, 32, 8);
    let side = 16 * net.between(4, 10, 1);
    let mut x = net.image(3, side);
    let mut sides = Vec::new();
    for stage in 0..3 {
        x = net.block(x, channels << stage, Window::of(3), "Relu");
        sides.push(x);
        let node = net.node("MaxPool").input(x.value).attr("kernel_shape", [2i64; 2]);
        x = Image { value: node.attr("strides", [2i64; 2]).value(), side: x.side / 2, ..x };
    }
    while let Some(across) = sides.pop() {
        x = if net.below(2) == 0 {
            net.resized(x, across.side)
        } else {
            let weights = net.weights(&[x.channels, across.channels, 2, 2], x.channels);
            let node = net.node("ConvTranspose").inputs([x.value, weights]).attr("strides", [2i64; 2]);
            Image { value: node.value(), channels: across.channels, side: across.side }
        };
        let value = net.concatenated(&[x.value, across.value], 1);
        let both = Image { value, channels: x.channels + across.channels, side: across.side };
        x = net.block(both, across.channels, Window::of(3), "Relu");
    }
    let y = net.convolution(x, 2, Window::of(1));
    net.output(y.value, 4);
}

/// Large windows, local response normalization and pooling, as in AlexNet and Inception.
pub(super) fn classic(net: &mut Net<'_>) {
    let side = net.between(96, 224, 32);
    let x = net.image(3, side);
    let (size, first) = (net.pick([7, 11]), net.between(32, 96, 16));
    let x = net.convolution(x, first, Window::of(size).by(4));
    let x = net.activated(x, "Relu");
    let lrn = net.node("LRN").input(x.value).attr("size", 5i64).value();
    let x = net.pooled(Image { value: lrn, ..x }, "MaxPool", 3, 2);
    let wide = net.between(64, 192, 32);
    let x = net.convolution(x, wide, Window::of(5));
    let x = net.activated(x, "Relu");
    let mut parts = Vec::new();
    for (reduced, size) in [(wide / 2, 3), (wide / 4, 5)] {
        let y = net.block(x, reduced, Window::of(1), "Relu");
        parts.push(net.block(y, reduced, Window::of(size), "Relu").value);
    }
    let y = net.pooled(x, "AveragePool", 3, 1);
    parts.push(net.block(y, wide / 4, Window::of(1), "Relu").value);
    let value = net.concatenated(&parts, 1);
    let x = Image { value, channels: wide / 2 + wide / 4 * 2, side: x.side };
    net.head(x);
}

/// Padding by reflection, instance normalization, and upsampling, as in style transfer.
pub(super) fn style(net: &mut Net<'_>) {
    let channels = net.between(8, 32, 8);
    let side = net.between(64, 160, 16);
    let x = net.image(3, side);
    let pads = net.list(&[0, 0, 4, 4, 0, 0, 4, 4]);
    let value = net.node("Pad").inputs([x.value, pads]).attr("mode", "reflect").value();
    let mut x = net.convolution(Image { value, side: side + 8, ..x }, channels, Window::of(9));
    for stride in [2, 1, 1] {
        x = net.convolution(x, x.channels * stride, Window::of(3).by(stride));
        let [scale, bias] = [(); 2].map(|()| net.weights(&[x.channels], 3));
        let normalized = net.op("InstanceNormalization", [x.value, scale, bias]);
        x = net.activated(Image { value: normalized, ..x }, "Relu");
    }
    let x = net.resized(x, 2 * x.side);
    let x = net.convolution(x, 3, Window::of(9));
    let x = net.activated(x, "Tanh");
    net.output(x.value, 4);
}
