"""`onnx.printer`: messages as text."""

from __future__ import annotations

import re

import onnx

import onnxtxt

# Elements of tensors, which the reference writes without spaces.
_ELEMENTS = re.compile(r"= \{[-+0-9.,einfa\s]*\}")


def to_text(proto: onnx.ModelProto | onnx.FunctionProto | onnx.GraphProto | onnx.NodeProto) -> str:
    """The text of a message, which `onnx.parser` reads.

    >>> to_text(onnx.helper.make_node("Relu", ["x"], ["y"]))
    'y = Relu(x)'
    """
    if isinstance(proto, onnx.ModelProto):
        text = onnxtxt.decode(proto).text()
    elif isinstance(proto, onnx.FunctionProto):
        text = onnxtxt.parse_function(proto).text()
    elif isinstance(proto, onnx.GraphProto):
        text = onnxtxt.parse_graph(proto).text()
    elif isinstance(proto, onnx.NodeProto):
        text = onnxtxt.parse_node(proto).text()
    else:
        raise TypeError("Unsupported argument type.")
    # Parts in files begin with a comment where the text alone does not say what they are.
    lines = text.splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("#@", "# proto-message")))
    return _ELEMENTS.sub(lambda match: "= " + re.sub(r"\s+", "", match[0][2:]), text)
