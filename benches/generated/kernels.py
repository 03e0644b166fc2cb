"""Single operators, and short rows of them, of one size each: what a loop or a product costs alone."""

from __future__ import annotations

import numpy
from onnx import TensorProto

from .graph import Graph


def conv(cin, cout, k, stride, size, groups=1):
    def build(g):
        return g.conv(g.image(cin, size), cin, cout, k, stride, groups)

    return build


def product(rows, steps, columns):
    def build(g):
        return g.op("MatMul", g.floats(rows, steps), g.normal(steps, columns, scale=steps**-0.5))

    return build


def chain(g):
    """12 elementwise operators over a million numbers."""
    x = g.floats(1024, 1024)
    rows = {"a": g.near(1, (1024,)), "b": g.near(0, (1024,))}
    steps = "Mul a, Add b, Relu, Mul b, Sub a, Max b, Add a, Mul a, Min a, Add b, Mul b, Relu"
    for step in steps.split(", "):
        op, *row = step.split()
        x = g.op(op, x, *(rows[name] for name in row))
    return x


def functions(g):
    x = g.floats(1024, 1024)
    for op in ("Erf", "Exp", "Tanh", "Sigmoid"):
        x = g.op(op, x)
    return x


def layer_norm(g):
    return g.layer_norm(g.floats(2048, 768), 768)


def softmax(g):
    return g.op("Softmax", g.floats(4096, 1024), axis=-1)


def reduce_first(g):
    return g.op("ReduceSum", g.floats(2048, 2048), g.ints(0), keepdims=0)


def max_pool(g):
    return g.pool("MaxPool", g.image(64, 112), 3, 2, 1)


def transpose(g):
    return g.op("Transpose", g.floats(64, 64, 64, 16), perm=[0, 2, 3, 1])


def quantize(g):
    zero = g.constant(numpy.uint8(128))
    return g.op("QuantizeLinear", g.floats(1024, 1024), g.scalar(0.02), zero)


def choose(g):
    x, y = g.floats(1024, 1024), g.floats(1024, 1024, name="y")
    return g.op("Where", g.op("Greater", x, y), x, y)


def relu_half(g):
    return g.op("Relu", g.input("x", g.rng.standard_normal((1024, 1024)).astype(numpy.float16)))


# By name: what it is, and what builds it.
KERNELS = {
    "conv1x1": ("Conv 1x1, 256 to 64 channels of 56x56", conv(256, 64, 1, 1, 56)),
    "conv3x3-56": ("Conv 3x3, 64 channels of 56x56", conv(64, 64, 3, 1, 56)),
    "conv3x3-14": ("Conv 3x3, 256 channels of 14x14", conv(256, 256, 3, 1, 14)),
    "conv7x7": ("Conv 7x7, stride 2, 3 to 64 channels of 224x224", conv(3, 64, 7, 2, 224)),
    "depthwise3x3": ("Conv 3x3, 128 groups, 56x56", conv(128, 128, 3, 1, 56, 128)),
    "matmul-1024": ("MatMul 1024x1024x1024", product(1024, 1024, 1024)),
    "matmul-row": ("MatMul 1x4096x4096", product(1, 4096, 4096)),
    "elementwise": ("12 elementwise operators of 1M", chain),
    "functions": ("Erf, Exp, Tanh, Sigmoid of 1M", functions),
    "layernorm": ("LayerNormalization 2048x768", layer_norm),
    "softmax": ("Softmax 4096x1024", softmax),
    "reducesum": ("ReduceSum of the first axis, 2048x2048", reduce_first),
    "maxpool": ("MaxPool 3x3, stride 2, 64 channels of 112x112", max_pool),
    "transpose": ("Transpose 64x64x64x16", transpose),
    "quantize": ("QuantizeLinear of 1M", quantize),
    "where": ("Greater and Where of 1M", choose),
    "relu-float16": ("Relu of 1M float16", relu_half),
}


def made(name):
    g = Graph(seed=3)
    kind = {"quantize": TensorProto.UINT8, "relu-float16": TensorProto.FLOAT16}.get(name, TensorProto.FLOAT)
    g.output(KERNELS[name][1](g), kind)
    return g.model(name), g.feeds
