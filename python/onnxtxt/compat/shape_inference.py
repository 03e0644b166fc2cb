"""`onnx.shape_inference`: types and shapes of all values."""

from __future__ import annotations

import os
from collections.abc import Sequence

import onnxtxt
from onnxtxt.compat._errors import (
    ACCEPTED_TYPES,
    NO_CONTRADICTIONS,
    READ_BY_INFERENCE,
    InferenceError,
    ValidationError,
    refuse,
)
from onnxtxt.compat._messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    message,
    newest,
)
from onnxtxt.compat._registered import declare, is_registered

__all__ = [
    "GraphInferencer",
    "InferenceContext",
    "InferenceError",
    "infer_function_output_types",
    "infer_node_outputs",
    "infer_shapes",
    "infer_shapes_path",
]

try:
    # What inference functions of registered operators get.
    from onnx.onnx_cpp2py_export.shape_inference import GraphInferencer, InferenceContext
except ImportError:
    GraphInferencer = InferenceContext = None  # type: ignore[misc, assignment]


def _infer(model: onnxtxt.Model, check_type: bool, strict_mode: bool, data_prop: bool = True) -> onnxtxt.Model:
    if model.functions or strict_mode:
        found = model.check("spec")
        refuse((finding for finding in found if finding.code == "E0803"), ValidationError)
        if strict_mode:
            refuse((finding for finding in found if finding.code in READ_BY_INFERENCE), InferenceError)
    if strict_mode:
        _ensure_strict(model)
    # As the reference does: an initializer that is an input as well is what it stores.
    inferred = list(model.infer(known_defaults=True, propagates=data_prop))
    if declare(model, inferred, check_type, strict_mode, data_prop):
        again = model.infer(known_defaults=True, propagates=data_prop)
        inferred = [finding for finding in again if not is_registered(finding)]
    raised = (ACCEPTED_TYPES if check_type else frozenset()) | (
        {finding.code for finding in inferred} - ACCEPTED_TYPES - NO_CONTRADICTIONS if strict_mode else frozenset()
    )
    refuse((finding for finding in inferred if finding.code in raised or strict_mode | check_type and is_registered(finding)), InferenceError)
    return model


def _ensure_strict(model: onnxtxt.Model) -> None:
    """Refuses what the specification leaves open and the reference refuses: calls that use some results of a function, and inputs of
    LinearAttention that its rule does not read."""
    results = {(function.domain, function.name): function.graph for function in model.functions}
    if not results and (model.opset_imports.get("") or 0) < 27:
        return
    for node in model.graph.all_nodes():
        called = results.get((node.domain, node.op_type))
        if called is not None and len(node.outputs) < len(called.outputs):
            raise InferenceError(
                f"the call of {node.op_type} has {len(node.outputs)} outputs, but the function has {len(called.outputs)}"
            )
        if (node.domain, node.op_type) == ("", "LinearAttention"):
            rule = node.attributes.get("update_rule", "gated_delta")
            for name, index, rules in [("decay", 4, ("gated", "gated_delta")), ("beta", 5, ("delta", "gated_delta"))]:
                if rule not in rules and len(node.inputs) > index and node.inputs[index] is not None:
                    raise InferenceError(f"LinearAttention with the rule {rule} does not read `{name}`")


def infer_shapes(
    model: ModelProto | bytes, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False
) -> ModelProto:
    """The model with the types of all values declared.

    With `check_type`, operands of types that an operator does not accept raise `InferenceError`; with `strict_mode`, other contradictions do.
    With `data_prop`, elements of small tensors that nodes compute from known ones are known as well. Functions that call themselves raise
    `checker.ValidationError`, messages of other types `TypeError`.

    >>> from onnxtxt.compat import parser
    >>> model = parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x) => (y) { y = Transpose(x) }')
    >>> [dim.dim_value for dim in infer_shapes(model).graph.output[0].type.tensor_type.shape.dim]
    [3, 2]
    """
    if isinstance(model, (str, os.PathLike)):
        raise TypeError(
            "infer_shapes only accepts ModelProto or bytes,"
            " For Model paths (str or os.PathLike), use infer_shapes_path()."
        )
    if not isinstance(model, (ModelProto, bytes)):
        raise TypeError(f"infer_shapes only accepts ModelProto or bytes, incorrect type: {type(model)}")
    if isinstance(model, ModelProto) and any(tensor.data_type == TensorProto.UNDEFINED for tensor in model.graph.initializer):
        return _infer_untyped(model, check_type, strict_mode, data_prop)
    return message(_infer(onnxtxt.decode(model), check_type, strict_mode, data_prop))


