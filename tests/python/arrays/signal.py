"""Transforms of signals, windows, and the weights of mel bands."""

import numpy as np
from onnx import TensorProto as T

WIDE = {"float32": T.FLOAT, "float64": T.DOUBLE, "int32": T.INT32, "int64": T.INT64, "uint8": T.UINT8}


def scalar(d, value, kinds=("int32", "int64")):
    return d.input(np.array(value, d.one(kinds)))


def transform(d):
    d.since(17)
    kind = d.one(["float32", "float32", "float64"])
    rank = d.int(2 if d.opset >= 20 else 3, 4)
    is_inverse, is_onesided = d.chance(3), d.chance(3)
    dims = [d.int(1, 3) for _ in range(rank - 1)]
    at = d.int(0, rank - 2)
    dims[at] = d.one([1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 24])
    parts = 2 if is_inverse and is_onesided or d.chance() and not is_onesided else 1
    if is_inverse and is_onesided and dims[at] == 1:
        dims[at] = 2
    axis = at - rank if d.chance() else at
    x = d.led(d.array(kind, [*dims, parts], -3, 3))
    length = d.int(1, 20)
    if is_inverse and is_onesided:
        # ONNX Runtime takes other halves of signals for something else.
        length = max(2 * (dims[at] - 1) + d.int(0, 1), 1)
    # ONNX Runtime rounds where a length is not a power of two.
    d.judged["tolerance"] = "1e-4"
    inputs = [x, scalar(d, length) if d.chance(3) else ""]
    given = {}
    if d.opset < 20:
        given["axis"] = None if at == 1 and d.chance() else axis
    elif at != rank - 2 or d.chance():
        inputs.append(scalar(d, axis, ["int64"]))
    d.node("DFT", inputs, inverse=1 if is_inverse else d.maybe(0), onesided=1 if is_onesided else d.maybe(0), **given)
    d.followed()


def short_time(d):
    d.since(17)
    kind = d.one(["float32", "float32", "float64"])
    count, length, parts = d.int(1, 3), d.int(4, 24), d.one([1, 1, 2])
    frame = d.int(1, length)
    x = d.led(d.array(kind, [count, length, parts], -3, 3))
    inputs = [x, scalar(d, d.int(1, 6))]
    has_window = d.chance()
    inputs.append(d.input(d.array(kind, [frame], -2, 2)) if has_window else "")
    inputs.append(scalar(d, frame) if not has_window or d.chance() else "")
    # Complex input has no redundant half.
    d.node("STFT", inputs, onesided=0 if parts == 2 else d.maybe(d.int(0, 1)))
    d.followed()


def window(d):
    d.since(17)
    op = d.one(["HannWindow", "HammingWindow", "BlackmanWindow"])
    size = d.int(0 if d.chance(6) else 1, 20)
    d.node(op, [scalar(d, size)], periodic=d.maybe(d.int(0, 1)), output_datatype=d.maybe(d.one(list(WIDE.values()))))


def bands(d):
    d.since(17)
    kind = d.one(["float32", "float64"])
    rate, length = d.one([8000, 16000, 22050]), d.one([16, 32, 64, 100, 128, 257])
    low = d.int(0, rate // 8)
    high = d.int(low + rate // 8, rate // 2)
    inputs = [scalar(d, n) for n in (d.int(1, 12), length, rate)]
    inputs += [d.input(np.array(edge, kind)) for edge in (low, high)]
    d.node("MelWeightMatrix", inputs, output_datatype=d.maybe(d.one(list(WIDE.values()))))


DRAWS = [
    ("transform", transform),
    ("transform_more", transform),
    ("short_time", short_time),
    ("window", window),
    ("bands", bands),
]
