"""The examples in the documentation of what runs models."""

import doctest
import importlib

import numpy as np
import pytest
import reference_counts

import onnxtxt

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


MODULES = ["inference", "_ort_values", "backend", "testing", *(f"compat.{name}" for name in reference_counts.MODULES)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    module = importlib.import_module(f"onnxtxt.{name}")
    done = doctest.testmod(module, optionflags=OPTIONS)
    assert done.failed == 0 and done.attempted > 0


def test_examples_of_the_extension_module():
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for test in doctest.DocTestFinder().find(onnxtxt.Session, "Session", module=False, globs={"np": np, "onnxtxt": onnxtxt}):
        runner.run(test)
    assert runner.failures == 0 and runner.tries > 3
