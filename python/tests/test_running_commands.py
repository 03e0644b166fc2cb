"""Commands that run the model: simplify with verification, quantize with calibration; files of weights, comparisons, comments."""

import subprocess
import sys

import numpy as np
import pytest

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
DOUBLE = HEAD + "g (float[N] x) => (float[N] y) { a = Neg(x) b = Identity(a) y = Neg(b) }"


def network():
    random = np.random.default_rng(0)
    b = onnxtxt.GraphBuilder(opset=21)
    x = b.input("x", "float[N,8]")
    hidden = b.Relu(b.MatMul(x, random.standard_normal((8, 16)).astype(np.float32)))
    b.output(b.MatMul(hidden, random.standard_normal((16, 4)).astype(np.float32)), "y")
    return b.build()


def test_a_simplification_is_verified(tmp_path):
    x = np.array([1, -2, 3], np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    for verify in [True, False, None, {"x": x}, [{"x": x}, {"x": x[:2]}], tmp_path / "x.npz", str(tmp_path / "x.npz")]:
        model = onnxtxt.parse(DOUBLE)
        assert model.simplify(verify=verify) and len(model.graph.nodes) < 3
    # Random numbers of another run.
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[3] y) { r = RandomNormal <shape = [3]> () i = Identity(r) y = Identity(i) }")
    text = str(model)
    calls = []

    def noisy(x):
        calls.append(len(calls))
        return x + np.float32(len(calls))

    model = onnxtxt.parse(HEAD.replace("21", '21, "my": 1') + "g (float[N] x) => (float[N] y) { a = my.Noise(x) b = Identity(a) y = Neg(b) }")
    model.operators["my.Noise"] = noisy
    text = str(model)
    with pytest.raises(onnxtxt.Error, match="the changed model computes another `y`"):
        model.simplify(verify={"x": x})
    assert str(model) == text
    assert model.simplify(verify={"x": x}, atol=10.0)
    for bad, error in [(3, TypeError), ([], ValueError), ({"q": x}, onnxtxt.Error), ({"x": x[None]}, onnxtxt.Error)]:
        with pytest.raises(error):
            onnxtxt.parse(DOUBLE).simplify(verify=bad)


def test_activations_are_calibrated(tmp_path):
    random = np.random.default_rng(1)
    batches = [{"x": random.standard_normal((5, 8)).astype(np.float32)} for _ in range(3)]
    np.savez(tmp_path / "x.npz", **batches[0])
    expected = onnxtxt.Session(network()).run(batches[0])
    sizes = {}
    for name, calibrate in {"one": batches[0], "all": batches, "file": tmp_path / "x.npz", "files": [str(tmp_path / "x.npz"), batches[1]]}.items():
        model = network()
        assert model.quantize(calibrate=calibrate, per_channel=True)
        assert {"QuantizeLinear", "DequantizeLinear"} <= {node.op_type for node in model.graph.nodes}
        assert onnxtxt.compare(onnxtxt.Session(model).run(batches[0]), expected, models=[model]), name
        sizes[name] = sorted(float(x) for key, x in model.weights().items() if x.shape == () and x.dtype == np.float32)
    assert sizes["one"] == sizes["file"] and sizes["one"] != sizes["all"]
    narrow = network()
    narrow.quantize(calibrate=batches, percentile=90.0)
    scales = sorted(float(x) for x in narrow.weights().values() if x.shape == () and x.dtype == np.float32)
    assert scales[0] < sizes["all"][0]
    for options in [{"percentile": 99.0}, {"calibrate": batches, "percentile": 10.0}, {"calibrate": batches, "weights": "int8"}, {"calibrate": batches, "ranges": {}}]:
        with pytest.raises(ValueError):
            network().quantize(**options)


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_weights_are_exchanged_by_files(tmp_path, ending):
    model, path = network(), tmp_path / f"w.{ending}"
    names = sorted(model.weights())
    assert model.export_weights(path) == len(names) == 2
    if ending == "npz":
        assert sorted(np.load(path)) == names
    zeros = network()
    zeros.set_weights({name: np.zeros_like(array) for name, array in zeros.weights().items()})
    assert zeros != model and zeros.import_weights(path) and zeros == model
    assert model.export_weights(path, only=[names[0]]) == 1
    other = onnxtxt.parse(HEAD + "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }")
    with pytest.raises(onnxtxt.Error):
        other.import_weights(path)
    for bad in [tmp_path / "w.txt", tmp_path / "nowhere" / f"w.{ending}"]:
        with pytest.raises(onnxtxt.Error):
            model.export_weights(bad)
    with pytest.raises(onnxtxt.Error):
        model.import_weights(tmp_path / f"none.{ending}")
    (tmp_path / f"broken.{ending}").write_bytes(b"garbage")
    with pytest.raises(onnxtxt.Error):
        model.import_weights(tmp_path / f"broken.{ending}")


