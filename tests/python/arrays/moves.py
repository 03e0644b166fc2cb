"""Elements that are moved, and shapes: slices, padding, reshaping, tiling, joining and splitting, constants."""

import numpy as np
from onnx import numpy_helper

from .draw import NUMBERS

EVERY = [*NUMBERS, "bfloat16", "bool", "string"]


def taken(d, op, least=0, most=4):
    """An input of any type."""
    kind, dims = d.kind(op, d.schema(op).inputs[0].type_str, EVERY), d.dims(least, most)
    return kind, dims, d.input(d.array(kind, dims), kind)


def negative(d, axes, rank, since=11):
    return [a - rank if d.opset >= since and d.chance() else a for a in axes]


def slices(d):
    _, dims, x = taken(d, "Slice", least=1)
    axes = d.random.sample(range(len(dims)), d.int(1, len(dims)))
    if d.chance(4):
        axes = list(range(len(axes)))
    far = d.one([6, 6, 6, 2**31 - 1, 2**63 - 1])
    # ONNX Runtime takes the greatest number as what is before the first element, where a step goes back.
    ends_far = far if far == 6 else far - 1
    starts = [d.one([d.int(-6, 6), d.int(-6, 6), -far, far]) for _ in axes]
    ends = [d.one([d.int(-6, 6), d.int(-6, 6), -far, ends_far]) for _ in axes]
    if d.opset < 10:
        d.node("Slice", [x], starts=starts, ends=ends, axes=None if axes == list(range(len(axes))) else axes)
        return
    kind = "int64" if far > 2**31 else d.one(["int32", "int64"])
    steps = [d.one([1, 1, 2, 3, -1, -2, -3]) for _ in axes]
    given = "" if axes == list(range(len(axes))) and d.chance() else d.ints(negative(d, axes, len(dims), 10), kind)
    inputs = [x, d.ints(starts, kind), d.ints(ends, kind), given]
    d.node("Slice", [*inputs, d.ints(steps, kind) if d.chance() else ""])


def pad(d):
    modes = ["constant", "reflect", "edge"] + (["wrap"] if d.opset >= 19 else [])
    mode = d.one(modes)
    kind = d.kind("Pad", of=[*NUMBERS, "bool"])
    dims = d.dims(1, 4, (1, 2, 3, 4))
    axes = list(range(len(dims)))
    if d.opset >= 18 and d.chance():
        axes = d.random.sample(axes, d.int(1, len(dims)))
    # What is cut off before reflecting is anyone's order.
    low = -1 if mode == "constant" else 0
    most = [{"constant": 3, "edge": 3, "wrap": dims[a], "reflect": dims[a] - 1}[mode] for a in axes]
    pads = [d.int(low, m) for m in most + most]
    for i, a in enumerate(axes):
        if pads[i] + pads[i + len(axes)] + dims[a] < 0:
            pads[i] = 0
    x = d.input(d.array(kind, dims), kind)
    if d.opset < 11:
        d.node("Pad", [x], pads=pads, mode=d.maybe(mode) if mode == "constant" else mode, value=d.maybe(1.5))
        return
    value = d.input(d.array(kind, []), kind) if d.chance() else ""
    given = d.ints(negative(d, axes, len(dims)), d.one(["int32", "int64"])) if axes != list(range(len(dims))) else ""
    d.node("Pad", [x, d.ints(pads), value, given], mode=d.maybe(mode) if mode == "constant" else mode)


def reshape(d):
    _, dims, x = taken(d, "Reshape", most=4)
    flat = list(dims)
    d.random.shuffle(flat)
    if len(flat) > 1 and d.chance():
        flat[:2] = [flat[0] * flat[1]]
    if d.chance(3):
        flat.insert(d.int(0, len(flat)), 1)
    zero = d.maybe(d.int(0, 1)) if d.opset >= 14 else None
    for i, n in enumerate(flat):
        if i < len(dims) and dims[i] == n and n != 0 and not zero and d.chance(3):
            flat[i] = 0
    if flat and int(np.prod(dims)) != 0 and d.chance():
        flat[d.int(0, len(flat) - 1)] = -1
    d.node("Reshape", [x, d.ints(flat)], allowzero=zero)


def squeeze(d):
    dims = d.dims(1, 4, (1, 1, 2, 3))
    kind = d.kind("Squeeze", of=EVERY)
    x = d.input(d.array(kind, dims), kind)
    ones = [i for i, n in enumerate(dims) if n == 1]
    axes = negative(d, d.random.sample(ones, d.int(0, len(ones))), len(dims))
    if not axes and d.chance():
        d.node("Squeeze", [x])
    elif d.opset < 13:
        d.node("Squeeze", [x], axes=axes or None)
    else:
        d.node("Squeeze", [x, d.ints(axes)] if axes else [x])


def unsqueeze(d):
    _, dims, x = taken(d, "Unsqueeze", most=3)
    rank = len(dims) + d.int(1, 2)
    axes = negative(d, d.random.sample(range(rank), rank - len(dims)), rank)
    if d.opset < 13:
        d.node("Unsqueeze", [x], axes=axes)
    else:
        d.node("Unsqueeze", [x, d.ints(axes)])


