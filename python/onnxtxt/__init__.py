"""ONNX models as text and as protobuf: checked, edited, run and trained.

>>> import onnxtxt
>>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
>>> model.check()
[]

Examples in the documentation of functions and methods need no imports but ``import numpy as np, onnxtxt``, and are run by the tests.
"""

from collections.abc import MutableMapping as _MutableMapping, Sequence as _Sequence

from onnxtxt._native import __version__

# Models.
from onnxtxt._native import (
    Attributes,
    Difference,
    Error,
    FileError,
    Finding,
    Fix,
    Function,
    Graph,
    Initializers,
    Label,
    MissingFileError,
    Model,
    Node,
    Nodes,
    Parameter,
    Part,
    Report,
    StaleError,
    Value,
    decode,
    explain,
    open,
    ops,
    parse,
    parse_attribute,
    parse_function,
    parse_graph,
    parse_node,
    parse_type,
    parse_value,
    passes,
    test,
)
from onnxtxt._builder import GraphBuilder
from onnxtxt._compare import Comparison, compare
from onnxtxt._findings import Findings

# Running and training.
from onnxtxt._native import Executable, GoldenTest, Port, Session, Trainer, golden_tests
from onnxtxt._operators import Operator, TensorType
from onnxtxt._progress import progress
from onnxtxt.inference import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    IOBinding,
    InferenceSession,
    ModelMetadata,
    NodeArg,
    OrtDevice,
    OrtValue,
    RunOptions,
    SessionIOBinding,
    SessionOptions,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
)

__all__ = [
    "__version__",
    # Models.
    "Attributes",
    "Comparison",
    "Difference",
    "Error",
    "FileError",
    "Finding",
    "Findings",
    "Fix",
    "Function",
    "Graph",
    "GraphBuilder",
    "Initializers",
    "Label",
    "MissingFileError",
    "Model",
    "Node",
    "Nodes",
    "Parameter",
    "Part",
    "Report",
    "StaleError",
    "Value",
    "compare",
    "decode",
    "explain",
    "open",
    "ops",
    "parse",
    "parse_attribute",
    "parse_function",
    "parse_graph",
    "parse_node",
    "parse_type",
    "parse_value",
    "passes",
    "test",
    # Running and training.
    "Executable",
    "GoldenTest",
    "Operator",
    "Port",
    "Session",
    "TensorType",
    "Trainer",
    "golden_tests",
    "progress",
    # The interface of ONNX Runtime.
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

_MutableMapping.register(Attributes)
_MutableMapping.register(Initializers)
_Sequence.register(Nodes)
del _MutableMapping, _Sequence
