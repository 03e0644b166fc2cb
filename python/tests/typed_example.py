"""What users write, for type checkers: `test_types.py` runs them over this file, and pytest runs it."""

from pathlib import Path

import numpy as np

import onnxtxt


def codes(path: Path) -> list[tuple[str, int | None]]:
    model = onnxtxt.open(path)
    return [(finding.code, finding.line) for finding in model.check("strict", ignore=["W12"]).errors]


def weights(model: onnxtxt.Model) -> int:
    total = 0
    for array in model.graph.initializers.values():
        total += array.size
    return total


def rename(model: onnxtxt.Model) -> str:
    for node in model.graph.nodes:
        for value in node.inputs:
            if value is not None and value.shape is not None and None not in value.shape:
                node.name = f"{node.op_type}_{value.name}"
    axis = model.graph.nodes[0].attributes.get("axis", 0)
    model.graph.nodes[0].attributes["axis"] = axis
    return model.text(profile="reference")


def build() -> onnxtxt.Model:
    b = onnxtxt.GraphBuilder(opset={"": 21})
    x: onnxtxt.Value = b.input("x", "float[N,2]")
    y = b.Relu(b.MatMul(x, np.ones((2, 3), np.float32)))
    b.output(y, "y")
    return b.build()


def test_the_example_runs(tmp_path: Path) -> None:
    model = build()
    model.save(tmp_path / "m.onnx")
    assert codes(tmp_path / "m.onnx") == [] and weights(model) == 6