def _infer_untyped(model: ModelProto, check_type: bool, strict_mode: bool, data_prop: bool) -> ModelProto:
    """Infers a model with initializers that have no element type: nothing is known of them, and `strict_mode` refuses them."""
    untyped = [tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.UNDEFINED]
    if strict_mode:
        raise InferenceError(f"the initializer {untyped[0].name} has no element type")
    names = {tensor.name for tensor in untyped}
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(tensor for tensor in model.graph.initializer if tensor.name not in names)
    missing = names - {value.name for value in model.graph.input}
    copy.graph.input.extend(ValueInfoProto(name=name) for name in sorted(missing))
    inferred = message(_infer(onnxtxt.decode(copy), check_type, strict_mode, data_prop))
    del inferred.graph.input[len(model.graph.input) :]
    del inferred.graph.initializer[:]
    inferred.graph.initializer.extend(model.graph.initializer)
    return inferred


def infer_shapes_path(
    model_path: str | os.PathLike,
    output_path: str | os.PathLike = "",
    check_type: bool = False,
    strict_mode: bool = False,
    data_prop: bool = False,
) -> None:
    """The same for files; without `output_path`, the model is replaced."""
    if isinstance(model_path, ModelProto):
        raise TypeError(
            "infer_shapes_path only accepts model Path (String),you can use infer_shapes for the ModelProto."
        )
    for name, path in [("model", model_path), ("output", output_path)]:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(
                f"infer_shapes_path only accepts {name} path as a string or PathLike, "
                f"incorrect {name} path type: {type(path)}"
            )
    model = _infer(onnxtxt.open(model_path), check_type, strict_mode, data_prop)
    model.save(os.fspath(output_path) or os.fspath(model_path), form="binary", external_data="keep")


def _model(nodes, inputs, outputs, opsets, ir_version, initializers=(), functions=()) -> onnxtxt.Model:
    graph = GraphProto(name="g", node=nodes, initializer=initializers)
    for name, ty in inputs:
        graph.input.add(name=name).type.CopyFrom(ty)
    for name in outputs:
        graph.output.add(name=name)
    imports = [OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets.items()]
    return onnxtxt.decode(
        ModelProto(ir_version=ir_version, opset_import=imports, graph=graph, functions=functions)
    )


def _types(model: onnxtxt.Model) -> dict[str, TypeProto]:
    _infer(model, False, True)
    graph = message(model).graph
    return {value.name: value.type for value in graph.output if value.HasField("type")}


def infer_node_outputs(
    schema,
    node: NodeProto,
    input_types: dict[str, TypeProto],
    input_data: dict[str, TensorProto] | None = None,
    input_sparse_data: dict[str, SparseTensorProto] | None = None,
    opset_imports: list[OperatorSetIdProto] | None = None,
    ir_version: int = newest()[0],
) -> dict[str, TypeProto]:
    """The types of the results of a node, for the types and, where they are known, the elements of its operands."""
    for name in node.input:
        if name and name not in input_types:
            raise KeyError(name)
    opsets = {opset.domain: opset.version for opset in opset_imports or []}
    opsets.setdefault(schema.domain, schema.since_version)
    data = []
    for name, tensor in (input_data or {}).items():
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.name = name
        data.append(copy)
    known = {tensor.name for tensor in data}
    inputs = [(name, ty) for name, ty in input_types.items() if name not in known]
    outputs = [name for name in node.output if name]
    return _types(_model([node], inputs, outputs, opsets, ir_version, data))


def infer_function_output_types(
    function: FunctionProto, input_types: Sequence[TypeProto], attributes: Sequence[AttributeProto]
) -> list[TypeProto]:
    """The types of the results of a function, for types of its inputs and values of its attributes."""
    inputs = [(f"input_{i}", ty) for i, ty in enumerate(input_types)]
    outputs = [f"output_{i}" for i in range(len(function.output))]
    node = NodeProto(
        op_type=function.name,
        domain=function.domain or "local",
        overload=function.overload,
        input=[name for name, _ in inputs],
        output=outputs,
        attribute=attributes,
    )
    opsets = {opset.domain: opset.version for opset in function.opset_import} | {node.domain: 1}
    called = FunctionProto()
    called.CopyFrom(function)
    called.domain = node.domain
    types = _types(_model([node], inputs, outputs, opsets, newest()[0], functions=[called]))
    return [types.get(name, TypeProto()) for name in outputs]
