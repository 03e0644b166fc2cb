"""Writes the models that `cargo xtask bench models` runs, and their inputs.

    python models.py CORPUS FOLDER [NAME ...]     only those whose name has one of these

First are the light models among ONNX's own tests, which have the structure of well-known networks and one number for all
weights: they get random weights as for training (He et al., "Delving deep into rectifiers", 2015), FOLDER/light/<name>.onnx.
Then the exports of `export_torch.py`, with the inputs that it has stored.

For each, one line of JSON: `name`, and `model` with its `inputs` as `peers/src/lib.rs` describes them, or `why` it is not there.
"""

from __future__ import annotations

import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "xtask" / "corpus"))

import export_torch  # noqa: E402

WEIGHTED = ("Conv", "Gemm", "MatMul")


def weights(op, place, shape, rng):
    """Random weights for an input of an operator."""
    normal = rng.standard_normal(shape, dtype=numpy.float32)
    if op in WEIGHTED and len(shape) > 1:
        return normal * numpy.float32((2.0 / numpy.prod(shape[1:])) ** 0.5)
    if op in WEIGHTED:
        return normal * numpy.float32(0.01)
    spread = normal * numpy.float32(0.05)
    if op == "BatchNormalization":  # scale, bias, mean, variance
        return {1: 1 + spread, 2: spread, 3: spread, 4: 1 + numpy.abs(spread)}[place]
    return 1 + spread


def fill(model, rng):
    """Replaces the weights that `ConstantOfShape` makes."""
    graph = model.graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    readers = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            readers.setdefault(name, (node.op_type, place))
    is_filler = lambda node: node.op_type == "ConstantOfShape" and node.input[0] in stored
    fillers = [node for node in graph.node if is_filler(node)]
    nodes = [node for node in graph.node if not is_filler(node)]
    for node in fillers:
        shape = tuple(int(extent) for extent in stored.pop(node.input[0]))
        stored[node.output[0]] = weights(*readers.get(node.output[0], ("", 0)), shape, rng)
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in stored.items())
    # Since version 4, an initializer that is no input is a constant.
    model.ir_version = max(model.ir_version, 4)
    shapes = {node.input[0] for node in fillers}
    inputs = [port for port in graph.input if port.name not in stored and port.name not in shapes]
    del graph.input[:]
    graph.input.extend(inputs)


def unsaturate(model, feeds):
    """Divides the last weights by the spread of what goes into the last Softmax, which would be 0 and 1 otherwise."""
    import onnxruntime

    softmax = next((node for node in model.graph.node if node.op_type == "Softmax"), None)
    if softmax is None:
        return
    logits = onnx.ModelProto()
    logits.CopyFrom(model)
    del logits.graph.output[:]
    logits.graph.output.append(onnx.helper.make_tensor_value_info(softmax.input[0], TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(logits.SerializeToString(), providers=["CPUExecutionProvider"])
    spread = numpy.std(session.run(None, feeds)[0])
    producers = {name: node for node in model.graph.node for name in node.output}
    node = producers[softmax.input[0]]
    while node.op_type not in WEIGHTED:
        node = producers[node.input[0]]
    for tensor in model.graph.initializer:
        if tensor.name in node.input[1:]:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) / spread, tensor.name))


def light(corpus, folder, name):
    """A light model with random weights, and its inputs."""
    path = folder / "light" / f"{name}.onnx"
    is_new = not path.exists()
    model = onnx.load(corpus / "backend" / "light" / f"test_{name}" / "model.onnx" if is_new else path)
    if is_new:
        fill(model, numpy.random.default_rng(0))
    rng, feeds = numpy.random.default_rng(1), {}
    for port in model.graph.input:
        shape = [extent.dim_value for extent in port.type.tensor_type.shape.dim]
        feeds[port.name] = rng.uniform(-1, 1, shape).astype(numpy.float32)
    if is_new:
        unsaturate(model, feeds)
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model, path)
    return path, feeds


def export(corpus, name):
    """An export, and its stored inputs."""
    path = corpus / "models" / name / f"{name}.onnx"
    if not path.exists():
        raise FileNotFoundError("it is not in the corpus (`cargo xtask corpus --set exports`)")
    stored = numpy.load(path.with_suffix(".npz"), allow_pickle=False)
    return path, {key[3:]: stored[key] for key in stored.files if key.startswith("in_")}


def written(folder, feeds):
    """The inputs in files."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs = []
    for at, (name, array) in enumerate(feeds.items()):
        file = folder / f"input_{at}"
        array.tofile(file)
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        kind = TensorProto.DataType.Name(kind).lower()
        inputs.append({"name": name, "type": kind, "dims": array.shape, "file": str(file)})
    return inputs


def main():
    corpus, folder, wanted = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    lights = sorted(path.parent.name.removeprefix("test_") for path in corpus.glob("backend/light/*/model.onnx"))
    jobs = [(name, lambda name=name: light(corpus, folder, name)) for name in lights]
    jobs += [(name, lambda name=name: export(corpus, name)) for name in sorted(export_torch.REG)]
    for name, make in jobs:
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            path, feeds = make()
            said = {"model": str(path), "inputs": written(folder / "inputs" / name, feeds)}
        except Exception as e:
            said = {"why": str(e).strip().split("\n")[0] or type(e).__name__}
        print(json.dumps({"name": name, **said}), flush=True)


if __name__ == "__main__":
    main()
