"""ONNX Runtime's side of `cargo xtask bench models`: answers the requests that `src/lib.rs` beside it describes."""

from __future__ import annotations

import gc
import json
import os
import sys
import time

import numpy
import onnxruntime

TYPES = {
    "float": numpy.float32,
    "double": numpy.float64,
    "float16": numpy.float16,
    "int64": numpy.int64,
    "int32": numpy.int32,
    "int8": numpy.int8,
    "uint8": numpy.uint8,
    "bool": numpy.bool_,
}
NAMES = {numpy.dtype(kind): name for name, kind in TYPES.items()}


class Runtime:
    def load(self, model, inputs, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = {i["name"]: numpy.fromfile(i["file"], TYPES[i["type"]]).reshape(i["dims"]) for i in inputs}
        outputs = []
        for at, output in enumerate(self.session.run(None, self.inputs)):
            array, file = numpy.asarray(output), os.path.join(folder, f"output_{at}")
            if array.dtype not in NAMES:
                raise ValueError(f"outputs of {array.dtype} are not passed on")
            array.tofile(file)
            outputs.append({"name": "", "type": NAMES[array.dtype], "dims": array.shape, "file": file})
        return {"outputs": outputs}

    def run(self, times):
        gc.collect()
        gc.disable()
        wall = cpu = 0.0
        for _ in range(times):
            wall_before, cpu_before = time.perf_counter(), time.process_time()
            outputs = self.session.run(None, self.inputs)
            cpu += time.process_time() - cpu_before
            wall += time.perf_counter() - wall_before
            del outputs
        gc.enable()
        return {"wall": wall, "cpu": cpu}


def main():
    runtime = Runtime()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = runtime.run(**request) if "times" in request else runtime.load(**request)
        except Exception as e:  # whatever it is, the peer cannot do it
            answer = {"error": str(e).strip().split("\n")[0][:200] or type(e).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
