"""What the reference knows of the values of a model, and what they turn out to be.

A type is text: `float[2,N,?]`, `float` for a scalar, `float[]` for unknown rank, `seq(int64[])`.  Values of nested graphs
and functions are left out: the reference keeps no place for them.
"""

from __future__ import annotations

import os

import onnx
import onnx.shape_inference

ELEM = {value: name.lower() for name, value in onnx.TensorProto.DataType.items()}


def tensor_text(tensor) -> str:
    elem = ELEM.get(tensor.elem_type, "?") if tensor.elem_type else "?"
    if not tensor.HasField("shape"):
        return elem + "[]"
    dims = []
    for dim in tensor.shape.dim:
        kind = dim.WhichOneof("value")
        dims.append("?" if kind is None or dim.dim_param == "" and kind == "dim_param" else str(getattr(dim, kind)))
    return elem + (f"[{','.join(dims)}]" if dims else "")


def type_text(type_proto) -> str:
    kind = type_proto.WhichOneof("value")
    if kind is None:
        return "?"
    value = getattr(type_proto, kind)
    if kind == "tensor_type":
        return tensor_text(value)
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({tensor_text(value)})"
    if kind in ("sequence_type", "optional_type"):
        return f"{'seq' if kind == 'sequence_type' else 'optional'}({type_text(value.elem_type)})"
    if kind == "map_type":
        return f"map({ELEM.get(value.key_type, '?')}, {type_text(value.value_type)})"
    return "opaque"


def load(request) -> onnx.ModelProto:
    """The model without what it declares of intermediate values, and of outputs, where "strip" is asked for."""
    model = onnx.load(request["path"], load_external_data=False)
    if request.get("strip"):
        del model.graph.value_info[:]
        for output in model.graph.output:
            strip(output.type)
    return model


def strip(type_proto):
    """Leaves the element type: the reference does not infer an output without one."""
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        getattr(type_proto, kind).ClearField("shape")
    elif kind in ("sequence_type", "optional_type"):
        strip(getattr(type_proto, kind).elem_type)


def infer(request):
    model = onnx.shape_inference.infer_shapes(load(request), data_prop=bool(request.get("data_prop")))
    graph = model.graph
    return {"types": {v.name: type_text(v.type) for v in [*graph.value_info, *graph.output] if v.name}}


def stripped(request):
    """The model that `infer` with "strip" is given, written to the file "out"."""
    with open(request["out"], "wb") as f:
        f.write(load(request).SerializeToString())
    return {}


def runtime(request):
    """The shapes of all values of the main graph that onnxruntime computes with the inputs of an .npz file."""
    import numpy as np
    import onnxruntime as ort

    model = onnx.load(request["path"], load_external_data=False)
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    changed = os.path.join(os.path.dirname(request["path"]), f".all-outputs-{os.getpid()}.onnx")
    try:
        onnx.save(model, changed)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = ort.InferenceSession(changed, options, providers=["CPUExecutionProvider"])
    finally:
        if os.path.exists(changed):
            os.remove(changed)
    with np.load(request["inputs"], allow_pickle=True) as inputs:
        feed = {i.name: inputs[i.name] for i in session.get_inputs() if i.name in inputs}
    names = [o.name for o in session.get_outputs()]
    values = session.run(names, feed)
    return {
        "inputs": {name: list(value.shape) for name, value in feed.items()},
        "shapes": {n: [str(v.dtype), list(v.shape)] for n, v in zip(names, values) if isinstance(v, np.ndarray)},
    }
