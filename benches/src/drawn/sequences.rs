//! Networks of sequences and of rows.

use super::{Image, Net, Window};
use onnx_ir::ValueId;

/// The heads of attention.
#[derive(Clone, Copy)]
struct Heads {
    count: i64,
    size: i64,
}

impl Net<'_> {
    /// The operands of heads: `[1, rows, heads * size]` as `[1, heads, rows, size]`.
    fn heads(&mut self, x: ValueId, rows: i64, heads: Heads) -> ValueId {
        let apart = self.reshaped(x, &[1, rows, heads.count, heads.size]);
        self.transposed(apart, [0, 2, 1, 3])
    }

    /// Attention of some queries to keys and values that stand as `[1, heads, rows, size]`.
    fn attention(
        &mut self,
        [q, k, v]: [ValueId; 3],
        heads: Heads,
        rows: i64,
        mask: Option<ValueId>,
    ) -> ValueId {
        let keys = self.transposed(k, [0, 1, 3, 2]);
        let scores = self.op("MatMul", [q, keys]);
        let scale = self.scalar(1.0 / (heads.size as f32).sqrt());
        let mut scores = self.op("Mul", [scores, scale]);
        if let Some(mask) = mask {
            scores = self.op("Add", [scores, mask]);
        }
        let weights = self.node("Softmax").input(scores).attr("axis", -1i64).value();
        let all = self.op("MatMul", [weights, v]);
        let together = self.transposed(all, [0, 2, 1, 3]);
        self.reshaped(together, &[1, rows, heads.count * heads.size])
    }

    /// A block of an encoder: attention of all rows to all rows, and a perceptron.
    fn encoder_block(&mut self, x: ValueId, rows: i64, heads: Heads, mask: Option<ValueId>) -> ValueId {
        let width = heads.count * heads.size;
        let normalized = self.layer_normalized(x, width);
        let qkv = [(); 3].map(|()| {
            let projected = self.linear(normalized, width, width);
            self.heads(projected, rows, heads)
        });
        let y = self.attention(qkv, heads, rows, mask);
        let y = self.linear(y, width, width);
        let x = self.op("Add", [x, y]);
        let y = self.layer_normalized(x, width);
        let y = self.linear(y, width, 4 * width);
        let gelu = self.pick(["Gelu", "Erf"]);
        let y = self.activation(y, gelu);
        let y = self.linear(y, 4 * width, width);
        self.op("Add", [x, y])
    }

    fn any_heads(&mut self) -> Heads {
        Heads { count: self.between(2, 8, 1), size: self.pick([16, 32, 48, 64]) }
    }
}

/// Embeddings and blocks of attention with a mask, as in BERT.
pub(super) fn encoder(net: &mut Net<'_>) {
    let heads = net.any_heads();
    let (rows, width) = (net.between(8, 160, 4), heads.count * heads.size);
    let words = net.indices("words", &[1, rows], 500);
    let mask = net.input("mask", &[1, 1, 1, rows]);
    let table = net.weights(&[500, width], 3);
    let mut x = net.op("Gather", [table, words]);
    for _ in 0..3 {
        x = net.encoder_block(x, rows, heads, Some(mask));
    }
    net.output(x, 3);
}

/// One step, or the first words, of a decoder with a cache and a gated perceptron, as in Llama.
pub(super) fn decoder(net: &mut Net<'_>) {
    let heads = net.any_heads();
    let (rows, past) = (net.pick([1, 1, 4, 20, 64]), net.between(16, 320, 16));
    let (width, inner) = (heads.count * heads.size, heads.count * heads.size * 8 / 3);
    let mut x = net.input("x", &[1, rows, width]);
    let mask = net.input("mask", &[1, 1, rows, past + rows]);
    for layer in 0..3 {
        let root = net.b.constant(onnx_ir::Tensor::list(vec![1.0f32; width.unsigned_abs() as usize]));
        let y = root_mean_square(net, x, root);
        let [q, k, v] = [(); 3].map(|()| {
            let weights = net.weights(&[width, width], width);
            let product = net.op("MatMul", [y, weights]);
            net.heads(product, rows, heads)
        });
        let dims = [1, heads.count, past, heads.size];
        let [old_keys, old_values] =
            ["keys", "values"].map(|name| net.input(&format!("{name}{layer}"), &dims));
        let keys = net.concatenated(&[old_keys, k], 2);
        let values = net.concatenated(&[old_values, v], 2);
        let y = net.attention([q, keys, values], heads, rows, Some(mask));
        let weights = net.weights(&[width, width], width);
        let y = net.op("MatMul", [y, weights]);
        x = net.op("Add", [x, y]);
        let y = root_mean_square(net, x, root);
        let [gate, up] = [(); 2].map(|()| {
            let weights = net.weights(&[width, inner], width);
            net.op("MatMul", [y, weights])
        });
        let gate = net.activation(gate, "Silu");
        let y = net.op("Mul", [gate, up]);
        let weights = net.weights(&[inner, width], inner);
        let y = net.op("MatMul", [y, weights]);
        x = net.op("Add", [x, y]);
    }
    net.output(x, 3);
}

/// Rows divided by the root of the mean of their squares, as exporters write it.
fn root_mean_square(net: &mut Net<'_>, x: ValueId, scale: ValueId) -> ValueId {
    let square = net.op("Mul", [x, x]);
    let axes = net.list(&[-1]);
    let mean = net.op("ReduceMean", [square, axes]);
    let least = net.scalar(1e-5);
    let sum = net.op("Add", [mean, least]);
    let root = net.op("Sqrt", [sum]);
    let quotient = net.op("Div", [x, root]);
    net.op("Mul", [quotient, scale])
}

