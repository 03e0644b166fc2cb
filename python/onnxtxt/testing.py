"""Assertions about models for tests.

>>> import onnxtxt
>>> from onnxtxt.testing import assert_models_equal
>>> head = '<ir_version: 10, opset_import: ["": 21]> '
>>> a = onnxtxt.parse(head + "g (float[N] x) => (float[N] y) { y = Relu(x) }")
>>> b = onnxtxt.parse(head + "g (float[N] x) => (float[N] y) { y = Neg(x) }")
>>> assert_models_equal(a, a)
>>> assert_models_equal(a, b)
Traceback (most recent call last):
    ...
AssertionError: the models differ:
...
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxtxt._native import Model, Session, decode
from onnxtxt._native import open as open_model

__all__ = ["assert_models_equal", "assert_runs_like", "inputs_for"]


def _model(model: Any) -> Model:
    if isinstance(model, Model):
        return model
    if isinstance(model, bytes):
        return decode(model)
    if hasattr(model, "SerializeToString"):
        return decode(model.SerializeToString())
    return open_model(model)


def assert_models_equal(actual: Any, expected: Any) -> None:
    """Fails with the difference of the texts if two models are not equal: ``Model``, ``onnx.ModelProto``, paths or bytes."""
    one, other = _model(actual), _model(expected)
    texts = [str(decode(model.to_bytes())).splitlines() for model in (other, one)]
    if texts[0] != texts[1]:
        lines = difflib.unified_diff(texts[0], texts[1], "expected", "actual", lineterm="")
        raise AssertionError("the models differ:\n" + "\n".join(lines))


def inputs_for(model: Any, seed: int = 0, sizes: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Random arrays for the inputs of a model; ``sizes`` are those of symbols (3)."""
    random, sizes = np.random.default_rng(seed), sizes or {}
    feeds: dict[str, Any] = {}
    for port in Session(_model(model)).inputs:
        if port.has_default:
            continue
        if port.shape is None or port.dtype is None:
            raise ValueError(f"input `{port.name}` is {port.text}: its value cannot be made up, pass `inputs`")
        shape = [size if isinstance(size, int) else sizes.get(size or "", 3) for size in port.shape]
        if port.dtype.kind == "b":
            feeds[port.name] = random.integers(0, 2, shape).astype(bool)
        elif port.dtype.kind in "iu":
            feeds[port.name] = random.integers(0, 3, shape).astype(port.dtype)
        elif port.dtype.kind == "O":
            feeds[port.name] = random.choice(np.array(["", "a", "bc", "ß"], object), shape)
        else:
            feeds[port.name] = random.standard_normal(shape).astype(port.dtype)
    return feeds


def assert_runs_like(
    model: Any,
    reference: Any,
    inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    *,
    rtol: float = 1e-3,
    atol: float = 1e-5,
    seed: int = 0,
) -> None:
    """Fails if a model computes something else than ``reference``: ``"onnxruntime"``, ``"onnx"`` (its reference evaluator), another
    model, or a function from a dictionary of inputs to a list of outputs.

    ``inputs`` are a dictionary or several; by default they are random.
    """
    ours = _model(model)
    session = Session(ours)
    if inputs is None:
        inputs = [inputs_for(ours, seed + at) for at in range(3)]
    for at, feeds in enumerate([inputs] if isinstance(inputs, Mapping) else inputs):
        actual, expected = session.run_list(dict(feeds)), _reference(reference, ours)(dict(feeds))
        for port, one, other in zip(session.outputs, actual, expected):
            message = f"output `{port.name}` for inputs {at} is not that of {reference if isinstance(reference, str) else 'the reference'}"
            _compare(one, other, rtol, atol, message)


def _compare(actual: Any, expected: Any, rtol: float, atol: float, message: str) -> None:
    if isinstance(actual, list):
        assert isinstance(expected, (list, tuple)) and len(actual) == len(expected), message
        for one, other in zip(actual, expected):
            _compare(one, other, rtol, atol, message)
    elif isinstance(actual, dict):
        assert isinstance(expected, dict) and list(actual) == list(expected), message
        for key in actual:
            _compare(actual[key], expected[key], rtol, atol, message)
    elif actual is None or expected is None:
        assert actual is None and expected is None, message
    else:
        one, other = np.asarray(actual), np.asarray(expected)
        assert one.shape == other.shape, f"{message}: its shape is {one.shape}, expected {other.shape}"
        assert one.dtype == other.dtype or "O" in (one.dtype.kind, other.dtype.kind), (
            f"{message}: its type is {one.dtype}, expected {other.dtype}"
        )
        if one.dtype.kind in "OUS":
            np.testing.assert_array_equal(one, other, message)
        else:
            actual, expected = (x if x.dtype.kind in "biufc" and x.dtype.itemsize > 2 else x.astype(np.float32) for x in (one, other))
            np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=message)


def _reference(reference: Any, model: Model) -> Any:
    if callable(reference):
        return reference
    if reference == "onnxruntime":
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]

        session = onnxruntime.InferenceSession(model.to_bytes(), providers=["CPUExecutionProvider"])
        return lambda feeds: session.run(None, feeds)
    if reference == "onnx":
        import onnx
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(onnx.load_from_string(model.to_bytes()))
        return lambda feeds: evaluator.run(None, feeds)
    if isinstance(reference, str) and not reference.endswith((".onnx", ".onnxtxt", ".onnxtext", ".json", ".textproto")):
        raise ValueError(f"the reference is {reference!r}, expected 'onnxruntime', 'onnx', a model or a function")
    return Session(_model(reference)).run_list
