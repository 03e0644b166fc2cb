"""Comparisons of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxtxt._native import Model, _compare


class Comparison:
    """Results compared with expected ones: ``bool(comparison)`` tells whether all are close enough, ``str(comparison)`` is the report of
    ``onnxtxt verify``, and ``outputs`` has a dictionary for each output with ``name``, ``status`` (``equal``, ``close``, ``close as a
    whole``, ``differs``), ``difference`` and ``spread``, the statistics of the differences."""

    __slots__ = ("_text", "outputs")

    def __init__(self, text: str, outputs: list[dict[str, Any]]) -> None:
        self._text = text
        self.outputs = outputs

    def __bool__(self) -> bool:
        return all(output["status"] != "differs" for output in self.outputs)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<onnxtxt.Comparison {', '.join(output['status'] for output in self.outputs)}>"


def compare(
    results: Mapping[str, Any],
    expected: Mapping[str, Any],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    models: Sequence[Model] = (),
) -> Comparison:
    """Compares results with expected ones of the same names, as ``onnxtxt verify`` does.

    ``rtol`` and ``atol`` are the allowed differences: by default 1e-3 and 1e-5, and more for float16, bfloat16, float8 and for what is
    quantized, which ``models`` tell. Raises ``onnxtxt.Error`` if a result is missing.

    >>> import numpy as np, onnxtxt
    >>> comparison = onnxtxt.compare({"y": np.array([1, 2.5])}, {"y": np.array([1, 2.0])})
    >>> bool(comparison), comparison.outputs[0]["spread"]["max"]
    (False, 0.5)
    >>> print(comparison)
    DIFFERS  y: element [1] is 2.5 and 2: 5e-1 absolute, 2.5e-1 relative, 1125899906842624 ULP; 1 of 2 elements differ
             cosine 0.996546, differences: median 5.0e-1, p90 5.0e-1, p99 5.0e-1, max 5.0e-1
    <BLANKLINE>
    """
    return Comparison(*_compare(dict(results), dict(expected), rtol=rtol, atol=atol, models=list(models)))
