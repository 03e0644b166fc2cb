"""Runs a model with ONNX Runtime, unoptimised, and stores results of its main graph.

    python ort.py MODEL INPUTS.npz NAMES.json RESULTS.npz

NAMES.json is a list of results, or null for all. Prints the version. Results that are not arrays are left out.
"""

import json
import sys
import zipfile

import numpy as np
import onnx
import onnxruntime


def main(model_path: str, inputs_path: str, names_path: str, results_path: str) -> None:
    model = onnx.load(model_path)
    with open(names_path, encoding="utf-8") as file:
        names = json.load(file)
    wanted = None if names is None else set(names)
    known = {output.name for output in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known and (wanted is None or name in wanted):
                known.add(name)
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    onnx.save(model, model_path)

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model_path, options, providers=["CPUExecutionProvider"])
    inputs = np.load(inputs_path)
    ports = {port.name for port in session.get_inputs()}
    feeds = {name: inputs[name] for name in inputs.files if name in ports}
    feeds = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in feeds.items()}
    names = [port.name for port in session.get_outputs() if wanted is None or port.name in wanted]
    # np.savez takes names as arguments, of which `file` is its own.
    with zipfile.ZipFile(results_path, "w") as archive:
        for name, result in zip(names, session.run(names, feeds)):
            if isinstance(result, np.ndarray):
                array = result.astype(str) if result.dtype.kind == "O" else result
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
    print(onnxruntime.__version__)


main(*sys.argv[1:])
