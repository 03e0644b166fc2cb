"""Writes `onnxtxt/_operator_methods.pyi`: the operators as methods of a `GraphBuilder`, for type checkers and for editors that complete names.

`python python/tests/builder_stubs.py --write`, with the module on the path, after a change of the signatures of operators.
`test_builder_stubs.py` compares the file with what the module says.
"""

import json
import keyword
import pathlib
import sys
import textwrap

import onnxtxt

PATH = pathlib.Path(__file__).resolve().parents[1] / "onnxtxt/_operator_methods.pyi"

HEAD = '''"""The operators of ai.onnx {version} as methods of a `GraphBuilder`.

Written by `tests/builder_stubs.py --write`. A builder for another version of the operators has the methods of that version.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike

from onnxtxt._builder import GraphBuilder
from onnxtxt._native import Parameter, Value

_Operand: TypeAlias = Value | ArrayLike
_Graph: TypeAlias = Callable[[GraphBuilder], Any]
_Names: TypeAlias = int | Sequence[str | None]

class OperatorMethods:
'''

#: The types of Python for the types of attributes.
TYPES = {
    "float": "float",
    "int": "int",
    "string": "str | bytes",
    "tensor": "ArrayLike",
    "graph": "_Graph",
    "floats": "Sequence[float]",
    "ints": "Sequence[int]",
    "strings": "Sequence[str | bytes]",
    "tensors": "Sequence[ArrayLike]",
    "type_proto": "str",
}


def inputs_of(signature):
    """Operands in order. Those that may be left out have a default once all after them have one, too."""
    params = signature["inputs"]
    minimum = min(signature["input_counts"], default=0)
    lines, variadic = [], None
    for at, param in enumerate(params):
        name = param["name"] + "_" * keyword.iskeyword(param["name"])
        rest = params[at:]
        if param["kind"] == "variadic":
            variadic = f"*{name}: _Operand | None"
        elif param["kind"] == "optional" and at >= minimum and all(other["kind"] == "optional" for other in rest):
            lines.append(f"{name}: _Operand | None = None")
        else:
            lines.append(f"{name}: _Operand" + (" | None" if param["kind"] == "optional" else ""))
    return [*lines, *(["/"] if lines else []), variadic or "*"]


def attributes_of(signature):
    """Attributes as keywords; those that cannot be set in Python are left out."""
    required = [attribute for attribute in signature["attributes"] if attribute["required"]]
    optional = [attribute for attribute in signature["attributes"] if not attribute["required"]]
    for attribute in required + optional:
        ty = TYPES.get(attribute["type"])
        if ty is None:
            continue
        line = f"{attribute['name']}: {ty} | Parameter"
        if attribute["required"]:
            yield line
        else:
            default = attribute["default"]
            yield f"{line} = {'...' if default is None else json.dumps(default)}"


def results_of(signature):
    """The ways to ask for results, as pairs of the parameter `outputs` and the type that is returned."""
    params = signature["outputs"]
    required = [param for param in params if param["kind"] == "single"]
    one = "outputs: str | None = None"
    if len(params) == len(required) == 1:
        return [(one, "Value")]
    if len(params) == len(required):
        return [("outputs: _Names | None = None", f"tuple[{', '.join(['Value'] * len(params))}]")]
    if len(required) == 1:
        return [(one, "Value"), ("outputs: _Names", "Any")]
    return [("outputs: _Names | str | None = None", "Any")]


def method(name, signature, summary):
    results = results_of(signature)
    text = ""
    for outputs, returns in results:
        params = ["self", *inputs_of(signature), *attributes_of(signature), outputs, 'name: str = ""']
        if "=" not in outputs:
            params[-2:] = ['name: str = ""', outputs]
            # A required keyword may follow those with defaults.
        text += "    @overload\n" if len(results) > 1 else ""
        line = f"    def {name}({', '.join(params)}) -> {returns}:"
        if len(line) > 120:
            line = f"    def {name}(\n        self,\n" + "".join(f"        {param},\n" for param in params[1:]) + f"    ) -> {returns}:"
        text += line + "\n" + textwrap.indent(f'"""{summary}"""' if summary else "...", " " * 8) + "\n"
    return text


def content():
    """What the file should hold."""
    operators = [operator for operator in onnxtxt.ops(domain="ai.onnx") if not operator["deprecated"]]
    version = max(since for operator in operators for since in operator["versions"])
    text = HEAD.format(version=version)
    for operator in sorted(operators, key=lambda operator: operator["name"]):
        signature = onnxtxt.ops(operator["name"])["versions"][-1]
        text += method(operator["name"], signature, (operator["summary"] or "").replace("\\", "\\\\").replace('"""', "'''"))
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PATH.write_text(content(), encoding="utf-8")
    else:
        sys.exit(__doc__)
