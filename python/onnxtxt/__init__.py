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
from onnxtxt._native import Executable, Trainer

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
    "Trainer",
]
