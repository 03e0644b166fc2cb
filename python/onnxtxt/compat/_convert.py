"""What the reference's version converter does beside the conversion: the nodes that it chooses where others compute the same, casts of
integers, and models that it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from onnxtxt.compat._messages import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, graphs, nested

#: Operators that accept integers from version 9 on.
_FLOATS_BEFORE_9 = frozenset(["Flatten", "Gemm", "Greater", "Less", "MatMul", "PRelu"])
_T = TensorProto
_INTEGERS = frozenset(
    [_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64, _T.BOOL]
)
#: Of those, the ones that a float of 32 bits does not hold.
_ROUNDED = frozenset([_T.INT32, _T.INT64, _T.UINT32, _T.UINT64])
#: Operators that have an attribute `layout` from version 14 on.
_WITH_LAYOUT = frozenset(["RNN", "GRU", "LSTM"])
_WITH_AXIS = frozenset(["Softmax", "LogSoftmax", "Hardmax"])


def without_outputs(graph: GraphProto) -> str | None:
    """Why the reference refuses a graph with nodes that have no outputs."""
    for inner in graphs(graph):
        words = "at least 1 output" if inner is graph else "exactly one output"
        for node in inner.node:
            if not node.output:
                return f"{node.op_type} node must have {words}"
    return None


def _is_of_onnx(node: NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


def _types(graph: GraphProto, outer: dict[str, ValueInfoProto]) -> dict[str, ValueInfoProto]:
    lists: list[Iterable[ValueInfoProto]] = [graph.value_info, graph.input, graph.output]
    types = outer | {value.name: value for values in lists for value in values}
    for tensor in graph.initializer:
        if tensor.name not in types:
            types[tensor.name] = ValueInfoProto(name=tensor.name)
            types[tensor.name].type.tensor_type.elem_type = tensor.data_type
    return types


def cast_integers(graph: GraphProto, inferred: GraphProto, outer: dict[str, ValueInfoProto] | None = None) -> bool:
    """Puts casts around nodes that accept integers from version 9 on, as the reference does. Says whether there were any; warns where they
    round. `inferred` is the same graph with the types of its values."""
    types = _types(inferred, outer or {})
    names = {name for inner in graphs(graph) for node in inner.node for name in [*node.input, *node.output]} | set(types)
    nodes: list[NodeProto] = []
    changed = False
    for node, typed in zip(graph.node, inferred.node):
        for inner, typed_inner in zip(nested(node), nested(typed)):
            changed |= cast_integers(inner, typed_inner, types)
        elems = {types[name].type.tensor_type.elem_type for name in node.input if name in types}
        if not (_is_of_onnx(node) and node.op_type in _FLOATS_BEFORE_9 and elems and elems <= _INTEGERS):
            nodes.append(node)
            continue
        if elems & _ROUNDED:
            warnings.warn(
                f"{node.op_type} of {', '.join(_T.DataType.Name(elem) for elem in sorted(elems))} is computed by floats before version 9: "
                "numbers above 2**24 are rounded", UserWarning, stacklevel=3,
            )
        changed = True
        name_of = {}
        for name in dict.fromkeys(name for name in node.input if name):
            name_of[name] = _fresh(f"{name}_float", names)
            nodes.append(_cast(name, name_of[name], _T.FLOAT))
        new = NodeProto()
        new.CopyFrom(node)
        del new.input[:]
        new.input.extend(name_of.get(name, name) for name in node.input)
        nodes.append(new)
        if node.op_type not in ("Greater", "Less"):
            (output,) = node.output
            new.output[0] = _fresh(f"{output}_float", names)
            nodes.append(_cast(new.output[0], output, min(elems)))
    if changed:
        _replace(graph.node, nodes)
    return changed


def _fresh(name: str, names: set[str]) -> str:
    fresh, count = name, 0
    while fresh in names:
        count += 1
        fresh = f"{name}_{count}"
    names.add(fresh)
    return fresh


def _cast(source: str, result: str, to: int) -> NodeProto:
    attribute = AttributeProto(name="to", type=AttributeProto.INT, i=to)
    return NodeProto(op_type="Cast", input=[source], output=[result], attribute=[attribute])


def _replace(field, items: Iterable) -> None:
    copies = [type(item).FromString(item.SerializeToString()) for item in items]
    del field[:]
    field.extend(copies)


def arrange(model_graph: GraphProto, before: GraphProto, source: int, target: int) -> None:
    """Makes the nodes of a converted graph those of the reference where both compute the same. `source` and `target` are versions."""
    were_there = {name for graph in graphs(before) for node in graph.node for name in node.output}
    types = _types(model_graph, {})
    for graph in graphs(model_graph):
        types = _types(graph, types)
        for node in graph.node:
            if not _is_of_onnx(node):
                continue
            has = {attribute.name for attribute in node.attribute}
            if source < 14 <= target and node.op_type in _WITH_LAYOUT and "layout" not in has:
                node.attribute.append(AttributeProto(name="layout", type=AttributeProto.INT, i=0))
            if target < 13 <= source and node.op_type in _WITH_AXIS:
                _count_axis_from_start(node, types)
        if source < 11 <= target:
            _store_pads(graph, were_there)
        if source < 13 <= target:
            _shape_first(graph, were_there)


def _count_axis_from_start(node: NodeProto, types: dict[str, ValueInfoProto]) -> None:
    value = types.get(node.input[0]) or types.get(node.output[0])
    if value is None or not value.type.tensor_type.HasField("shape"):
        return
    for attribute in node.attribute:
        if attribute.name == "axis" and attribute.i < 0:
            attribute.i += len(value.type.tensor_type.shape.dim)


def _store_pads(graph: GraphProto, were_there: set[str]) -> None:
    """Makes initializers of the constants that have become the `pads` of Pad beside a value."""
    pads = {node.input[1] for node in graph.node if node.op_type == "Pad" and _is_of_onnx(node) and len(node.input) > 2} - were_there
    nodes = []
    for node in graph.node:
        if node.op_type == "Constant" and node.output[0] in pads and node.attribute[0].name == "value":
            tensor = TensorProto()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
            graph.initializer.append(tensor)
        else:
            nodes.append(node)
    if len(nodes) < len(graph.node):
        _replace(graph.node, nodes)


def _shape_first(graph: GraphProto, were_there: set[str]) -> None:
    """Puts the Shape of an operand of Softmax before its Flatten."""
    nodes = list(graph.node)
    is_changed = False
    for i in range(len(nodes) - 1):
        one, two = nodes[i], nodes[i + 1]
        if (one.op_type, two.op_type) == ("Flatten", "Shape") and list(one.input) == list(two.input) and not were_there & {*one.output, *two.output}:
            nodes[i], nodes[i + 1] = two, one
            is_changed = True
    if is_changed:
        _replace(graph.node, nodes)
