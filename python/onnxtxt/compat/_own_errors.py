"""Exceptions where the package `onnx` is not installed."""

from __future__ import annotations


class InferenceError(RuntimeError):
    """Types and shapes contradict each other. The message has the findings."""

    __module__ = "onnxtxt.compat.shape_inference"
