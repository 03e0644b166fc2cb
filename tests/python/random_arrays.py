"""Draws models of one node or few, and judges what we compute.

    random_arrays.py draw FOLDER COUNT [FAMILY,...]    writes FOLDER/NAME.onnx
    random_arrays.py judge FOLDER                      says of NAME.0.tensor ... or NAME.why beside them how they are

Every input of a model has an initializer of its name, so nothing has to be fed; some are inputs too, so that they are not
known before the model is run. The judge is ONNX Runtime; where it has no kernel, the reference evaluator. The modules
of `arrays` draw, a family each.

The answer of `judge` has "counts", "wrong": what differs, what we refuse and ONNX Runtime computes, and panics; and the
"operators" of the models that both compute alike.
"""

from __future__ import annotations

import collections
import importlib
import json
import pathlib
import random
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

import pool
from arrays.draw import LAST_OF_RUNTIME, SMALL, Draw

# ONNX Runtime says this of what it has no kernel for.
LACKS = ("NOT_IMPLEMENTED", "is not a registered function/op")

FAMILIES = """
    elementwise cast reduce indexing moves lists control nested strings classical trees
    attention signal training quantize chances pictures
    added_products added_attention added_layers added_bytes added_others added_old added_states
""".split()


def draw(folder, count, families):
    drawn = 0
    for family in families:
        module = importlib.import_module(f"arrays.{family}")
        for i in range(count // len(families)):
            name, of = module.DRAWS[i % len(module.DRAWS)]
            # Seeds by name and number, so that a model stays the same when others are added.
            d = Draw(random.Random(f"{name} {i}"))
            of(d)
            model = d.model()
            (folder / f"{name}_{i}.onnx").write_bytes(model.SerializeToString())
            drawn += 1
    return drawn


def ours(path):
    """What we have computed, or why not."""
    why = path.with_suffix(".why")
    if why.exists():
        return why.read_text()
    results = {}
    for file in path.parent.glob(path.stem + ".*.*"):
        _, at, kind = file.name.rsplit(".", 2)
        message, convert = {
            "tensor": (onnx.TensorProto, numpy_helper.to_array),
            "sequence": (onnx.SequenceProto, listed),
            "map": (onnx.MapProto, numpy_helper.to_dict),
            "optional": (onnx.OptionalProto, numpy_helper.to_optional),
        }[kind]
        results[int(at)] = convert(message.FromString(file.read_bytes()))
    return [results[i] for i in range(len(results))]


def listed(sequence):
    if sequence.elem_type == onnx.SequenceProto.MAP:
        named = lambda m: {k.decode() if isinstance(k, bytes) else k: v for k, v in numpy_helper.to_dict(m).items()}
        return [named(m) for m in sequence.map_values]
    return numpy_helper.to_list(sequence)


def onnx_runtime(model):
    import onnxruntime

    if "reference" in judged(model):
        raise NotImplementedError("NOT_IMPLEMENTED as it should be")
    # Later operator sets have more operators and types; what there was means the same.
    known = onnx.ModelProto.FromString(model.SerializeToString())
    for domain in known.opset_import:
        if domain.domain == "":
            domain.version = min(domain.version, LAST_OF_RUNTIME)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(known.SerializeToString(), options, providers=["CPUExecutionProvider"])
    in_place = judged(model).get("in_place")
    return bound(session, known, in_place.split()) if in_place else session.run(None, {})


def bound(session, model, pairs):
    """A run where some outputs have the memory of inputs, `input=output`."""
    import onnxruntime

    stored = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in model.graph.initializer}
    binding, together = session.io_binding(), {}
    for before, behind in (pair.split("=") for pair in pairs):
        together[behind] = onnxruntime.OrtValue.ortvalue_from_numpy(stored[before])
        binding.bind_ortvalue_input(before, together[behind])
    for output in session.get_outputs():
        if output.name in together:
            binding.bind_ortvalue_output(output.name, together[output.name])
        else:
            binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    # The arrays above belong to this call.
    return [value.numpy().copy() for value in binding.get_outputs()]


def reference(model):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(model).run(None, {})


def judged(model):
    """What a model says of how it is to be judged, see `Draw.judged`."""
    return {prop.key: prop.value for prop in model.metadata_props}


class Judge:
    """Who says what is expected, and how far from it a result may be, as a part of the largest magnitude."""

    def __init__(self, model, is_reference):
        self.is_reference = is_reference
        kinds = {tensor.data_type for tensor in model.graph.initializer}
        # Sums of single floats in any order. The reference rounds each step to narrower ones, and we and ONNX Runtime the last.
        is_narrow = bool(kinds & {onnx.TensorProto.FLOAT16, *SMALL.values()})
        usual = (3e-2 if is_reference else 1e-2) if is_narrow else 1e-5
        self.tolerance = float(judged(model).get("tolerance", usual))


