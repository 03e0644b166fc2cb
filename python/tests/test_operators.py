"""Operators that are functions of Python: with inference, and registered with a model."""

import copy
import pickle

import numpy as np
import pytest

import onnxtxt

TEXT = '<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { a = Abs(x) b = my.Scale <by = 3.0> (a) y = Neg(b) }'
X = np.array([1, -2], np.float32)


def scale(x, by):
    return x * np.float32(by)


def same(x, by):
    return x


def test_inference_joins_the_nodes_around():
    calls = []

    def infer(x, by):
        calls.append((x, by))
        return x

    session = onnxtxt.Session(onnxtxt.parse(TEXT), operators={"my.Scale": onnxtxt.Operator(scale, infer)})
    for _ in range(3):
        assert session.run({"x": X})["y"].tolist() == [-3, -6]
    assert calls == [((np.dtype("float32"), (2,)), 3.0)], "once for each plan"
    assert session.run({"x": X[:1]})["y"].tolist() == [-3] and calls[1][0].shape == (1,)
    assert isinstance(calls[0][0], onnxtxt.TensorType) and calls[0][0].dtype == np.float32


@pytest.mark.parametrize(
    ("infer", "error", "text"),
    [
        (lambda x, by: ("float64", x.shape), onnxtxt.Error, r"result `b` is float\[2\], but its inference says double\[2\]"),
        (lambda x, by: (x.dtype, (7,)), onnxtxt.Error, r"result `b` is float\[2\], but its inference says float\[7\]"),
        (lambda x, by: [], onnxtxt.Error, "its inference returns 0 types for 1 output"),
        (lambda x, by: 3, TypeError, "inference has returned 3, expected a pair"),
        (lambda x, by: (x.dtype, (-1,)), TypeError, "expected a pair"),
        (lambda x, by: ("datetime64[s]", x.shape), TypeError, "ONNX has no type"),
        (lambda x, by: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_mistakes_of_inference_are_reported(infer, error, text):
    session = onnxtxt.Session(onnxtxt.parse(TEXT), operators={"my.Scale": onnxtxt.Operator(scale, infer)})
    with pytest.raises(error, match=text):
        session.run({"x": X})


def test_inference_may_not_know():
    for infer in (lambda x, by: None, None):
        session = onnxtxt.Session(onnxtxt.parse(TEXT), operators={"my.Scale": onnxtxt.Operator(scale, infer)})
        assert session.run({"x": X})["y"].tolist() == [-3, -6]
    text = TEXT.replace("b = my.Scale <by = 3.0> (a) y = Neg(b)", "b, c = my.Both (a, , x) y = Add(b, c)")
    both = onnxtxt.Operator(lambda a, left_out, x: (a, x), infer=lambda a, left_out, x: [a, (x.dtype, list(x.shape))])
    assert onnxtxt.Session(onnxtxt.parse(text), operators={"my.Both": both}).run({"x": X})["y"].tolist() == [2, 0]
    with pytest.raises(TypeError, match="the function of an operator is int"):
        onnxtxt.Operator(3)
    with pytest.raises(TypeError, match="the inference of an operator is int"):
        onnxtxt.Operator(scale, 3)


def test_operators_are_registered_with_a_model():
    model = onnxtxt.parse(TEXT)
    model.operators["my", "Scale"] = scale
    models = [model, model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for other in models:
        assert onnxtxt.Session(other).run({"x": X})["y"].tolist() == [-3, -6]
        assert other.compile().run({"x": X})["y"].tolist() == [-3, -6]
    session = pickle.loads(pickle.dumps(onnxtxt.Session(model)))
    assert session.run({"x": X})["y"].tolist() == [-3, -6]
    # Those of a session come first, and copies have their own.
    given = onnxtxt.Session(model, operators={("my", "Scale"): lambda x, by: x})
    assert given.run({"x": X})["y"].tolist() == [-1, -2]
    part = model.extract(from_=["a"], to=["y"])
    assert onnxtxt.Session(part).run({"a": X})["y"].tolist() == [-3, 6]
    models[1].operators.clear()
    assert onnxtxt.Session(model).run({"x": X})["y"].tolist() == [-3, -6]
    with pytest.raises(onnxtxt.Error):
        onnxtxt.Session(models[1])
    assert model == models[1], "models are compared by content"
    reduced = model.reduce(lambda candidate: "Scale" in str(candidate) and onnxtxt.Session(candidate) is not None)
    assert reduced.operators == model.operators
