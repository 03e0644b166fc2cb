"""Speed of the `onnx` package's parser and printer, to stand beside ours in one run.

One JSON object a line for each file: MB/s of text (1 MB = 10^6 bytes), best and median over the iterations.  `core` is the
C++ function alone (text to serialized proto, serialized proto to text), `api` what a Python caller gets
(onnx.parser.parse_model, onnx.printer.to_text: with decoding to, or encoding from, the Python object).
"""

from __future__ import annotations

import json
import statistics
import time

import onnx
import onnx.onnx_cpp2py_export.parser as cpp_parser
import onnx.onnx_cpp2py_export.printer as cpp_printer
import onnx.parser
import onnx.printer

MIN_ITERATIONS = 3


def timed(seconds, f):
    f()
    times, end = [], time.perf_counter() + seconds
    while len(times) < MIN_ITERATIONS or time.perf_counter() < end:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return times


def row(text_bytes, times):
    best, median = min(times), statistics.median(times)
    return {
        "iterations": len(times),
        "best_s": round(best, 6),
        "median_s": round(median, 6),
        "best_mb_s": round(text_bytes / best / 1e6, 1),
        "median_mb_s": round(text_bytes / median / 1e6, 1),
    }


def parse(path, seconds):
    with open(path, "rb") as f:
        data = f.read()
    text = data.decode()
    ok, error, _ = cpp_parser.parse_model(text)
    if not ok:
        return {"error": error.decode(errors="replace")}
    return {
        "text_bytes": len(data),
        "core": row(len(data), timed(seconds, lambda: cpp_parser.parse_model(text))),
        "api": row(len(data), timed(seconds, lambda: onnx.parser.parse_model(text))),
    }


def print_(path, seconds):
    """`path` is a model, or a text to be parsed first."""
    with open(path, "rb") as f:
        data = f.read()
    if not path.endswith((".onnx", ".pb")):
        ok, error, data = cpp_parser.parse_model(data.decode())
        if not ok:
            return {"error": error.decode(errors="replace")}
    model = onnx.load_from_string(data)
    size = len(cpp_printer.model_to_text(data).encode())
    return {
        "text_bytes": size,
        "core": row(size, timed(seconds, lambda: cpp_printer.model_to_text(data))),
        "api": row(size, timed(seconds, lambda: onnx.printer.to_text(model))),
    }


def main(what, files, seconds) -> int:
    f = {"parse": parse, "print": print_}[what]
    for path in files:
        print(json.dumps({"path": path, "op": what, **f(path, seconds)}), flush=True)
    return 0
