"""Numbers at random. Which they are, nobody says: models give their shape, and whether they are where they should be."""

import numpy as np
from onnx import TensorProto as T

from .draw import elem_of

# So many that a mean is near to what is expected.
MANY = 4096
KINDS = ["float32", "float64", "float16"]


def judged(d, y, low, high, mean=None, spread=1.0):
    """Gives the shape, whether all lie within bounds, and whether their mean is near to what it should be."""
    shape = d.node("Shape", [y], keep=False)
    single = d.node("Cast", [y], keep=False, to=T.FLOAT)
    limit = lambda value: d.input(np.array(value, "float32"), fed=False)
    out = [d.node("Less", [single, limit(low)], keep=False), d.node("Greater", [single, limit(high)], keep=False)]
    either = d.node("Cast", [d.node("Or", out, keep=False)], keep=False, to=T.INT32)
    count = d.node("Cast", [either], keep=False, to=T.FLOAT)
    results = [shape, d.node("ReduceSum", [count], keep=False, keepdims=0)]
    if mean is not None:
        off = d.node("Sub", [d.node("ReduceMean", [single], keep=False, keepdims=0), limit(mean)], keep=False)
        # Eight deviations of the mean.
        near = d.node("Less", [d.node("Abs", [off], keep=False), limit(8 * spread / MANY**0.5)], keep=False)
        results.append(near)
    d.results = results


def shaped(d, op, **given):
    """Many numbers, or few."""
    dims = [MANY // 4, 4] if d.chance() else d.dims(1, 3)
    kind = d.one(KINDS)
    given["seed"] = d.maybe(float(d.int(0, 100)))
    if d.chance():
        return dims, d.node(op, [], shape=dims, dtype=d.maybe(elem_of(kind)), **given)
    like = d.input(d.array(kind, dims), kind)
    return dims, d.node(op + "Like", [like], dtype=d.maybe(elem_of(d.one(KINDS))), **given)


def uniform(d):
    d.since(9)
    low, high = d.one([(0.0, 1.0), (-3.0, 5.0), (2.0, 2.5)])
    dims, y = shaped(d, "RandomUniform", low=low, high=high)
    is_many = dims == [MANY // 4, 4]
    judged(d, y, low, high, (low + high) / 2 if is_many else None, high - low)


def normal(d):
    d.since(9)
    mean, scale = d.one([(0.0, 1.0), (10.0, 2.0), (-1.0, 0.25)])
    dims, y = shaped(d, "RandomNormal", mean=mean, scale=scale)
    is_many = dims == [MANY // 4, 4]
    judged(d, y, mean - 12 * scale, mean + 12 * scale, mean if is_many else None, scale)


def bernoulli(d):
    d.since(15)
    # ONNX Runtime gives 1 as often as 0 is due.
    d.judged["reference"] = "yes"
    kind = d.one(KINDS)
    to = d.maybe(elem_of(d.one([*KINDS, "int32", "int64", "uint8", "bool"])))
    seed = d.maybe(float(d.int(0, 100)))
    if d.chance():
        # Nothing is left to chance.
        y = d.node("Bernoulli", [d.input(d.array(kind, d.dims(1, 3), 0, 1).round(), kind)], dtype=to, seed=seed)
        d.node("Cast", [y], to=T.FLOAT)
        return
    part = d.int(1, 3) / 4
    y = d.node("Bernoulli", [d.input(np.full([MANY], part, kind), kind)], dtype=to, seed=seed)
    judged(d, y, 0, 1, part)


def multinomial(d):
    d.since(7)
    kind, batch, classes = d.one(["float32", "float32", "float64", "float16"]), d.int(1, 3), d.int(1, 4)
    given = {"dtype": d.maybe(d.one([T.INT32, T.INT64])), "seed": d.maybe(float(d.int(0, 100)))}
    if d.chance():
        x = np.full([batch, classes], -100, kind)
        x[np.arange(batch), [d.int(0, classes - 1) for _ in range(batch)]] = d.int(-2, 2)
        d.node("Multinomial", [d.input(x, kind)], sample_size=d.maybe(d.int(1, 6)), **given)
        return
    d.since(13)
    x = np.full([1, classes], d.int(-2, 2), kind)
    y = d.node("Multinomial", [d.input(x, kind)], sample_size=MANY, **given)
    judged(d, y, 0, classes - 1, (classes - 1) / 2, classes)


def dropout(d):
    """What is left is scaled, and the mask says what is left."""
    d.since(12)
    kind, dims = d.one(KINDS), d.dims(1, 3)
    x, ratio = d.array(kind, dims, 1, 4), d.one([0.0, 0.25, 0.5])
    name = d.input(x, kind)
    inputs = [name, d.input(np.array(ratio, "float32")), d.input(np.array(True))]
    y, mask = d.node("Dropout", inputs, 2, seed=d.maybe(d.int(0, 100)))
    single = d.node("Cast", [y], keep=False, to=T.FLOAT)
    scaled = d.input(x.astype("float32") / np.array(1 - ratio, "float32"), fed=False)
    of_mask = d.node("Where", [mask, scaled, d.input(np.array(0, "float32"), fed=False)], keep=False)
    off = d.node("Abs", [d.node("Sub", [single, of_mask], keep=False)], keep=False)
    wrong = d.node("Cast", [d.node("Greater", [off, d.input(np.array(0.01, "float32"))], keep=False)], keep=False, to=T.FLOAT)
    d.results = [d.node("Shape", [mask], keep=False), d.node("ReduceSum", [wrong], keep=False, keepdims=0)]


DRAWS = [("uniform", uniform), ("normal", normal), ("bernoulli", bernoulli), ("multinomial", multinomial), ("dropout", dropout)]
