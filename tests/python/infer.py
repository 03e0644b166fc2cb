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
    """The shapes of all values of the main graph that onnxruntime computes: with the inputs of the .npz file beside the
    model, or with inputs of some sizes that it accepts."""
    import numpy as np
    import onnxruntime as ort

    path = request["path"]
    model = onnx.load(path, load_external_data=False)
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    changed = os.path.join(os.path.dirname(path), f".all-outputs-{os.getpid()}.onnx")
    try:
        onnx.save(model, changed)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        session = ort.InferenceSession(changed, options, providers=["CPUExecutionProvider"])
    finally:
        if os.path.exists(changed):
            os.remove(changed)
    names = [o.name for o in session.get_outputs()]
    last = None
    for feed in feeds(path, session.get_inputs()):
        try:
            values = session.run(names, feed)
        except Exception as e:  # these sizes do not fit
            last = e
            continue
        shapes = {n: [str(v.dtype), list(v.shape)] for n, v in zip(names, values) if isinstance(v, np.ndarray)}
        return {"inputs": {n: list(np.shape(v)) for n, v in feed.items()}, "shapes": shapes}
    raise last or ValueError("no inputs")


SIZES = [64, 96, 100, 128, 224, 256, 320, 480, 640, 48, 32, 24, 16, 12, 8, 7, 5, 4, 3, 2, 1, 512, 160, 80, 4000, 16000, 32000]
NUMPY = {"float": "f4", "double": "f8", "float16": "f2", "int64": "i8", "int32": "i4", "int8": "i1", "uint8": "u1",
         "bool": "?", "string": "U", "uint32": "u4", "uint64": "u8", "int16": "i2", "uint16": "u2"}


def feeds(path, inputs):
    """Stored inputs, then made-up ones: the first open extent 1, the others all of one size."""
    import numpy as np

    stored = os.path.splitext(path)[0] + ".npz"
    if os.path.exists(stored):
        with np.load(stored, allow_pickle=True) as arrays:
            yield {i.name: arrays["in_" + i.name] for i in inputs if "in_" + i.name in arrays}
    for batch in (1, 2):
        for size in SIZES:
            random = np.random.RandomState(7)
            feed = {}
            for i in inputs:
                kind = NUMPY.get(i.type.removeprefix("tensor(").removesuffix(")"))
                if kind is None:
                    return
                open_ones = [k for k, d in enumerate(i.shape) if not isinstance(d, int) or d < 0]
                shape = [d if k not in open_ones else batch if k == open_ones[0] else size for k, d in enumerate(i.shape)]
                if kind == "U":
                    feed[i.name] = np.full(shape, "a", dtype=object)
                elif kind.startswith("f"):
                    feed[i.name] = random.uniform(0, 1, shape).astype(kind)
                else:
                    feed[i.name] = np.ones(shape, kind)
            yield feed
