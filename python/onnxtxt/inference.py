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

from onnxtxt._native import Error, Model, Session, __version__
from onnxtxt._native import open as open_model
from onnxtxt._ort_values import IOBinding, OrtDevice, OrtValue

_CPU = "CPUExecutionProvider"

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
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
        self._initializers: dict[str, Any] = {}
        self._providers: list[str] = []

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keeps an entry; it has no effect."""
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of an entry. Raises ``RuntimeError`` if there is none."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Sets the size of a symbol in the shapes of inputs."""
        self._sizes[name] = int(size)

    def add_initializer(self, name: str, ortvalue: OrtValue) -> None:
        """Replaces an initializer of the model, such as one whose weights several sessions share."""
        self._initializers[name] = ortvalue.numpy()

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None:
        """Replaces initializers of the model, such as those whose files are elsewhere."""
        if len(names) != len(values):
            raise ValueError(f"{len(names)} names and {len(values)} values are given, expected as many")
        for name, value in zip(names, values):
            self.add_initializer(name, value)

    def add_provider(self, provider_name: str, options: Mapping[str, str] | None = None) -> None:
        """Adds a provider. Sessions warn about those that do not exist; runs are on the processor."""
        self._providers.append(provider_name)

    def has_providers(self) -> bool:
        """Whether providers were added to the options."""
        return bool(self._providers)

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
        model = _with_initializers(path_or_bytes, getattr(self._options, "_initializers", {}))
        self._session = Session(model, threads=threads, operators=dict(operators) if operators else None, sizes=sizes)
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
        for provider in [*(providers or ()), *getattr(self._options, "_providers", ())]:
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


#: The name under which ``onnxruntime`` has the class of ``io_binding`` as well.
SessionIOBinding = IOBinding


def _with_initializers(source: Any, arrays: Mapping[str, Any]) -> Any:
    """A model with other initializers; the same if there are none."""
    if not arrays:
        return source
    model = source.copy() if isinstance(source, Model) else open_model(source)
    for name, array in arrays.items():
        if name not in model.graph.initializers:
            raise Error(f"the model has no initializer `{name}`")
        model.graph.initializers[name] = array
    return model


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


def get_version_string() -> str:
    """The version of this package."""
    return __version__


def get_build_info() -> str:
    """The name and version of this package."""
    return f"onnxtxt {__version__}"


def has_collective_ops() -> bool:
    """``False``: nodes do not communicate with other machines."""
    return False


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Nothing: no libraries are needed."""


def disable_telemetry_events() -> None:
    """Nothing: nothing is sent."""


def enable_telemetry_events() -> None:
    """Nothing: nothing is sent."""


def set_default_logger_severity(severity: int) -> None:
    """Does nothing: runs are not logged."""


def set_default_logger_verbosity(level: int) -> None:
    """Does nothing: runs are not logged."""
