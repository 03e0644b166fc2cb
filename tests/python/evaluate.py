"""Whether models compute the same.

A request has "models", a list of {"path"} or {"base64"}; the first is the one that the others have to agree with. Inputs
are those of a test ("data": a folder with input_0.pb ...; with "beside": true a model, whose inputs are in the .npz file
beside it, or made of some size that it accepts), or random numbers of the declared types ("seed"). "engine"
is reference (the default), onnxruntime, or functions; with "inline": true the first model as `onnx.inliner` flattens it is one more
that has to agree. Results are the same if no bit differs, or with "rtol" if they are that close.

The answer has "equal", with "which" of the models differs and the "difference"; or "unfit", why the first model says
nothing: it cannot be run, or gives other results each time.
"""

from __future__ import annotations

import base64
import pathlib
import time
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

# What a symbol in the shape of a random input stands for.
EXTENT = 3
# How long sizes are tried that a model may take, and how many elements they may have.
SECONDS = 20
ELEMENTS = 4_000_000


def results(request):
    models = [onnx.load_from_string(content(m)) for m in request["models"]]
    if request.get("inline"):
        from onnx import inliner

        models.append(inliner.inline_local_functions(models[0]))
    run = {"reference": reference, "onnxruntime": onnxruntime, "functions": Functions.run}[
        request.get("engine", "reference")
    ]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if request.get("beside"):
                inputs = accepted(run, models[0], request["data"])
            elif "data" in request:
                inputs = stored(models[0], request["data"])
            else:
                inputs = random(models[0], request["seed"])
            expected = run(models[0], inputs)
            if difference(expected, run(models[0], inputs), 0) is not None:
                return {"unfit": "other results each time"}
        except Exception as e:
            return {"unfit": f"{type(e).__name__}: {str(e)[:200]}"}
        for which, model in enumerate(models[1:], 1):
            try:
                found = difference(expected, run(model, inputs), request.get("rtol", 0))
            except Exception as e:
                found = f"{type(e).__name__}: {str(e)[:500]}"
            if found is not None:
                return {"equal": False, "which": which, "difference": found}
    return {"equal": True}


def accepted(run, model, path):
    """Inputs of some size that onnxruntime takes: those of the .npz file beside the model, if there is one."""
    import infer
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    end = time.monotonic() + SECONDS
    for inputs in infer.feeds(path, session.get_inputs()):
        if time.monotonic() > end or sum(np.size(value) for value in inputs.values()) > ELEMENTS:
            break
        try:
            run(model, inputs)
        except Exception:  # these sizes do not fit
            continue
        return inputs
    raise ValueError("no size fits")


def content(model) -> bytes:
    if "path" in model:
        return pathlib.Path(model["path"]).read_bytes()
    return base64.b64decode(model["base64"])


def reference(model, inputs):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, inputs)


def onnxruntime(model, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


class Functions:
    """Runs models with functions as the specification has it. The engines lack some of that: defaults of attributes, inputs
    and outputs that a call leaves out, results that are arguments. Of operators with graphs there is If only."""

    def __init__(self, model):
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}

    @staticmethod
    def run(model, inputs):
        graph = model.graph
        values = {t.name: numpy_helper.to_array(t) for t in graph.initializer} | inputs
        Functions(model).nodes(graph.node, values, {})
        return [values[output.name] for output in graph.output]

    def nodes(self, nodes, values, attributes):
        for node in nodes:
            given = {}
            for attribute in node.attribute:
                name = attribute.ref_attr_name
                if not name or name in attributes:
                    given[attribute.name] = onnx.AttributeProto()
                    given[attribute.name].CopyFrom(attributes[name] if name else attribute)
                    given[attribute.name].name = attribute.name
            inputs = [values[name] if name else None for name in node.input]
            key = (node.domain, node.op_type, node.overload)
            if key in self.functions:
                outputs = self.call(self.functions[key], inputs, given)
            elif node.op_type == "If":
                branch = given["then_branch" if inputs[0] else "else_branch"].g
                inner = dict(values)
                self.nodes(branch.node, inner, attributes)
                outputs = [inner[output.name] for output in branch.output]
            else:
                outputs = self.operator(node, inputs, given)
            values.update((name, value) for name, value in zip(node.output, outputs) if name)

    def call(self, function, inputs, given):
        for default in function.attribute_proto:
            given.setdefault(default.name, default)
        inputs = inputs + [None] * (len(function.input) - len(inputs))
        values = dict(zip(function.input, inputs))
        self.nodes(function.node, values, given)
        return [values[name] for name in function.output]

    def operator(self, node, inputs, given):
        from onnx.reference import ReferenceEvaluator

        names = [f"input{i}" if value is not None else "" for i, value in enumerate(inputs)]
        alone = onnx.helper.make_node(node.op_type, names, list(node.output), domain=node.domain)
        alone.attribute.extend(given.values())
        feeds = {name: value for name, value in zip(names, inputs) if name}
        return ReferenceEvaluator(alone).run(None, feeds)


def stored(model, folder):
    """The inputs of a test. One without a file has a default."""
    inputs = {}
    for i, value in enumerate(model.graph.input):
        path = pathlib.Path(folder) / f"input_{i}.pb"
        if path.exists():
            inputs[value.name] = read(path.read_bytes(), value.type)
    return inputs


def read(data: bytes, kind):
    message, convert = {
        "tensor_type": (onnx.TensorProto, numpy_helper.to_array),
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
    }[kind.WhichOneof("value")]
    proto = message()
    proto.ParseFromString(data)
    return convert(proto)


def random(model, seed):
    rng = np.random.default_rng(seed)
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for value in model.graph.input:
        if value.name in stored:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value or EXTENT for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(dtype, np.floating):
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            inputs[value.name] = rng.integers(0, 2, shape).astype(dtype)
    return inputs


def difference(a, b, rtol):
    """Where two results differ, or None."""
    if a is None or b is None:
        return None if a is b else f"{describe(a)} is {describe(b)}"
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            return f"{len(a)} values are {len(b)}"
        found = (difference(x, y, rtol) for x, y in zip(a, b))
        return next((f"{i}: {d}" for i, d in enumerate(found) if d is not None), None)
    if isinstance(a, dict) and isinstance(b, dict):
        return difference(sorted(a.items()), sorted(b.items()), rtol)
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{describe(x)} is {describe(y)}"
    if x.dtype.hasobject or x.dtype.kind in "USb":
        return None if np.array_equal(x, y) else f"{describe(x)} is {describe(y)}"
    if rtol and x.dtype.kind == "f":
        return None if np.allclose(x, y, rtol=rtol, atol=rtol, equal_nan=True) else f"{x.flat[:8]} is {y.flat[:8]}"
    return None if x.tobytes() == y.tobytes() else f"{x.flat[:8]} is {y.flat[:8]}"


def describe(x):
    return f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)[:100]
