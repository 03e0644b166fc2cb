"""Arrays in and out of runs: what is shared, what is copied, what is refused."""

import array
import gc
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import onnxtxt

HEAD = '<ir_version: 13, opset_import: ["": 23]>\n'
NUMBERS = {
    "float16": np.float16, "float": np.float32, "double": np.float64, "int8": np.int8, "int16": np.int16,
    "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
    "uint64": np.uint64, "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
    "bfloat16": ml_dtypes.bfloat16, "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "uint4": ml_dtypes.uint4,
    "int4": ml_dtypes.int4, "float4e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip


def session(graph, **options):
    return onnxtxt.Session(onnxtxt.parse(HEAD + graph), **options)


def identity(kind):
    return session(f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}", unchecked=True)


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("name", NUMBERS)
def test_each_type_in_each_layout(name):
    ty = NUMBERS[name]
    run = identity(f"{name}[A,B]").run
    base = (np.arange(6) % 4).reshape(2, 3).astype(ty)
    if name in ("int4", "int8"):
        base = (np.arange(6) % 8 - 4).reshape(2, 3).astype(ty)
    layouts = {
        "plain": base,
        "reversed": base[::-1, ::-1],
        "strided": np.repeat(base, 2, axis=1)[:, ::2],
        "fortran": np.asfortranarray(base),
        "transposed": base.T,
        "empty": base[:0],
        "broadcast": np.broadcast_to(base[:1], (4, 3)),
    }
    if np.dtype(ty).isbuiltin == 1 and np.dtype(ty).itemsize > 1:
        layouts["swapped"] = base.astype(np.dtype(ty).newbyteorder())
    frozen = base.copy()
    frozen.setflags(write=False)
    layouts["read-only"] = frozen
    shifted = np.zeros(base.nbytes + 1, np.uint8)[1:]
    shifted[:] = np.frombuffer(base.tobytes(), np.uint8)
    layouts["unaligned"] = np.ndarray(base.shape, ty, shifted.data)
    for layout, x in layouts.items():
        before = x.astype(ty).tobytes()
        y = run({"x": x})["y"]
        assert (y.dtype, y.shape) == (np.dtype(ty), x.shape), layout
        assert y.tobytes() == x.astype(ty).tobytes() == before, (layout, x, y)
        assert y.flags.writeable and not np.may_share_memory(x, y), layout


def test_large_arrays_are_not_copied():
    run = session("g (float[N] x) => (float[N] y) { y = Relu(x) }").run
    x = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32)
    y = run({"x": x})["y"]
    assert type(y.base).__name__ == "Memory" and y.flags.writeable and y.flags.c_contiguous
    assert (y == np.maximum(x, 0)).all()
    y[:] = 7
    assert (run({"x": x})["y"] == np.maximum(x, 0)).all(), "an array has been used by another run"
    # The memory lives as long as the array, and is used again after it.
    kept = y[::2]
    del y
    gc.collect()
    assert (run({"x": x})["y"][0] == max(x[0], 0)) and (kept == 7).all()
    before = address(run({"x": x})["y"])
    assert before == address(run({"x": x})["y"])


def test_outputs_never_share_memory_with_inputs_or_each_other():
    s = session("g (float[N] x) => (float[N] a, float[N] b, float[M] c, float[N] d) "
                "<float[3] w = {1, 2, 3}> { a = Identity(x) b = Identity(a) c = Identity(w) d = Neg(x) }")  # fmt: skip
    for count in [3, 5000]:
        x = np.arange(count, dtype=np.float32)
        results = s.run({"x": x})
        arrays = [x, *results.values()]
        for i, one in enumerate(arrays):
            for other in arrays[i + 1 :]:
                assert not np.may_share_memory(one, other)
        results["c"][:] = 9
        assert s.run({"x": x})["c"].tolist() == [1, 2, 3], "a constant of the model has been changed"


def test_a_changed_array_is_read_anew():
    """What runs keep between them (plans for the elements of small inputs, prepared weights) must not see lent memory."""
    reshape = session("g (float[N] x, int64[2] s) => (float y) { y = Reshape(x, s) }", unchecked=True)
    x, shape = np.arange(6, dtype=np.float32), np.array([2, 3])
    assert reshape.run({"x": x, "s": shape})["y"].shape == (2, 3)
    shape[:] = [3, 2]
    assert reshape.run({"x": x, "s": shape})["y"].shape == (3, 2)
    lstm = session("g (float[T,1,2] x, float[1,4,2] w, float[1,4,1] r) => (float[T,1,1,1] y) "
                   "{ y = LSTM <hidden_size = 1> (x, w, r) }", unchecked=True)  # fmt: skip
    w, r = np.ones((1, 4, 2), np.float32), np.zeros((1, 4, 1), np.float32)
    x = np.ones((1, 1, 2), np.float32)
    first = lstm.run({"x": x, "w": w, "r": r})["y"]
    w[:] = -1
    assert lstm.run({"x": x, "w": w, "r": r})["y"] != first
    product = session("g (float[A,B] a, float[B,C] b) => (float[A,C] y) { y = MatMul(a, b) }")
    a, b = np.ones((40, 40), np.float32), np.ones((40, 40), np.float32)
    assert (product.run({"a": a, "b": b})["y"] == 40).all()
    b[:] = 2
    assert (product.run({"a": a, "b": b})["y"] == 80).all()


