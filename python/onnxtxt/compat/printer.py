"""`onnx.printer`: messages as text."""

from __future__ import annotations

import re

import onnxtxt
from onnxtxt.compat._errors import InferenceError, refuse
from onnxtxt.compat._messages import FunctionProto, GraphProto, ModelProto, NodeProto

# Findings about the number of elements of a tensor.
_SIZES = {"E0503", "E0505", "E0506", "E0507"}
# Elements of tensors, which the reference writes without spaces.
_ELEMENTS = re.compile(r"= \{[-+0-9.,einfa\s]*\}")


def to_text(proto: ModelProto | FunctionProto | GraphProto | NodeProto) -> str:
    """The text of a message, which `onnx.parser` reads.

    Raises `shape_inference.InferenceError` if a tensor does not have the number of elements that its shape says: its text would be that of
    another tensor.

    >>> from onnxtxt.compat import helper
    >>> to_text(helper.make_node("Relu", ["x"], ["y"]))
    'y = Relu(x)'
    """
    if isinstance(proto, ModelProto):
        read: onnxtxt.Model | onnxtxt.Part = onnxtxt.decode(proto)
    elif isinstance(proto, FunctionProto):
        read = onnxtxt.parse_function(proto)
    elif isinstance(proto, GraphProto):
        read = onnxtxt.parse_graph(proto)
    elif isinstance(proto, NodeProto):
        read = onnxtxt.parse_node(proto)
    else:
        raise TypeError("Unsupported argument type.")
    text = read.text()
    if "raw_data: " in text:
        refuse((finding for finding in read.check("spec") if finding.code in _SIZES), InferenceError)
    # Parts in files begin with a comment where the text alone does not say what they are.
    lines = text.splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("#@", "# proto-message")))
    return _ELEMENTS.sub(lambda match: "= " + re.sub(r"\s+", "", match[0][2:]), text)
