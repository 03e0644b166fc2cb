"""Operators as methods of a builder: in the stubs, and in what is completed while a program runs."""

import pathlib
import subprocess
import sys

import builder_stubs
import pytest

import onnxtxt

MODULE = pathlib.Path(onnxtxt.__file__).parent.parent

RIGHT = """
import numpy as np
import onnxtxt

b = onnxtxt.GraphBuilder()
x: onnxtxt.Value = b.input("x", "float[N,4,8,8]")
y: onnxtxt.Value = b.Conv(x, np.ones((2, 4, 3, 3), np.float32), pads=[1, 1, 1, 1], outputs="y")
values, indices = b.TopK(b.Relu(y), [1], axis=-1, largest=0)
together: onnxtxt.Value = b.Concat(values, values, axis=0)
pooled, where = b.MaxPool(y, kernel_shape=[2, 2], outputs=2)
b.If(b.input("c", "bool"), then_branch=lambda b: b.Neg(x), else_branch=lambda b: b.Abs(x))
"""

#: Lines after those above, and what mypy says.
WRONG = [
    ("b.Conv(x)", "Too few arguments"),
    ("b.Conv(x, x, padding=[1])", 'Unexpected keyword argument "padding"'),
    ("b.Concat(x, x)", 'Missing named argument "axis"'),
    ("b.LeakyRelu(x, alpha='much')", 'Argument "alpha"'),
    ("b.Relu(x).relu()", '"Value" has no attribute "relu"'),
]


def test_the_stubs_are_those_of_the_operators():
    assert builder_stubs.PATH.read_text(encoding="utf-8") == builder_stubs.content(), "builder_stubs.py --write renews them"


def test_type_checkers_know_operators_and_attributes(tmp_path):
    pytest.importorskip("mypy")
    path = tmp_path / "program.py"
    path.write_text(RIGHT + "".join(f"{line}\n" for line, _ in WRONG))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(path)],
        capture_output=True, text=True, cwd=tmp_path, env={"MYPYPATH": str(MODULE)}, timeout=600,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = RIGHT.count("\n") + 1
    for at, (line, message) in enumerate(WRONG):
        assert any(f":{first + at}: " in said and message in said for said in lines), (line, done.stdout)
    assert all(int(line.split(":")[1]) >= first for line in lines), done.stdout


def test_names_are_completed_and_described():
    b = onnxtxt.GraphBuilder(opset=21)
    names = dir(b)
    assert {"Relu", "LayerNormalization", "input", "output"} <= set(names) and "Upsample" not in names
    assert "negative_slope" not in b.LeakyRelu.__doc__ and "alpha" in b.LeakyRelu.__doc__
    assert b.LeakyRelu.__name__ == "LeakyRelu"
