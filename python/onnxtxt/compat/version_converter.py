"""`onnx.version_converter`: models converted to another version of ai.onnx."""

from __future__ import annotations

from collections.abc import Iterator

import onnxtxt
from onnxtxt.compat._convert import arrange, cast_integers, without_outputs
from onnxtxt.compat._errors import InferenceError, refuse
from onnxtxt.compat._messages import GraphProto, ModelProto, message

#: Contradictions of ranks.
_RANKS = frozenset(["E1015"])


class ConvertError(RuntimeError):
    """A node cannot be converted. The message says which one and why."""


class _InferenceError(ConvertError, InferenceError):
    """A node lacks inputs or outputs that its operator requires."""

    __module__ = "onnxtxt.compat.shape_inference"
    __qualname__ = "InferenceError"


def convert_version(model: ModelProto, target_version: int) -> ModelProto:
    """The model with the operators of another version of ai.onnx, and with the types of its outputs.

    Raises `ConvertError` if a node cannot be converted or a name is not defined, and `shape_inference.InferenceError` if a node has not the
    inputs and outputs that its operator requires.

    >>> from onnxtxt.compat import parser
    >>> model = parser.parse_model('<ir_version: 8, opset_import: ["": 12]> g (float[2,3] x) => (float[1,3] y) { y = ReduceSum<axes=[0]>(x) }')
    >>> [node.op_type for node in convert_version(model, 13).graph.node]
    ['Constant', 'ReduceSum']
    """
    if not isinstance(model, ModelProto):
        raise TypeError(f"VersionConverter only accepts ModelProto as model, incorrect type: {type(model)}")
    if not isinstance(target_version, int):
        raise TypeError(f"VersionConverter only accepts int as target_version, incorrect type: {type(target_version)}")
    # As the reference does: an initializer that is an input as well is what it stores.
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = list(model.graph.input)
    before = ModelProto()
    before.CopyFrom(model)
    del before.graph.input[:]
    before.graph.input.extend(value for value in inputs if value.name not in stored)
    result = onnxtxt.decode(before)
    refuse((finding for finding in result.check("spec") if finding.code in {"E0203", "E0205"}), ConvertError)
    why = without_outputs(before.graph)
    if why is not None:
        raise ConvertError(why)
    version = result.opset_imports.get("") or 0
    # Models whose types and shapes contradict each other are converted, as by the reference, but for matrices that are none;
    # `check_model` tells of that.
    found = result.infer()
    refuse((finding for finding in found if finding.code == "E1004"), _InferenceError)
    if min(version, target_version) < 7 <= max(version, target_version):
        refuse((finding for finding in found if finding.code in _RANKS and "`Gemm`" in finding.message), ConvertError)
    if target_version < 9 <= version and cast_integers(before.graph, message(result).graph):
        result = onnxtxt.decode(before)
        result.infer()
    try:
        result.convert_opset(target_version)
    except (onnxtxt.Error, ValueError) as error:
        raise ConvertError(_explained(str(error))) from None
    converted = message(result)
    _remove_constants(converted.graph, set(_read(before.graph)))
    arrange(converted.graph, before.graph, version, target_version)
    kept = {tensor.name for tensor in converted.graph.initializer}
    types = {value.name: value for value in converted.graph.input}
    del converted.graph.input[:]
    converted.graph.input.extend(
        types.get(value.name, value) for value in inputs if value.name not in stored or value.name in kept
    )
    return converted


def _explained(why: str) -> str:
    """The sentence of the reference before a finding, where programs look for it."""
    return f"antialias=1 is not supported before version 18.\n{why}" if "attribute `antialias`" in why else why


def _read(graph: GraphProto) -> Iterator[str]:
    """The names that a graph reads, also in nested graphs."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                yield from _read(inner)
    yield from (value.name for value in graph.output)


def _remove_constants(graph: GraphProto, were_read: set[str]) -> None:
    """Removes constants that became attributes: nothing reads them any more."""
    gone = were_read - set(_read(graph))
    nodes = [node for node in graph.node if not (node.op_type == "Constant" and node.output and gone.issuperset(node.output))]
    tensors = [tensor for tensor in graph.initializer if tensor.name not in gone]
    declared = [value for value in graph.value_info if value.name not in gone]
    for field, items in [(graph.node, nodes), (graph.initializer, tensors), (graph.value_info, declared)]:
        if len(items) < len(field):
            copies = [type(item).FromString(item.SerializeToString()) for item in items]
            del field[:]
            field.extend(copies)
