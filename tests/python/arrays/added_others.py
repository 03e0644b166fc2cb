"""What else ONNX Runtime adds: of shapes, indices, images and words."""

import numpy as np

from arrays.draw import FLOATS, INTEGERS


def expand_dims(d):
    d.since(13)
    kind = d.one([*FLOATS, *INTEGERS, "bool", "string"])
    dims = d.dims(0, 3)
    d.added("ExpandDims", [d.array(kind, dims), np.array(d.int(-len(dims) - 1, len(dims)), "int32")])


def trilu(d):
    d.since(14)
    kind = d.one(["float32", "float64", "int64"])
    x = d.array(kind, d.dims(2, 4))
    d.added("Trilu", [x, np.array(d.int(-4, 4), "int64") if d.chance() else None], upper=d.one([None, 0, 1]))


def pad(d):
    d.since(13)
    dims, mode = d.dims(1, 4, (2, 3, 4), empty=99), d.one([None, "constant", "edge", "reflect"])
    pads = np.array([d.int(0, 1 if mode == "reflect" else 2) for _ in range(2 * len(dims))], "int64")
    if d.chance(3):
        pads = pads.reshape(1, -1)
    value = np.array(1.5, "float32").reshape(d.one([(), (1,)])) if d.chance() else None
    d.behind(d.added("Pad", [d.array("float32", dims), pads, value], mode=mode))


def gather_nd(d):
    d.since(13)
    dims = d.dims(1, 4, (1, 2, 3), empty=99)
    count = d.int(1, len(dims))
    outer = d.dims(0, 2, (1, 2, 3), empty=99)
    indices = np.stack([d.array("int64", outer, 0, n - 1) for n in dims[:count]], -1)
    kind = d.one([*FLOATS, *INTEGERS, "bool", "string"])
    d.added("GatherND", [d.array(kind, dims), indices.astype(d.one(["int32", "int64"]))])


def count(d):
    kind = d.one(["float32", "float64", "int16", "int32", "int64"])
    numbers = [d.int(-5, 5), d.int(-5, 9), d.one([-2, -1, 1, 2, 3])]
    scalar = lambda x: np.array(x, kind).reshape(d.one([(), (), (1,)]))
    inputs = [scalar(x) for x in numbers]
    d.added("Range", inputs[:2] if d.chance(3) else inputs)


def unique(d):
    d.added("Unique", [d.array("float32", [d.int(0, 8)], -2, 2)], 3)


def sample(d):
    d.behind(d.added("SampleOp", [d.array("float32", d.dims())]))


def unfold(d):
    dims = d.dims(1, 4, (2, 3, 4, 5), empty=99)
    dim = d.int(-len(dims), len(dims) - 1)
    size = d.int(1, dims[dim])
    kind = d.one(["float32", "float64", "int32", "int64"])
    d.added("UnfoldTensor", [d.array(kind, dims)], dim=dim if dim != -1 or d.chance() else None, size=size, step=d.maybe(d.int(1, 3)))


def hash_of(d):
    kind = d.one(["string", "int32", "int64", "uint32", "uint64", "float32", "float64"])
    d.added("MurmurHash3", [d.array(kind, d.dims(0, 2))], positive=d.one([None, 0, 1]), seed=d.maybe(d.int(0, 99)))


def repeated(d):
    batch, vocabulary = d.int(1, 3), d.int(2, 5)
    ids = d.array("int64", [batch, d.int(1, 8)], 0, vocabulary - 1)
    d.behind(d.added("NGramRepeatBlock", [ids, d.array("float32", [batch, vocabulary])], ngram_size=d.int(1, 3)))


def tokenizer(d):
    words = ["", "a b", "café au lait", "one,two three", "  x", "日本 語", "a,,b"]
    x = np.array([d.one(words) for _ in range(d.int(1, 3))], object)
    if d.chance():
        x = x.reshape(1, -1)
    given = d.one([{"separators": [" "]}, {"separators": [""]}, {"separators": [",", " "]}, {"tokenexp": "[a-z]+"}, {"tokenexp": r"\w."}])
    given |= {"mark": d.int(0, 1), "mincharnum": d.int(1, 2), "pad_value": d.one(["#", ""])}
    if given.get("separators") == [""]:
        given["mincharnum"] = 1
    d.added("Tokenizer", [x], **given)


def crop(d):
    d.since(11)
    batch, channels, height, width = d.int(1, 3), d.int(1, 2), d.int(2, 6), d.int(2, 6)
    count = d.int(1, 3)
    boxes = np.array([[d.int(-2, 10) / 8 for _ in range(4)] for _ in range(count)], "float32")
    size = np.array([d.int(1, 4), d.int(1, 4)], "int32")
    given = {"mode": d.one([None, "bilinear", "nearest"]), "extrapolation_value": d.maybe(0.5)}
    inputs = [d.array("float32", [batch, channels, height, width]), boxes, d.array("int32", [count], 0, batch - 1), size]
    d.behind(d.added("CropAndResize", inputs, **given))


def grid_sample(d):
    x = d.array("float32", [d.int(1, 2), d.int(1, 2), d.int(2, 5), d.int(2, 5)])
    grid = np.random.RandomState(d.int(0, 9999)).uniform(-1.3, 1.3, [x.shape[0], d.int(1, 4), d.int(1, 4), 2])
    given = {"align_corners": d.maybe(1), "mode": d.one([None, "bilinear", "nearest", "bicubic"])}
    # ONNX Runtime bounds each neighbour of a position, and not the position.
    edges = [None, "zeros", "reflection"] + ([] if given["mode"] == "bicubic" else ["border"])
    d.behind(d.added("GridSample", [x, grid.astype("float32")], padding_mode=d.one(edges), **given))


def transposed_convolution(d):
    d.since(11)
    channels, filters = d.int(1, 2), d.int(1, 2)
    kernel = [d.int(2, 3), d.int(1, 3)]
    x = d.array("float32", [d.int(1, 2), channels, d.int(2, 4), d.int(2, 4)], -2, 2)
    w = d.array("float32", [channels, filters, *kernel], -2, 2)
    pads = np.array([d.int(0, 1) if k > 1 else 0 for _ in range(2) for k in kernel], "int64")
    b = d.array("float32", [filters], -2, 2) if d.chance() else None
    d.behind(d.added("ConvTransposeWithDynamicPads", [x, w, pads, b], strides=d.maybe([d.int(1, 2) for _ in kernel])))


DRAWS = [
    ("ExpandDims", expand_dims),
    ("AddedTrilu", trilu),
    ("AddedPad", pad),
    ("AddedGatherND", gather_nd),
    ("AddedRange", count),
    ("AddedUnique", unique),
    ("SampleOp", sample),
    ("UnfoldTensor", unfold),
    ("MurmurHash3", hash_of),
    ("NGramRepeatBlock", repeated),
    ("Tokenizer", tokenizer),
    ("CropAndResize", crop),
    ("AddedGridSample", grid_sample),
    ("ConvTransposeWithDynamicPads", transposed_convolution),
]
