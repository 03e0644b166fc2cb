"""Models built by values."""

import numpy as np
import onnx
import onnx.checker
import pytest

import onnxtxt


def test_a_network_is_built_and_runs():
    b = onnxtxt.GraphBuilder(opset=21)
    x = b.input("x", "float[N,3]")
    w = np.arange(6, dtype=np.float32).reshape(3, 2)
    h = b.Relu(b.Gemm(x, w, b.initializer("bias", np.ones(2, np.float32)), alpha=2))
    values, indices = b.TopK(h, [1], axis=-1, largest=False)
    b.output(values, "least")
    b.output(indices, "where")
    model = b.build()
    assert model.check("types") == [] and [value.type for value in model.graph.outputs] == ["float[N,1]", "int64[N,1]"]
    onnx.checker.check_model(model.to_proto(), full_check=True)
    results = model.compile().run({"x": np.ones((2, 3), np.float32)})
    assert results["least"].tolist() == [[13], [13]] and results["where"].tolist() == [[0], [0]]


def test_nested_graphs_see_the_values_around_them():
    b = onnxtxt.GraphBuilder(opset={"": 21})
    c, x = b.input("c", "bool"), b.input("x", "float[N]")
    y = b.If(c, then_branch=lambda b: b.Mul(b.Neg(x), 2), else_branch=lambda b: b.Identity(x))
    b.output(y, "y")
    model = b.build()
    executable = model.compile()
    x = np.array([1, 2], np.float32)
    assert executable.run({"c": np.array(True), "x": x})["y"].tolist() == [-2, -4]
    assert executable.run({"c": np.array(False), "x": x})["y"].tolist() == [1, 2]

    b = onnxtxt.GraphBuilder(opset=21)
    n, start = b.input("n", "int64"), b.input("start", "float")

    def body(b):
        b.input("i", "int64")
        go, value = b.input("go", "bool"), b.input("value", "float")
        return b.Identity(go), b.Mul(value, 2)

    b.output(b.Loop(n, None, start, body=body, outputs=1), "result")
    model = b.build()
    assert model.compile().run({"n": np.array(3), "start": np.array(1, np.float32)})["result"] == 8


def test_functions_are_built():
    b = onnxtxt.GraphBuilder(opset=21)

    def scaled(b):
        x = b.input("x")
        return b.Mul(x, np.array(3, np.float32))

    b.function("local", "Scaled", scaled)
    b.output(b.op("Scaled", b.input("x", "float[2]"), domain="local"), "y")
    model = b.build()
    assert model.functions[0].graph.nodes[0].op_type == "Constant"
    assert model.compile().run({"x": np.ones(2, np.float32)})["y"].tolist() == [3, 3]
    onnx.checker.check_model(model.to_proto(), full_check=True)


def test_mistakes_are_found_where_they_are_made():
    b = onnxtxt.GraphBuilder(opset=21)
    x = b.input("x", "float[2]")
    with pytest.raises(ValueError, match="did you mean `Relu`"):
        b.Rleu(x)
    with pytest.raises(AttributeError, match="begin with a capital letter"):
        b.relu(x)
    b.output(b.Add(x, np.array([1, 2])), "y")
    with pytest.raises(onnxtxt.Error, match="E10") as caught:
        b.build()
    assert caught.value.findings[0].is_error
    assert b.build(check=False).graph.nodes[0].op_type == "Add"


def test_made_up_names_are_distinct():
    b = onnxtxt.GraphBuilder(opset=21)
    x = b.input("abs", "float[2]")
    for _ in range(3):
        x = b.Abs(x)
    b.output(x, "y")
    assert [value.name for value in b.build().graph.values] == ["abs", "abs_1", "abs_2", "y"]