def flatten(d):
    op = d.one(["Flatten", "Transpose", "Identity", "Size"])
    _, dims, x = taken(d, op, most=5)
    if op == "Flatten":
        d.node(op, [x], axis=d.maybe(d.int(-len(dims) if d.opset >= 11 else 0, len(dims))) if dims else 0)
    elif op == "Transpose":
        order = list(range(len(dims)))
        d.random.shuffle(order)
        d.node(op, [x], perm=d.maybe(order) if dims else None)
    else:
        d.node(op, [x])


def shape(d):
    _, dims, x = taken(d, "Shape", most=5)
    ends = {"start": d.maybe(d.int(-7, 7)), "end": d.maybe(d.int(-7, 7))} if d.opset >= 15 else {}
    d.node("Shape", [x], **ends)


def depth(d):
    op = d.one(["DepthToSpace", "SpaceToDepth"])
    kind, block = d.kind(op, of=NUMBERS), d.int(1, 3)
    b, c, h, w = d.dims(4, 4, (0, 1, 2, 3), 20)
    dims = [b, c * block**2, h, w] if op == "DepthToSpace" else [b, c, h * block, w * block]
    mode = d.maybe(d.one(["DCR", "CRD"])) if op == "DepthToSpace" and d.opset >= 11 else None
    d.node(op, [d.input(d.array(kind, dims), kind)], blocksize=block, mode=mode)


def reverse(d):
    d.since(10)
    kind, dims = d.kind("ReverseSequence", of=EVERY), d.dims(2, 4, (1, 2, 3, 4))
    time = d.int(0, 1)
    lengths = d.array("int64", [dims[1 - time]], 1, dims[time])
    given = {} if time == 0 and d.chance() else {"time_axis": time, "batch_axis": 1 - time}
    d.node("ReverseSequence", [d.input(d.array(kind, dims), kind), d.input(lengths)], **given)


def concat(d):
    kind, dims = d.kind("Concat", of=EVERY), d.dims(1, 4)
    at = d.int(0, len(dims) - 1)
    parts = [d.array(kind, [d.int(0, 3) if i == at else n for i, n in enumerate(dims)]) for _ in range(d.int(1, 4))]
    d.node("Concat", [d.input(p, kind) for p in parts], axis=negative(d, [at], len(dims))[0])


def split(d):
    kind, dims = d.kind("Split", of=EVERY), d.dims(1, 3, (1, 2, 3, 4, 6))
    at = d.int(0, len(dims) - 1)
    axis = d.maybe(negative(d, [at], len(dims))[0]) if at == 0 else negative(d, [at], len(dims))[0]
    x = d.input(d.array(kind, dims), kind)
    count = d.int(1, min(3, dims[at]))
    cuts = sorted(d.int(0, dims[at]) for _ in range(count - 1))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, dims[at]])]
    if d.chance():
        if d.opset >= 18 and -(-dims[at] // -(-dims[at] // count)) == count:
            d.node("Split", [x], count, axis=axis, num_outputs=count)
            return
        if d.opset < 18 and dims[at] % count == 0:
            d.node("Split", [x], count, axis=axis)
            return
    if d.opset < 13:
        d.node("Split", [x], count, axis=axis, split=parts)
    else:
        d.node("Split", [x, d.ints(parts)], count, axis=axis)


def tile(d):
    _, dims, x = taken(d, "Tile", most=3)
    d.node("Tile", [x, d.ints([d.int(0 if d.chance(6) else 1, 3) for _ in dims])])


def expand(d):
    d.since(8)
    dims = d.dims(0, 4)
    kind = d.kind("Expand", of=EVERY)
    to = [1 if d.chance(4) else n for n in dims]
    cut = d.int(0, len(to)) if d.chance(3) else 0
    d.node("Expand", [d.input(d.array(kind, d.fit(dims)), kind), d.ints(to[cut:])])


def count_up(d):
    d.since(11)
    kind = d.kind("Range", of=["float32", "float64", "int16", "int32", "int64"])
    start, delta = d.int(-5, 5), d.one([1, 2, 3, -1, -2])
    whole = [start, d.int(-6, 8), delta]
    if kind.startswith("float"):
        whole = [v / 2 for v in whole]
    d.node("Range", [d.input(np.array(v, kind)) for v in whole])


def filled(d):
    d.since(9)
    kind = d.kind("ConstantOfShape", "T2", [*NUMBERS, "bool"])
    value = numpy_helper.from_array(d.array(kind, [1]), "v")
    d.node("ConstantOfShape", [d.ints(d.dims(0, 4))], value=d.maybe(value))


def constant(d):
    if d.opset < 12 or d.chance(4):
        kind = d.kind("Constant", of=[*NUMBERS, "bool"])
        d.node("Constant", [], value=numpy_helper.from_array(d.array(kind, d.dims()), "v"))
        return
    given = d.one([
        {"value_float": 1.5},
        {"value_floats": [1.5, -2.0]},
        {"value_int": -3},
        {"value_ints": [1, 2, 3]},
        {"value_string": "a"},
        {"value_strings": ["a", "", "c"]},
    ])
    d.node("Constant", [], **given)


DRAWS = [
    ("slice", slices),
    ("slice_more", slices),
    ("pad", pad),
    ("pad_more", pad),
    ("reshape", reshape),
    ("squeeze", squeeze),
    ("unsqueeze", unsqueeze),
    ("flatten", flatten),
    ("shape", shape),
    ("depth", depth),
    ("reverse", reverse),
    ("concat", concat),
    ("split", split),
    ("tile", tile),
    ("expand", expand),
    ("range", count_up),
    ("filled", filled),
    ("constant", constant),
]
