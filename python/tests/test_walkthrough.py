"""The first hour of a new user, with NumPy and the package alone: check a model, fix it, edit it, build one, simplify, extract, run, compare,
and work in several processes."""

import pickle

import numpy as np
import pytest

import onnxtxt

TEXT = """<ir_version: 10, opset_import: ["" 21]>
net (float[N,4] x) => (float[N,2] y)
<float[4,8] w1 = {%s}, float[8,2] w2 = {%s}>
{
    h = MatMul(x, w1)     # a hidden layer
    a = Rleu(h)
    b = Identity(a)
    y = MatMul(b, w2)
}
""" % (", ".join(["0.5"] * 32), ", ".join(["0.25"] * 16))


def length(path):
    """What a worker process does with a model that it gets."""
    model = path if isinstance(path, onnxtxt.Model) else onnxtxt.open(path)
    x = np.ones((1, 4), np.float32)
    return len(model.graph.nodes), float(model.compile().run({"x": x})["y"][0, 0])


def test_walkthrough(tmp_path):
    # Check: all mistakes at once, each with its line and what to do.
    path = tmp_path / "net.onnxtxt"
    path.write_text(TEXT)
    model = onnxtxt.open(path)
    found = model.check()
    assert [finding.line for finding in found.errors][0] == 1 and "E01" in found[0].code
    with pytest.raises(onnxtxt.Error):
        model.compile()

    # Fix: the safe ones by themselves, the others where one agrees.
    assert model.fix() == 1
    [finding] = model.check()
    assert "Rleu" in finding.message and model.fix(unsafe_fixes=True) == 1 and model.check() == []
    model.save(path)
    assert "# a hidden layer" in path.read_text()

    # Look around, and edit.
    assert [node.op_type for node in model.graph.nodes] == ["MatMul", "Relu", "Identity", "MatMul"]
    w1 = model.graph.initializers["w1"]
    assert w1.shape == (4, 8) and w1.dtype == np.float32
    relu = model.graph.node_named("a")
    scaled = relu.insert_after("Mul", [relu.output, np.float32(2)])
    for node, index in relu.output.uses():
        if node != scaled:
            node.set_input(index, scaled.output)
    model.graph.initializers["w2"] = np.full((8, 2), 0.5, np.float32)
    model.metadata = {"author": "me"}
    assert model.check() == []
    model.infer()
    assert model.graph.value_named("h").shape == ("N", 8)

    # Simplify, and extract a part.
    before = length(model)
    assert model.simplify() and length(model)[1] == before[1]
    backbone = model.extract(to="a")
    assert [node.op_type for node in backbone.graph.nodes] == ["MatMul", "Relu"]

    # Build a model, and put both together.
    b = onnxtxt.GraphBuilder(opset=21)
    b.output(b.Softmax(b.input("logits", "float[N,2]"), axis=-1), "probabilities")
    head = b.build()
    whole = model.copy()
    whole.concat(head, map={"y": "logits"})
    assert whole.check() == [] and whole.graph.outputs[0].name == "probabilities"

    # Run, save, and compare.
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    y = model.compile().run({"x": x})["y"]
    p = whole.compile().run({"x": x})["probabilities"]
    e = np.exp(y - y.max(-1, keepdims=True))
    np.testing.assert_allclose(p, e / e.sum(-1, keepdims=True), rtol=1e-5)
    whole.save(tmp_path / "whole.onnx")
    again = onnxtxt.open(tmp_path / "whole.onnx")
    assert again == whole and not again.diff(whole)
    difference = model.diff(whole)
    assert difference and "Softmax" in str(difference)

    # Models go to other processes.
    assert pickle.loads(pickle.dumps(model)) == model
    joblib = pytest.importorskip("joblib")
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(length)(each) for each in [model, model, str(path)])
    assert results[0] == results[1] == length(model)
