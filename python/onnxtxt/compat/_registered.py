"""Operators that programs have registered with the package `onnx` (`onnx.defs.register_schema`): their inference functions can be called by
that package alone, so it infers the types of their results."""

from __future__ import annotations

import onnxtxt
from onnxtxt.compat._errors import InferenceError, name_in
from onnxtxt.compat._messages import ModelProto, TypeProto, graphs


_KNOWN: set[tuple[str, str]] = set()


def _known() -> set[tuple[str, str]]:
    """The operators of this package, by domain and name."""
    if not _KNOWN:
        _KNOWN.update(("" if op["domain"] == "ai.onnx" else op["domain"], op["name"]) for op in onnxtxt.ops())
    return _KNOWN


def _registered(model: onnxtxt.Model) -> set[tuple[str, str]]:
    """The operators of a model that only the package `onnx` has."""
    try:
        from onnx import defs
    except ImportError:
        return set()
    used = {(node.domain, node.op_type) for node in model.graph.all_nodes()}
    own = {(function.domain, function.name) for function in model.functions}
    return {(domain, name) for domain, name in used - own - _known() if defs.has(name, domain)}


def is_registered(finding: onnxtxt.Finding) -> bool:
    """Whether a finding is about an operator that is unknown only here."""
    if finding.code != "E1001":
        return False
    try:
        from onnx import defs
    except ImportError:
        return False
    return bool(defs.has(name_in(finding)))


def declare(
    model: onnxtxt.Model, found: list[onnxtxt.Finding], check_type: bool, strict_mode: bool, data_prop: bool
) -> bool:
    """Declares the types of the results of operators that programs have registered, and says whether there are any. `found` is what
    inference without them has found."""
    domains = set(model.opset_imports) - {domain for domain, _ in _known()}
    if not domains and all(finding.code != "E1001" for finding in found):
        return False
    operators = _registered(model)
    if not operators:
        return False
    from onnx.onnx_cpp2py_export import shape_inference

    try:
        encoded = shape_inference.infer_shapes(model.to_bytes(external_data="keep"), check_type, strict_mode, data_prop)
    except RuntimeError as error:
        raise InferenceError(str(error)) from None
    types: dict[str, TypeProto] = {}
    for graph in graphs(ModelProto.FromString(encoded).graph):
        types |= {value.name: value.type for values in (graph.value_info, graph.output) for value in values}
    for node in list(model.graph.all_nodes()):
        for value in node.outputs if (node.domain, node.op_type) in operators else ():
            ty = types.get(value.name) if value is not None else None
            if value is not None and ty is not None and ty.WhichOneof("value") is not None:
                value.type = onnxtxt.parse_type(ty).text()
    return True
