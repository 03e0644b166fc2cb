"""By index: gathering, scattering, and what says where something is."""

import numpy as np

from .draw import NUMBERS, elem_of

EVERY = [*NUMBERS, "bfloat16", "bool", "string"]


def axis_of(d, rank):
    axis = d.int(0, rank - 1)
    return axis, axis - rank if d.chance() and d.opset >= 11 else axis


def places(d, dims, extent, kind=None):
    """Indices into an axis of this extent."""
    low = -extent if d.opset >= 11 else 0
    if extent == 0:
        dims = [0]
    return d.array(kind or d.one(["int32", "int64"]), dims, low, extent - 1)


def gather(d):
    kind, dims = d.kind("Gather", of=EVERY), d.dims(1, 4)
    at, axis = axis_of(d, len(dims))
    x, indices = d.input(d.array(kind, dims), kind), places(d, d.dims(0, 3), dims[at])
    if kind == "string":
        # ONNX Runtime takes only the first of several strings.
        d.judged["reference"] = "yes"
    d.node("Gather", [x, d.input(indices)], axis=axis if at else d.maybe(axis))


def gather_elements(d):
    d.since(11)
    kind, dims = d.kind("GatherElements", of=EVERY), d.dims(1, 4, (1, 2, 3, 4))
    at, axis = axis_of(d, len(dims))
    shape = [d.int(1, n) if i != at else d.int(0, 4) for i, n in enumerate(dims)]
    x = d.input(d.array(kind, dims), kind)
    d.node("GatherElements", [x, d.input(places(d, shape, dims[at]))], axis=axis)


def tuples(d, dims, batch, depth, count):
    """Index tuples into the axes behind those of the batch."""
    shape = [*dims[:batch], *count]
    columns = [places(d, shape, dims[batch + i], "int64") for i in range(depth)]
    return np.stack(columns, -1) if columns else np.zeros([*shape, 0], "int64")


def gather_nd(d):
    d.since(11)
    kind, dims = d.kind("GatherND", of=EVERY), d.dims(1, 4, (1, 2, 3, 4))
    batch = d.int(0, len(dims) - 1) if d.opset >= 12 and d.chance() else 0
    depth = d.int(1, len(dims) - batch)
    x = d.input(d.array(kind, dims), kind)
    d.node("GatherND", [x, d.ints(tuples(d, dims, batch, depth, d.dims(0, 2)))], batch_dims=batch or None)


def reduction_of(d, kind):
    allowed = [None, "none"] if d.opset >= 16 else [None]
    if d.opset >= 16 and kind not in ("string", "bool"):
        allowed += ["add", "mul"]
    if d.opset >= 18 and kind not in ("string", "bool"):
        allowed += ["max", "min"]
    return d.one(allowed)


def scatter(d):
    op = d.one(["Scatter", "ScatterElements", "ScatterElements"])
    d.since(9, 10) if op == "Scatter" else d.since(11)
    kind, dims = d.kind(op, of=EVERY), d.dims(1, 3, (1, 2, 3, 4))
    at, axis = axis_of(d, len(dims))
    reduction = reduction_of(d, kind) if op == "ScatterElements" else None
    shape = [d.int(1, n) for n in dims]
    indices = places(d, shape, dims[at])
    if reduction in (None, "none"):
        # Who comes last is not said.
        order = np.argsort(np.random.RandomState(d.int(0, 999)).rand(*shape[:at], dims[at], *shape[at + 1 :]), axis=at)
        indices = np.take(order, range(shape[at]), axis=at).astype("int64")
    x, updates = d.array(kind, dims, -3, 3), d.array(kind, shape, -3, 3)
    d.node(op, [d.input(x, kind), d.input(indices), d.input(updates, kind)], axis=axis, reduction=reduction)


def scatter_nd(d):
    d.since(11)
    kind, dims = d.kind("ScatterND", of=EVERY), d.dims(1, 4, (1, 2, 3))
    depth = d.int(1, len(dims))
    reduction = reduction_of(d, kind)
    count = d.dims(1, 2)
    indices = tuples(d, dims, 0, depth, count)
    if reduction in (None, "none"):
        flat = np.arange(int(np.prod(dims[:depth])))
        d.random.shuffle(flat)
        chosen = flat[: d.int(1, len(flat))]
        indices = np.stack(np.unravel_index(chosen, dims[:depth]), -1).astype("int64")
    updates = d.array(kind, [*indices.shape[:-1], *dims[depth:]], -3, 3)
    x = d.input(d.array(kind, dims, -3, 3), kind)
    d.node("ScatterND", [x, d.ints(indices), d.input(updates, kind)], reduction=reduction)


def tensor_scatter(d):
    d.since(24)
    kind = d.kind("TensorScatter", of=[k for k in EVERY if k != "string"])
    dims = d.dims(3, 4, (1, 2, 3, 4))
    at = d.int(1, len(dims) - 1)
    axis = at - len(dims) if d.chance() else at
    mode = d.maybe(d.one(["linear", "circular"]))
    length = d.int(1, dims[at])
    start = d.array("int64", [dims[0]], 0, dims[at] - (1 if mode == "circular" else length))
    update = [length if i == at else n for i, n in enumerate(dims)]
    x, y = (d.input(d.array(kind, shape), kind) for shape in (dims, update))
    d.node("TensorScatter", [x, y, d.input(start)], axis=axis, mode=mode)


