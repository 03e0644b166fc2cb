"""`onnx.parser`: models and parts of them from text."""

from __future__ import annotations

import onnxtxt
from onnxtxt.compat._messages import FunctionProto, GraphProto, ModelProto, NodeProto


class ParseError(Exception):
    """A text cannot be parsed. The message has all findings with their lines."""


def _parsed(read, text: str, message):
    if not isinstance(text, str):
        raise TypeError(f"expected a str, not {type(text).__name__}")
    try:
        part = read(text)
    except onnxtxt.Error as error:
        raise ParseError(str(error)) from None
    return message.FromString(part.to_bytes())


def parse_model(model_text: str) -> ModelProto:
    """A model from its text. Raises `ParseError` if it cannot be parsed.

    >>> parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }').graph.name
    'g'
    """

    def read(text):
        model = onnxtxt.parse(text)
        if model.lost_parts:
            raise onnxtxt.Error(str(model.lost_parts))
        return model

    return _parsed(read, model_text, ModelProto)


def parse_graph(graph_text: str) -> GraphProto:
    """A graph from its text. Raises `ParseError` if it cannot be parsed."""
    return _parsed(onnxtxt.parse_graph, graph_text, GraphProto)


def parse_function(function_text: str) -> FunctionProto:
    """A function from its text. Raises `ParseError` if it cannot be parsed."""
    return _parsed(onnxtxt.parse_function, function_text, FunctionProto)


def parse_node(node_text: str) -> NodeProto:
    """A node from its text. Raises `ParseError` if it cannot be parsed."""
    return _parsed(onnxtxt.parse_node, node_text, NodeProto)
