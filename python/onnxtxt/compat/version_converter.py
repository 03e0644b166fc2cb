"""`onnx.version_converter`: models converted to another version of ai.onnx."""

from __future__ import annotations

from onnx import ModelProto

import onnxtxt


class ConvertError(RuntimeError):
    """A node cannot be converted. The message says which one and why."""


def convert_version(model: ModelProto, target_version: int) -> ModelProto:
    """The model with the operators of another version of ai.onnx. Raises `ConvertError` if a node cannot be converted."""
    if not isinstance(model, ModelProto):
        raise TypeError(f"VersionConverter only accepts ModelProto as model, incorrect type: {type(model)}")
    if not isinstance(target_version, int):
        raise TypeError(f"VersionConverter only accepts int as target_version, incorrect type: {type(target_version)}")
    result = onnxtxt.decode(model)
    try:
        result.convert_opset(target_version)
    except (onnxtxt.Error, ValueError) as error:
        raise ConvertError(str(error)) from None
    return result.to_proto()
