"""Sequences and optional values; results are sequences and tensors."""

import numpy as np

from .draw import NUMBERS, elem_of

EVERY = ["float32", "float64", "int32", "int64", "bool", "string", "float16"]


def listing(d, least=0, most=3):
    """A sequence, its element type, and the extents of its elements."""
    kind = d.one(EVERY)
    shapes = [d.dims(0, 3) for _ in range(d.int(least, most))]
    if not shapes:
        return kind, shapes, d.node("SequenceEmpty", [], dtype=elem_of(kind))
    return kind, shapes, d.node("SequenceConstruct", [d.input(d.array(kind, s), kind) for s in shapes])


def position(d, low, high):
    return d.input(np.array(d.int(low, high), d.one(["int32", "int64"])))


def insert(d):
    d.since(11)
    kind, shapes, s = listing(d)
    x = d.input(d.array(kind, d.dims(0, 2)), kind)
    inputs = [s, x] + ([position(d, -len(shapes), len(shapes))] if d.chance() else [])
    d.node("SequenceInsert", inputs)


def erase(d):
    d.since(11)
    _, shapes, s = listing(d, 1)
    d.node("SequenceErase", [s, position(d, -len(shapes), len(shapes) - 1)] if d.chance() else [s])


def at(d):
    d.since(11)
    _, shapes, s = listing(d, 1)
    d.node("SequenceAt", [s, position(d, -len(shapes), len(shapes) - 1)])


def length(d):
    d.since(11)
    d.node("SequenceLength", [listing(d)[2]])


def split(d):
    d.since(11)
    kind = d.one(["float32", "int64", "string", "float64", "int32"])
    dims = d.dims(1, 3, (1, 2, 3, 4, 6))
    at = d.int(0, len(dims) - 1)
    axis = d.maybe(0) if at == 0 else at - len(dims) if d.chance() else at
    inputs = [d.input(d.array(kind, dims), kind)]
    if d.chance():
        cuts = sorted(d.int(0, dims[at]) for _ in range(d.int(0, 2)))
        parts = [b - a for a, b in zip([0, *cuts], [*cuts, dims[at]])]
        inputs.append(d.ints(parts, d.one(["int32", "int64"])))
    elif d.chance():
        inputs.append(position(d, 1, dims[at]))
    # With sizes, `keepdims` is ignored; ONNX Runtime heeds it if they are a scalar of 1.
    keep = d.maybe(d.int(0, 1)) if len(inputs) == 1 else None
    d.node("SplitToSequence", inputs, axis=axis, keepdims=keep)


def concat(d):
    d.since(11)
    kind, dims = d.one(EVERY), d.dims(0, 3, (1, 2, 3))
    stack = d.int(0, 1) if dims else 1
    rank = len(dims) + stack
    at = d.int(0, rank - 1)
    parts = [[d.int(0, 3) if i == at and not stack else n for i, n in enumerate(dims)] for _ in range(d.int(1, 3))]
    s = d.node("SequenceConstruct", [d.input(d.array(kind, p), kind) for p in parts])
    d.node("ConcatFromSequence", [s], axis=at - rank if d.chance() else at, new_axis=stack or d.maybe(0))


def identity(d):
    d.since(14)
    d.node("Identity", [listing(d)[2]])


def optional(d):
    d.since(15)
    if d.chance():
        kind = d.one(EVERY)
        inner = d.input(d.array(kind, d.dims()), kind)
    else:
        inner = listing(d)[2]
    if d.opset >= 18 and d.chance(3):
        d.node(d.one(["OptionalHasElement", "OptionalGetElement"]), [inner])
        return
    held = d.node("Optional", [inner])
    d.node(d.one(["OptionalHasElement", "OptionalGetElement"]), [held])


DRAWS = [
    ("insert", insert),
    ("erase", erase),
    ("at", at),
    ("length", length),
    ("split_list", split),
    ("concat_list", concat),
    ("identity_list", identity),
    ("optional", optional),
]
