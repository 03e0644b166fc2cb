"""Has the examples of operators judged and run: parser, checker with type inference, evaluator, ONNX Runtime.

    python run_examples.py crates/onnx-ops/docs > outcomes.json

One object for each file, by its path: "error" is what the parser or the checker says, "ran" names who ran it with
made-up inputs and gave outputs of the declared types ("reference", "onnxruntime", or null), "why" what kept both from
it.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnx.checker
import onnx.parser
import onnx.reference
import onnxruntime

# What a symbol of a shape stands for.
LENGTH = 4


def tensor(tensor_type):
    dims = tensor_type.shape.dim
    shape = [d.dim_value if d.HasField("dim_value") else LENGTH for d in dims]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor_type.elem_type)
    count = int(np.prod(shape))
    if dtype == object:
        return np.array([("7", "cat", "b,c")[n % 3] for n in range(count)], dtype=object).reshape(shape)
    if dtype == bool:
        return np.array([n % 2 == 0 for n in range(count)]).reshape(shape)
    if np.issubdtype(dtype, np.integer):
        return (np.arange(count) % 2).astype(dtype).reshape(shape)
    return (np.arange(1, count + 1) / (count + 1)).astype(dtype).reshape(shape)


def value(value_type):
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type":
        return tensor(value_type.tensor_type)
    if kind == "sequence_type":
        return [value(value_type.sequence_type.elem_type) for _ in range(2)]
    if kind == "optional_type":
        return value(value_type.optional_type.elem_type)
    keys = ["cat", "dog"] if value_type.map_type.key_type == onnx.TensorProto.STRING else [0, 1]
    return dict(zip(keys, [0.5, 2.0]))


def fits(result, value_type):
    """Whether a result has the declared type; dimensions that are symbols fit any number."""
    kind = value_type.WhichOneof("value")
    if kind == "tensor_type":
        result = np.asarray(result)
        declared = value_type.tensor_type
        dims = declared.shape.dim
        is_text = declared.elem_type == onnx.TensorProto.STRING
        dtype = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type)
        return (
            (result.dtype.kind in "OUT" if is_text else result.dtype == dtype)
            and len(result.shape) == len(dims)
            and all(not d.HasField("dim_value") or d.dim_value == n for d, n in zip(dims, result.shape))
        )
    if kind == "sequence_type":
        return isinstance(result, list) and all(fits(r, value_type.sequence_type.elem_type) for r in result)
    if kind == "optional_type":
        # The evaluator's form of an optional is a list.
        return isinstance(result, list) and all(fits(r, value_type.optional_type.elem_type) for r in result)
    return isinstance(result, dict)


def with_reference(model, inputs):
    return onnx.reference.ReferenceEvaluator(model).run(None, inputs)


def with_runtime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def judge(text):
    try:
        model = onnx.parser.parse_model(text)
        onnx.checker.check_model(model, full_check=True)
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}
    inputs = {i.name: value(i.type) for i in model.graph.input}
    why = []
    for name, run in (("reference", with_reference), ("onnxruntime", with_runtime)):
        try:
            results = run(model, inputs)
        except Exception as e:
            why.append(f"{name}: {type(e).__name__}: {e}")
            continue
        wrong = [o.name for o, r in zip(model.graph.output, results) if not fits(r, o.type)]
        if not wrong:
            return {"error": None, "ran": name, "why": None}
        why.append(f"{name}: {wrong} are not as declared")
    return {"error": None, "ran": None, "why": "\n".join(why)}


def main():
    warnings.simplefilter("ignore")
    root = pathlib.Path(sys.argv[1])
    outcomes = {str(p.relative_to(root)): judge(p.read_text()) for p in sorted(root.rglob("*.onnxtxt"))}
    json.dump(outcomes, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
