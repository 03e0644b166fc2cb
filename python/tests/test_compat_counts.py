"""The tests of the package onnx over `onnxtxt.compat`, counted as in `compat_counts.md`."""

import os
import pathlib

import pytest
import reference_counts

FOLDER = pathlib.Path(
    os.environ.get("ONNXTXT_ONNX_SOURCE") or pathlib.Path(__file__).resolve().parents[2] / "target/onnx-source"
)


@pytest.mark.parametrize("module", reference_counts.MODULES)
def test_as_many_tests_pass_as_the_table_says(module):
    if not FOLDER.exists():
        pytest.skip("the tests of the onnx package are not there: cargo xtask venv fetches them")
    counts = reference_counts.run(FOLDER, module)
    new, unexpected = reference_counts.surprises(module, counts)
    assert not new and not unexpected, (new, unexpected)
    passed = len(counts.passed)
    assert (passed, passed + len(counts.failed)) == reference_counts.table()[module]
