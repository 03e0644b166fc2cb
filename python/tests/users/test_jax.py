"""Arrays of JAX on the processor: passed to sessions and made of their results by DLPack, without copies."""

import pytest

jax = pytest.importorskip("jax", reason="the environment of xtask/requirements/jax.txt is needed")

import numpy as np  # noqa: E402

import onnxtxt  # noqa: E402

TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }"""


def address(array):
    return np.from_dlpack(array).__array_interface__["data"][0]


def test_arrays_of_jax_are_inputs():
    session = onnxtxt.Session(onnxtxt.parse(TEXT))
    x, y = jax.numpy.arange(4, dtype="float32"), jax.numpy.ones(4, "float32") * 2
    np.testing.assert_array_equal(session.run({"x": x, "y": y})["z"], [2, 3, 4, 5])
    # A result of a compiled function, and an array beside one of NumPy.
    twice = jax.jit(lambda x: 2 * x)(x)
    np.testing.assert_array_equal(session.run({"x": twice, "y": np.ones(4, np.float32)})["z"], [1, 3, 5, 7])
    with pytest.raises(onnxtxt.Error, match="x"):
        session.run({"x": x.astype("int32"), "y": y})


def test_results_are_arrays_of_jax_without_a_copy():
    session = onnxtxt.Session(onnxtxt.parse(TEXT))
    count = 1 << 16
    z = session.run({"x": np.arange(count, dtype=np.float32), "y": np.zeros(count, np.float32)})["z"]
    shared = jax.dlpack.from_dlpack(z)
    assert shared.shape == (count,) and float(shared[-1]) == count - 1
    assert address(shared) == z.__array_interface__["data"][0]
    assert float(jax.jit(lambda x: x[:5].sum())(shared)) == 10


def test_narrow_floats_of_jax():
    text = """<ir_version: 10, opset_import: ["": 21]> g (bfloat16[N] x) => (bfloat16[N] y) { y = Neg(x) }"""
    x = jax.numpy.array([1, -2.5], "bfloat16")
    y = onnxtxt.Session(onnxtxt.parse(text)).run({"x": x})["y"]
    assert y.dtype == x.dtype and y.tolist() == [-1, 2.5]


def test_a_step_along_the_gradient_of_jax():
    b = onnxtxt.GraphBuilder(opset=21)
    x, w = b.input("x", "float[4,3]"), b.input("w", "float[3,2]")
    b.output(b.ReduceMean(b.Mul(b.MatMul(x, w), b.MatMul(x, w)), keepdims=0), "loss")
    session = onnxtxt.Session(b.build())
    random = np.random.default_rng(0)
    feeds = {"x": random.standard_normal((4, 3)).astype(np.float32), "w": random.standard_normal((3, 2)).astype(np.float32)}
    loss = lambda w: ((jax.numpy.asarray(feeds["x"]) @ w) ** 2).mean()  # noqa: E731
    before, gradient = jax.value_and_grad(loss)(feeds["w"])
    np.testing.assert_allclose(session.run(feeds)["loss"], before, rtol=1e-5)
    after = session.run({"x": feeds["x"], "w": feeds["w"] - 0.1 * gradient})["loss"]
    assert after < before
