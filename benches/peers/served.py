"""What the Python peers of `cargo xtask bench models` have in common: they answer the requests that `src/lib.rs` describes."""

from __future__ import annotations

import gc
import json
import os
import sys
import time

import numpy

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


def status(key):
    """A number of bytes that Linux tells of this process."""
    try:
        with open("/proc/self/status") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(key)), None)
    except OSError:
        return None


def resident():
    """The bytes that are resident, from where on the most is counted anew."""
    gc.collect()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    return status("VmRSS:")


class Served:
    """A runtime, `load(model, feeds, threads)` of which returns what runs the model once and returns its outputs."""

    def __init__(self, load):
        self.make, self.before = load, None

    def load(self, model, inputs, folder, threads):
        feeds = {i["name"]: numpy.fromfile(i["file"], TYPES[i["type"]]).reshape(i["dims"]) for i in inputs}
        self.before = resident()
        start = time.perf_counter()
        self.once = self.make(model, feeds, threads)
        load = time.perf_counter() - start
        start = time.perf_counter()
        results = self.once()
        first = time.perf_counter() - start
        outputs = []
        for at, output in enumerate(results):
            array, file = numpy.asarray(output), os.path.join(folder, f"output_{at}")
            if array.dtype not in NAMES:
                raise ValueError(f"outputs of {array.dtype} are not passed on")
            array.tofile(file)
            outputs.append({"name": "", "type": NAMES[array.dtype], "dims": array.shape, "file": file})
        return {"outputs": outputs, "load": load, "first": first}

    def run(self, times, warm):
        wall = []
        gc.collect()
        gc.disable()
        cpu = time.process_time()
        for _ in range(warm):
            self.once()
        for _ in range(times):
            start = time.perf_counter()
            outputs = self.once()
            wall.append(time.perf_counter() - start)
            del outputs
        cpu = time.process_time() - cpu
        gc.enable()
        return {"wall": wall, "cpu": cpu}

    def memory(self, memory):
        most = status("VmHWM:")
        return {"memory": None if self.before is None or most is None else max(most - self.before, 0)}


def serve(load):
    """Answers the requests on stdin until it ends."""
    served = Served(load)
    for line in sys.stdin:
        request = json.loads(line)
        does = served.run if "times" in request else served.memory if "memory" in request else served.load
        try:
            answer = does(**request)
        except Exception as e:  # whatever it is, the peer cannot do it
            lines = [line.strip() for line in str(e).split("\n") if line.strip()]
            answer = {"error": " ".join(lines)[:300] or type(e).__name__}
        print(json.dumps(answer), flush=True)