def test_strings_of_every_kind():
    run = identity("string[N]").run
    texts = ["a", "ß", "", "long " * 20]
    arrays = [np.array(texts, object), np.array(texts), np.array(texts, np.dtypes.StringDType()),
              np.array([text.encode() for text in texts], object), texts]  # fmt: skip
    for given in arrays:
        y = run({"x": given})["y"]
        assert y.dtype == object and y.tolist() == texts
    assert run({"x": np.array([b"a", b"bc"])})["y"].tolist() == ["a", "bc"]
    with pytest.raises(TypeError, match="element 1 of an array of objects is int, expected str"):
        run({"x": np.array(["a", 1], object)})
    with pytest.raises(ValueError, match="element 0 of an array of bytes is not UTF-8"):
        run({"x": np.array([b"\xff"], object)})


def test_other_libraries_and_protocols():
    run = identity("float[N]").run

    class Dlpack:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    class Interface:
        def __init__(self, x):
            self.x, self.__array_interface__ = x, x.__array_interface__

    x = np.array([1, 2], np.float32)
    for given in [Dlpack(x), Interface(x), array.array("f", [1, 2]), memoryview(x), [1, 2], (1.0, 2.0)]:
        assert run({"x": given})["y"].tolist() == [1, 2], given
    assert np.from_dlpack(run({"x": np.zeros(5000, np.float32)})["y"]).shape == (5000,)
    with pytest.raises(TypeError, match="input `x`: .* is not an array"):
        run({"x": Dlpack(3)})


def test_sequences_maps_and_optionals():
    s = session("g (seq(float[N]) s) => (seq(float[N]) r, int64 n) { r = Identity(s) n = SequenceLength(s) }")
    done = s.run({"s": [np.zeros(2, np.float32), np.ones(3, np.float32)]})
    assert done["n"] == 2 and [len(item) for item in done["r"]] == [2, 3]
    assert s.run({"s": []})["r"] == [] and s.run({"s": [[1, 2], [3]]})["r"][0].dtype == np.float32
    o = session("g (optional(float[N]) o) => (bool b) { b = OptionalHasElement(o) }")
    assert o.run({"o": None})["b"] == False and o.run({"o": np.zeros(1, np.float32)})["b"] == True  # noqa: E712
    m = onnxtxt.Session(onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[N,2] x) => '
        '(seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [4, 5]> (x) }'))  # fmt: skip
    assert m.run({"x": np.array([[0.25, 0.75]], np.float32)})["y"] == [{4: 0.25, 5: 0.75}]
    back = onnxtxt.Session(onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g (map(int64, float) x) => '
        '(float[A,B] y) { y = ai.onnx.ml.DictVectorizer <int64_vocabulary = [5, 4]> (x) }'), unchecked=True)  # fmt: skip
    assert back.run({"x": {4: 0.25, 5: 0.75}})["y"].ravel().tolist() == [0.75, 0.25]


def test_what_cannot_be_taken_says_why():
    run = identity("float[N]").run
    cases = [
        (np.array([1.0, 2.0]), onnxtxt.Error, r"input `x` is double\[2\], (?s:expected float\[N\].*help: convert its elements to float)"),
        (np.zeros((1, 1), np.float32), onnxtxt.Error, r"pass a tensor of rank 1, not 2"),
        (np.ma.masked_array([1, 2], [0, 1], np.float32), TypeError, "input `x`: a masked array has no elements where it is masked"),
        (np.zeros(2, "M8[s]"), TypeError, r"an array of datetime64\[s\] has no ONNX type"),
        (np.zeros(2, np.longdouble), TypeError, "has no ONNX type"),
        (np.zeros(2, [("a", "f4")]), TypeError, "has no ONNX type"),
        (object(), TypeError, "element 0 of an array of objects is object, expected str"),
        ("text", onnxtxt.Error, r"input `x` is string, expected float\[N\]"),
        ({"a": 1}, onnxtxt.Error, r"is map\(string"),
    ]  # fmt: skip
    for given, error, message in cases:
        with pytest.raises(error, match=message):
            run({"x": given})
    with pytest.raises(onnxtxt.Error, match="has no input `z`"):
        run({"x": np.zeros(1, np.float32), "z": np.zeros(1, np.float32)})
    with pytest.raises(onnxtxt.Error, match="input `x` is not given"):
        run({})
    nested = []
    for _ in range(100):
        nested = [nested, np.zeros(1)]
    with pytest.raises((ValueError, TypeError)):
        run({"x": nested})


def test_the_interpreter_is_released_during_copies():
    run = identity("float[A,B]").run
    x = np.ones((6000, 6000), np.float32).T  # copied in, and out because it is the input
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    run({"x": x})
    took = time.monotonic() - start
    done.set()
    thread.join()
    longest = max(b - a for a, b in zip(ticks, ticks[1:]))
    assert longest < max(0.1, took / 2), (longest, took)
