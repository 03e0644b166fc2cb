"""`onnx.checker`: whether messages follow the specification."""

from __future__ import annotations

import os
from collections.abc import Iterable

import onnx
import onnx.helper

import onnxtxt

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


class ValidationError(Exception):
    """A message breaks rules of the specification. The message has all findings."""


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
DEFAULT_CONTEXT.ir_version = onnx.IR_VERSION
DEFAULT_CONTEXT.opset_imports = {"": onnx.defs.onnx_opset_version()}
LEXICAL_SCOPE_CONTEXT = C.LexicalScopeContext()

# Findings that need types of values, which only the full check of the reference infers.
_NEED_TYPES = {"E0209", "E1010", "E1011", "E1012", "E1013", "E1014", "E1015", "E1016", "E1017"}


def _ensure_type(proto, expected) -> None:
    if not isinstance(proto, expected):
        raise TypeError(f"The proto message needs to be of type '{expected.__name__}'")


def _refuse(found: Iterable[onnxtxt.Finding]) -> None:
    errors = [finding for finding in found if finding.is_error]
    if errors:
        raise ValidationError("\n".join(map(str, errors)))


def _part(read, proto, ignore: Iterable[str] = ()) -> None:
    try:
        part = read(proto)
    except onnxtxt.Error as error:
        raise ValidationError(str(error)) from None
    _refuse(finding for finding in part.check() if finding.code not in ignore)


def _nodes(nodes: list[onnx.NodeProto], ctx) -> None:
    """Checks nodes in a function, whose inputs are what the nodes read."""
    computed = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in node.input if name and name not in computed)
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in ctx.opset_imports.items()]
    function = onnx.FunctionProto(
        name="f", domain="local", input=list(read), node=nodes, opset_import=imports,
        output=dict.fromkeys(name for name in computed if name),
    )
    _part(onnxtxt.parse_function, function)


def check_value_info(value_info: onnx.ValueInfoProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a declaration is not valid."""
    _ensure_type(value_info, onnx.ValueInfoProto)
    _part(onnxtxt.parse_value, value_info)


def check_tensor(tensor: onnx.TensorProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a stored tensor is not valid."""
    _ensure_type(tensor, onnx.TensorProto)
    attribute = onnx.AttributeProto(name="value", type=onnx.AttributeProto.TENSOR, t=tensor)
    _nodes([onnx.NodeProto(op_type="Constant", output=["y"], attribute=[attribute])], ctx)


def check_sparse_tensor(sparse: onnx.SparseTensorProto, ctx=DEFAULT_CONTEXT) -> None:
    """Raises `ValidationError` if a stored sparse tensor is not valid."""
    _ensure_type(sparse, onnx.SparseTensorProto)
    attribute = onnx.AttributeProto(name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse)
    _nodes([onnx.NodeProto(op_type="Constant", output=["y"], attribute=[attribute])], ctx)


def check_attribute(attr: onnx.AttributeProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if an attribute is not valid."""
    _ensure_type(attr, onnx.AttributeProto)
    _part(onnxtxt.parse_attribute, attr)


def check_node(node: onnx.NodeProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a node is not valid, or not a use of its operator."""
    _ensure_type(node, onnx.NodeProto)
    _nodes([node], ctx)


def check_function(function: onnx.FunctionProto, ctx=None, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a function is not valid."""
    _ensure_type(function, onnx.FunctionProto)
    _part(onnxtxt.parse_function, function)


def check_graph(graph: onnx.GraphProto, ctx=DEFAULT_CONTEXT, lexical_scope_ctx=LEXICAL_SCOPE_CONTEXT) -> None:
    """Raises `ValidationError` if a graph is not valid."""
    _ensure_type(graph, onnx.GraphProto)
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in ctx.opset_imports.items()]
    _check(onnxtxt.decode(onnx.ModelProto(ir_version=ctx.ir_version, graph=graph, opset_import=imports)), False, False)


def _check(model: onnxtxt.Model, full_check: bool, check_custom_domain: bool) -> None:
    ignored = () if full_check else _NEED_TYPES
    found = [finding for finding in model.check() if finding.code not in ignored]
    if check_custom_domain:
        known = set(onnxtxt.ops())
        functions = {(function.domain, function.name) for function in model.functions}
        for node in model.graph.all_nodes():
            if node.domain not in known | {"ai.onnx"} and (node.domain, node.op_type) not in functions:
                raise ValidationError(f"No Op registered for {node.op_type} with domain `{node.domain}`")
    _refuse(found)


def check_model(
    model: onnx.ModelProto | str | bytes | os.PathLike,
    full_check: bool = False,
    skip_opset_compatibility_check: bool = False,
    check_custom_domain: bool = False,
) -> None:
    """Raises `ValidationError` if a model is not valid: a message, its bytes, or a path. With `full_check`, types and shapes are checked as
    well."""
    if isinstance(model, bytes) and len(model) > MAXIMUM_PROTOBUF:
        raise ValueError("This protobuf of onnx model is too large (>2GiB). Call check_model with model path instead.")
    try:
        read = onnxtxt.open(model) if isinstance(model, (str, os.PathLike)) else onnxtxt.decode(model)
    except onnxtxt.FileError as error:
        raise ValidationError(str(error)) from None
    _check(read, full_check, check_custom_domain)
