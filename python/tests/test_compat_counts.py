"""The tests of the package onnx over `onnxtxt.compat`, counted as in `compat_counts.md`."""

import os
import pathlib

import pytest
import reference_counts

FOLDER = pathlib.Path(
    os.environ.get("ONNXTXT_ONNX_SOURCE") or pathlib.Path(__file__).resolve().parents[2] / "target/onnx-source"
)


# The others take minutes: `reference_counts.py FOLDER --write` counts all.
@pytest.mark.parametrize("module", ["parser", "printer", "checker", "inliner", "compose", "utils"])
def test_as_many_tests_pass_as_the_table_says(module):
    if not FOLDER.exists():
        pytest.skip("the tests of the onnx package are not there: cargo xtask venv fetches them")
    passed, failed = reference_counts.run(FOLDER, module)
    assert (passed, passed + len(failed)) == reference_counts.table()[module], failed