def one_hot(d):
    d.since(9)
    kind = d.one(["float32", "int64", "int32", "float32"])
    index = d.one(["int64", "int32", "float32"])
    dims, depth = d.dims(0, 3), d.int(1, 5)
    # From 11 on, indices may be out of range: such rows have only the off value.
    reach = depth + 2 if d.opset >= 11 else depth - 1
    indices = d.array("int64", dims, -reach if d.opset >= 11 else 0, reach).astype(index)
    given = np.array(depth, d.one(["int64", "float32", "int32"]))
    axis = d.int(-len(dims) - 1, len(dims))
    values = d.input(d.array(kind, [2]))
    d.node("OneHot", [d.input(indices), d.input(given if d.chance() else given.reshape(1)), values], axis=d.maybe(axis))


def compress(d):
    d.since(9)
    kind, dims = d.kind("Compress", of=EVERY), d.dims(1, 4, (1, 2, 3, 4))
    x = d.input(d.array(kind, dims), kind)
    axis = axis_of(d, len(dims)) if d.chance() else (None, None)
    extent = int(np.prod(dims)) if axis[0] is None else dims[axis[0]]
    d.node("Compress", [x, d.input(d.array("bool", [d.int(0, extent)]))], axis=axis[1])


def non_zero(d):
    d.since(9)
    kind = d.kind("NonZero", of=EVERY)
    # Of a scalar, ONNX Runtime gives a row; the specification says that there is none.
    d.node("NonZero", [d.input(d.array(kind, d.dims(1, 4), -1, 1), kind)])


def unique(d):
    d.since(11)
    kind, dims = d.kind("Unique", of=EVERY), d.dims(1, 3, (1, 2, 3, 5))
    axis = d.int(-len(dims), len(dims) - 1) if d.chance() else None
    x = d.input(d.array(kind, dims, -1, 1), kind)
    d.node("Unique", [x], 4, axis=axis, sorted=d.maybe(d.int(0, 1)))


def suppress(d):
    d.since(10)
    batch, boxes, classes = d.int(1, 2), d.int(1, 6), d.int(1, 3)
    corner = np.array([d.int(0, 20) / 4 for _ in range(batch * boxes * 4)], "float32").reshape(batch, boxes, 4)
    center = d.maybe(d.int(0, 1))
    if center:
        corner[..., 2:] += 0.25
    scores = np.array(d.random.sample(range(1000), batch * classes * boxes), "float32").reshape(batch, classes, boxes) / 1000
    inputs = [d.input(corner), d.input(scores)]
    inputs.append(d.ints([d.int(0, 4)]) if not d.chance(4) else "")
    inputs.append(d.input(np.array([d.int(0, 4) / 4 + 0.01], "float32")) if d.chance() else "")
    inputs.append(d.input(np.array([d.int(0, 8) / 10 + 0.0001], "float32")) if d.chance() else "")
    d.node("NonMaxSuppression", inputs, center_point_box=center)


def eye(d):
    d.since(9)
    kind = d.kind("EyeLike", "T1", [*NUMBERS, "bool"])
    to = d.maybe(elem_of(d.one(["float32", "float64", "int64", "int32", "uint64", "float16"])))
    x = d.input(d.array(kind, d.dims(2, 2, empty=20)), kind)
    d.node("EyeLike", [x], dtype=to, k=d.maybe(d.int(-4, 4)))


def trilu(d):
    d.since(14)
    kind = d.kind("Trilu", of=[*NUMBERS, "bool"])
    k = d.input(np.array(d.int(-4, 4), "int64")) if d.chance() else ""
    d.node("Trilu", [d.input(d.array(kind, d.dims(2, 4)), kind), k], upper=d.maybe(d.int(0, 1)))


def array_feature(d):
    d.domains["ai.onnx.ml"] = d.int(1, 3)
    kind, dims = d.one(["float32", "float64", "int32", "int64", "string"]), d.dims(1, 3, (1, 2, 3, 4))
    places_of = d.array("int64", [1, d.int(1, 4)], 0, dims[-1] - 1)
    d.node("ArrayFeatureExtractor", [d.input(d.array(kind, dims), kind), d.input(places_of)], domain="ai.onnx.ml")


DRAWS = [
    ("gather", gather),
    ("gather_elements", gather_elements),
    ("gather_nd", gather_nd),
    ("scatter", scatter),
    ("scatter_nd", scatter_nd),
    ("tensor_scatter", tensor_scatter),
    ("one_hot", one_hot),
    ("compress", compress),
    ("non_zero", non_zero),
    ("unique", unique),
    ("suppress", suppress),
    ("eye", eye),
    ("trilu", trilu),
    ("array_feature", array_feature),
]
