"""The exceptions of the package `onnx`, and which findings raise which.

A message begins with the sentence of the reference where there is one that programs look for, and goes on with the finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import onnxtxt


class ValidationError(Exception):
    """A message breaks rules of the specification. The message has all findings."""

    __module__ = "onnxtxt.compat.checker"


try:
    # That of the package `onnx`, so that programs that mix both catch either.
    from onnx.onnx_cpp2py_export.shape_inference import InferenceError
except ImportError:
    from onnxtxt.compat._own_errors import InferenceError  # type: ignore[assignment, unused-ignore]


#: Findings that follow from types of values, which only inference knows: `check_model` reports them with `full_check` alone.
NEED_TYPES = frozenset(
    ["E0209", "E0224", "E0332", "E1010", "E1011", "E1012", "E1013", "E1014", "E1015", "E1016", "E1017"]
)
#: Of those, what an operator accepts: `check_type` reports them, and `strict_mode` all others.
ACCEPTED_TYPES = frozenset(["E1011", "E1012"])
#: What inference does not mind: operators that are unknown or deprecated.
NO_CONTRADICTIONS = frozenset(["E1001", "E1002"])
#: What the reference finds when inference reads tensors and types.
READ_BY_INFERENCE = frozenset(["E0501", "E0503", "E0504", "E0505", "E0506", "E0507", "E0703"])
#: What the reference accepts everywhere: element types that do not exist, and nodes without outputs.
ACCEPTED = frozenset(["E0703", "E0210"])

_SENTENCES = {
    "E0803": "Cycle detected in model-local function references.",
    "E0504": "Data size mismatch.",
    "E0503": "Data size mismatch.",
    "E0505": "Data size mismatch.",
    "E0506": "Data size mismatch.",
    "E0507": "Data size mismatch.",
}


def name_in(finding: onnxtxt.Finding) -> str:
    """The last name in the first sentence of a finding about an operator."""
    return re.findall(r"`(\w+)`", finding.message)[-1]


_ELLIPSES = re.compile(r"the ellipsis covers (\d+) ax[ei]s of one input and (\d+) of another")
_MULTIPLE = re.compile(r"is not a multiple of (\d+)")


def _shape_sentence(finding: onnxtxt.Finding) -> str | None:
    """The sentence for a contradiction of shapes."""
    if finding.message.endswith("are not a multiple of `group`, " + finding.message.rpartition(" ")[2]) and "ConvTranspose" in finding.rendered:
        return "Input channels C must be divisible by group for ConvTranspose."
    ellipses, multiple = _ELLIPSES.match(finding.message), _MULTIPLE.search(finding.message)
    equation = re.search(r'equation = "([^"]*)"', finding.rendered)
    # The finding does not say which inputs: they are known if there are two.
    if ellipses and equation and equation[1].partition("->")[0].count(",") == 1:
        first, second = ellipses.groups()
        return f"Ellipsis for input 1 represents {second} dimensions, but ellipsis for input 0 represents {first} dimensions."
    if multiple and int(multiple[1]) ** 2 >= 2**63:
        return f"The area of blocks of {multiple[1]} overflows."
    return None


def _text(finding: onnxtxt.Finding) -> str:
    sentence = _shape_sentence(finding) if finding.code == "E1015" else _SENTENCES.get(finding.code)
    if finding.code == "E1002":
        sentence = f"{name_in(finding)} is deprecated."
    if finding.code == "E0508" and "float6" in finding.message:
        sentence = "FLOAT6 values in int32_data must use only bits 0-5."
    return f"{sentence}\n{finding}" if sentence else str(finding)


def refuse(found: Iterable[onnxtxt.Finding], error: type[Exception] = ValidationError) -> None:
    """Raises an exception for the errors of these findings, if there are any."""
    errors = [finding for finding in found if finding.is_error]
    if errors:
        raise error("\n".join(map(_text, errors)))
