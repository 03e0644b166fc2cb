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


#: What programs find in onnxruntime and not here: devices and providers that do not exist here, and its compiler of models.
NOT_HERE = {
    "onnxruntime": {
        "AdapterFormat", "LoraAdapter", "ModelCompiler", "OrtAllocatorType", "OrtArenaCfg", "OrtCompileApiFlags", "OrtDeviceMemoryType",
        "OrtDeviceVendorId", "OrtEpAssignedNode", "OrtEpAssignedSubgraph", "OrtEpContextData", "OrtEpContextDataBuffer", "OrtEpDevice",
        "OrtExecutionProviderDevicePolicy", "OrtExternalInitializerInfo", "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType",
        "OrtMemoryInfo", "OrtMemoryInfoDeviceType", "OrtSparseFormat", "OrtSyncStream", "SparseTensor", "capi", "contextlib", "copy_tensors",
        "create_and_register_allocator", "create_and_register_allocator_v2", "cuda_version", "get_ep_devices", "import_capi_exception",
        "onnxruntime_validation", "package_name", "print_debug_info", "register_execution_provider_library",
        "set_global_thread_pool_sizes", "unregister_execution_provider_library", "version",
    },
    "InferenceSession": {
        "create_ortvalue_from_shape_and_type", "get_input_epdevices", "get_input_memory_infos", "get_output_memory_infos",
        "get_provider_graph_assignment_info", "get_tuning_results", "release_captured_graph", "run_with_ortvaluevector",
        "set_ep_dynamic_options", "set_tuning_results",
    },
    "OrtValue": {"as_sparse_tensor", "ort_value_from_sparse_tensor"},
    "SessionOptions": {
        "add_external_initializers_from_files_in_memory", "add_free_dimension_override_by_denotation", "add_provider_for_devices",
        "clear_ep_context_data_read_func", "set_ep_context_data_read_func", "set_load_cancellation_flag",
        "set_provider_selection_policy", "set_provider_selection_policy_delegate",
    },
    "RunOptions": {"add_active_adapter"},
    "OrtDevice": set(),
    "IOBinding": set(),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_HERE)
def test_names_are_those_of_onnxruntime(name):
    def names(module):
        thing = module if name == "onnxruntime" else getattr(module, name)
        thing = thing() if name in ("SessionOptions", "RunOptions") else thing
        return {name for name in dir(thing) if not name.startswith("_")}

    assert names(onnxruntime) - names(onnxtxt) == NOT_HERE[name]


def test_initializers_are_those_of_the_options():
    for module in (onnxtxt, onnxruntime):
        options = module.SessionOptions()
        weights = np.array([10, 20, 30], np.float32)
        value = module.OrtValue.ortvalue_from_numpy(weights)
        options.add_initializer("w", value)
        text = TEXT.replace("x, float[3] w = {1, 2, 3}) =>", "x) =>").replace("z) {", "z) <float[3] w = {1, 2, 3}> {")
        session = module.InferenceSession(onnxtxt.parse(text).to_bytes(), options)
        assert session.run(["z"], {"x": X})[0].tolist() == [60, -40], module
    options = onnxtxt.SessionOptions()
    options.add_external_initializers(["v"], [onnxtxt.OrtValue.ortvalue_from_numpy(weights)])
    with pytest.raises(onnxtxt.Error, match="no initializer `v`"):
        onnxtxt.InferenceSession(onnxtxt.parse(text).to_bytes(), options)


def test_values_have_types_that_numpy_has_not():
    for module in (onnxtxt, onnxruntime):
        bits = np.array([0x3F80, 0x4000], np.uint16)
        value = module.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
        assert (value.data_type(), value.shape(), value.data_ptr()) == ("tensor(bfloat16)", [2], bits.ctypes.data), module
    with pytest.raises(ValueError, match="expected 2 for bfloat16"):
        onnxtxt.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.float32), 16)
    device = onnxtxt.OrtDevice.make("cpu", 0)
    assert (device.device_type(), device.device_id()) == (onnxtxt.OrtDevice.cpu(), 0)
    with pytest.raises(RuntimeError, match="unknown device 'cuda'"):
        onnxtxt.OrtDevice.make("cuda", 0)
