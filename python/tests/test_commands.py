"""What the program does with models, as methods."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import onnxtxt

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
CHAIN = HEAD + "g (float[N,2] x) => (float[N,2] y) { a = Abs(x) b = Identity(a) c = Neg(b) y = Relu(c) }"


@pytest.fixture
def model():
    return onnxtxt.parse(CHAIN)


def ops(model):
    return [node.op_type for node in model.graph.nodes]


def test_simplify_and_passes(model):
    report = model.copy().simplify()
    assert report and "removed" in str(report) and report.changes and report.findings == []
    other = model.copy()
    assert other.simplify() and ops(other) == ["Abs", "Neg", "Relu"] and not other.simplify()
    assert model.run_passes("remove-no-ops", "dead-code") and ops(model) == ["Abs", "Neg", "Relu"]
    with pytest.raises(ValueError, match="did you mean `dead-code`"):
        model.run_passes("daed-code")
    assert dict(onnxtxt.passes())["dead-code"]


def test_operator_sets_are_converted(model):
    model.convert_opset(13)
    assert dict(model.opset_imports)[""] == 13
    model.convert_opset({"": 17})
    assert dict(model.opset_imports)[""] == 17
    gelu = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Gelu(x) }")
    with pytest.raises(onnxtxt.Error):
        gelu.convert_opset(5)
    assert dict(gelu.opset_imports)[""] == 21


def test_functions_are_inlined_and_outlined(model):
    model.outline(["a", model.graph.nodes[1]], "local.First")
    assert ops(model) == ["First", "Neg", "Relu"] and model.functions[0].name == "First"
    model.inline(only=["local.First"])
    assert ops(model) == ["Abs", "Identity", "Neg", "Relu"] and model.functions == ()
    gelu = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Gelu(x) }")
    gelu.inline(schema=True)
    assert "Gelu" not in ops(gelu) and gelu.check() == []


def test_parts_are_extracted_and_replaced(model):
    part = model.extract(from_="a", to="op:Neg")
    assert ops(part) == ["Identity", "Neg"] and ops(model) == ["Abs", "Identity", "Neg", "Relu"]
    assert ops(model.extract(nodes=[model.graph.nodes[1]])) == ["Identity"]
    assert ops(model.extract(to=[model.graph.value_named("b")])) == ["Abs", "Identity"]
    part.graph.nodes[0].op_type = "Sqrt"
    model.replace(part, from_="a", to="c")
    assert ops(model) == ["Abs", "Sqrt", "Neg", "Relu"]
    scale = onnxtxt.parse(HEAD + "g (float[N,2] v) => (float[N,2] w) { w = Exp(v) }")
    model.insert("c", scale, map={"v": "c"})
    assert ops(model) == ["Abs", "Sqrt", "Neg", "Exp", "Relu"] and model.check() == []
    with pytest.raises(ValueError, match="no value of the main graph matches `nothing`"):
        model.extract(to="nothing")
    with pytest.raises(ValueError, match="no node matches `op:Reul`: did you mean `Relu`"):
        model.extract(nodes="op:Reul")
    with pytest.raises(ValueError, match="either"):
        model.extract()


def test_models_are_concatenated_and_renamed(model):
    second = onnxtxt.parse(HEAD + "h (float[N,2] in) => (float[N,2] out) { out = Tanh(in) }")
    model.concat(second, map={"y": "in"})
    assert ops(model)[-1] == "Tanh" and [value.name for value in model.graph.outputs] == ["out"]
    model.rename({"x": "image", "/^([abc])$/": "inner_$1"}, values=True)
    model.rename({"N": "batch"}, symbols=True)
    assert "inner_a = Abs(image)" in str(model) and model.graph.inputs[0].shape == ("batch", 2)
    with pytest.raises(ValueError):
        model.rename({"/(/": "x"})


def test_shapes_are_set(model):
    model.set_shape(N=4)
    assert model.graph.outputs[0].shape == (4, 2)
    model.set_shape(shapes={"x": ["M", 2]})
    assert model.graph.outputs[0].shape == ("M", 2)
    for arguments in ({}, {"N": -1}, {"shapes": {"x": [-1, 2]}}):
        with pytest.raises(ValueError):
            model.set_shape(**arguments)
    with pytest.raises(onnxtxt.Error):
        model.set_shape(shapes={"nothing": [1]})


def test_models_are_stripped_and_quantized():
    model = onnxtxt.open(ROOT / "examples/digits.onnxtxt")
    before = len(model.to_bytes())
    model.doc_string = "documentation"
    model.strip(docs=True)
    assert model.doc_string == ""
    quantized = model.copy()
    quantized.quantize()
    assert quantized.check() == [] and len(quantized.to_bytes()) < before
    int4 = model.copy()
    int4.quantize(weights="int4", block_size=16)
    assert len(int4.to_bytes()) < len(quantized.to_bytes()) and int4.check() == []
    with pytest.raises(ValueError):
        model.quantize(weights="int3")


def test_weights_are_listed_and_set():
    model = onnxtxt.open(ROOT / "examples/digits.onnxtxt")
    weights = model.weights()
    name, array = next(iter(weights.items()))
    model.set_weights({name: np.zeros_like(array)})
    assert not model.weights()[name].any()
    with pytest.raises(onnxtxt.Error, match="nothing"):
        model.set_weights({"nothing": array})
    with pytest.raises(onnxtxt.Error):
        model.set_weights({name: np.zeros(1, np.int64)})
    twice = onnxtxt.parse(HEAD + "g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}> { t = Add(x, a) y = Add(t, b) }")
    assert twice.share_weights() and len(twice.weights()) == 1


def test_models_are_compared(model):
    other = model.copy()
    assert not model.diff(other)
    other.graph.nodes[0].op_type = "Sqrt"
    difference = model.diff(other)
    assert difference and "Sqrt" in str(difference) and "1" in difference.stat()
    assert not difference.to_dict()["equal"] and "<html" in difference.html() and "Sqrt" in difference.markdown()
    assert "<iframe" in difference._repr_html_() and not model.diff(other, interface=True)
    assert model.semver(other)["needed"] == "PATCH" and model.semver(model)["needed"] is None
    other.graph.inputs[0].name = "z"
    semver = model.semver(other)
    assert semver["needed"] == "MAJOR" and not semver["enough"] and semver["differences"]


def test_models_are_merged(model):
    ours, theirs = model.copy(), model.copy()
    ours.graph.nodes[0].op_type = "Sqrt"
    theirs.graph.nodes[3].op_type = "Tanh"
    assert ops(model.merge(ours, theirs)) == ["Sqrt", "Identity", "Neg", "Tanh"]
    theirs.graph.nodes[0].op_type = "Exp"
    with pytest.raises(onnxtxt.Error, match="both sides changed"):
        model.merge(ours, theirs)


def test_models_are_drawn(model, tmp_path):
    assert model.draw().startswith("<svg") and "Relu" in model.draw(form="mermaid")
    model.draw(tmp_path / "m.html")
    assert "<html" in (tmp_path / "m.html").read_text() and "digraph" in model.draw(form="dot", select="op:Relu")
    with pytest.raises(ValueError, match="does not say which form"):
        model.draw(tmp_path / "m.xyz")


def test_costs_are_counted():
    model = onnxtxt.parse(HEAD + "g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul(x, w) }")
    stats = model.stats()
    assert stats["parameters"] == 12 and stats["parameter_bytes"] == 48 and stats["macs"] == "N*12"
    assert model.stats(N=2)["nodes"][0]["macs"] == 24 and dict(model.opset_imports) == {"": 21}


def test_models_are_reduced(model):
    small = model.reduce(lambda candidate: "Neg" in ops(candidate))
    assert ops(small) == ["Neg"] and len(ops(model)) == 4
    with pytest.raises(ValueError, match="not return true"):
        model.reduce(lambda candidate: False)
    with pytest.raises(ZeroDivisionError):
        model.reduce(lambda candidate: 1 // 0)


def test_an_edit_that_adds_errors_changes_nothing(model):
    text = str(model)
    part = onnxtxt.parse(HEAD + "g (bool[N,2] v) => (bool[N,2] w) { w = Not(v) }")
    with pytest.raises(onnxtxt.Error):
        model.insert("c", part, map={"v": "c"})
    assert str(model) == text


def test_codes_and_operators_are_explained():
    assert "error[E0203] value-undefined" in onnxtxt.explain("E0203")
    assert onnxtxt.explain("Conv").startswith("ai.onnx.Conv, version 22 of 1, 11, 22") and "version 11 of" in onnxtxt.explain("Conv@11")
    conv = onnxtxt.ops("Conv@11")
    [signature] = conv["versions"]
    assert signature["since"] == 11 and [given["name"] for given in signature["inputs"]] == ["X", "W", "B"]
    assert onnxtxt.ops("Conv", version=11) == conv and len(onnxtxt.ops("Conv")["versions"]) == 3
    assert onnxtxt.ops("ai.onnx.ml.Scaler")["domain"] == onnxtxt.ops("Scaler", domain="ai.onnx.ml")["domain"] == "ai.onnx.ml"
    names = {(operator["domain"], operator["name"]) for operator in onnxtxt.ops()}
    assert {("ai.onnx", "Conv"), ("ai.onnx.ml", "Scaler"), ("com.microsoft", "FusedMatMul")} <= names
    assert all(operator["domain"] == "ai.onnx" and operator["since"] <= 13 for operator in onnxtxt.ops(version=13))
    for name in ("E9999", "Cnov"):
        with pytest.raises(ValueError, match="unknown code or operator"):
            onnxtxt.explain(name)
    for call in (lambda: onnxtxt.ops("Conv@99"), lambda: onnxtxt.ops("Cnov"), lambda: onnxtxt.ops(domain="nowhere"), lambda: onnxtxt.ops("Conv@x")):
        with pytest.raises(ValueError):
            call()


def test_commands_and_methods_say_the_same(model, tmp_path):
    """What the program prints as JSON is what the methods return."""
    import json

    other = model.copy()
    other.graph.inputs[0].name = "z"
    model.save(tmp_path / "a.onnx")
    other.save(tmp_path / "b.onnx")

    def printed(*arguments):
        done = subprocess.run([sys.executable, "-m", "onnxtxt", *arguments], capture_output=True, text=True, cwd=tmp_path)
        return json.loads(done.stdout)

    stats = printed("stats", "--format", "json", "--by", "order", "a.onnx")
    assert stats.pop("file") == "a.onnx" and model.stats() == stats
    semver = printed("semver", "--json", "a.onnx", "b.onnx")
    ours = model.semver(other)
    assert {key: semver[key] for key in ("old", "new", "needed", "least", "enough")} == {key: ours[key] for key in ours if key != "differences"}
    assert [(row["step"], row["message"]) for row in semver["differences"]] == [(row["step"], row["message"]) for row in ours["differences"]]
    assert onnxtxt.ops("Relu") == printed("ops", "Relu", "--json") and onnxtxt.ops() == printed("ops", "--json")


def test_golden_tests_run(tmp_path):
    (tmp_path / "good.onnxtxt").write_text("#! check\n" + CHAIN + "\n")
    (tmp_path / "bad.onnxtxt").write_text("#! check\n" + CHAIN.replace("Relu", "Rleu") + "\n")
    results = dict(onnxtxt.test(tmp_path))
    assert results["good"] is None and "Rleu" in results["bad"]


def test_the_program_is_in_the_module(tmp_path):
    (tmp_path / "m.onnxtxt").write_text(CHAIN)

    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "onnxtxt", *arguments], capture_output=True, text=True, cwd=tmp_path)

    assert run("check", "m.onnxtxt").returncode == 0
    assert run("--version").stdout.startswith("onnxtxt") and run("--help").returncode == 0
    (tmp_path / "m.onnxtxt").write_text(CHAIN.replace("Relu", "Rleu"))
    done = run("check", "m.onnxtxt")
    assert done.returncode == 1 and "Rleu" in done.stdout
    assert run("check", "nothing").returncode == 2 and run("nonsense").returncode == 2
