"""`onnxtxt.compat.reference`, `onnxtxt.backend`, and the assertions of `onnxtxt.testing`."""

import unittest

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator as Theirs
from onnx.reference.op_run import OpRun
from onnx.reference.shape_annotation_checker import ShapeAnnotationError

import onnxtxt
import onnxtxt.backend
from onnxtxt.compat.reference import ReferenceEvaluator
from onnxtxt.testing import assert_models_equal, assert_runs_like

HEAD = '<ir_version: 10, opset_import: ["": 21, "custom": 1]>\n'
X = np.array([1, -2, 3], np.float32)


class InvAlpha(OpRun):
    op_domain = "custom"

    def _run(self, x, alpha=None):
        alpha = alpha or self.alpha
        return (1 / (x + np.float32(alpha)),)


class Relu(OpRun):
    op_domain = ""

    def _run(self, x):
        return (np.minimum(x, 0),)


def test_new_operators_are_classes():
    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { h = custom.InvAlpha <alpha = 0.5> (x) y = Relu(h) }")
    ours = ReferenceEvaluator(model, new_ops=[InvAlpha])
    theirs = Theirs(model, new_ops=[InvAlpha])
    assert ours.input_names == theirs.input_names and ours.output_names == theirs.output_names and ours.opsets == theirs.opsets
    np.testing.assert_allclose(ours.run(None, {"x": X})[0], theirs.run(None, {"x": X})[0], rtol=1e-6)
    replaced = ReferenceEvaluator(model, new_ops=[InvAlpha, Relu]).run(None, {"x": X})[0]
    assert (replaced <= 0).all() and replaced.min() < 0
    assert list(ours.run(None, {"x": X}, intermediate=True)) == ["x", "y", "h"]
    with pytest.raises(AttributeError, match="op_domain"):
        ReferenceEvaluator(model, new_ops=[int])


def test_nodes_functions_and_graphs_are_evaluated():
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    assert ReferenceEvaluator(node).run(None, {"a": X, "b": X})[0].tolist() == [2, -4, 6]
    function = parser.parse_function('<domain: "d", opset_import: ["": 21]> twice (x) => (y) { y = Add(x, x) }')
    assert ReferenceEvaluator(function).run(None, {"x": X})[0].tolist() == [2, -4, 6]
    scaled = parser.parse_function('<domain: "d", opset_import: ["": 21]> scaled <by> (x) => (y) { b = Constant <value_float: float = @by> () y = Mul(x, b) }')
    assert ReferenceEvaluator(scaled).run(None, {"x": X}, attributes={"by": 3.0})[0].tolist() == [3, -6, 9]
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21, "d": 1]> g (float[N] x) => (float[N] y) { y = d.twice(x) }')
    assert ReferenceEvaluator(model, functions=[function]).run(None, {"x": X})[0].tolist() == [2, -4, 6]
    assert ReferenceEvaluator(parser.parse_graph("g (float[N] x) => (float[N] y) { y = Neg(x) }")).run(None, {"x": X})[0].tolist() == [-1, 2, -3]


