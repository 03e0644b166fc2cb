"""Losses, and steps of optimizers."""

import numpy as np

PREVIEW = "ai.onnx.preview.training"


def scores(d):
    """What losses read: scores of classes, labels, weights or none; and the label that is ignored."""
    kind = d.one(["float32", "float32", "float64", "float16"])
    classes = d.int(1, 5)
    dims = [d.int(1, 4), *[d.int(1, 3) for _ in range(d.int(0, 3))]]
    x = d.led(d.array(kind, [dims[0], classes, *dims[1:]], -3, 3))
    ignored = d.maybe(d.one([0, classes - 1, -1, -100, 255]))
    labels = d.array(d.one(["int32", "int64"]), dims, 0, classes - 1)
    if ignored is not None and d.chance():
        where = d.array("bool", dims)
        labels[where] = ignored
    if kind == "float16":
        # The logarithm of what is near to 1.
        d.judged["tolerance"] = "3e-2"
    inputs = [x, d.input(labels)]
    if d.chance():
        inputs.append(d.input(d.array(kind, [classes], 0, 3) + np.array(0.25, kind)))
    return inputs, {"ignore_index": ignored, "reduction": d.maybe(d.one(["none", "sum", "mean"]))}


def likelihood(d):
    d.since(12)
    inputs, given = scores(d)
    d.node("NegativeLogLikelihoodLoss", inputs, **given)
    d.followed()


def entropy(d):
    d.since(12)
    inputs, given = scores(d)
    d.node("SoftmaxCrossEntropyLoss", inputs, d.int(1, 2), **given)
    d.followed()


def optimizer(d):
    d.since(13)
    d.domains[PREVIEW] = 1
    op, states = d.one([("Adagrad", 1), ("Adam", 2), ("Momentum", 1)])
    kind = d.one(["float32", "float64"])
    rate = d.input(np.array(d.int(1, 4) / 8, kind if d.chance() else "float32"))
    shapes = [d.dims(0, 2) for _ in range(d.int(1, 2))]
    count = d.input(np.array(d.int(0, 4), "int64"))
    inputs = [rate, count]
    for group in range(2 + states):
        # What is accumulated of squares is not negative.
        low = 0 if group >= 2 and (op == "Adagrad" or group == 3) else -2
        inputs += [d.input(d.array(kind, shape, low, 3), kind) for shape in shapes]
    quarter = lambda: d.int(0, 3) / 4
    if op == "Momentum":
        given = {"mode": d.one(["standard", "nesterov"]), "alpha": quarter(), "beta": quarter(), "norm_coefficient": quarter()}
    else:
        given = {"norm_coefficient": d.maybe(quarter()), "epsilon": d.maybe(0.125)}
        more = {"decay_factor": d.maybe(quarter())} if op == "Adagrad" else {
            "alpha": d.maybe(quarter()), "beta": d.maybe(quarter()), "norm_coefficient_post": d.maybe(quarter())
        }
        given |= more
    d.node(op, inputs, len(shapes) * (1 + states), domain=PREVIEW, **given)


DRAWS = [("likelihood", likelihood), ("entropy", entropy), ("optimizer", optimizer)]
