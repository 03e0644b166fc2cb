"""Writes the models that `cargo xtask bench models` runs, and their inputs.

    python models.py CORPUS FOLDER SET [NAME ...]     only those whose name has one of these; SET is small, patterns or all

The first are made by the package `generated`, FOLDER/generated/<name>.onnx, and made again when the package has changed.
Then come the light models among ONNX's own tests, which have the structure of well-known networks and one number for all
weights: they get random weights as for training (He et al., "Delving deep into rectifiers", 2015), FOLDER/light/<name>.onnx.
Then the exports of `export_torch.py`, with the inputs that it has stored.

For each, one line of JSON: `name`, `group`, `what` it is, the `tolerance` of its results as a part of the largest, and `model` with
its `inputs` as `peers/src/lib.rs` describes them, or `why` it is not there.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "xtask" / "corpus"))

import export_torch  # noqa: E402
from generated import images, kernels, patterns, sequences, small, variants  # noqa: E402

WEIGHTED = ("Conv", "Gemm", "MatMul")

# How far results may be apart, as a part of the largest magnitude. Every runtime adds in an order of its own, and where numbers are
# rounded to few bits, one that is nearly halfway goes up here and down there.
TOLERANCES = {"float": 1e-2, "float16": 3e-2, "quantized": 1e-1, "small": 1e-2, "patterns": 1e-2, "kernels": 1e-2}

NETWORKS = {build.__name__.replace("_", "-"): (images, build) for build in images.NETWORKS}
NETWORKS |= {build.__name__.replace("_", "-"): (sequences, build) for build in sequences.NETWORKS}

# Other forms of networks.
VARIANTS = {
    "resnet-qdq": variants.qdq,
    "mobilenet-qdq": variants.qdq,
    "mobilenet-hard-qdq": variants.qdq,
    "densenet-qdq": variants.qdq,
    "unet-qdq": variants.qdq,
    "resnet-qoperator": variants.qoperator,
    "mobilenet-qoperator": variants.qoperator,
    "shufflenet-qoperator": variants.qoperator,
    "bert-qdq": variants.qdq,
    "bert-dynamic": variants.dynamic,
    "gpt-dynamic": variants.dynamic,
    "vit-dynamic": variants.dynamic,
    "lstm-dynamic": variants.dynamic,
    "resnet-float16": variants.float16,
    "mobilenet-float16": variants.float16,
    "bert-float16": variants.float16,
    "gpt-float16": variants.float16,
}

SMALL = """resnet mobilenet efficientnet bert gpt lstm resnet-qdq mobilenet-qoperator bert-dynamic bert-float16 tree-regressor
linear-model loop tiny""".split()


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
    # Since version 4, an initializer that is not an input is a constant.
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


def network(name):
    module, build = NETWORKS[name]
    return module.made(build)


def variant(name):
    network_name, _, _ = name.rpartition("-")
    model, feeds = network(network_name)
    return VARIANTS[name](model, feeds), feeds


def stamp():
    """What generated models depend on."""
    sources = sorted((HERE / "generated").glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


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


def generated(folder, name, make):
    """A generated model and its inputs, kept as long as what makes it stays the same."""
    path, said = folder / "generated" / f"{name}.onnx", folder / "generated" / f"{name}.json"
    if said.exists():
        kept = json.loads(said.read_text())
        if kept["stamp"] == stamp() and path.exists():
            return kept["said"]
    path.parent.mkdir(parents=True, exist_ok=True)
    model, feeds = make()
    onnx.save(model, path)
    result = {"model": str(path), "inputs": written(folder / "inputs" / name, feeds)}
    said.write_text(json.dumps({"stamp": stamp(), "said": result}))
    return result


def loaded(folder, name, make):
    path, feeds = make()
    return {"model": str(path), "inputs": written(folder / "inputs" / name, feeds)}


def first_line(text):
    return (text or "").strip().split("\n")[0].rstrip(".")


def subjects(corpus, folder):
    """All models: name, group, what it is, and what makes it."""
    for name, (_, build) in NETWORKS.items():
        yield name, "float", first_line(build.__doc__), lambda name=name: generated(folder, name, lambda: network(name))
    for name, form in VARIANTS.items():
        group = "float16" if form is variants.float16 else "quantized"
        yield name, group, first_line(form.__doc__), lambda name=name: generated(folder, name, lambda: variant(name))
    for build in small.MODELS:
        name, make = build.__name__.replace("_", "-"), lambda build=build: small.made(build)
        yield name, "small", first_line(build.__doc__), lambda name=name, make=make: generated(folder, name, make)
    for name, (what, *_) in patterns.PATTERNS.items():
        make = lambda name=name: patterns.made(name)
        yield name, "patterns", what, lambda name=name, make=make: generated(folder, name, make)
    for name, (what, _) in kernels.KERNELS.items():
        make = lambda name=name: kernels.made(name)
        yield name, "kernels", what, lambda name=name, make=make: generated(folder, name, make)
    lights = sorted(path.parent.name.removeprefix("test_") for path in corpus.glob("backend/light/*/model.onnx"))
    for name in lights:
        make = lambda name=name: light(corpus, folder, name)
        yield name, "float", "of ONNX's tests, random weights", lambda name=name, make=make: loaded(folder, name, make)
    for name in sorted(export_torch.REG):
        make = lambda name=name: export(corpus, name)
        yield name, "float", "an export of the corpus", lambda name=name, make=make: loaded(folder, name, make)


def main():
    corpus, folder, which, wanted = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    for name, group, what, make in subjects(corpus, folder):
        if wanted and not any(part in name for part in wanted):
            continue
        if not wanted and which == "patterns" and group != "patterns":
            continue
        if not wanted and which == "small" and name not in SMALL and group != "kernels":
            continue
        try:
            said = make()
        except Exception as e:
            said = {"why": first_line(str(e)) or type(e).__name__}
        about = {"name": name, "group": group, "what": what, "tolerance": TOLERANCES[group]}
        print(json.dumps(about | said), flush=True)


if __name__ == "__main__":
    main()
