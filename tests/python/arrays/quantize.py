"""Numbers as few bits with a scale, and what is computed between such."""

import numpy as np
from onnx import TensorProto as T

from .draw import NAMES, SMALL, dtype_of, elem_of

# The greatest of each type.
REACH = {"int8": 127, "uint8": 255, "int16": 32767, "uint16": 65535, "int32": 1 << 20}
REACH |= {"int4": 7, "uint4": 15, "int2": 1, "uint2": 3}


def types(d, op, parameter):
    """The element types that the operator takes, of this operator set."""
    for constraint in d.schema(op).type_constraints:
        if constraint.type_param_str == parameter:
            names = [text.removeprefix("tensor(").removesuffix(")") for text in constraint.allowed_type_strs]
            return [NAMES.get(name, name) for name in names]


def powers(d, dims, kind):
    """Scales that make no difference to rounding."""
    size = int(np.prod(dims, dtype=int))
    return np.array([2.0 ** d.int(-4, 1) for _ in range(size)]).astype(dtype_of(kind)).reshape(dims)


def codes(d, kind, dims, part=1):
    """Elements of a type of few bits."""
    if kind in REACH:
        most = REACH[kind] // part
        return d.array(kind, dims, 0 if kind.startswith("u") else -most, most)
    return d.array(kind, dims, -4, 4)


def grain(d):
    """Extents, those of the scales, and the attributes that say which belong to which."""
    dims = d.dims(0, 4, (1, 2, 3, 4, 6))
    how = d.one(["whole", "axis", "block"]) if dims else "whole"
    if how == "block" and d.opset < 21:
        how = "axis"
    if how == "whole":
        return dims, d.one([[], [1]]), {}
    at = d.int(0, len(dims) - 1)
    given = {"axis": at - len(dims) if d.chance() else at}
    if at == 1 and how == "axis" and d.chance():
        given = {}
    if how == "axis":
        return dims, [dims[at]], given
    size = d.int(2, 4)
    scales = [-(-n // size) if i == at else n for i, n in enumerate(dims)]
    return dims, scales, given | {"block_size": size}


def to_bits(d):
    d.since(13)
    of = d.one(["float32", "float32", "float16"])
    to = d.one(types(d, "QuantizeLinear", d.schema("QuantizeLinear").outputs[0].type_str))
    if d.opset < 19:
        of = "float32"
    dims, scales, given = grain(d)
    reach = REACH.get(to, 8)
    x = d.array(of, dims, -min(reach, 200), min(reach, 200))
    if of in ("float32", "float16") and d.chance():
        x = (x / np.array(3, of)).astype(of)
    inputs = [d.input(x, of), d.input(powers(d, scales, of), of)]
    if d.opset >= 21 and d.chance(3):
        given["output_dtype"] = elem_of(to)
    elif to != "uint8" or not d.chance(3):
        zero = codes(d, to, scales, 4) if to in REACH else np.zeros(scales, dtype_of(to))
        inputs.append(d.input(zero, to))
    saturate = d.maybe(d.int(0, 1)) if to.startswith("float8") and "block_size" not in given else None
    d.node("QuantizeLinear", inputs, saturate=saturate, **given)


def of_bits(d):
    d.since(13)
    kind = d.one(types(d, "DequantizeLinear", d.schema("DequantizeLinear").inputs[0].type_str))
    to = "float32" if d.opset < 19 else d.one(["float32", "float32", "float16"])
    dims, scales, given = grain(d)
    of = to
    if d.opset >= 23 and d.chance(4):
        of = d.one(["float32", "float16"] + (["float8_e8m0fnu"] if d.opset >= 24 else []))
        given["output_dtype"] = elem_of(to)
    inputs = [d.input(codes(d, kind, dims, 2), kind), d.input(powers(d, scales, of), of)]
    if d.chance():
        zero = np.zeros(scales, dtype_of(kind)) if kind not in REACH or kind == "int32" else codes(d, kind, scales, 4)
        inputs.append(d.input(zero, kind))
    d.node("DequantizeLinear", inputs, **given)
    if to == "float32":
        d.followed()


def wide(d, kind, dims, scales, keep=False, **given):
    """Numbers that are stored as bytes."""
    zero = [d.input(codes(d, kind, scales, 4))] if d.chance() and kind != "int32" else []
    inputs = [d.input(codes(d, kind, dims, 1 if kind != "int32" else 1 << 10)), d.input(powers(d, scales, "float32")), *zero]
    return d.node("DequantizeLinear", inputs, keep=keep, **given)


def narrowed(d, x):
    """What follows a sum of products: perhaps an activation, and bytes again or not."""
    if d.chance():
        x = d.node(d.one(["Relu", "Neg", "Sigmoid"]), [x])
    if d.chance(3):
        return
    to = d.one(["uint8", "int8"])
    scale = d.input(np.array(2.0 ** d.int(1, 6), "float32"))
    d.node("QuantizeLinear", [x, scale, d.input(codes(d, to, [], 4))])


def product(d):
    d.since(13)
    a, b = d.one(["uint8", "int8"]), d.one(["uint8", "int8"])
    m, k, n = d.int(1, 6), d.int(1, 40), d.int(1, 9)
    batch = d.one([[], [], [2]])
    left = wide(d, a, [*batch, m, k], [])
    by_column = d.chance()
    right = wide(d, b, [k, n], [n] if by_column else [], **({"axis": 1} if by_column else {}))
    if d.chance():
        y = d.node("MatMul", [left, right])
        if d.chance():
            y = d.node("Add", [y, wide(d, "int32", [n], [])])
    else:
        left = wide(d, a, [m, k], [])
        bias = [wide(d, "int32", [n], [])] if d.chance() else []
        y = d.node("Gemm", [left, right, *bias])
    narrowed(d, y)


def convolution(d):
    d.since(13)
    a, b = d.one(["uint8", "int8"]), d.one(["uint8", "int8"])
    groups = d.one([1, 1, 2])
    c, m = groups * d.int(1, 4), groups * d.int(1, 4)
    axes = d.int(1, 2)
    image, taps = [d.int(3, 7) for _ in range(axes)], [d.int(1, 3) for _ in range(axes)]
    x = wide(d, a, [d.int(1, 2), c, *image], [])
    by_row = d.chance()
    w = wide(d, b, [m, c // groups, *taps], [m] if by_row else [], **({"axis": 0} if by_row else {}))
    bias = [wide(d, "int32", [m], [])] if d.chance() else []
    pads = [d.int(0, 1) for _ in range(2 * axes)]
    y = d.node("Conv", [x, w, *bias], group=groups, pads=d.maybe(pads), strides=d.maybe([d.int(1, 2) for _ in taps]))
    narrowed(d, y)


DRAWS = [
    ("to_bits", to_bits),
    ("of_bits", of_bits),
    ("to_bits_more", to_bits),
    ("of_bits_more", of_bits),
    ("dequantized_product", product),
    ("dequantized_convolution", convolution),
]
