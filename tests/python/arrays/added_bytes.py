"""Operators on quantized numbers that ONNX Runtime adds."""

import numpy as np

BYTES = ["uint8", "int8"]


def codes(d, kind, dims):
    bits = int(kind.lstrip("uint"))
    return d.array(kind, dims, 0, 2**bits - 1) if kind[0] == "u" else d.array(kind, dims, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def scale(d, least=0.02, most=0.3, dims=()):
    return np.array(np.random.RandomState(d.int(0, 9999)).uniform(least, most, dims), "float32")


def zero(d, kind):
    """A zero point near the middle, or none."""
    middle = 128 if kind == "uint8" else 0
    return None if d.chance(6) else np.array(middle + d.int(-40, 40), kind)


def binary(d):
    d.since(11)
    op, kind = d.one(["QLinearAdd", "QLinearMul"]), d.one(BYTES)
    dims = d.dims(0, 4, (1, 2, 3, 4), empty=99)
    operands = [dims, d.fit(dims)]
    d.random.shuffle(operands)
    inputs = [x for of in operands for x in (codes(d, kind, of), scale(d), zero(d, kind))]
    d.added(op, [*inputs, scale(d, 0.1, 0.9), zero(d, kind)])


def activation(d):
    d.since(11)
    op, kind = d.one(["QLinearSigmoid", "QLinearLeakyRelu"]), d.one(BYTES)
    inputs = [codes(d, kind, d.dims(0, 3, (1, 2, 3, 4), empty=99)), scale(d), zero(d, kind), scale(d, 0.003, 0.3), zero(d, kind)]
    # ONNX Runtime crashes without the last one.
    inputs[4] = np.array(d.int(0, 100), kind) if inputs[4] is None else inputs[4]
    d.added(op, inputs, **({"alpha": d.maybe(0.25)} if op == "QLinearLeakyRelu" else {}))


def softmax(d):
    d.since(11)
    kind, opset = d.one(BYTES), d.one([11, 12, 13, 17])
    # Results that are 256 steps overflow in ONNX Runtime.
    dims = d.dims(1, 4, (2, 3, 5), empty=99)
    inputs = [codes(d, kind, dims), scale(d, 0.003, 0.015), zero(d, kind)]
    inputs += [np.array(1 / 256, "float32"), np.array(0 if kind == "uint8" else -128, kind)]
    d.added("QLinearSoftmax", inputs, opset=opset, axis=d.one([None, *range(-len(dims), len(dims))]))


def average_pool(d):
    d.since(11)
    kind, axes, is_last = d.one(BYTES), d.int(1, 3), d.maybe(1, 3)
    kernel = [d.int(1, 3) for _ in range(axes)]
    spatial = [k + d.int(0, 4) for k in kernel]
    dims = [d.int(1, 2), *spatial, d.int(1, 3)] if is_last else [d.int(1, 2), d.int(1, 3), *spatial]
    given = {"strides": d.maybe([d.int(1, 2) for _ in kernel]), "count_include_pad": d.maybe(1)}
    if d.chance(3):
        given["pads"] = [d.int(0, k - 1) for _ in range(2) for k in kernel]
    elif d.chance(4):
        given["auto_pad"] = d.one(["SAME_UPPER", "SAME_LOWER", "VALID"])
    # ONNX Runtime counts elements after the padding.
    given["ceil_mode"] = d.maybe(1, 4) if not given["count_include_pad"] else None
    inputs = [codes(d, kind, dims), scale(d), zero(d, kind), scale(d), zero(d, kind)]
    d.added("QLinearAveragePool", inputs, kernel_shape=kernel, channels_last=is_last, **given)


def global_average_pool(d):
    d.since(11)
    kind, is_last = d.one(BYTES), d.maybe(1, 3)
    dims = [d.int(1, 3) for _ in range(d.int(3, 5))]
    inputs = [codes(d, kind, dims), scale(d), zero(d, kind), scale(d), zero(d, kind)]
    d.added("QLinearGlobalAveragePool", [x if x is not None else np.array(0, kind) for x in inputs], channels_last=is_last)


def concat(d):
    d.since(11)
    kind = d.one(BYTES)
    dims = d.dims(1, 4, (1, 2, 3), empty=99)
    axis = d.int(-len(dims), len(dims) - 1)
    inputs = [scale(d), np.array(d.int(0, 100), kind)]
    for _ in range(d.int(1, 3)):
        dims[axis] = d.int(1, 3)
        inputs += [codes(d, kind, dims), scale(d), np.array(d.int(0, 100), kind)]
    d.added("QLinearConcat", inputs, axis=axis)


def where(d):
    d.since(11)
    kind = d.one(BYTES)
    dims = d.dims(0, 3, (1, 2, 3), empty=99)
    inputs = [d.array("bool", d.fit(dims))]
    for _ in range(2):
        inputs += [codes(d, kind, d.fit(dims)), scale(d), np.array(d.int(0, 100), kind)]
    # ONNX Runtime crashes where one of these is not known before.
    of_result = [scale(d), np.array(d.int(0, 100), kind)]
    d.added("QLinearWhere", [d.input(x, fed=False) for x in [*inputs, *of_result]])


def quantize(d):
    d.since(13)
    kind = d.one(["uint8", "int8", "uint16", "int16"])
    dims = d.dims(0, 4, (1, 2, 3), empty=99)
    each, axis = (), None
    if dims and d.chance():
        axis = d.int(-len(dims), len(dims) - 1)
        each = (dims[axis],)
        if len(dims) > 1 and axis == 1 and d.chance():
            axis = None
    if d.chance():
        x = d.array("float32", dims, -9, 9)
        d.added("QuantizeLinear", [x, scale(d, dims=each), codes(d, kind, each) if kind != "uint8" or d.chance() else None], axis=axis)
    else:
        kind = d.one([kind, "int32"])
        zeros = codes(d, kind, each) if kind != "int32" and d.chance() else None
        x = codes(d, kind, dims) if kind != "int32" else d.array(kind, dims, -9999, 9999)
        d.behind(d.added("DequantizeLinear", [x, scale(d, dims=each), zeros], axis=axis))


def gather_blocks(d):
    d.since(21)
    kind, block = d.one(["uint4", "int4", "uint8"]), 16
    dims = [d.int(1, 4) for _ in range(d.int(1, 2))] + [d.one([16, 32, 40])]
    along = len(dims) - 1
    gathered = d.int(0, len(dims) - 2)
    bits = d.one([4, 8]) if kind == "uint8" else 4
    blocks = dims[:-1] + [-(-dims[-1] // block)]
    per_byte = 8 // bits if kind == "uint8" else 1
    stored = dims[:-1] + [dims[-1] // per_byte]
    x = d.input(codes(d, kind, stored).astype("int16").astype(kind if kind == "uint8" else "int16"), kind)
    zeros = None
    if d.chance():
        if kind == "uint8":
            zeros = codes(d, kind, blocks[:-1] + [-(-blocks[-1] // per_byte)])
        else:
            zeros = d.input(codes(d, kind, blocks).astype("int16"), kind)
    indices = d.array(d.one(["int32", "int64"]), d.dims(0, 2, (1, 2, 3), empty=99), -dims[gathered], dims[gathered] - 1)
    scales = scale(d, dims=blocks).astype(d.one(["float32", "float16"]))
    given = {"block_size": block, "quantize_axis": d.one([along, -1]), "gather_axis": gathered}
    given |= {"bits": bits} if bits != 4 or d.chance() else {}
    d.behind(d.added("GatherBlockQuantized", [x, indices, scales, zeros], **given))


def convolution(d):
    d.since(11)
    axes, group, is_last = d.int(1, 3), d.int(1, 2), d.maybe(1)
    kind, of_w = d.one(BYTES), d.one(BYTES)
    of_w = "int8" if kind == "int8" else of_w
    batch, channels, filters = d.int(1, 2), group * d.int(1, 3), group * d.int(1, 3)
    kernel = [d.int(1, 3) for _ in range(axes)]
    spatial = [2 * k + d.int(0, 3) for k in kernel]
    dims = [batch, *spatial, channels] if is_last else [batch, channels, *spatial]
    each = (filters,) if d.chance() else ()
    bias = d.array("int32", [filters], -999, 999) if d.chance() else None
    inputs = [codes(d, kind, dims), scale(d), np.array(d.int(0, 100), kind)]
    inputs += [d.input(codes(d, of_w, [filters, channels // group, *kernel]), fed=d.chance(6)), scale(d, dims=each)]
    inputs += [np.zeros(each, of_w), scale(d, 1, 9), np.array(d.int(0, 100), kind), bias]
    given = {"strides": d.maybe([d.int(1, 2) for _ in kernel]), "dilations": d.maybe([d.int(1, 2) for _ in kernel], 3)}
    given |= {"pads": d.maybe([d.int(0, 1) for _ in range(2 * axes)]), "group": group if group > 1 else None}
    d.added("QLinearConv", inputs, channels_last=is_last, **given)


def max_pool(d):
    d.since(11)
    kind, axes = d.one(BYTES), d.int(1, 3)
    kernel = [d.int(1, 3) for _ in range(axes)]
    x = codes(d, kind, [d.int(1, 2), *(2 * k + d.int(0, 3) for k in kernel), d.int(1, 3)])
    given = {"strides": d.maybe([d.int(1, 2) for _ in kernel]), "dilations": d.maybe([d.int(1, 2) for _ in kernel], 3)}
    given |= {"pads": d.maybe([d.int(0, k - 1) for _ in range(2) for k in kernel])}
    d.added("NhwcMaxPool", [x], kernel_shape=kernel, **given)


DRAWS = [
    ("QLinearBinary", binary),
    ("QLinearActivation", activation),
    ("QLinearSoftmax", softmax),
    ("QLinearAveragePool", average_pool),
    ("QLinearGlobalAveragePool", global_average_pool),
    ("QLinearConcat", concat),
    ("QLinearWhere", where),
    ("AddedQuantize", quantize),
    ("GatherBlockQuantized", gather_blocks),
    ("AddedQLinearConv", convolution),
    ("NhwcMaxPool", max_pool),
]
