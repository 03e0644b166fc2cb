"""Programs as users of ``onnxruntime`` write them, run with it and with onnxtxt in its place: one line differs."""

import numpy as np

IMPORT = "import onnxruntime as rt\n"


def ran(program, names):
    """The values of the names ``results`` of the program, once with each import."""
    assert program.count(IMPORT) == 1
    all_results = []
    for module in ["onnxruntime", "onnxtxt"]:
        space = {"__name__": "program", **names}
        exec(compile(program.replace(IMPORT, f"import {module} as rt\n"), f"<program with {module}>", "exec"), space)
        all_results.append(space["results"])
    return all_results


def ensure_alike(program, names=None, rtol=1e-3, atol=1e-5):
    """Runs a program in both ways, and compares what it calls ``results``."""
    theirs, ours = ran(program, names or {})
    _ensure_alike(ours, theirs, rtol, atol)


def _ensure_alike(one, other, rtol, atol):
    if isinstance(other, dict):
        assert list(one) == list(other)
        for key in other:
            _ensure_alike(one[key], other[key], rtol, atol)
    elif isinstance(other, (list, tuple)):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            _ensure_alike(a, b, rtol, atol)
    elif isinstance(other, (str, type(None))):
        assert one == other
    else:
        a, b = np.asarray(one), np.asarray(other)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if b.dtype.kind in "OUSb":
            assert (a == b).all()
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
