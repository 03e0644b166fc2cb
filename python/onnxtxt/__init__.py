"""ONNX models as text and as protobuf: checked, edited, run and trained.

>>> import onnxtxt
>>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
>>> model.check()
[]
"""

from onnxtxt._native import __version__

# Models.
from onnxtxt._native import Error, Finding, Model, decode, open, parse

# Running and training.
from onnxtxt._native import Executable, GoldenTest, Port, Session, Trainer, golden_tests
from onnxtxt.inference import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    InferenceSession,
    IOBinding,
    ModelMetadata,
    NodeArg,
    OrtValue,
    RunOptions,
    SessionOptions,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
    set_seed,
)

__all__ = [
    "__version__",
    # Models.
    "Error",
    "Finding",
    "Model",
    "decode",
    "open",
    "parse",
    # Running and training.
    "Executable",
    "GoldenTest",
    "Port",
    "Session",
    "Trainer",
    "golden_tests",
    # The interface of ONNX Runtime.
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
