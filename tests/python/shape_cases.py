"""Collects the models of the reference's own tests of shape inference: what its strict inference says of each.

The tests are not part of the installed package. They are in its source distribution, and need pytest; `cargo xtask venv` fetches them.

    python tests/python/shape_cases.py target/onnx-source/tests/python/shape_inference_test.py FOLDER

writes each different model to FOLDER, and prints a JSON list of the file, the test, what strict inference says against it
(`null` if nothing), and the types that it infers.
"""

import json
import sys
from pathlib import Path

import onnx
import onnx.shape_inference
import pytest

from infer import type_text

real = onnx.shape_inference.infer_shapes


class Recorder:
    """Stands in for `infer_shapes`, and keeps the models that it is asked about."""

    def __init__(self):
        self.models = {}
        self.test = ""

    def infer_shapes(self, model, *args, **kwargs):
        data = model if isinstance(model, bytes) else model.SerializeToString(deterministic=True)
        self.models.setdefault(data, self.test)
        return real(model, *args, **kwargs)

    def pytest_runtest_setup(self, item):
        self.test = item.nodeid.split("::", 1)[-1]


def said(data):
    try:
        inferred = real(onnx.load_from_string(data), strict_mode=True, data_prop=True)
    except Exception as error:
        return str(error), {}
    graph = inferred.graph
    return None, {v.name: type_text(v.type) for v in [*graph.value_info, *graph.output] if v.name}


def main(tests, folder):
    recorder = Recorder()
    onnx.shape_inference.infer_shapes = recorder.infer_shapes
    sys.stdout, out = sys.stderr, sys.stdout
    pytest.main(["-q", "-p", "no:cacheprovider", tests], plugins=[recorder])
    Path(folder).mkdir(parents=True, exist_ok=True)
    cases = []
    for i, (data, test) in enumerate(recorder.models.items()):
        name = f"{i:04}.onnx"
        (Path(folder) / name).write_bytes(data)
        error, types = said(data)
        cases.append({"file": name, "test": test, "error": error, "types": types})
    json.dump(cases, out)


main(*sys.argv[1:])
