"""Sessions with the interface of ``onnxruntime``: ``import onnxtxt as ort`` in place of ``import onnxruntime as ort``.

>>> import numpy as np, onnxtxt
>>> text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
>>> session = onnxtxt.InferenceSession(text.encode(), providers=["CPUExecutionProvider"])
>>> session.get_inputs()[0].name, session.get_inputs()[0].shape, session.get_inputs()[0].type
('x', ['N'], 'tensor(float)')
>>> session.run(None, {"x": np.array([-1, 2], np.float32)})
[array([0., 2.], dtype=float32)]

Options of how ONNX Runtime computes (optimization levels, arenas, providers) are accepted and have no effect; options that change
results or limits have one: threads, profiling, overridden dimensions, and ``terminate``.
"""

from __future__ import annotations

import contextlib
import enum
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from onnxtxt._native import Error, Session

_CPU = "CPUExecutionProvider"

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
    "set_seed",
]


class GraphOptimizationLevel(enum.IntEnum):
    """Accepted by ``SessionOptions``; every model is optimized."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted by ``SessionOptions``; nodes are run one after the other, each by several threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Accepted by ``SessionOptions``."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Config:
    """Entries of text by text."""

    def __init__(self) -> None:
        self._config: dict[str, str] = {}

    def _add(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"a configuration entry is ({type(key).__name__}, {type(value).__name__}), expected (str, str)")
        self._config[key] = value

    def _get(self, key: str) -> str:
        if key not in self._config:
            raise RuntimeError(f"unknown configuration entry {key!r}")
        return self._config[key]


class SessionOptions(_Config):
    """Options of a session: ``intra_op_num_threads``, ``enable_profiling``, ``profile_file_prefix``, and those that have no effect."""

    def __init__(self) -> None:
        super().__init__()
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.enable_profiling = False
        self.profile_file_prefix = "onnxtxt_profile_"
        self.optimized_model_filepath = ""
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self.logid = ""
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self._sizes: dict[str, int] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; it has no effect."""
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry. Raises ``RuntimeError`` if there is none."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Sets the size of a symbol in the shapes of inputs."""
        self._sizes[name] = int(size)

    def has_providers(self) -> bool:
        """Whether providers were added to the options."""
        return False

    def register_custom_ops_library(self, path: str) -> None:
        """Raises ``NotImplementedError``: pass functions as ``InferenceSession(…, operators={…})``."""
        raise NotImplementedError(
            f"libraries of operators for ONNX Runtime ({path}) cannot be loaded; pass Python functions as `operators=`"
        )


class RunOptions(_Config):
    """Options of a run; ``terminate = True`` ends it from another thread."""

    def __init__(self) -> None:
        super().__init__()
        self.logid = ""
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.only_execute_path_to_fetches = True
        self._terminate = False
        self._running: list[Session] = []

    @property
    def terminate(self) -> bool:
        """Whether runs with these options end as soon as they can."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)
        if self._terminate:
            for session in list(self._running):
                session.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; it has no effect."""
        self._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of an entry. Raises ``RuntimeError`` if there is none."""
        return self._get(key)


class NodeArg:
    """An input or output: ``name``, ``shape`` (numbers, symbols, ``None``), ``type`` (``tensor(float)``)."""

    __slots__ = ("name", "shape", "type")

    def __init__(self, name: str, shape: Sequence[int | str | None], type: str) -> None:  # noqa: A002
        self.name = name
        self.shape = shape
        self.type = type

    def __repr__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """What a model says about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        for key, value in metadata.items():
            setattr(self, key, value)


#: Element types of ``OrtValue``, by the type of NumPy.
_ELEMENTS = {
    "float32": ("float", 1), "uint8": ("uint8", 2), "int8": ("int8", 3), "uint16": ("uint16", 4), "int16": ("int16", 5),
    "int32": ("int32", 6), "int64": ("int64", 7), "object": ("string", 8), "bool": ("bool", 9), "float16": ("float16", 10),
    "float64": ("double", 11), "uint32": ("uint32", 12), "uint64": ("uint64", 13), "complex64": ("complex64", 14),
    "complex128": ("complex128", 15), "bfloat16": ("bfloat16", 16), "float8_e4m3fn": ("float8e4m3fn", 17),
    "float8_e4m3fnuz": ("float8e4m3fnuz", 18), "float8_e5m2": ("float8e5m2", 19), "float8_e5m2fnuz": ("float8e5m2fnuz", 20),
    "uint4": ("uint4", 21), "int4": ("int4", 22), "float4_e2m1fn": ("float4e2m1", 23),
}  # fmt: skip