def test_results_are_compared():
    x = np.array([[1, 2], [3, 4]], np.float32)
    same = onnxtxt.compare({"x": x, "s": np.array(["a"], object)}, {"x": x + 1e-6, "s": np.array(["a"], object)})
    assert same and [output["status"] for output in same.outputs] == ["close", "equal"] and "close" in str(same)
    other = onnxtxt.compare({"x": x}, {"x": x * 2})
    assert not other and "element [0,0] is 1 and 2" in str(other) and other.outputs[0]["spread"]["cosine"] == 1
    assert repr(other) == "<onnxtxt.Comparison differs>"
    assert onnxtxt.compare({"x": x}, {"x": x * 2}, rtol=0.5) and not onnxtxt.compare({"x": x}, {"x": x + 1e-6}, rtol=0, atol=0)
    assert not onnxtxt.compare({"x": x}, {"x": x[0]}) and not onnxtxt.compare({"x": x}, {"x": [x]})
    with pytest.raises(onnxtxt.Error, match="there is no result `y`"):
        onnxtxt.compare({"x": x}, {"y": x})


def test_nodes_have_comments(tmp_path):
    model = onnxtxt.parse(HEAD + "# above\ng (float[N] x) => (float[N] y) {\n  # one\n  # two\n  a = Neg(x)\n  y = Abs(a) # beside\n}")
    neg, last = model.graph.nodes
    assert (neg.comment, last.comment) == ("one\ntwo", "")
    last.comment = "first\n## second\x1b\n"
    neg.comment = ""
    text = str(model)
    assert "# one" not in text and "  # first\n  # ## second\\u001b\n  y = Abs(a) # beside" in text and "# above" in text
    assert onnxtxt.parse(text) == model and str(onnxtxt.parse(text)) == text
    # A model that is not from a text, and nodes that are new.
    binary = onnxtxt.decode(model.to_bytes())
    binary.graph.nodes[0].comment = "a comment"
    new = binary.graph.nodes[0].insert_after("Exp", [binary.graph.nodes[0].output])
    new.comment = "another"
    assert [node.comment for node in binary.graph.nodes] == ["a comment", "another", ""]
    assert "# a comment\n    a = Neg(x)\n    # another\n" in str(binary) and "# another" in str(binary.copy())
    binary.run_passes("dead-code")
    assert [node.comment for node in binary.graph.nodes] == ["a comment", ""]
    binary.save(tmp_path / "m.onnxtxt")
    assert onnxtxt.open(tmp_path / "m.onnxtxt").graph.nodes[0].comment == "a comment"


def test_ctrl_c_ends_a_verification_and_changes_nothing():
    script = f"""
import numpy as np, onnxtxt, os, signal, threading
text = '''<ir_version: 10, opset_import: ["": 21, "my": 1]>
g (float[N] x) => (float[N] y) {{
    same = Identity(x) most = my.Trips(same) true = Constant <value = bool {{1}}> ()
    y = Loop (most, true, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) {{ d = Identity(c) s = Sin(v) w = Cos(s) }}>
}}'''
calls = []
def trips(x):
    calls.append(x)
    if len(calls) == 1:
        return np.array(1)
    # The model as it would become runs for about a minute.
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    return np.array(2_000_000)
model = onnxtxt.parse(text)
model.operators["my.Trips"] = trips
try:
    model.simplify(verify={{"x": np.zeros(10_000, np.float32)}})
except KeyboardInterrupt:
    print("interrupted", len(calls), [node.op_type for node in model.graph.nodes])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "interrupted 2 ['Identity', 'Trips', 'Constant', 'Loop']" in done.stdout, done
