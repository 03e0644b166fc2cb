"""The interface of onnxruntime: the same calls on both give the same."""

import collections
import json
import pathlib
import threading
import types

import numpy as np
import onnxruntime
import pytest

import onnxtxt

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = """<ir_version: 10, opset_import: ["": 21], producer_name: "maker", model_version: 7, domain: "a.b", doc_string: "docs",
    metadata_props: ["key": "value"]>
    g (float[N,3] x, float[3] w = {1, 2, 3}) => (float[N,3] y, float[N] z) { h = Mul(x, w) y = Relu(h)
    axes = Constant <value = int64[1] {1}> () z = ReduceSum <keepdims = 0> (h, axes) }"""
X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


def both(**options):
    model = onnxtxt.parse(TEXT).to_bytes()
    return [
        onnxtxt.InferenceSession(model, providers=["CPUExecutionProvider"], **options),
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]),
    ]


def test_what_a_session_says_is_the_same():
    ours, theirs = both()
    for method in ["get_inputs", "get_outputs", "get_overridable_initializers"]:
        one, other = getattr(ours, method)(), getattr(theirs, method)()
        assert [(a.name, a.shape, a.type) for a in one] == [(a.name, a.shape, a.type) for a in other], method
    one, other = ours.get_modelmeta(), theirs.get_modelmeta()
    for field in ["producer_name", "graph_name", "domain", "description", "graph_description", "version", "custom_metadata_map"]:
        assert getattr(one, field) == getattr(other, field), field
    assert ours.get_providers() == theirs.get_providers()
    assert str(ours.get_inputs()[0]) == str(theirs.get_inputs()[0])


def test_runs_are_the_same():
    ours, theirs = both()
    for names in [None, [], ["z"], ["z", "y"], ["y", "z"]]:
        for feeds in [{"x": X}, {"x": X, "w": np.ones(3, np.float32)}, {"x": X[:0]}]:
            one, other = ours.run(names, feeds), theirs.run(names, feeds)
            assert isinstance(one, list) and len(one) == len(other)
            for a, b in zip(one, other):
                assert a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b)
    for feeds in [{}, {"x": X.astype(np.float64)}, {"x": X[0]}, {"q": X}]:
        for session in (ours, theirs):
            with pytest.raises(Exception):  # noqa: B017: theirs are of several types
                session.run(None, feeds)


def test_feeds_may_be_any_mapping():
    ours, _ = both()
    for feeds in [collections.OrderedDict(x=X), collections.UserDict(x=X), types.MappingProxyType({"x": X})]:
        assert ours.run(["z"], feeds)[0].tolist() == [6, -4]


def test_the_file_of_a_model_is_opened():
    digits, x = ROOT / "examples/digits.onnxtxt", np.load(ROOT / "examples/digit.npy")
    for path in [digits, str(digits)]:
        session = onnxtxt.InferenceSession(path)
        results = session.run(None, {session.get_inputs()[0].name: x})
        assert len(results) == len(session.get_outputs()) and results[0].shape[0] == 1


def test_options_of_sessions_and_runs(tmp_path, monkeypatch):
    options = onnxtxt.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxtxt.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = onnxtxt.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.x", "1")
    options.add_free_dimension_override_by_name("N", 2)
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    assert options.get_session_config_entry("session.x") == "1"
    session = onnxtxt.InferenceSession(onnxtxt.parse(TEXT).to_bytes(), options)
    assert session.get_inputs()[0].shape == [2, 3] and session.get_session_options() is options
    run = onnxtxt.RunOptions()
    session.run(None, {"x": X}, run)
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    assert events and all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    run.terminate = True
    with pytest.raises(onnxtxt.Error, match="terminate"):
        session.run(None, {"x": X}, run)
    with pytest.warns(UserWarning, match="CUDAExecutionProvider"):
        session = onnxtxt.InferenceSession(onnxtxt.parse(TEXT).to_bytes(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_runs_without_waiting():
    ours, _ = both()
    done = threading.Event()
    heard = []

    def callback(results, user_data, error):
        heard.append((results, user_data, error))
        done.set()

    ours.run_async(["z"], {"x": X}, callback, "mine")
    assert done.wait(30)
    [(results, user_data, error)] = heard
    assert results[0].tolist() == [6, -4] and user_data == "mine" and error == ""
    done.clear()
    ours.run_async(None, {"x": X[0]}, callback, None)
    assert done.wait(30) and "rank 2" in heard[1][2]


def test_values_are_bound():
    for session, module in zip(both(), [onnxtxt, onnxruntime]):
        binding = session.io_binding()
        binding.bind_cpu_input("x", X)
        binding.bind_output("z")
        y = module.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "cpu", 0)
        binding.bind_ortvalue_output("y", y)
        session.run_with_iobinding(binding)
        z, again = binding.copy_outputs_to_cpu()
        assert z.tolist() == [6, -4] and np.allclose(y.numpy(), again)
        out = np.zeros(2, np.float32)
        binding.clear_binding_outputs()
        binding.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
        binding.bind_output("z", "cpu", 0, np.float32, out.shape, out.ctypes.data)
        session.run_with_iobinding(binding)
        assert out.tolist() == [6, -4]
        value = module.OrtValue.ortvalue_from_numpy(X)
        assert (value.shape(), value.data_type(), value.element_type()) == ([2, 3], "tensor(float)", 1)
        assert value.is_tensor() and value.device_name().lower() == "cpu"
        [z] = session.run_with_ort_values(["z"], {"x": value})
        assert z.numpy().tolist() == [6, -4]
