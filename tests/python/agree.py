"""Whether the results of a model are those that others compute.

A request has the "path" of a model that needs no inputs; "ours", the files of its results, or null; and "tolerance", how far
floats may be apart, as a part of the largest magnitude (or null: as the type has it). ONNX Runtime is asked, and, unless
"runtime" is true, the reference evaluator where that has no kernel. The answer has the "engine" that computed something, with the "difference" if
there is one; or "refused", why nobody did.
"""

from __future__ import annotations

import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import evaluate

# ONNX Runtime says this of what it has no kernel for.
LACKS = ("NOT_IMPLEMENTED", "Could not find an implementation", "Type Error", "is not a registered function/op")
# Types that ONNX Runtime does not hand over to Python.
KEPT = {
    getattr(TensorProto, name)
    for name in "BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ INT4 UINT4 INT2 UINT2 FLOAT4E2M1".split()
}
# Results are the difference of larger numbers, or underflow.
LEAST = 0.1
TOLERANCES = {"float64": 1e-10, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


def agree(request):
    model = onnx.load(request["path"])
    ours = None
    if request["ours"] is not None:
        ours = [numpy_helper.to_array(onnx.load_tensor(path)) for path in request["ours"]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        engine, theirs = computed(model, request["runtime"])
        if engine is None:
            return {"refused": theirs}
        answer = {"engine": engine}
        if ours is not None:
            found = (apart(a, b, request["tolerance"]) for a, b in zip(ours, theirs))
            difference = next((f"output {i}: {d}" for i, d in enumerate(found) if d is not None), None)
            if difference is not None:
                answer["difference"] = difference
        return answer


def computed(model, is_for_runtime):
    """Who computes it, and the results."""
    try:
        return "onnxruntime", evaluate.onnxruntime(handed_over(model), {})
    except Exception as e:
        why = str(e)
        if is_for_runtime or not any(lack in why for lack in LACKS):
            return None, f"ONNX Runtime: {why[:300]}"
    try:
        return "reference", evaluate.reference(model, {})
    except Exception as e:
        return None, f"reference evaluator: {type(e).__name__}: {str(e)[:300]}; ONNX Runtime: {why[:300]}"


def handed_over(model):
    """The model with outputs that Python can have."""
    inferred = onnx.shape_inference.infer_shapes(model)
    for i, port in enumerate(inferred.graph.output):
        if port.type.tensor_type.elem_type in KEPT:
            cast = helper.make_node("Cast", [port.name], [port.name + "_handed_over"], to=TensorProto.FLOAT)
            model.graph.node.append(cast)
            model.graph.output[i].CopyFrom(helper.make_tensor_value_info(cast.output[0], TensorProto.FLOAT, None))
    return model


def apart(ours, theirs, tolerance):
    """How results differ, or None."""
    theirs = np.asarray(theirs)
    if ours.shape != theirs.shape:
        return f"ours has the shape {ours.shape}, theirs {theirs.shape}"
    if theirs.dtype != ours.dtype and str(theirs.dtype) != "float32":
        return f"ours is of type {ours.dtype}, theirs {theirs.dtype}"
    is_float = str(ours.dtype) in TOLERANCES
    part = tolerance if tolerance is not None else TOLERANCES.get(str(ours.dtype), 0)
    a, b = (x if x.dtype == bool or not is_float and x.dtype.kind in "iu" else x.astype(np.float64) for x in (ours, theirs))
    if a.dtype.kind == "O" or a.dtype == bool:
        return None if np.array_equal(a, b) else "elements differ"
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    most = part * max(finite.max(initial=0), LEAST) if is_float else part
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= most)
    if same.all():
        return None
    at = np.argwhere(~same)[0].tolist() if a.ndim else []
    return (
        f"element {at} is {a[tuple(at)]!r} by us, {b[tuple(at)]!r} by them ({(~same).sum()} of {a.size}); "
        f"ours {a.flat[:6].tolist()} theirs {b.flat[:6].tolist()}"
    )
