"""The functions `printable_…` of `onnx.helper`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnxtxt.compat._messages import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto
from onnxtxt.compat._types import tensor_dtype_to_field

_LONGEST = 64


def _quoted(text: bytes) -> str:
    plain = text.decode(errors="ignore")
    return plain if len(plain) < _LONGEST else f"{plain[:_LONGEST]}...<+len={len(plain) - _LONGEST}>"


def _list(items: Any) -> str:
    return f"[{', '.join(items)}]"


def _number(value: float) -> str:
    return f"{value:.15g}"


def _value(attribute: AttributeProto) -> str:
    single: list[tuple[str, Callable[[Any], str]]] = [
        ("f", lambda value: _number(value)),
        ("i", str),
        ("s", lambda value: repr(_quoted(value))),
        ("t", lambda value: "<Tensor>" if value.dims else f"<Scalar Tensor {getattr(value, tensor_dtype_to_field(value.data_type))}>"),
        ("g", lambda value: f"<graph {value.name}>"),
        ("tp", lambda value: f"<Type Proto {value}>"),
        ("sparse_tensor", lambda value: "<Sparse Tensor>"),
    ]
    for field, text in single:
        if attribute.HasField(field):
            return text(getattr(attribute, field))
    lists: list[tuple[str, Callable[[Any], str]]] = [
        ("floats", lambda values: _list(map(_number, values))),
        ("ints", lambda values: _list(map(str, values))),
        ("strings", lambda values: str([_quoted(value) for value in values])),
        ("tensors", lambda values: "[<Tensor>, ...]"),
        ("sparse_tensors", lambda values: "[<Sparse Tensor>, ...]"),
        ("type_protos", lambda values: f"[ {' '.join(f'<Type Proto {value}>,' for value in values)[:-1]} ]"),
        ("graphs", lambda values: f"[ {' '.join(f'<graph {value.name}>,' for value in values)[:-1]} ]"),
    ]
    for field, text in lists:
        values = getattr(attribute, field)
        if values:
            return text(values)
    return "<Unknown>"


def _graphs(attribute: AttributeProto) -> list[GraphProto]:
    return [attribute.g] if attribute.HasField("g") else list(attribute.graphs)


def printable_attribute(attr: AttributeProto, subgraphs: bool = False) -> str | tuple[str, list[GraphProto]]:
    """An attribute as `name = value`; with `subgraphs`, and its graphs."""
    text = f"{attr.name} = {_value(attr)}"
    return (text, _graphs(attr)) if subgraphs else text


def printable_dim(dim: Any) -> str:
    """A dimension: its size, its name, or `?`."""
    which = dim.WhichOneof("value")
    return "?" if which is None else str(getattr(dim, which))


def printable_type(t: TypeProto) -> str:
    """A type: `FLOAT, 2xN`."""
    which = t.WhichOneof("value")
    if which != "tensor_type":
        return f"Unknown type {which}" if which else ""
    text: str = TensorProto.DataType.Name(t.tensor_type.elem_type)
    if t.tensor_type.HasField("shape"):
        text += ", " + ("x".join(map(printable_dim, t.tensor_type.shape.dim)) or "scalar")
    return text


def printable_value_info(v: ValueInfoProto) -> str:
    """A value with its type."""
    return f"%{v.name}[{printable_type(v.type)}]"


def printable_tensor_proto(t: TensorProto) -> str:
    """A tensor without its elements."""
    return f"%{t.name}[{TensorProto.DataType.Name(t.data_type)}, {'x'.join(map(str, t.dims)) or 'scalar'}]"


def _node(node: NodeProto, prefix: str) -> tuple[str, list[GraphProto]]:
    names = lambda values: ", ".join(f"%{name}" for name in values)  # noqa: E731
    attributes = ", ".join(sorted(f"{attribute.name} = {_value(attribute)}" for attribute in node.attribute))
    text = f"{node.op_type}{f'[{attributes}]' if attributes else ''}({names(node.input)})"
    if node.output:
        text = f"{names(node.output)} = {text}"
    return prefix + text, [graph for attribute in node.attribute for graph in _graphs(attribute)]


def printable_node(node: NodeProto, prefix: str = "", subgraphs: bool = False) -> str | tuple[str, list[GraphProto]]:
    """A node; with `subgraphs`, and the graphs of its attributes."""
    text, graphs = _node(node, prefix)
    return (text, graphs) if subgraphs else text


def printable_graph(graph: GraphProto, prefix: str = "") -> str:
    """A graph, with its nested graphs behind it. `onnxtxt.compat.printer.to_text` writes what can be read back."""
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = {value.name for value in graph.input}
    parts = [("", [printable_value_info(value) for value in graph.input if value.name not in initializers])]
    if graph.input:
        defaults = [printable_value_info(value) for value in graph.input if value.name in initializers]
        if defaults:
            parts.append(("optional inputs with matching initializers ", defaults))
        if len(defaults) < len(initializers):
            others = [printable_tensor_proto(tensor) for tensor in graph.initializer if tensor.name not in inputs]
            parts.append(("initializers ", others))
    lines, head = [], f"graph {graph.name}"
    for title, values in parts if graph.input else []:
        head += f" {title}("
        if values:
            lines.append(prefix + head)
            lines += [f"{prefix}  {value}" for value in values]
            head = ")"
        else:
            head += " )"
    lines.append(f"{prefix}{head} {{")
    nested: list[GraphProto] = []
    for node in graph.node:
        text, graphs = _node(node, prefix + "  ")
        lines.append(text)
        nested += graphs
    outputs = ", ".join(f"%{value.name}" for value in graph.output)
    lines += [f"{prefix}  return {outputs}".rstrip(), prefix + "}"]
    return "\n".join(lines + ["\n" + printable_graph(inner) for inner in nested])
