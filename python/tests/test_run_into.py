"""Results in arrays that the caller provides: written by kernels where that is possible, checked in any case."""

import gc
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
MODEL = HEAD + "g (float[N,3] x) => (float[N,3] y, float[N,3] z) { h = Neg(x) y = Relu(h) z = Abs(h) }"
X = np.array([[1, -2, 3]], np.float32)


def session(graph, **options):
    return onnxtxt.Session(onnxtxt.parse(HEAD + graph), **options)


def test_results_are_in_the_arrays():
    made = onnxtxt.Session(onnxtxt.parse(MODEL))
    y, z = np.zeros((1, 3), np.float32), np.zeros((2, 3), np.float32)[::2]
    done = made.run_into({"x": X}, {"y": y, "z": z, "h": None})
    assert done["y"] is y and done["z"] is z and done["h"].tolist() == [[-1, 2, -3]]
    assert y.tolist() == [[0, 2, 0]] and z.tolist() == [[1, 2, 3]]
    assert made.run_into({"x": -X}, {"y": y})["y"].tolist() == [[1, 0, 3]]
    assert made.run_into({"x": X}, {}) == {}


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int64", "uint16", "bool", ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4, "object"],
    ids=str,
)
def test_arrays_of_any_type_and_layout(dtype):
    dtype = np.dtype(dtype)
    names = {"object": "string", "float32": "float", "float64": "double"}
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(dtype) if dtype != object else np.array([["a", "b", "c"], ["d", "", "ß"]], object)
    made = session(f"g ({names.get(dtype.name, dtype.name)}[A,B] x) => ({names.get(dtype.name, dtype.name)}[A,B] y) {{ y = Identity(x) }}")
    layouts = {
        "whole": np.empty((2, 3), dtype),
        "strided": np.empty((4, 6), dtype)[::2, ::2],
        "reversed": np.empty((2, 3), dtype)[::-1],
        "columns": np.empty((3, 2), dtype).T,
    }
    if dtype.kind in "fiu" and dtype.itemsize > 1 and dtype.isbuiltin:
        skewed = np.frombuffer(bytearray(6 * dtype.itemsize + 1), np.uint8)[1:].view(dtype).reshape(2, 3)
        layouts |= {"other order": np.empty((2, 3), dtype.newbyteorder()), "not aligned": skewed}
    for layout, y in layouts.items():
        y[...] = x[::-1]
        assert made.run_into({"x": x}, {"y": y})["y"] is y
        assert (y == x).all(), layout


def test_arrays_that_do_not_fit_are_refused():
    made = onnxtxt.Session(onnxtxt.parse(MODEL))
    y = np.full((1, 3), 7, np.float32)
    for bad, text in [
        (np.zeros((1, 3)), r"double\[1,3\]"),
        (np.zeros((3, 1), np.float32), r"float\[3,1\]"),
        (np.zeros(3, np.float32), r"float\[3\]"),
    ]:
        with pytest.raises(onnxtxt.Error, match=r"output `z` is float\[N,3\], but the memory for it is " + text):
            made.run_into({"x": X}, {"y": y, "z": bad})
    assert (y == 7).all(), "nothing is written if a result cannot fit"
    # What is known after the run.
    for bad in [np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)[::2]]:
        with pytest.raises(onnxtxt.Error, match="but the memory for it is"):
            made.run_into({"x": X}, {"z": bad})
    with pytest.raises(onnxtxt.Error, match="the model computes no `q`"):
        made.run_into({"x": X}, {"q": y})
    y.setflags(write=False)
    with pytest.raises(ValueError, match="result `y` cannot be written to"):
        made.run_into({"x": X}, {"y": y})
    for bad, text in [([0.0] * 3, "is list, expected a numpy.ndarray"), (3, "is int"), (np.ma.zeros((1, 3), np.float32), "masked")]:
        with pytest.raises(TypeError, match=text):
            made.run_into({"x": X}, {"y": bad})
    sequence = session("g (float[N] x) => (seq(float[N]) y) { y = SequenceConstruct(x) }")
    with pytest.raises(onnxtxt.Error, match="but the memory for it is"):
        sequence.run_into({"x": X[0]}, {"y": np.zeros(3, np.float32)})


