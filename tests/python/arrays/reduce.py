"""Over axes: reductions, places of extremes, running sums, the greatest few."""

import numpy as np

REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
]


def axes_of(d, rank):
    """Some axes, each from the front or from the back."""
    axes = d.random.sample(range(rank), d.int(0, rank))
    return [axis - rank if d.chance() else axis for axis in axes]


def reduce(d):
    op = d.one(REDUCTIONS)
    # Integers are rounded after each step of these, in an order that nobody says.
    floats = ["float16", "float32", "float64", "bfloat16"]
    kind = d.kind(op, of=floats if op in ("ReduceLogSumExp", "ReduceLogSum") else None)
    least = 1 if op == "ReduceLogSum" else -3
    # The mean of an empty tensor is not defined.
    dims = d.dims(0, 4, empty=20) if op != "ReduceMean" else d.dims(0, 4, (1, 2, 3, 4))
    x = d.input(d.array(kind, dims, least, 4), kind)
    axes = axes_of(d, len(dims))
    if 0 in dims:
        # ONNX Runtime mistakes negative axes of empty tensors.
        axes = [axis % len(dims) for axis in axes]
    keep = d.maybe(d.int(0, 1))
    if d.version(op) < (13 if op == "ReduceSum" else 18):
        if d.version(op) < 11:
            axes = [axis % max(len(dims), 1) for axis in axes]
        d.node(op, [x], keepdims=keep, axes=axes or None)
        return
    noop = d.maybe(d.int(0, 1))
    given = [d.ints(axes)] if axes or d.chance() else []
    d.node(op, [x, *given], keepdims=keep, noop_with_empty_axes=noop)


def place(d):
    op = d.one(["ArgMax", "ArgMin"])
    kind = d.kind(op)
    dims = d.dims(1, 4, (1, 2, 3, 4))
    axis = d.int(0 if d.opset < 11 else -len(dims), len(dims) - 1)
    last = d.maybe(d.int(0, 1)) if d.opset >= 12 else None
    x = d.input(d.array(kind, dims, -1, 2), kind)
    axis = d.maybe(axis) if d.chance(3) else axis
    d.node(op, [x], axis=axis, keepdims=d.maybe(d.int(0, 1)), select_last_index=last)


def top(d):
    kind, dims = d.kind("TopK"), d.dims(1, 4, (1, 2, 3, 5))
    axis = d.int(0 if d.opset < 11 else -len(dims), len(dims) - 1)
    k = d.int(0 if d.opset > 9 else 1, dims[axis])
    x = d.input(d.array(kind, dims, -2, 2), kind)
    if d.opset < 10:
        d.node("TopK", [x], 2, axis=axis, k=k)
    elif d.opset < 11:
        d.node("TopK", [x, d.ints([k])], 2, axis=axis)
    else:
        # The order of what is not sorted is anyone's.
        d.node("TopK", [x, d.ints([k])], 2, axis=axis, largest=d.maybe(d.int(0, 1)), sorted=d.maybe(1))


def running(d):
    op = d.one(["CumSum", "CumSum", "CumProd"])
    d.since(26 if op == "CumProd" else 11)
    kind, dims = d.kind(op), d.dims(1, 4)
    axis = d.input(np.array(d.int(-len(dims), len(dims) - 1), d.one(["int32", "int64"])))
    x = d.input(d.array(kind, dims, -2, 2), kind)
    d.node(op, [x, axis], exclusive=d.maybe(d.int(0, 1)), reverse=d.maybe(d.int(0, 1)))


def hardmax(d):
    op = d.one(["Hardmax", "Softmax", "LogSoftmax"])
    # Below version 13 the reference does not take several axes together.
    kind, dims = d.kind(op) if d.opset >= 13 else "float32", d.dims(1, 4)
    axis = d.int(0 if d.opset < 11 else -len(dims), len(dims) - 1)
    d.node(op, [d.input(d.array(kind, dims), kind)], axis=d.maybe(axis))


DRAWS = [
    ("reduce", reduce),
    ("reduce_more", reduce),
    ("reduce_most", reduce),
    ("place", place),
    ("top", top),
    ("running", running),
    ("hardmax", hardmax),
]
