"""The messages of ONNX: the classes of the package `onnx` where it is installed, otherwise classes with the same fields.

These have what programs use of protobuf's: fields by name, `add`, `extend`, `CopyFrom`, `HasField`, `WhichOneof`, `ListFields`, `SerializeToString`,
`FromString`, and the numbers of enumerations. Fields that they do not know are lost when they read bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = [
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "MapProto",
    "Message",
    "ModelProto",
    "NodeProto",
    "OperatorSetIdProto",
    "OptionalProto",
    "SequenceProto",
    "SparseTensorProto",
    "StringStringEntryProto",
    "TensorProto",
    "TensorShapeProto",
    "TrainingInfoProto",
    "TypeProto",
    "ValueInfoProto",
    "graphs",
    "message",
    "nested",
    "newest",
]

try:
    from google.protobuf.message import Message  # type: ignore[import-untyped, unused-ignore]
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        MapProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        OptionalProto,
        SequenceProto,
        SparseTensorProto,
        StringStringEntryProto,
        TensorProto,
        TensorShapeProto,
        TrainingInfoProto,
        TypeProto,
        ValueInfoProto,
    )
except ImportError:
    from onnxtxt.compat._own_messages import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        MapProto,
        Message,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        OptionalProto,
        SequenceProto,
        SparseTensorProto,
        StringStringEntryProto,
        TensorProto,
        TensorShapeProto,
        TrainingInfoProto,
        TypeProto,
        ValueInfoProto,
    )


def message(model: Any) -> Any:
    """A model of this package as a message, with external data where it is."""
    return ModelProto.FromString(model.to_bytes(external_data="keep"))


def newest() -> tuple[int, int]:
    """The newest versions of the format and of ai.onnx that the package `onnx` knows, or this one where it is not installed."""
    try:
        import onnx
    except ImportError:
        import onnxtxt

        model: Any = onnxtxt.Model.new()
        return model.ir_version, model.opset_imports[""]
    return onnx.IR_VERSION, onnx.defs.onnx_opset_version()


def nested(node: Any) -> Iterator[Any]:
    """The graphs of a node."""
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def graphs(graph: Any) -> Iterator[Any]:
    """A graph and all that are nested in it, the inner ones first."""
    for node in graph.node:
        for inner in nested(node):
            yield from graphs(inner)
    yield graph