/// Patches of an image as rows of an encoder, as in ViT; sometimes with keys of a smaller image, as in SegFormer.
pub(super) fn patches(net: &mut Net<'_>) {
    let heads = net.any_heads();
    let (size, across) = (net.pick([8, 16]), net.between(6, 14, 1));
    let width = heads.count * heads.size;
    let x = net.image(3, size * across);
    let weights = net.weights(&[width, 3, size, size], 3 * size * size);
    let node = net.node("Conv").inputs([x.value, weights]).attr("strides", [size; 2]);
    let x = Image { value: node.value(), channels: width, side: across };
    let rows = x.side * x.side;
    let flat = net.reshaped(x.value, &[1, width, rows]);
    let mut x = net.transposed(flat, [0, 2, 1]);
    for _ in 0..2 {
        x = net.encoder_block(x, rows, heads, None);
    }
    let image = net.transposed(x, [0, 2, 1]);
    let value = net.reshaped(image, &[1, width, across, across]);
    let y = net.convolution(
        Image { value, channels: width, side: across },
        width,
        Window::of(3).in_groups(width),
    );
    let y = net.activation(y.value, "Gelu");
    net.output(y, 4);
}

/// Perceptrons along rows and along channels, with transpositions between, as in MLP-Mixer.
pub(super) fn mixer(net: &mut Net<'_>) {
    let (rows, width) = (net.between(32, 196, 4), net.between(64, 256, 16));
    let mut x = net.input("x", &[1, rows, width]);
    for _ in 0..2 {
        let y = net.layer_normalized(x, width);
        let y = net.transposed(y, [0, 2, 1]);
        let y = net.linear(y, rows, 2 * rows);
        let y = net.activation(y, "Gelu");
        let y = net.linear(y, 2 * rows, rows);
        let y = net.transposed(y, [0, 2, 1]);
        x = net.op("Add", [x, y]);
        let y = net.layer_normalized(x, width);
        let y = net.linear(y, width, 4 * width);
        let y = net.activation(y, "Gelu");
        let y = net.linear(y, 4 * width, width);
        x = net.op("Add", [x, y]);
    }
    net.output(x, 3);
}

/// LSTM or GRU in one direction or both, and a projection.
pub(super) fn recurrent(net: &mut Net<'_>) {
    let (op, gates) = net.pick([("LSTM", 4), ("GRU", 3)]);
    let (directions, name) = net.pick([(1, "forward"), (2, "bidirectional")]);
    let (steps, from, hidden) = (net.between(10, 60, 5), net.between(32, 160, 16), net.between(32, 256, 16));
    let batch = net.pick([1, 1, 4, 16]);
    let x = net.input("x", &[steps, batch, from]);
    let weights = net.weights(&[directions, gates * hidden, from], from);
    let recurrence = net.weights(&[directions, gates * hidden, hidden], hidden);
    let node = net.node(op).inputs([x, weights, recurrence]).attr("hidden_size", hidden);
    let [all, _last] = node.attr("direction", name).values();
    let rows = net.transposed(all, [0, 2, 1, 3]);
    let rows = net.reshaped(rows, &[steps, batch, directions * hidden]);
    let y = net.linear(rows, directions * hidden, 32);
    net.output(y, 3);
}

/// Layers of perceptrons over a few rows, as for tables and for control.
pub(super) fn layers(net: &mut Net<'_>) {
    let (rows, mut width) = (net.between(1, 64, 3), net.between(16, 128, 8));
    let mut x = net.input("x", &[rows, width]);
    for _ in 0..4 {
        let next = net.between(64, 512, 24);
        let weights = net.weights(&[next, width], width);
        let bias = net.weights(&[next], next);
        let product = net.node("Gemm").inputs([x, weights, bias]).attr("transB", 1i64).value();
        let activation = net.pick(["Relu", "Tanh", "Sigmoid", "Elu", "Softplus", "Mish"]);
        (x, width) = (net.activation(product, activation), next);
    }
    net.output(x, 2);
}

/// Convolutions along time with strides, group normalization, and a grouped one for positions, as in wav2vec.
pub(super) fn speech(net: &mut Net<'_>) {
    let channels = 16 * net.between(2, 8, 1);
    let samples = net.between(2000, 8000, 500);
    let mut x = net.input("x", &[1, 1, samples]);
    let (mut from, mut long) = (1, samples);
    for (size, stride) in [(10, 5), (3, 2), (3, 2), (2, 2)] {
        let weights = net.weights(&[channels, from, size], from * size);
        let node =
            net.node("Conv").inputs([x, weights]).attr("kernel_shape", [size]).attr("strides", [stride]);
        x = node.value();
        (from, long) = (channels, (long - size) / stride + 1);
        if size == 10 {
            let [scale, bias] = [(); 2].map(|()| net.weights(&[channels], 3));
            let node = net.node("GroupNormalization").inputs([x, scale, bias]);
            x = node.attr("num_groups", channels).attr("epsilon", 1e-5f32).value();
        }
        x = net.activation(x, "Erf");
    }
    let groups = net.pick([4, 8, 16]);
    let weights = net.weights(&[channels, channels / groups, 15], channels / groups * 15);
    let node = net.node("Conv").inputs([x, weights]).attr("kernel_shape", [15i64]).attr("group", groups);
    let positions = node.attr("pads", [7i64, 7]).value();
    let x = net.op("Add", [x, positions]);
    let rows = net.transposed(x, [0, 2, 1]);
    let rows = net.layer_normalized(rows, channels);
    let heads = Heads { count: 4, size: channels / 4 };
    let y = net.encoder_block(rows, long, heads, None);
    net.output(y, 3);
}
