"""Runs every model of a folder with our program and with ONNX Runtime, and says how far the results are apart.

    python runtimes.py PROGRAM MODELS SCRATCH SECONDS [NAME ...]
    python runtimes.py --one PROGRAM MODEL SCRATCH SECONDS

MODELS has a folder for each model, with one file MODEL.onnx. Inputs are those of MODEL.npz beside it if it is there (in_<input>), else
those that `xtask/corpus/gen_inputs.py` makes. ONNX Runtime runs each model without optimisations, with all of them, and with
the results of half precision rounded: models that magnify rounding differ from themselves. Where products of bytes saturate,
quantised models run with optimisations, which go around that. For each model a line of JSON: the name, and

- `worst`, the largest difference as a part of the largest magnitude of its output; `allowed`, how much that may be
- of quantised models instead `rms`, the root of the mean square of the differences as a part of that of the output, and `arg_max`,
  how many of the places where the greatest of a row is are the same
- `kernels`, `other nodes`, `operations`, `bytes moved` and `arena bytes`, what `onnxtxt lower --emit stats` counts for these inputs
- or `why` nothing can be said; `slow` if our program took longer than it may; `unfit` if ONNX Runtime does not run the model.

Each model has a process of its own, so that one that brings ONNX Runtime down stays alone.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "xtask" / "corpus"))

import gen_inputs  # noqa: E402
import numpy as np  # noqa: E402
from processor import saturates  # noqa: E402

# Differences of a single float that were computed in another order.
ROUNDING = 1e-4

QUANTISED = ("QLinear", "Quantize", "MatMulInteger", "ConvInteger", "DynamicQuantize", "QAttention", "MatMulNBits")


def flat(value):
    """Arrays, sequences and maps as a list of arrays; the numbers of maps are one array, the keys another."""
    if isinstance(value, dict):
        return [np.array(list(value.keys())), np.array(list(value.values()))]
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, dict) for v in value):
            return [np.array([list(v.keys()) for v in value]), np.array([list(v.values()) for v in value])]
        return [array for v in value for array in flat(v)]
    return [np.asarray(value)]


def apart(ours, theirs):
    """The largest difference of what is finite, as a part of the largest magnitude; `None` where other elements are finite."""
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(theirs)
    if (np.isfinite(ours) != finite).any():
        return None
    scale = np.abs(theirs[finite]).max(initial=0.0)
    return float(np.abs(ours - theirs)[finite].max(initial=0.0) / (scale if scale > 0 else 1.0))


def compare(ours, theirs, others):
    """What is to be said of one output, or a sentence; `others` are what ONNX Runtime itself gives in other ways."""
    ours, theirs, others = flat(ours), flat(theirs), [flat(other) for other in others]
    if len(ours) != len(theirs):
        return f"{len(ours)} parts, expected are {len(theirs)}"
    said = {"worst": 0.0, "allowed": ROUNDING, "error": 0.0, "power": 0.0, "rows": 0, "same": 0}
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return f"shape {a.shape}, expected is {b.shape}"
        if b.dtype.kind in "USO":
            if (a.astype(str) != b.astype(str)).any():
                return "other strings"
            continue
        worst = apart(a, b)
        if worst is None:
            return "other elements are finite"
        said["worst"] = max(said["worst"], worst)
        for other in others:
            if i < len(other) and other[i].shape == b.shape:
                said["allowed"] = max(said["allowed"], 4 * (apart(other[i], b) or 0.0))
        a, b = np.nan_to_num(a.astype(np.float64)), np.nan_to_num(b.astype(np.float64))
        said["error"] += float(np.square(a - b).sum())
        said["power"] += float(np.square(b).sum())
        if b.ndim > 0 and b.shape[-1] > 1 and b.size > 0:
            said["rows"] += b.size // b.shape[-1]
            said["same"] += int((a.argmax(-1) == b.argmax(-1)).sum())
    return said


def half_rounded(model):
    """The model in single precision, each result of a node rounded to half; `None` if it has none of half precision.

    ONNX Runtime computes nodes of half floats in single precision, and leaves out the casts between them.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    proto = onnx.shape_inference.infer_shapes(onnx.load(model))
    graph = proto.graph
    kinds = {v.name: v.type.tensor_type.elem_type for v in [*graph.value_info, *graph.output]}
    if TensorProto.FLOAT16 not in kinds.values() or any(a.HasField("g") for n in graph.node for a in n.attribute):
        return None

    def widen(tensor):
        if tensor.data_type == TensorProto.FLOAT16:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))

    nodes, outputs = [], {port.name for port in graph.output}
    for tensor in graph.initializer:
        widen(tensor)
    for port in [*graph.input, *graph.output]:
        if port.type.tensor_type.elem_type == TensorProto.FLOAT16:
            port.type.tensor_type.elem_type = TensorProto.FLOAT
    for node in graph.node:
        for attribute in node.attribute:
            widen(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
        nodes.append(node)
        for i, name in enumerate(node.output):
            if kinds.get(name) == TensorProto.FLOAT16 and name not in outputs:
                node.output[i] = name + ".single"
                nodes.append(helper.make_node("Cast", [name + ".single"], [name + ".half"], to=TensorProto.FLOAT16))
                nodes.append(helper.make_node("Cast", [name + ".half"], [name], to=TensorProto.FLOAT))
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    return proto.SerializeToString()


def outputs_of(folder, session):
    """What our program has written."""
    import onnx
    from onnx import numpy_helper

    results = []
    for i, port in enumerate(session.get_outputs()):
        data = (folder / f"output_{i}.pb").read_bytes()
        if port.type.startswith("seq("):
            sequence = onnx.SequenceProto.FromString(data)
            if sequence.elem_type == onnx.SequenceProto.MAP:
                results.append([numpy_helper.to_dict(m) for m in sequence.map_values])
            else:
                results.append(numpy_helper.to_list(sequence))
        elif port.type.startswith("map("):
            results.append(numpy_helper.to_dict(onnx.MapProto.FromString(data)))
        else:
            array = numpy_helper.to_array(onnx.TensorProto.FromString(data))
            results.append(array)
    return results


def feeds_of(model, session):
    """The inputs by their names."""
    ports = [(port.name, port.type, port.shape) for port in session.get_inputs()]
    stored = model.with_suffix(".npz")
    if not stored.is_file():
        return gen_inputs.gen(model.parent.name, ports)
    arrays = np.load(stored, allow_pickle=False)
    kinds = gen_inputs.NP
    of = {name: arrays["in_" + name] for name, _, _ in ports}
    return {
        name: of[name].astype(object if kinds[kind] == "O" else kinds[kind]) for name, kind, _ in ports
    }


def counts(program, model, inputs, seconds):
    """What is counted of how our program runs the model for such inputs; nothing if that takes too long."""
    command = [program, "lower", str(model), *inputs, "--emit", "stats"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds or None)
    except subprocess.TimeoutExpired:
        return {}
    lines = done.stdout.splitlines() if done.returncode == 0 else []
    return {name.strip(): int(count) for name, count in (line.rsplit(maxsplit=1) for line in lines)}


def run(program, model, scratch, seconds):
    """What is to be said of one model."""
    import onnx
    import onnxruntime

    operators = {node.op_type for node in onnx.load(model, load_external_data=False).graph.node}
    is_quantised = any(op.startswith(QUANTISED) for op in operators)
    level = "ORT_ENABLE_ALL" if is_quantised and saturates() else "ORT_DISABLE_ALL"
    try:
        try:
            session = gen_inputs.session(onnxruntime, str(model), level)
            feeds = feeds_of(model, session)
            theirs = session.run(None, feeds)
        except Exception:  # Some models need what optimisations make of them.
            session = gen_inputs.session(onnxruntime, str(model), "ORT_ENABLE_ALL")
            feeds = feeds_of(model, session)
            theirs = session.run(None, feeds)
    except Exception as error:
        return {"unfit": str(error).strip().splitlines()[-1][:300]}
    others = []
    for form, level in [(lambda: str(model), "ORT_ENABLE_ALL"), (lambda: half_rounded(model), "ORT_DISABLE_ALL")]:
        try:
            other = gen_inputs.session(onnxruntime, form(), level)
            kinds = {port.name: gen_inputs.NP[port.type] for port in other.get_inputs()}
            others.append(other.run(None, {n: v if v.dtype == object else v.astype(kinds[n]) for n, v in feeds.items()}))
        except Exception:  # Not every model can be run in every way.
            continue
    inputs, results = scratch / "in.npz", scratch / "out"
    arrays = {name: np.array(v.tolist(), dtype=str) if v.dtype == object else v for name, v in feeds.items()}
    np.savez(inputs, **arrays)
    command = [program, "run", str(model), "-i", str(inputs), "--output-dir", str(results), "--format", "short"]
    # ONNX Runtime runs models that the specification forbids: nodes that are not sorted, declared shapes that do not hold.
    command.append("--unchecked")
    if not feeds:
        command[3:5] = []
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds or None)
    except subprocess.TimeoutExpired:
        return {"slow": seconds}
    took = round(time.monotonic() - begin, 2)
    if done.returncode != 0:
        return {"why": done.stderr.strip()[:500]}
    said = {"seconds": took, "worst": 0.0, "allowed": ROUNDING}
    totals = {"error": 0.0, "power": 0.0, "rows": 0, "same": 0}
    for i, (port, a, b) in enumerate(zip(session.get_outputs(), outputs_of(results, session), theirs)):
        found = compare(a, b, [other[i] for other in others])
        if isinstance(found, str):
            return {"why": f"{port.name}: {found}"}
        if found["worst"] / found["allowed"] >= said["worst"] / said["allowed"]:
            said["worst"], said["allowed"] = found["worst"], found["allowed"]
        for key in totals:
            totals[key] += found[key]
    said |= counts(program, model, command[3:5] if feeds else [], seconds)
    if is_quantised:
        said["rms"] = (totals["error"] / totals["power"]) ** 0.5 if totals["power"] > 0 else totals["error"]
        said["arg_max"] = totals["same"] / totals["rows"] if totals["rows"] else 1.0
    return said


def main():
    if sys.argv[1] == "--one":
        program, model, scratch, seconds = sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]), sys.argv[5]
        print(json.dumps(run(program, model, scratch, float(seconds))), flush=True)
        return
    program, models, scratch, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
    for folder in sorted(models.iterdir()):
        model = next(iter(sorted(folder.glob("*.onnx"))), None)
        if model is None or (len(sys.argv) > 5 and folder.name not in sys.argv[5:]):
            continue
        own = scratch / folder.name
        own.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, os.path.abspath(__file__), "--one", program, str(model), str(own), seconds]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.strip().splitlines()
        if done.returncode == 0 and lines:
            said = json.loads(lines[-1])
        else:
            said = {"unfit": f"Python ended with {done.returncode}: {done.stderr.strip()[-300:]}"}
        for left in own.rglob("*"):
            if left.is_file():
                left.unlink()
        print(json.dumps({"name": folder.name, **said}), flush=True)


if __name__ == "__main__":
    main()
