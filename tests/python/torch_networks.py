"""The networks of torch_gradients.py: nodes of ONNX text from data and weights to a loss `y`, and the same in torch."""

import numpy as np
import torch
import torch.nn.functional as F


def drawn(random, shape, count):
    return random.integers(0, count, shape).astype(np.int64)


def perceptron(random):
    text = """h = Gemm(x, w1, b1)
        r = Relu(h)
        g = Gemm(r, w2, b2)
        t = Tanh(g)
        s = Gemm(t, w3, b3)
        y = SoftmaxCrossEntropyLoss(s, label)"""

    def function(x, label, w1, b1, w2, b2, w3, b3):
        h = torch.relu(x @ w1 + b1)
        return F.cross_entropy(torch.tanh(h @ w2 + b2) @ w3 + b3, label)

    inputs = {"x": (16, 20), "label": drawn(random, 16, 5)}
    return inputs | {"w1": (20, 32), "b1": (32,), "w2": (32, 24), "b2": (24,), "w3": (24, 5), "b3": (5,)}, text, function


def convolutional(random):
    text = """mean1 = Constant <value = float[8] {0, 0, 0, 0, 0, 0, 0, 0}> ()
        var1 = Constant <value = float[8] {1, 1, 1, 1, 1, 1, 1, 1}> ()
        c1 = Conv <pads = [1, 1, 1, 1]> (x, w1)
        n1, m1, v1 = BatchNormalization <training_mode = 1> (c1, s1, b1, mean1, var1)
        r1 = Relu(n1)
        p1 = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r1)
        c2 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (p1, w2, b2)
        r2 = Relu(c2)
        p2 = GlobalAveragePool(r2)
        f = Flatten(p2)
        s = Gemm(f, w3, b3)
        y = SoftmaxCrossEntropyLoss(s, label)"""

    def function(x, label, w1, s1, b1, w2, b2, w3, b3):
        a = F.max_pool2d(torch.relu(F.batch_norm(F.conv2d(x, w1, padding=1), None, None, s1, b1, True)), 2)
        b = torch.relu(F.conv2d(a, w2, b2, 2, 1)).mean((2, 3))
        return F.cross_entropy(b @ w3 + b3, label)

    inputs = {"x": (4, 3, 12, 12), "label": drawn(random, 4, 5), "w1": (8, 3, 3, 3), "s1": (8,), "b1": (8,)}
    return inputs | {"w2": (12, 8, 3, 3), "b2": (12,), "w3": (12, 5), "b3": (5,)}, text, function


def residual(random):
    text = """c0 = Conv <pads = [1, 1, 1, 1]> (x, w0, b0)
        r0 = Relu(c0)
        c1 = Conv <pads = [1, 1, 1, 1]> (r0, w1, b1)
        i1 = InstanceNormalization(c1, s1, o1)
        g1 = Elu(i1)
        c2 = Conv <pads = [1, 1, 1, 1], group = 2> (g1, w2, b2)
        sum = Add(c2, r0)
        r2 = LeakyRelu(sum)
        a = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (r2)
        f = Flatten(a)
        s = Gemm <transB = 1> (f, w3, b3)
        y = SoftmaxCrossEntropyLoss(s, label)"""

    def function(x, label, w0, b0, w1, b1, s1, o1, w2, b2, w3, b3):
        r0 = torch.relu(F.conv2d(x, w0, b0, padding=1))
        g1 = F.elu(F.instance_norm(F.conv2d(r0, w1, b1, padding=1), weight=s1, bias=o1))
        r2 = F.leaky_relu(F.conv2d(g1, w2, b2, padding=1, groups=2) + r0, 0.01)
        return F.cross_entropy(F.linear(F.avg_pool2d(r2, 2).flatten(1), w3, b3), label)

    inputs = {"x": (3, 1, 8, 8), "label": drawn(random, 3, 4), "w0": (6, 1, 3, 3), "b0": (6,), "w1": (6, 6, 3, 3), "b1": (6,)}
    return inputs | {"s1": (6,), "o1": (6,), "w2": (6, 3, 3, 3), "b2": (6,), "w3": (4, 96), "b3": (4,)}, text, function


