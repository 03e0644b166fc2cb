"""From one element type to another."""

import numpy as np

from .draw import FLOATS, INTEGERS, NUMBERS, SMALL, dtype_of, elem_of

# The greatest integer of a few bits.
MOST = {"int4": 7, "uint4": 15, "int2": 1, "uint2": 3}

TEXTS = ["0", "1", "-3", "2.5", "1e3", "-0.125", "NaN", "INF", "-INF", "7"]


def source(d, op, parameter):
    """What is cast: a type and elements."""
    kind = d.kind(op, parameter, [*NUMBERS, *SMALL, "bool", "string"])
    dims = d.dims(0, 3)
    size = int(np.prod(dims, dtype=int))
    return kind, dims, size


def cast_to(d, op, parameter, to_parameter):
    kind, dims, size = source(d, op, parameter)
    # Of truth values, ONNX Runtime makes "1" and "0", and we "True" and "False" as the reference.
    to = d.kind(op, to_parameter, [*NUMBERS, *SMALL, "bool", *(["string"] if kind != "bool" else [])])
    if kind == "string":
        whole = to in INTEGERS
        words = ["0", "1", "-3", "7", "12"] if whole else TEXTS
        if to.startswith("u"):
            words = ["0", "1", "7"]
        x = np.array([d.one(words) for _ in range(size)], object).reshape(dims)
    elif to in INTEGERS or to in MOST:
        # Numbers that the other type does not have are cast to anything.
        most = MOST.get(to, 7)
        x = d.array(kind, dims, 0 if to.startswith("u") else -most, most)
        if to in MOST:
            # ONNX Runtime rounds what is cast to four bits, and cuts off what is cast to eight.
            x = np.round(x.astype("float32")).astype(x.dtype)
    else:
        reach = 7 if kind in SMALL else 100 if kind == "int8" else 250
        x = d.array(kind, dims, -reach, reach, special=True)
        if kind in FLOATS and d.chance():
            x = (x.astype("float64") * d.one([1 / 3, 1e-3, 100.7, 1e-6, 3e3])).astype(kind)
    if to == "float8_e8m0fnu" and kind != "string":
        # What becomes of negative numbers is not said.
        x = np.abs(x.astype("float64")).astype(x.dtype)
    return kind, to, d.input(x, kind)


def cast(d):
    kind, to, x = cast_to(d, "Cast", "T1", "T2")
    float8 = to.startswith("float8")
    saturate = d.maybe(d.int(0, 1)) if d.opset >= 19 and float8 else None
    d.node("Cast", [x], to=elem_of(to), saturate=saturate)


def cast_like(d):
    d.since(15)
    kind, to, x = cast_to(d, "CastLike", "T1", "T2")
    like = d.input(np.zeros(d.dims(0, 2), dtype_of(to)) if to != "string" else np.array(["a"], object), to)
    saturate = d.maybe(d.int(0, 1)) if d.opset >= 19 and to.startswith("float8") else None
    d.node("CastLike", [x, like], saturate=saturate)


def round_trip(d):
    """Through a type, and back to one that arrays have."""
    d.since(19)
    kind = d.one(["float32", "float16", "float64"])
    # Of a half float, how many digits tell it from others is another number for whoever sees a single one.
    middle = d.kind("Cast", "T2", [*SMALL, "float16", "float64", *(["string"] if kind != "float16" else [])])
    x = d.array(kind, d.dims(0, 3), -40, 40, special=True)
    if d.chance():
        x = (x.astype("float64") * d.one([1 / 3, 1e-3, 1e-2, 20])).astype(kind)
    if middle in MOST:
        x = np.round(d.array(kind, d.dims(0, 3), 0, MOST[middle]))
    if middle == "float8_e8m0fnu":
        x = np.abs(x)
    inner = d.node("Cast", [d.input(x, kind)], to=elem_of(middle))
    d.node("Cast", [inner], to=elem_of(d.one(FLOATS)))


def bit_cast(d):
    d.since(26)
    width = d.one([8, 16, 32, 64])
    kinds = {
        8: ["int8", "uint8"],
        16: ["int16", "uint16", "float16", "bfloat16"],
        32: ["int32", "uint32", "float32"],
        64: ["int64", "uint64", "float64"],
    }[width]
    kind = d.one(kinds)
    d.node("BitCast", [d.input(d.array(kind, d.dims()), kind)], to=elem_of(d.one(kinds)))


DRAWS = [("cast", cast), ("cast_more", cast), ("cast_like", cast_like), ("round_trip", round_trip), ("bit_cast", bit_cast)]
