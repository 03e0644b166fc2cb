"""What the Python package takes beside `onnxruntime` and `onnx`, in one process and by turns: `cargo xtask bench python`."""

import argparse
import json
import statistics
import time

import numpy as np
import onnx
import onnxruntime
import onnx.inliner
import onnx.version_converter
from onnx import parser

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'


def timed(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def after_rest(call, count):
    """Threads of a runtime wait for work by spinning, and take a core from who comes next: they have gone to sleep before it starts."""
    time.sleep(0.02)
    call()
    return timed(call, count)


def by_turns(calls, runs):
    """The median times of calls, each of which is repeated for about ten milliseconds, by turns."""
    counts = [max(1, int(0.01 / max(timed(call, 1), timed(call, 1), 1e-7))) for call in calls]
    times = [[after_rest(call, count) for call, count in zip(calls, counts)] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times)]


def sessions(text, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    content = onnxtxt.parse(HEAD + text).to_bytes()
    theirs = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return onnxtxt.InferenceSession(content, options), theirs


def runs_of(text, feeds, threads=2):
    ours, theirs = sessions(text, threads)
    [(x, y)] = list(zip(ours.run(None, feeds), theirs.run(None, feeds)))[:1]
    np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3)
    return lambda: ours.run(None, feeds), lambda: theirs.run(None, feeds)


def network(blocks=8, channels=32):
    """A network of convolutions with residual connections, and its weights."""
    lines, weights, random = [], [], np.random.default_rng(0)
    for at in range(blocks):
        kernel = random.standard_normal((channels, channels, 3, 3)).astype(np.float32) / 20
        weights.append(onnx.numpy_helper.from_array(kernel, f"w{at}"))
        lines.append(f"c{at} = Conv <pads = [1, 1, 1, 1]> (x{at}, w{at}) r{at} = Relu(c{at}) x{at + 1} = Add(r{at}, x{at})")
    text = f"g (float[1,{channels},56,56] x0) => (float[1,{channels},56,56] x{blocks}) {{ {' '.join(lines)} }}"
    model = parser.parse_model(HEAD + text)
    model.graph.initializer.extend(weights)
    return model


def chain(nodes):
    lines = [f"t{at + 1} = {'Relu' if at % 2 else 'Neg'}(t{at})" for at in range(nodes)]
    return HEAD + f"g (float[N] t0) => (float[N] t{nodes}) {{ {' '.join(lines)} }}"


def cases():
    relu = "g (float[N] x) => (float[N] y) { y = Relu(x) }"
    small, large = np.array([1, -2, 3, -4], np.float32), np.random.default_rng(0).standard_normal(10_000_000).astype(np.float32)
    yield "run: Relu of 4 numbers", "onnxruntime", runs_of(relu, {"x": small})
    yield "run: Relu of 40 MB", "onnxruntime", runs_of(relu, {"x": large})
    into = np.empty_like(large)
    ours, theirs = sessions(relu, 2)
    binding = theirs.io_binding()
    binding.bind_cpu_input("x", large)
    binding.bind_output("y", "cpu", 0, np.float32, into.shape, into.ctypes.data)
    yield "run into 40 MB", "onnxruntime", (
        lambda: ours._session.run_into({"x": large}, {"y": into}),
        lambda: theirs.run_with_iobinding(binding),
    )
    model = network()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    content, feeds = model.SerializeToString(), {"x0": np.ones((1, 32, 56, 56), np.float32)}
    ours = onnxtxt.InferenceSession(content, options)
    theirs = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    yield "run: convolutions", "onnxruntime", (lambda: ours.run(None, feeds), lambda: theirs.run(None, feeds))
    text = chain(2000)
    proto, parsed = parser.parse_model(text), onnxtxt.parse(text)
    content = proto.SerializeToString()
    yield "parse 2,000 nodes", "onnx", (lambda: onnxtxt.parse(text), lambda: parser.parse_model(text))
    yield "print 2,000 nodes", "onnx", (parsed.text, lambda: onnx.printer.to_text(proto))
    yield "check 2,000 nodes", "onnx", (lambda: parsed.check("spec"), lambda: onnx.checker.check_model(proto))
    yield "full check", "onnx", (parsed.check, lambda: onnx.checker.check_model(proto, full_check=True))
    yield "infer", "onnx", (lambda: onnxtxt.decode(content).infer(), lambda: onnx.shape_inference.infer_shapes(content))
    def edited():
        model = onnxtxt.decode(content)
        model.graph.nodes[1000].op_type = "Abs"
        return model.to_bytes()

    def their_edited():
        model = onnx.load_from_string(content)
        model.graph.node[1000].op_type = "Abs"
        return model.SerializeToString()

    assert onnx.load_from_string(edited()) == onnx.load_from_string(their_edited())
    yield "decode, edit and encode", "onnx", (edited, their_edited)
    yield "inline", "onnx", (lambda: onnxtxt.decode(content).inline(), lambda: onnx.inliner.inline_local_functions(onnx.load_from_string(content)))
    yield "convert 21 to 22", "onnx", (
        lambda: onnxtxt.decode(content).convert_opset(22),
        lambda: onnx.version_converter.convert_version(onnx.load_from_string(content), 22),
    )
    yield "decode and encode", "onnx", (
        lambda: onnxtxt.decode(content).to_bytes(),
        lambda: onnx.load_from_string(content).SerializeToString(),
    )


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--runs", type=int, default=9)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("names", nargs="*")
    arguments = arguments.parse_args()
    for name, beside, calls in cases():
        if arguments.names and not any(word in name for word in arguments.names):
            continue
        ours, theirs = by_turns(calls, arguments.runs)
        if arguments.json:
            print(json.dumps({"case": name, "beside": beside, "ours": ours, "theirs": theirs}), flush=True)
        else:
            print(f"{name:28}{ours * 1e6:12.1f} µs{theirs * 1e6:12.1f} µs of {beside:12}{ours / theirs:6.2f} ×", flush=True)


main()
