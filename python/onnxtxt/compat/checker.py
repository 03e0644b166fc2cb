"""`onnx.checker`: whether messages follow the specification."""

from __future__ import annotations

import os
from collections.abc import Iterable

import onnxtxt
from onnxtxt.compat._errors import ACCEPTED, NEED_TYPES, InferenceError, ValidationError, refuse
from onnxtxt.compat._messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
    ValueInfoProto,
    newest,
)
from onnxtxt.compat._registered import is_registered

__all__ = [
    "check_attribute",
    "check_function",
    "check_graph",
    "check_model",
    "check_node",
    "check_sparse_tensor",
    "check_tensor",
    "check_value_info",
    "DEFAULT_CONTEXT",
    "LEXICAL_SCOPE_CONTEXT",
    "ValidationError",
    "C",
    "MAXIMUM_PROTOBUF",
]

MAXIMUM_PROTOBUF = 2147483647


class C:
    """The classes of contexts, where `onnx.checker` has them."""

    class CheckerContext:
        """The versions that a part of a model is checked with."""

        def __init__(self) -> None:
            self.ir_version = -1
            self.opset_imports: dict[str, int] = {}

    class LexicalScopeContext:
        """The values around a part of a model. They are not checked."""

    ValidationError = ValidationError


DEFAULT_CONTEXT = C.CheckerContext()
DEFAULT_CONTEXT.ir_version, _opset = newest()
DEFAULT_CONTEXT.opset_imports = {"": _opset}
LEXICAL_SCOPE_CONTEXT = C.LexicalScopeContext()

def _ensure_type(proto, expected) -> None:
    if not isinstance(proto, expected):
        raise TypeError(f"The proto message needs to be of type '{expected.__name__}'")


def _part(read, proto, ignore: Iterable[str] = ACCEPTED) -> None:
    try:
        part = read(proto)
    except onnxtxt.Error as error:
        raise ValidationError(str(error)) from None
    refuse(finding for finding in part.check() if finding.code not in ignore)


def _nodes(nodes: list[NodeProto], ctx) -> None:
    """Checks nodes in a function, whose inputs are what the nodes read."""
    computed = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in node.input if name and name not in computed)
    imports = [OperatorSetIdProto(domain=domain, version=version) for domain, version in ctx.opset_imports.items()]
    function = FunctionProto(
        name="f", domain="local", input=list(read), node=nodes, opset_import=imports,
        output=dict.fromkeys(name for name in computed if name),
    )
    _part(onnxtxt.parse_function, function)


def check_value_info(value_info: ValueInfoProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a declaration is not valid."""
    _ensure_type(value_info, ValueInfoProto)
    _part(onnxtxt.parse_value, value_info)


def check_tensor(tensor: TensorProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a stored tensor is not valid."""
    _ensure_type(tensor, TensorProto)
    attribute = AttributeProto(name="value", type=AttributeProto.TENSOR, t=tensor)
    _nodes([NodeProto(op_type="Constant", output=["y"], attribute=[attribute])], ctx)


def check_sparse_tensor(sparse: SparseTensorProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a stored sparse tensor is not valid."""
    _ensure_type(sparse, SparseTensorProto)
    attribute = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
    _nodes([NodeProto(op_type="Constant", output=["y"], attribute=[attribute])], ctx)


def check_attribute(attr: AttributeProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if an attribute is not valid."""
    _ensure_type(attr, AttributeProto)
    _part(onnxtxt.parse_attribute, attr)


def check_node(node: NodeProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a node is not valid, or not a use of its operator."""
    _ensure_type(node, NodeProto)
    _nodes([node], ctx)


def check_function(function: FunctionProto, ctx=None, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a function is not valid."""
    _ensure_type(function, FunctionProto)
    _part(onnxtxt.parse_function, function)


def check_graph(graph: GraphProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a graph is not valid."""
    _ensure_type(graph, GraphProto)
    imports = [OperatorSetIdProto(domain=domain, version=version) for domain, version in ctx.opset_imports.items()]
    _check(onnxtxt.decode(ModelProto(ir_version=ctx.ir_version, graph=graph, opset_import=imports)), False, False)


def _check(model: onnxtxt.Model, full_check: bool, check_custom_domain: bool) -> None:
    found = [finding for finding in model.check() if finding.code not in ACCEPTED and not is_registered(finding)]
    if check_custom_domain:
        known = {operator["domain"] for operator in onnxtxt.ops()} | {""}
        functions = {(function.domain, function.name) for function in model.functions}
        for node in model.graph.all_nodes():
            if node.domain not in known and (node.domain, node.op_type) not in functions:
                raise ValidationError(f"No Op registered for {node.op_type} with domain `{node.domain}`")
    refuse(finding for finding in found if finding.code not in NEED_TYPES)
    if full_check:
        refuse(found, InferenceError)


def check_model(
    model: ModelProto | str | bytes | os.PathLike,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Raises `ValidationError` if a model is not valid: a message, its bytes, or a path. With `full_check`, types and shapes are checked as
    well, and contradictions raise `shape_inference.InferenceError`. Bytes that are no message raise `ValueError`.

    >>> from onnxtxt.compat import parser
    >>> check_model(parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(z) }'))
    Traceback (most recent call last):
    onnxtxt.compat.checker.ValidationError: error[E0203]: use of undefined value `z`
    ...
    """
    if isinstance(model, bytes) and len(model) > MAXIMUM_PROTOBUF:
        raise ValueError("This protobuf of onnx model is too large (>2GiB). Call check_model with model path instead.")
    try:
        read = onnxtxt.open(model) if isinstance(model, (str, os.PathLike)) else onnxtxt.decode(model)
    except onnxtxt.FileError as error:
        raise ValidationError(str(error)) from None
    lost = read.lost_parts if isinstance(model, bytes) else ()
    if lost:
        raise ValueError("Protobuf decoding failed.\n" + "\n".join(map(str, lost)))
    _check(read, full_check, check_custom_domain)