class OrtValue:
    """A value in the memory of the processor: an array, a list of arrays, or ``None``."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """A value over an array, which is not copied."""
        _ensure_cpu(device_type)
        return OrtValue(np.asarray(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A value of zeros; the type is one of NumPy, or a number of ``onnx.TensorProto``."""
        _ensure_cpu(device_type)
        return OrtValue(np.zeros(tuple(shape), _element_dtype(element_type)))

    @staticmethod
    def from_dlpack(data: Any) -> OrtValue:
        """A value over the memory of another library."""
        return OrtValue(np.from_dlpack(data))

    def numpy(self) -> Any:
        """The array."""
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._value) if dtype is None else np.asarray(self._value, dtype)

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self._value.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._value.ctypes.data)

    def device_name(self) -> str:
        """``cpu``."""
        return "cpu"

    def shape(self) -> list[int]:
        """The sizes of the axes."""
        return list(np.shape(self._value))

    def element_type(self) -> int:
        """The number of the element type in ``onnx.TensorProto``."""
        return _ELEMENTS.get(self._value.dtype.name, ("undefined", 0))[1]

    def data_type(self) -> str:
        """``tensor(float)``."""
        if isinstance(self._value, list):
            return f"seq({OrtValue(self._value[0]).data_type() if self._value else 'tensor(undefined)'})"
        return f"tensor({_ELEMENTS.get(self._value.dtype.name, ('undefined', 0))[0]})"

    def tensor_size_in_bytes(self) -> int:
        """The bytes of the elements."""
        return int(self._value.nbytes)

    def has_value(self) -> bool:
        """Whether it has a value: an optional may be empty."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether it is an array."""
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """``False``: sparse tensors are stored as dense ones."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a list of arrays."""
        return isinstance(self._value, list)

    def update_inplace(self, np_arr: Any) -> None:
        """Copies elements into the array."""
        if np.shape(np_arr) != self._value.shape or np.asarray(np_arr).dtype != self._value.dtype:
            raise ValueError(f"the new elements are {np.shape(np_arr)}, expected {self._value.dtype}{self._value.shape}")
        self._value[...] = np_arr


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _element_dtype(element_type: Any) -> Any:
    """The type of NumPy for one, or for a number of ``onnx.TensorProto``."""
    if not isinstance(element_type, int):
        return np.dtype(element_type)
    name = next((name for name, (_, number) in _ELEMENTS.items() if number == element_type), None)
    if name is None:
        raise ValueError(f"element_type is {element_type}, expected a number of onnx.TensorProto")
    return _dtype(name)


def _ensure_cpu(device: str) -> None:
    if device.lower() != "cpu":
        raise RuntimeError(f"unknown device {device!r}, expected `cpu`")


