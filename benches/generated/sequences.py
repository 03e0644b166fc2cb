"""Networks over sequences: transformers and recurrent ones."""

from __future__ import annotations

import numpy

from .graph import Graph
from .images import gelu


def heads(g, x, length, count, width):
    return g.op("Transpose", g.op("Reshape", x, g.ints(1, length, count, width)), perm=[0, 2, 1, 3])


def merged(g, x, length, channels):
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3]), g.ints(1, length, channels))


def attend(g, q, k, v, width, mask=None):
    """Softmax of scaled products, over heads."""
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.op("Div", scores, g.scalar(width**0.5))
    scores = scores if mask is None else g.op("Add", scores, mask)
    return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)


def block(g, x, length, channels, count, mask=None):
    """Attention and a layer between, each with what goes past it; normalized before."""
    width = channels // count
    y = g.layer_norm(x, channels)
    q, k, v = (heads(g, g.linear(y, channels, channels), length, count, width) for _ in range(3))
    y = g.linear(merged(g, attend(g, q, k, v, width, mask), length, channels), channels, channels)
    x = g.op("Add", x, y)
    y = g.linear(gelu(g, g.linear(g.layer_norm(x, channels), channels, 4 * channels)), 4 * channels, channels)
    return g.op("Add", x, y)


def embedded(g, ids, words, length, channels):
    x = g.op("Gather", g.normal(words, channels, scale=0.5), ids, axis=0)
    return g.op("Add", x, g.normal(1, length, channels, scale=0.1))


def bert(g):
    """An encoder of words: 4 blocks of 384 channels, 128 words, with a mask."""
    length, channels = 128, 384
    ids = g.input("ids", g.rng.integers(0, 5000, (1, length)))
    mask = g.input("mask", (numpy.arange(length)[None] < 100).astype(numpy.int64))
    mask = g.op("Cast", g.op("Unsqueeze", mask, g.ints(1, 2)), to=1)
    mask = g.op("Mul", g.op("Sub", g.scalar(1), mask), g.scalar(-10000))
    x = embedded(g, ids, 5000, length, channels)
    for _ in range(4):
        x = block(g, x, length, channels, 6, mask)
    return [g.layer_norm(x, channels)]


def gpt(g):
    """One step of a decoder: one word, and the keys and values of 255 words before it."""
    channels, count, past = 512, 8, 255
    width, ids = channels // count, g.input("ids", g.rng.integers(0, 8000, (1, 1)))
    x = embedded(g, ids, 8000, 1, channels)
    results = []
    for layer in range(4):
        y = g.layer_norm(x, channels)
        q, k, v = (heads(g, g.linear(y, channels, channels), 1, count, width) for _ in range(3))
        k = g.op("Concat", g.floats(1, count, past, width, name=f"keys_{layer}"), k, axis=2)
        v = g.op("Concat", g.floats(1, count, past, width, name=f"values_{layer}"), v, axis=2)
        y = merged(g, attend(g, q, k, v, width), 1, channels)
        x = g.op("Add", x, g.linear(y, channels, channels))
        y = g.linear(gelu(g, g.linear(g.layer_norm(x, channels), channels, 4 * channels)), 4 * channels, channels)
        x = g.op("Add", x, y)
        results += [k, v]
    return [g.op("MatMul", g.layer_norm(x, channels), g.normal(channels, 8000, scale=channels**-0.5)), *results]


def vit(g):
    """Patches of an image as words: 4 blocks of 256 channels, 197 words."""
    channels, patches = 256, 14 * 14
    x = g.op("Conv", g.image(3, 224), g.normal(channels, 3, 16, 16), g.near(0, (channels,)), kernel_shape=[16, 16], strides=[16, 16], pads=[0] * 4, dilations=[1, 1], group=1)
    x = g.op("Transpose", g.op("Reshape", x, g.ints(1, channels, patches)), perm=[0, 2, 1])
    x = g.op("Concat", g.normal(1, 1, channels, scale=0.1), x, axis=1)
    x = g.op("Add", x, g.normal(1, patches + 1, channels, scale=0.1))
    for _ in range(4):
        x = block(g, x, patches + 1, channels, 4)
    x = g.op("Gather", g.layer_norm(x, channels), g.constant(numpy.int64(0)), axis=1)
    return [g.linear(x, channels, 1000)]


def recurrent(g, op, gates):
    """Two layers, both ways, 64 steps of 128 channels."""
    steps, width, hidden = 64, 128, 128
    x = g.floats(steps, 1, width)
    for _ in range(2):
        w = g.normal(2, gates * hidden, width, scale=width**-0.5)
        r = g.normal(2, gates * hidden, hidden, scale=hidden**-0.5)
        b = g.near(0, (2, 2 * gates * hidden))
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        y, _ = g.op(op, x, w, r, b, outputs=2, direction="bidirectional", hidden_size=hidden, **more)
        x = g.op("Reshape", g.op("Transpose", y, perm=[0, 2, 1, 3]), g.ints(steps, 1, 2 * hidden))
        width = 2 * hidden
    return [g.linear(x, width, 50)]


def lstm(g):
    """Two layers of LSTM, both ways."""
    return recurrent(g, "LSTM", 4)


def gru(g):
    """Two layers of GRU, both ways."""
    return recurrent(g, "GRU", 3)


def made(build):
    g = Graph(seed=2)
    for output in build(g):
        g.output(output)
    return g.model(build.__name__), g.feeds


NETWORKS = [bert, gpt, vit, lstm, gru]
