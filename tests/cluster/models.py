"""Models and data for clusters: an export of scikit-learn, a network over images, a model of strings."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa

import onnxtxt
from onnxtxt.arrow import Predictor

#: The columns of the forest.
FEATURES = [f"f{i}" for i in range(12)]
HEAD = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 4]>\n'
WORDS = ["good", "fine", "great", "bad", "poor", "awful", "the", "a", "film", "book"]


@functools.cache
def forest() -> bytes:
    """A random forest over a scaler, exported by skl2onnx: label and probabilities."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(1)
    x = random.standard_normal((4000, len(FEATURES)), np.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0.2).astype(np.int64)
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(20, max_depth=8, random_state=0)).fit(x, y)
    return to_onnx(pipeline, x[:1], options={"zipmap": False}, target_opset={"": 21, "ai.onnx.ml": 3}).SerializeToString()


def rows(count: int) -> pa.Table:
    """Rows for the forest, with an id."""
    x = np.random.default_rng(2).standard_normal((len(FEATURES), count), np.float32)
    return pa.table({"id": np.arange(count), **{name: x[i] for i, name in enumerate(FEATURES)}})


#: Options for the forest.
FOREST = {"columns": {"X": FEATURES}, "outputs": {"label": "label", "probabilities": "p"}, "keep": ["id"]}


@functools.cache
def network() -> bytes:
    """A small network over images of 32 by 32 pixels."""
    random = np.random.default_rng(3)

    def weights(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    b = onnxtxt.GraphBuilder(opset=21)
    x = b.Mul(b.Cast(b.input("x", "uint8[N,3,32,32]"), to=1), np.float32(1 / 255))
    for channels, before in ((16, 3), (32, 16), (64, 32)):
        x = b.Relu(b.Conv(x, weights(channels, before, 3, 3), weights(channels), pads=[1, 1, 1, 1]))
        x = b.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.Flatten(b.GlobalAveragePool(x))
    b.output(b.Softmax(b.Gemm(x, weights(10, 64), weights(10), transB=1), axis=1), "scores")
    return b.build().to_bytes()


def images(count: int) -> pa.Table:
    """Images with an id, as lists of bytes."""
    x = np.random.default_rng(4).integers(0, 256, (count, 3 * 32 * 32), np.uint8)
    return pa.table({"id": np.arange(count), "x": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), x.shape[1])})


IMAGES = {"keep": ["id"]}

#: The words of a text are counted by whether they praise or blame; integers, so that no order of additions matters.
TEXT = HEAD + """tone (string[N] text) => (string[N] tone, int64[N] score) {
    lower = StringNormalizer <case_change_action = "LOWER", is_case_sensitive = 1, locale = "C"> (text)
    words, counts = StringSplit <delimiter = " "> (lower)
    points = ai.onnx.ml.LabelEncoder <keys_strings = ["good", "fine", "great", "bad", "poor", "awful"], values_int64s = [2, 1, 3, -2, -1, -3], default_int64 = 0> (words)
    axes = Constant <value_ints = [1]> ()
    score = ReduceSum <keepdims = 0> (points, axes)
    sign = Sign(score)
    tone = ai.onnx.ml.LabelEncoder <keys_int64s = [-1, 0, 1], values_strings = ["blame", "neither", "praise"]> (sign)
}"""


def texts(count: int) -> pa.Table:
    """Texts with an id."""
    random = np.random.default_rng(5)
    lengths = random.integers(1, 20, count)
    words = iter(random.integers(0, len(WORDS), int(lengths.sum())).tolist())
    made = [" ".join(WORDS[next(words)].title() for _ in range(length)) for length in lengths.tolist()]
    return pa.table({"id": np.arange(count), "text": made})


TEXTS = {"keep": ["id"]}

#: Fails for indices out of range.
LOOKUP = HEAD + "g (int64[N] x) => (float[N] y) <float[4] table = {10, 11, 12, 13}> { y = Gather(table, x) }"


def in_one_process(model: object, table: pa.Table, options: dict) -> pa.Table:
    """The results without a cluster."""
    model = onnxtxt.parse(model) if isinstance(model, str) else onnxtxt.open(model)
    return Predictor(onnxtxt.Session(model, threads=1), **options)(table)


def assert_same_bits(found: pa.Table, expected: pa.Table) -> None:
    """Fails unless the rows are the same, in any order, bit for bit."""
    found, expected = (table.sort_by("id").combine_chunks() for table in (found, expected))
    assert found.column_names == expected.column_names
    assert found["id"].to_numpy().tolist() == expected["id"].to_numpy().tolist(), "rows are lost, or there twice"
    for name in expected.column_names:
        ours, theirs = (_flat(table[name].combine_chunks()) for table in (found, expected))
        assert ours.equals(theirs), name


def _flat(array: pa.Array) -> pa.Array:
    while pa.types.is_list(array.type) or pa.types.is_fixed_size_list(array.type) or pa.types.is_large_list(array.type):
        array = array.flatten()
    # Bits, not values: a zero has a sign.
    return array.view(pa.int32()) if pa.types.is_float32(array.type) else array
