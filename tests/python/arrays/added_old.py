"""What ONNX Runtime adds to the default domain: experimental operators of the first versions of ONNX, and older versions."""

import numpy as np

from arrays.draw import ADDED

OLD = (7, 9)


def of_onnx(d, op, inputs, outputs=1, **attributes):
    """A node of the default domain, in a model that imports ONNX Runtime's."""
    d.domains[ADDED] = 1
    results = d.node(op, [d.given(x) for x in inputs], outputs, **attributes)
    d.behind(results)


def elementwise(d):
    d.since(*OLD)
    op = d.one(["Affine", "ParametricSoftplus", "ScaledTanh", "Scale", "ThresholdedRelu"])
    x = d.array("float32", d.dims(0, 4, (1, 2, 3, 4), empty=20), -4, 4, special=True)
    number = lambda: d.one([0.5, -1.5, 2.0, 1.0])
    if op == "Affine":
        given = {"alpha": d.maybe(number()), "beta": d.maybe(number())}
    elif op == "Scale":
        given = {"scale": d.maybe(number())}
    elif op == "ThresholdedRelu":
        given = {"alpha": d.maybe(number())}
    else:
        given = {"alpha": number(), "beta": number()}
    of_onnx(d, op, [x], **given)


def image(d):
    return d.array("float32", [d.int(1, 2), d.int(1, 3), d.int(2, 5), d.int(2, 5)], -3, 3)


def image_scaler(d):
    d.since(*OLD)
    x = image(d)
    of_onnx(d, "ImageScaler", [x], scale=d.maybe(0.5), bias=[d.int(-4, 4) / 2 for _ in range(x.shape[1])])


def crop(d):
    d.since(*OLD)
    x = image(d)
    top, left = d.int(0, x.shape[2] - 1), d.int(0, x.shape[3] - 1)
    bottom, right = d.int(0, x.shape[2] - top - 1), d.int(0, x.shape[3] - left - 1)
    size = [x.shape[2] - top - d.int(0, bottom), x.shape[3] - left - d.int(0, right)]
    of_onnx(d, "Crop", [x], border=[left, top, right, bottom], scale=d.maybe(size))


def dynamic_slice(d):
    d.since(*OLD)
    dims = d.dims(1, 4, (2, 3, 4), empty=99)
    kind = d.one(["float32", "int64", "int32"])
    count = d.int(1, len(dims))
    axes = d.random.sample(range(len(dims)), count) if d.chance() else None
    of_indices = d.one(["int32", "int64"])
    starts = np.array([d.int(-2, 2) for _ in range(count)], of_indices)
    ends = np.array([d.one([1, 2, -1, 100]) for _ in range(count)], of_indices)
    inputs = [d.array(kind, dims), starts, ends]
    of_onnx(d, "DynamicSlice", inputs + ([np.array(axes, of_indices)] if axes else []))


def mean_variance(d):
    d.since(7, 8)
    flags = {"across_channels": d.maybe(d.int(0, 1)), "normalize_variance": d.maybe(d.int(0, 1))}
    of_onnx(d, "MeanVarianceNormalization", [image(d)], **flags)


def layer_normalization(d):
    d.since(7, 16)
    dims = d.dims(1, 4, (1, 2, 3, 4), empty=99)
    axis = d.one([None, -1, d.int(0, len(dims) - 1), -d.int(1, len(dims))])
    behind = dims[axis if axis is not None else -1 :]
    kind = d.one(["float32", "float32", "float64"])
    inputs = [d.array(kind, dims, -3, 3), d.array(kind, behind, -2, 2)]
    inputs += [d.array(kind, behind, -2, 2)] if d.chance() else []
    outputs = d.one([1, 1, 3]) if kind == "float32" else 1
    of_onnx(d, "LayerNormalization", inputs, outputs, axis=axis, epsilon=d.one([None, 0.25]))


DRAWS = [
    ("OldElementwise", elementwise),
    ("OldImageScaler", image_scaler),
    ("OldCrop", crop),
    ("OldDynamicSlice", dynamic_slice),
    ("OldMeanVariance", mean_variance),
    ("OldLayerNormalization", layer_normalization),
]
