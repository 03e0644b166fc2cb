"""Runs models of a folder with onnxruntime: a JSON object with their results for inputs of ones, or `null` for a model that is not
loaded or fails. `null` as a whole without the package.

    python runs.py FOLDER

Symbolic dimensions have size 2. Results are lists of lists of numbers.
"""

import json
import sys
from pathlib import Path

import numpy as np

TYPES = {f"tensor({name})": dtype for name, dtype in [("float", np.float32), ("double", np.float64), ("bool", np.bool_)]}
TYPES |= {f"tensor({name})": np.dtype(name) for name in ["int8", "int32", "int64", "uint32"]}


def results(runtime, path):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    sizes = lambda shape: [size if isinstance(size, int) and size >= 0 else 2 for size in shape]
    feeds = {port.name: np.ones(sizes(port.shape), TYPES[port.type]) for port in session.get_inputs()}
    return [np.asarray(result).astype(np.float64).ravel().tolist() for result in session.run(None, feeds)]


def main(folder):
    try:
        import onnxruntime as runtime
    except ImportError:
        print("null")
        return
    runtime.set_default_logger_severity(4)
    answers = {}
    for path in sorted(Path(folder).glob("*.onnx")):
        try:
            answers[path.stem] = results(runtime, path)
        except Exception:
            answers[path.stem] = None
    print(json.dumps(answers))


main(sys.argv[1])