class IOBinding:
    """Inputs and outputs that are bound before a run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array."""
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value."""
        self._inputs[name] = ortvalue.numpy()

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds elements at an address, which must stay there as long as the binding is used."""
        _ensure_cpu(device_type)
        self._inputs[name] = _at(element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output; with ``buffer_ptr``, its elements are written there."""
        _ensure_cpu(device_type)
        self._outputs[name] = None if buffer_ptr is None else _at(element_type, shape or (), buffer_ptr)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output in the memory of a value."""
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing: inputs are there."""

    def synchronize_outputs(self) -> None:
        """Nothing: outputs are there."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run."""
        return [OrtValue(value) for value in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as arrays."""
        return list(self._results)

    def clear_binding_inputs(self) -> None:
        """Forgets all inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets all outputs."""
        self._outputs.clear()
        self._results = []


def _at(element_type: Any, shape: Sequence[int], address: int) -> Any:
    import ctypes

    dtype, shape = _element_dtype(element_type), tuple(shape)
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)


class InferenceSession:
    """A model that is ready to be run, with the interface of ``onnxruntime.InferenceSession``.

    ``path_or_bytes`` is a path, bytes in any form, a ``Model`` or an ``onnx.ModelProto``. ``operators`` are functions of Python for
    operators, as of ``Session``.
    """

    def __init__(
        self,
        path_or_bytes: Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        *,
        operators: Mapping[Any, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._options = sess_options if sess_options is not None else SessionOptions()
        threads = int(getattr(self._options, "intra_op_num_threads", 0)) or None
        sizes = list(getattr(self._options, "_sizes", {}).items()) or None
        self._session = Session(
            path_or_bytes, threads=threads, operators=dict(operators) if operators else None, sizes=sizes
        )
        inputs = [_node_arg(port) for port in self._session.inputs]
        self._inputs = [arg for arg, port in zip(inputs, self._session.inputs) if not port.has_default]
        self._overridable = [arg for arg, port in zip(inputs, self._session.inputs) if port.has_default]
        self._outputs = [_node_arg(port) for port in self._session.outputs]
        self._run_list = self._session.run_list
        self._events: list[dict[str, Any]] | None = [] if getattr(self._options, "enable_profiling", False) else None
        self._start = time.monotonic_ns()
        self._seed = _SEED.value
        self.set_providers(providers, provider_options)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The outputs of these names (all outputs) as a list. Only what they need is computed."""
        if run_options is None and self._events is None and self._seed is None:
            return self._run_list(input_feed if isinstance(input_feed, dict) else dict(input_feed), output_names)
        return self._run_with(output_names, input_feed, run_options)

    def _run_with(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], options: Any) -> list[Any]:
        with self._watched(options):
            if self._events is not None:
                self._profile(dict(input_feed))
            return self._run_list(dict(input_feed), output_names, seed=self._seed or 0)

    @contextlib.contextmanager
    def _watched(self, options: Any) -> Iterator[None]:
        """A run that ``terminate`` of its options ends."""
        if not isinstance(options, RunOptions):
            yield
            return
        if options.terminate:
            raise Error("the run was cancelled: `terminate` of its options is set")
        options._running.append(self._session)
        try:
            yield
        finally:
            options._running.remove(self._session)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], None],
        user_data: Any = None,
        run_options: Any = None,
    ) -> None:
        """Runs on a thread of its own, and calls ``callback(results, user_data, error)`` there."""

        def work() -> None:
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as why:  # noqa: BLE001: it is handed on
                results, error = [], str(why) or type(why).__name__
            callback(results, user_data, error)

        threading.Thread(target=work, name="onnxtxt-run-async", daemon=True).start()

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue], run_options: Any = None
    ) -> list[OrtValue]:
        """The same with values."""
        feeds = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(result) for result in self.run(output_names, feeds, run_options)]

    def io_binding(self) -> IOBinding:
        """A binding for ``run_with_iobinding``."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs with bound inputs; results are in the binding. Kernels write to the memory of bound outputs without a copy where its layout
        allows it, see ``Session.run_into``.

        Raises ``Error`` if the memory of an output does not have its type and shape.
        """
        if all(array is None for array in iobinding._outputs.values()):
            results = self.run(list(iobinding._outputs) or None, iobinding._inputs, run_options)
        else:
            with self._watched(run_options):
                if self._events is not None:
                    self._profile(iobinding._inputs)
                done = self._session.run_into(iobinding._inputs, iobinding._outputs, seed=self._seed or 0)
            results = list(done.values())
        iobinding._results = results

    def get_inputs(self) -> list[NodeArg]:
        """The inputs."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs for which the model has values."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself."""
        return ModelMetadata(self._session.metadata)

    def get_session_options(self) -> SessionOptions:
        """The options of the session."""
        return self._options

    def get_providers(self) -> list[str]:
        """``["CPUExecutionProvider"]``."""
        return [_CPU]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of each provider: none."""
        return {_CPU: {}}

    def set_providers(
        self,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Warns about providers that do not exist; runs are on the processor."""
        for provider in providers or ():
            name = provider if isinstance(provider, str) else provider[0]
            if name != _CPU:
                message = f"Specified provider '{name}' is not in available provider names. Available providers: '{_CPU}'"
                warnings.warn(message, stacklevel=3)

    def disable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def enable_fallback(self) -> None:
        """Nothing: there is one provider."""

    def get_profiling_start_time_ns(self) -> int:
        """When the session was made, comparable to ``time.monotonic_ns``."""
        return self._start

    def _profile(self, feeds: dict[str, Any]) -> None:
        assert self._events is not None
        begin = (time.monotonic_ns() - self._start) // 1000
        for row in self._session.profile(feeds):
            self._events.append(
                {
                    "cat": "Node",
                    "ph": "X",
                    "pid": os.getpid(),
                    "tid": threading.get_ident(),
                    "name": f"{row['name'] or row['op']}_kernel_time",
                    "ts": begin + int(row["start"] * 1e6),
                    "dur": int(row["time"] * 1e6),
                    "args": {"op_name": row["op"], "provider": _CPU, "output_type_shape": row["results"]},
                }
            )

    def end_profiling(self) -> str:
        """Writes the times of kernels since the session was made, for ``chrome://tracing``, and returns the name of the file."""
        # Here: it would take a part of the time of the import.
        import json

        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        name = f"{self._options.profile_file_prefix}_{stamp}.json"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(self._events or [], file)
        self._events = None
        return name


def _node_arg(port: Any) -> NodeArg:
    return NodeArg(port.name, [] if port.shape is None else port.shape, port.type)


class _Seed:
    value: int | None = None


_SEED = _Seed()


def set_seed(seed: int) -> None:
    """The seed of random operators in sessions that are made from now on."""
    _SEED.value = int(seed)


def get_available_providers() -> list[str]:
    """``["CPUExecutionProvider"]``."""
    return [_CPU]


def get_all_providers() -> list[str]:
    """``["CPUExecutionProvider"]``."""
    return [_CPU]


def get_device() -> str:
    """``CPU``."""
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Nothing: there is no log."""
