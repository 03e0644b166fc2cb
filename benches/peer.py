"""The Python package's side of `cargo xtask bench`: does a job on request, and returns how long it took.

One JSON request a line, one answer a line:

    {"prepare": JOB, "files": [PATH, ...]}  loads the files and does the job once on each; answers
                                            {"bytes": size of the text it makes, or null, "refused": [PATH, ...]}
    {"run": true}                           does it on all that it did not refuse; answers {"wall": s, "cpu": s}

An answer with "error" says why there is none.  One thread; `cpu` is that thread's time.  What a job makes is freed after
the clock has stopped.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import onnx
import onnx.checker
import onnx.onnx_cpp2py_export.parser as cpp_parser
import onnx.onnx_cpp2py_export.printer as cpp_printer
from google.protobuf import json_format, text_format


def read(path):
    with open(path, "rb") as f:
        return f.read()


def checked(answer):
    ok, error, made = answer
    if not ok:
        raise ValueError(error.decode(errors="replace") if isinstance(error, bytes) else error)
    return made


# Each gives a function without arguments for a file, from the plainest form that the package can begin with.


def parse(path):
    text = read(path).decode()
    return lambda: checked(cpp_parser.parse_model(text))


def print_(path):
    data = read(path)
    return lambda: cpp_printer.model_to_text(data)


def format_(path):
    text = read(path).decode()
    return lambda: cpp_printer.model_to_text(checked(cpp_parser.parse_model(text)))


def decode(path):
    data = read(path)
    return lambda: onnx.load_from_string(data)


def encode(path):
    model = onnx.load(path)
    return lambda: model.SerializeToString()


def load(path):
    return lambda: onnx.load(path)


def check(path):
    data = read(path)
    return lambda: onnx.checker.check_model(data, full_check=True)


def check_loaded(path):
    return lambda: onnx.checker.check_model(onnx.load(path), full_check=True)


def check_file(path):
    return lambda: onnx.checker.check_model(path, full_check=True)


def to_json(path):
    data = read(path)
    return lambda: json_format.MessageToJson(onnx.load_from_string(data))


def from_json(path):
    text = read(path).decode()
    return lambda: json_format.Parse(text, onnx.ModelProto()).SerializeToString()


def to_textproto(path):
    data = read(path)
    return lambda: text_format.MessageToString(onnx.load_from_string(data))


def from_textproto(path):
    text = read(path).decode()
    return lambda: text_format.Parse(text, onnx.ModelProto()).SerializeToString()


def run(path):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)

    def waves(port):
        if port.type != "tensor(float)":
            return numpy.zeros(port.shape, dtype=numpy.int64)
        count = int(numpy.prod(port.shape))
        return numpy.sin(numpy.arange(count) * 0.37).astype(numpy.float32).reshape(port.shape)

    inputs = {port.name: waves(port) for port in session.get_inputs()}
    return lambda: session.run(None, inputs)


JOBS = {
    "run": run,
    "parse": parse,
    "print": print_,
    "format": format_,
    "decode": decode,
    "encode": encode,
    "load": load,
    "check": check,
    "check_file": check_file,
    "check_loaded": check_loaded,
    "to_json": to_json,
    "from_json": from_json,
    "to_textproto": to_textproto,
    "from_textproto": from_textproto,
}
# Their speed is counted in what they make.
MAKES_TEXT = {"print", "format"}


class Worker:
    def __init__(self):
        self.runs = []

    def prepare(self, job, files):
        self.runs, refused, size, error = [], [], 0, None
        for path in files:
            run = JOBS[job](path)
            try:
                made = run()
            except Exception as e:  # whatever it is, the peer cannot do it
                refused.append(path)
                error = e
                continue
            size += len(made.encode()) if job in MAKES_TEXT else 0
            self.runs.append(run)
        if not self.runs:
            raise ValueError(f"{type(error).__name__}: {error}")
        return {"bytes": size if job in MAKES_TEXT else None, "refused": refused}

    def run(self):
        gc.collect()
        gc.disable()
        wall, cpu = time.perf_counter(), time.thread_time()
        made = [run() for run in self.runs]
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        gc.enable()
        del made
        return {"wall": wall, "cpu": cpu}


def main():
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = worker.run() if "run" in request else worker.prepare(request["prepare"], request["files"])
        except Exception as e:
            answer = {"error": str(e).strip().split("\n")[0][:200] or type(e).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
