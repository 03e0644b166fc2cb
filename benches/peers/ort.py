"""ONNX Runtime's side of `cargo xtask bench models`: its defaults for a number of threads."""

from __future__ import annotations

import onnxruntime

import served


def load(model, feeds, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


if __name__ == "__main__":
    served.serve(load)