def test_declared_types_are_descriptions():
    model = parser.parse_model(HEAD + "g (float[1] x) => (float[1] y) <float[3] w = {1, 2, 3}> { t = Add(x, w) y = Neg(t) }")
    ours = ReferenceEvaluator(model)
    for x in [X, X.astype(np.float64)[None], X[:1]]:
        np.testing.assert_allclose(ours.run(None, {"x": x})[0], -(x + np.array([1, 2, 3])))
    assert ours.run(None, {"x": X, "w": X})[0].tolist() == [-2, 4, -6]
    assert ours.run(["t"], {"x": X, "nobody": X})[0].tolist() == [2, 0, 6]
    relu = ReferenceEvaluator(parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { y = HardSwish(x) }"))
    assert relu.run(None, {"x": X.astype(np.complex64).real.astype(np.int8)})[0].dtype == np.float32
    assert len(ours.rt_nodes_) == 2
    assert ReferenceEvaluator(model.SerializeToString()).opsets == {"": 21, "custom": 1}


def test_failures_are_those_of_the_reference():
    unknown = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { y = custom.Nobody(x) }")
    with pytest.raises(NotImplementedError, match="Nobody"):
        ReferenceEvaluator(unknown)
    ours = ReferenceEvaluator(parser.parse_model(HEAD + "g (float[N] x, float[M] z) => (float[N] y) { y = Add(x, z) }"))
    with pytest.raises((ValueError, TypeError)) as raised:
        ours.run(None, {"x": X, "z": X[:2]})
    assert isinstance(raised.value, onnxtxt.Error) and raised.value.findings[0].code == "E1603"
    with pytest.raises(ShapeAnnotationError, match="symbolic dimension 'N'"):
        ReferenceEvaluator(parser.parse_model(HEAD + "g (float[N] x, float[N] z) => (float[N] y) { y = Add(x, z) }")).run(
            None, {"x": X, "z": X[:1]}, check_shape_annotations=True
        )


def test_verbose_runs_print_nodes(capsys):
    model = parser.parse_model(HEAD + "g (float[N] x) => (float[N] y) { t = Relu(x) y = Neg(t) }")
    expected = Theirs(model, verbose=15).run(None, {"x": X})
    printed = capsys.readouterr().out
    np.testing.assert_array_equal(ReferenceEvaluator(model, verbose=15).run(None, {"x": X}), expected)
    assert capsys.readouterr().out == printed


#: Tests of the runner that fail, and why: `python python/tests/test_reference.py` runs all.
MISSES = {
    **dict.fromkeys(
        ["test_bernoulli" + kind for kind in ["", "_expanded", "_double", "_double_expanded", "_seed", "_seed_expanded"]],
        "random numbers, which the operator does not define: the expected ones are those of NumPy",
    ),
    "test_loop16_seq_none": "the runner cannot compare a list with an array of rank 0",
}


def run_backend_tests(step=1):
    """Runs every so many of the tests of ONNX's backend runner for nodes: how many were run, and the failures by name."""
    runner = onnx.backend.test.BackendTest(onnxtxt.backend.OnnxtxtBackend, __name__)
    suite = runner.test_cases["OnnxBackendNodeModelTest"]
    loader = unittest.TestLoader()
    tests = [name for name in loader.getTestCaseNames(suite) if name.endswith("_cpu")][::step]
    result = unittest.TestResult()
    for name in tests:
        suite(name).run(result)
    failures = {test.id().rpartition(".")[2]: why.splitlines()[-1] for test, why in result.failures + result.errors}
    skipped = {test.id().rpartition(".")[2]: why for test, why in result.skipped}
    return len(tests), failures, skipped


@pytest.mark.filterwarnings("ignore")
def test_the_backend_runner_of_onnx_passes():
    count, failures, _ = run_backend_tests(step=20)
    unexpected = {name: why for name, why in failures.items() if name.removesuffix("_cpu") not in MISSES}
    assert count > 50 and not unexpected, unexpected


def test_the_backend_runs_models_and_nodes():
    model = parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x, float[N] y) => (float[N] z) { z = Sub(x, y) }')
    assert onnxtxt.backend.run_model(model, [X, X])[0].tolist() == [0, 0, 0]
    assert onnxtxt.backend.prepare(model).run({"x": X, "y": -X})[0].tolist() == [2, -4, 6]
    done = onnxtxt.backend.run_node(onnx.helper.make_node("Relu", ["x"], ["y"]), [X])
    assert done["y"].tolist() == done[0].tolist() == [1, 0, 3]
    assert onnxtxt.backend.supports_device("CPU") and not onnxtxt.backend.supports_device("CUDA:1")
    assert onnxtxt.backend.is_compatible(model)


def test_models_are_compared():
    a = parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    b = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }')
    assert_models_equal(a, a.SerializeToString())
    with pytest.raises(AssertionError, match=r"(?s)the models differ:.*-.*Neg.*\+.*Relu"):
        assert_models_equal(a, b)
    assert_runs_like(a, "onnxruntime")
    assert_runs_like(a, "onnx", {"x": X})
    assert_runs_like(a, lambda feeds: [np.maximum(feeds["x"], 0)])
    with pytest.raises(AssertionError, match="output `y` for inputs 0 is not that of the reference"):
        assert_runs_like(a, b)
    with pytest.raises(ValueError, match="expected 'onnxruntime'"):
        assert_runs_like(a, "nobody")


if __name__ == "__main__":
    ran, failed, left_out = run_backend_tests()
    print(f"{ran} tests, {len(left_out)} left out, {len(failed)} failures")
    for test, why in failed.items():
        print(f"{test}: {MISSES.get(test.removesuffix('_cpu'), 'unexpected: ' + why)}")
