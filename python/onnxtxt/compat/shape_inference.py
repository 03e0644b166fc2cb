"""`onnx.shape_inference`: types and shapes of all values."""

from __future__ import annotations

import os
from collections.abc import Sequence

import onnx
from onnx import AttributeProto, FunctionProto, ModelProto, TypeProto

import onnxtxt


class InferenceError(RuntimeError):
    """Types and shapes contradict each other. The message has the findings."""


def _infer(model: onnxtxt.Model, check_type: bool, strict_mode: bool) -> onnxtxt.Model:
    found = [finding for finding in model.infer() if finding.is_error]
    if found and (strict_mode or check_type):
        raise InferenceError("\n".join(map(str, found)))
    return model


def infer_shapes(
    model: ModelProto | bytes, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False
) -> ModelProto:
    """The model with the types of all values declared. With `strict_mode` or `check_type`, contradictions raise `InferenceError`.

    Known elements of small tensors are always propagated, whether `data_prop` is set or not.
    """
    if isinstance(model, (str, os.PathLike)):
        raise TypeError(
            "infer_shapes only accepts ModelProto or bytes,"
            " For Model paths (str or os.PathLike), use infer_shapes_path()."
        )
    if not isinstance(model, (ModelProto, bytes)):
        raise TypeError(f"infer_shapes only accepts ModelProto or bytes, incorrect type: {type(model)}")
    return _infer(onnxtxt.decode(model), check_type, strict_mode).to_proto()


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
    model = _infer(onnxtxt.open(model_path), check_type, strict_mode)
    model.save(os.fspath(output_path) or os.fspath(model_path), form="binary", external_data="keep")


def _model(nodes, inputs, outputs, opsets, ir_version, initializers=(), functions=()) -> onnxtxt.Model:
    graph = onnx.GraphProto(name="g", node=nodes, initializer=initializers)
    for name, ty in inputs:
        graph.input.add(name=name).type.CopyFrom(ty)
    for name in outputs:
        graph.output.add(name=name)
    imports = [onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in opsets.items()]
    return onnxtxt.decode(
        onnx.ModelProto(ir_version=ir_version, opset_import=imports, graph=graph, functions=functions)
    )


def _types(model: onnxtxt.Model) -> dict[str, TypeProto]:
    _infer(model, False, True)
    graph = model.to_proto().graph
    return {value.name: value.type for value in graph.output if value.HasField("type")}


def infer_node_outputs(
    schema,
    node: onnx.NodeProto,
    input_types: dict[str, TypeProto],
    input_data: dict[str, onnx.TensorProto] | None = None,
    input_sparse_data: dict[str, onnx.SparseTensorProto] | None = None,
    opset_imports: list[onnx.OperatorSetIdProto] | None = None,
    ir_version: int = onnx.IR_VERSION,
) -> dict[str, TypeProto]:
    """The types of the results of a node, for the types and, where they are known, the elements of its operands."""
    for name in node.input:
        if name and name not in input_types:
            raise KeyError(name)
    opsets = {opset.domain: opset.version for opset in opset_imports or []}
    opsets.setdefault(schema.domain, schema.since_version)
    data = []
    for name, tensor in (input_data or {}).items():
        copy = onnx.TensorProto()
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
    node = onnx.NodeProto(
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
    types = _types(_model([node], inputs, outputs, opsets, onnx.IR_VERSION, functions=[called]))
    return [types.get(name, TypeProto()) for name in outputs]
