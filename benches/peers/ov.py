"""OpenVINO's side of `cargo xtask bench models`: one stream of a number of threads, for inputs of the shapes that they have.

Where the processor has instructions for bfloat16, OpenVINO rounds floats to it by default, which no other peer does: it is
asked for single floats.
"""

from __future__ import annotations

import numpy

import served

try:
    import openvino
except ImportError as e:
    openvino, missing = None, e
else:
    core = openvino.Core()


def load(model, feeds, threads):
    if openvino is None:
        raise missing
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": openvino.Type.f32,
    }
    read = core.read_model(model)
    ports = {name: port for port in read.inputs for name in port.get_names()}
    read.reshape({ports[name]: list(array.shape) for name, array in feeds.items() if name in ports})
    compiled = core.compile_model(read, "CPU", options)
    places = {name: at for at, port in enumerate(compiled.inputs) for name in port.get_names()}
    inputs = {
        places[name]: openvino.Tensor(array) if array.ndim == 0 else numpy.ascontiguousarray(array)
        for name, array in feeds.items()
        if name in places
    }
    request = compiled.create_infer_request()

    def once():
        results = request.infer(inputs, share_inputs=True, share_outputs=True)
        return [results[output] for output in compiled.outputs]

    return once


if __name__ == "__main__":
    served.serve(load)
