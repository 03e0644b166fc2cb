"""Operators of Python, with the types of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class TensorType(NamedTuple):
    """The type of a tensor: ``dtype`` and ``shape``, a tuple of integers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Operator:
    """An operator for ``Session(operators=…)`` and ``Model.operators``: a function of arrays, and one of their types.

    ``function`` is called with the inputs of a node (``None`` for one that is left out) and its attributes as keywords, and returns an
    array or a tuple of arrays. ``infer`` is called with a ``TensorType`` for each input in place of the array, and returns that of the
    output or a list of them, or ``None`` if they depend on elements. With it, the nodes after the operator are planned and fused before
    the run; it is called once for each plan. A result of another type is an error.

    >>> import numpy as np, onnxtxt
    >>> text = '<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { t = my.Scale <by = 3.0> (x) y = Neg(t) }'
    >>> scale = onnxtxt.Operator(lambda x, by: x * np.float32(by), infer=lambda x, by: x)
    >>> onnxtxt.Session(onnxtxt.parse(text), operators={"my.Scale": scale}).run({"x": np.array([1, 2], np.float32)})
    {'y': array([-3., -6.], dtype=float32)}
    """

    __slots__ = ("function", "infer")

    def __init__(self, function: Callable[..., Any], infer: Callable[..., Any] | None = None) -> None:
        if not callable(function):
            raise TypeError(f"the function of an operator is {type(function).__name__}, expected something to call")
        if infer is not None and not callable(infer):
            raise TypeError(f"the inference of an operator is {type(infer).__name__}, expected a function or None")
        self.function = function
        self.infer = infer

    def __call__(self, *inputs: Any, **attributes: Any) -> Any:
        return self.function(*inputs, **attributes)
