"""Runs backend tests in which nodes have been replaced by our function bodies, and compares with the expected outputs.

    python run_bodies.py FOLDER target/corpus/backend > outcomes.json
    python run_bodies.py --list

FOLDER has a model for each test, `kind+case.onnx`, or `kind+case+version.onnx` in an older version. One object, by these
names: null where all outputs agree within the test's tolerance, or where the evaluator does not get them from the original
model either; else what is wrong. With `--list`, the name and version of each operator of which the package has a body.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnx.defs
import onnx.numpy_helper
import onnx.reference


def stored(path, value_type):
    kind = value_type.WhichOneof("value")
    message = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    message.ParseFromString(path.read_bytes())
    read = {"sequence_type": onnx.numpy_helper.to_list, "optional_type": onnx.numpy_helper.to_optional}
    return read.get(kind, onnx.numpy_helper.to_array)(message)


def differs(found, expected, tolerance):
    if isinstance(expected, list):
        if len(found) != len(expected):
            return f"{len(found)} elements instead of {len(expected)}"
        return next(filter(None, (differs(f, e, tolerance) for f, e in zip(found, expected))), None)
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "OUSb":
        return None if (found == expected).all() else "other elements"
    # Half floats are calculated in more or in fewer steps.
    small = expected.dtype.itemsize <= 2 and expected.dtype.kind not in "iu"
    rtol, atol = (max(tolerance[0], 1e-2), max(tolerance[1], 1e-2)) if small else tolerance
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    close = np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    return None if close.all() else f"differs by up to {np.nanmax(np.abs(found - expected)):g}"


def run(path, folder, tolerance):
    try:
        model = onnx.load(path)
        given = onnx.load(folder / "model.onnx").graph
        for data in sorted(folder.glob("test_data_set_*")):
            feeds = {
                port.name: stored(data / f"input_{i}.pb", port.type)
                for i, port in enumerate(given.input)
                if (data / f"input_{i}.pb").exists()
            }
            found = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
            for i, port in enumerate(given.output):
                what = differs(found[i], stored(data / f"output_{i}.pb", port.type), tolerance)
                if what:
                    return f"{port.name}: {what}"
    except Exception as error:  # whatever the evaluator says
        return f"{type(error).__name__}: {error}"
    return None


def listed():
    schemas = onnx.defs.get_all_schemas_with_history()
    return [[s.name, s.since_version] for s in schemas if s.has_function or s.has_context_dependent_function]


def main():
    if sys.argv[1:] == ["--list"]:
        json.dump(listed(), sys.stdout)
        return
    models, corpus = map(pathlib.Path, sys.argv[1:])
    index = {entry["path"]: entry for entry in json.loads((corpus / "index.json").read_text())}
    outcomes = {}
    for path in sorted(models.glob("*.onnx")):
        kind, case = path.stem.split("+")[:2]
        tolerance = index[f"{kind}/{case}"]["rtol"], index[f"{kind}/{case}"]["atol"]
        wrong = run(path, corpus / kind / case, tolerance)
        if wrong and run(corpus / kind / case / "model.onnx", corpus / kind / case, tolerance):
            wrong = None
        outcomes[path.stem] = wrong
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        main()