def differ(a, b, judge):
    """How our result differs from what is expected, or None."""
    if isinstance(b, (list, tuple)):
        if not isinstance(a, (list, tuple)) or len(a) != len(b):
            return f"{a!r} instead of {b!r}"
        return next((f"{i}: {d}" for i, d in enumerate(differ(x, y, judge) for x, y in zip(a, b)) if d is not None), None)
    if isinstance(b, dict):
        if not isinstance(a, dict) or a.keys() != b.keys():
            return f"{a!r} instead of {b!r}"
        return differ([a[key] for key in b], list(b.values()), judge)
    if a is None or b is None:
        return None if a is b else f"{a!r} instead of {b!r}"
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}: {a!r} {b!r}"
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        same = all(x == y or numbers(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist()))
        return None if same else f"{a.tolist()} instead of {b.tolist()}"
    # The reference has element types of numpy's, and maps of ONNX Runtime have numbers of Python's.
    if judge.is_reference or b.ndim == 0 and isinstance(b.item(), float):
        b = b.astype(a.dtype)
    if a.dtype != b.dtype:
        return f"{a.dtype} instead of {b.dtype}"
    if a.dtype.kind in "biu":
        return None if (a == b).all() else f"{a.tolist()} instead of {b.tolist()}"
    return floats(a, b, judge.tolerance)


def numbers(x, y):
    """Whether two texts say the same number: how many digits there are, nobody says."""
    try:
        x, y = float(x), float(y)
    except ValueError:
        return False
    return x == y or x != x and y != y or abs(x - y) <= 1e-3 * abs(y)


def floats(a, b, tolerance):
    a, b = (v.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for v in (a, b))
    finite = np.isfinite(b)
    scale = np.abs(b[finite]).max(initial=0.0)
    same = np.where(finite, np.abs(a - b) <= tolerance * max(scale, 1e-2), (a == b) | (np.isnan(a) & np.isnan(b)))
    return None if same.all() else f"{a.tolist()} instead of {b.tolist()}"


def judge_one(request):
    path = pathlib.Path(request["path"])
    found, model = ours(path), onnx.load(path)
    if found == "panic":
        return {"wrong": "panic"}
    refused = None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = onnx_runtime(model)
        except Exception as error:
            refused = str(error)[:300]
            try:
                expected = reference(model)
            except Exception as error:
                return {"said": "both refuse" if isinstance(found, str) else "only we compute", "by": refused}
        # What ONNX Runtime refuses for another reason than lacking it may be no sound model.
        is_sound = refused is None or any(lack in refused for lack in LACKS)
        if isinstance(found, str):
            return {"wrong": f"we refuse: {found}"} if is_sound else {"said": "we refuse", "by": found}
        difference = differ(found, list(expected), Judge(model, refused is not None))
    if difference is None:
        operators = [f"{node.domain or 'ai.onnx'} {node.op_type}" for node in model.graph.node]
        return {"said": "equal", "operators": operators} if refused is None else {"said": "equal to the reference"}
    if refused is None:
        return {"wrong": difference[:600]}
    return {"wrong" if is_sound else "said": difference[:600], "by": "the reference: " + refused}


def judge(folder):
    paths = sorted(folder.glob("*.onnx"))
    requests = [json.dumps({"id": str(path), "op": "judge_arrays", "path": str(path)}) for path in paths]
    counts, wrong, notes, operators = collections.Counter(), [], [], set()
    for path, answer in zip(paths, pool.run(requests, jobs=pool.JOBS, timeout=60)):
        answer = json.loads(answer)
        if "error" in answer:
            answer["wrong"] = answer["error"]
        if "wrong" in answer:
            counts["wrong"] += 1
            wrong.append({"model": path.stem, "text": shown(path), "wrong": answer["wrong"], "by": answer.get("by")})
        else:
            said = answer["said"]
            operators.update(answer.get("operators", []))
            known = ("equal", "equal to the reference", "both refuse", "we refuse", "only we compute")
            counts[said if said in known else "other than the reference"] += 1
            if not said.startswith("equal"):
                notes.append({"model": path.stem, "text": shown(path), **answer})
    (folder / "notes.json").write_text(json.dumps(notes, indent=1))
    (folder / "wrong.json").write_text(json.dumps(wrong, indent=1))
    return {"counts": counts, "wrong": wrong, "operators": sorted(operators)}


def shown(path):
    model = onnx.load(path)
    elements = [f"{t.name}={numpy_helper.to_array(t).tolist()}" for t in model.graph.initializer]
    return onnx.printer.to_text(model)[:3000] + " " + "; ".join(elements)[:2000]


def main():
    if sys.argv[1] == "draw":
        folder, count, *families = sys.argv[2:]
        chosen = [f for f in (families or [""])[0].split(",") if f] or FAMILIES
        json.dump({"drawn": draw(pathlib.Path(folder), int(count), chosen)}, sys.stdout)
    else:
        json.dump(judge(pathlib.Path(sys.argv[2])), sys.stdout)


if __name__ == "__main__":
    main()