def test_memory_is_shared_with_care():
    made = session("g (float[N] x) => (float[N] y, float[N] z) <int64[4] i = {3, 2, 1, 0}> { y = Gather(x, i) z = Neg(x) }")
    x = np.array([1, 2, 3, 4], np.float32)
    # In place: the result is written when nothing reads the input any more.
    assert made.run_into({"x": x}, {"y": x})["y"] is x and x.tolist() == [4, 3, 2, 1]
    both = np.zeros(6, np.float32)
    both[:4] = x
    made.run_into({"x": both[:4]}, {"y": both[2:]})
    assert both[2:].tolist() == [1, 2, 3, 4]
    with pytest.raises(onnxtxt.Error, match="outputs `y` and `z` share memory"):
        made.run_into({"x": x}, {"y": both[:4], "z": both[1:5]})
    # Results that are one another, or an input.
    same = session("g (float[N] x) => (float[N] y, float[N] z, float[N] x) { y = Neg(x) z = Identity(y) }")
    arrays = {name: np.zeros(4, np.float32) for name in "yzx"}
    same.run_into({"x": x}, arrays)
    assert arrays["y"].tolist() == arrays["z"].tolist() == (-x).tolist() and (arrays["x"] == x).all()
    done = same.run_into({"x": x}, {"y": arrays["y"], "z": None})
    arrays["y"][:] = 0
    assert done["z"].tolist() == (-x).tolist(), "other results do not share the memory of the caller"


def test_arrays_are_let_go():
    made = onnxtxt.Session(onnxtxt.parse(MODEL))
    y = np.zeros((400, 3), np.float32)
    count = sys.getrefcount(y)
    for _ in range(3):
        made.run_into({"x": np.ones((400, 3), np.float32)}, {"y": y})
        with pytest.raises(onnxtxt.Error):
            made.run_into({"x": np.ones((401, 3), np.float32)}, {"y": y})
        with pytest.raises(onnxtxt.Error):
            made.run_into({"x": np.ones((400, 4), np.float32)}, {"y": y})
    gc.collect()
    assert sys.getrefcount(y) == count


def test_large_results_are_not_copied():
    made = session("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    x, y = np.random.default_rng(0).standard_normal(1_000_000).astype(np.float32), np.zeros(1_000_000, np.float32)
    done = made.run_into({"x": x}, {"y": y}, threads=2)["y"]
    assert done.ctypes.data == y.ctypes.data and (y == np.maximum(x, 0)).all()


def test_threads_have_arrays_of_their_own():
    made = session("g (float[A,B] x) => (float[A,B] y) { t = MatMul(x, x) y = Neg(t) }")
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((32, 32)).astype(np.float32)
        y = np.zeros_like(x)
        for _ in range(20):
            made.run_into({"x": x}, {"y": y}, threads=1)
            if not np.allclose(y, -(x @ x), atol=1e-3):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_bound_memory_of_a_session_like_that_of_onnxruntime():
    made = onnxtxt.InferenceSession(MODEL.encode())
    binding, y = made.io_binding(), np.zeros((1, 3), np.float32)
    binding.bind_cpu_input("x", X)
    binding.bind_output("y", "cpu", 0, 1, y.shape, y.ctypes.data)
    binding.bind_output("z")
    for turn in range(2):
        made.run_with_iobinding(binding)
        first, second = binding.copy_outputs_to_cpu()
        assert y.tolist() == first.tolist() == [[0, 2, 0]] and second.tolist() == [[1, 2, 3]]
        y[:] = turn
    wrong = np.zeros((2, 3), np.float32)
    binding.bind_output("y", "cpu", 0, np.float32, wrong.shape, wrong.ctypes.data)
    with pytest.raises(onnxtxt.Error, match="but the memory for it is"):
        made.run_with_iobinding(binding)