def transformer(random):
    text = """e = Gather(symbols, codes)
        x = Add(e, places)
        n1 = LayerNormalization(x, s1, o1)
        three = MatMul(n1, qkv)
        q, k, v = Split <axis = -1, num_outputs = 3> (three)
        seen = Attention <is_causal = 1, q_num_heads = 4, kv_num_heads = 4> (q, k, v)
        out = MatMul(seen, w)
        a = Add(x, out)
        n2 = LayerNormalization(a, s2, o2)
        wide = MatMul(n2, up)
        g = Gelu(wide)
        narrow = MatMul(g, down)
        b = Add(a, narrow)
        scores = MatMul(b, readout)
        by_class = Transpose <perm = [0, 2, 1]> (scores)
        y = SoftmaxCrossEntropyLoss(by_class, label)"""

    def function(codes, label, symbols, places, s1, o1, qkv, w, s2, o2, up, down, readout):
        x = F.embedding(codes, symbols) + places
        heads = lambda t: t.reshape(*t.shape[:2], 4, -1).transpose(1, 2)
        q, k, v = (heads(part) for part in (F.layer_norm(x, x.shape[-1:], s1, o1) @ qkv).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        a = x + seen @ w
        b = a + F.gelu(F.layer_norm(a, a.shape[-1:], s2, o2) @ up) @ down
        return F.cross_entropy((b @ readout).transpose(1, 2), label)

    inputs = {"codes": drawn(random, (2, 7), 11), "label": drawn(random, (2, 7), 11), "symbols": (11, 16), "places": (7, 16)}
    inputs |= {"s1": (16,), "o1": (16,), "qkv": (16, 48), "w": (16, 16), "s2": (16,), "o2": (16,)}
    return inputs | {"up": (16, 32), "down": (32, 16), "readout": (16, 11)}, text, function


def recurrent(random):
    text = """e = Gather(symbols, codes)
        hidden = LSTM <hidden_size = 12> (e, w, r, b)
        axis = Constant <value = int64[1] {1}> ()
        h = Squeeze(hidden, axis)
        p = MatMul(h, readout)
        scores = Add(p, bias)
        by_class = Transpose <perm = [0, 2, 1]> (scores)
        y = SoftmaxCrossEntropyLoss(by_class, label)"""

    def function(codes, label, symbols, w, r, b, readout, bias):
        order = lambda t: torch.cat([t.chunk(4, 0)[i] for i in (0, 2, 3, 1)])
        parts = [order(part) for part in (w[0], r[0], *b[0].chunk(2))]
        first = torch.zeros(1, codes.shape[1], 12, dtype=w.dtype)
        hidden = torch._VF.lstm(F.embedding(codes, symbols), (first, first), parts, True, 1, 0.0, False, False, False)[0]
        return F.cross_entropy((hidden @ readout + bias).transpose(1, 2), label)

    inputs = {"codes": drawn(random, (6, 3), 9), "label": drawn(random, (6, 3), 9), "symbols": (9, 8), "w": (1, 48, 8)}
    return inputs | {"r": (1, 48, 12), "b": (1, 96), "readout": (12, 9), "bias": (9,)}, text, function


def autoencoder(random):
    text = """c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w1, b1)
        h = Tanh(c)
        d = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]> (h, w2, b2)
        z = Sigmoid(d)
        e = Sub(z, x)
        q = Mul(e, e)
        y = ReduceMean <keepdims = 0> (q)"""

    def function(x, w1, b1, w2, b2):
        h = torch.tanh(F.conv2d(x, w1, b1, 2, 1))
        return F.mse_loss(torch.sigmoid(F.conv_transpose2d(h, w2, b2, 2, 1, 1)), x)

    return {"x": (3, 2, 8, 8), "w1": (5, 2, 3, 3), "b1": (5,), "w2": (5, 2, 3, 3), "b2": (2,)}, text, function


NETWORKS = {
    "perceptron": perceptron,
    "convolutional network": convolutional,
    "residual network": residual,
    "transformer": transformer,
    "LSTM": recurrent,
    "autoencoder": autoencoder,
}
