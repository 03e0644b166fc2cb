"""The stubs: held to the module by `stubtest`, and checked with an example by mypy and pyright."""

import doctest
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import onnxtxt
import onnxtxt._native
import onnxtxt._progress

HERE = pathlib.Path(__file__).resolve().parent
MODULE = pathlib.Path(onnxtxt.__file__).parent.parent


def run(tmp_path, *arguments):
    environment = os.environ | {"MYPYPATH": str(MODULE), "PYTHONPATH": str(MODULE)}
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    # The class of Pygments that it derives from has no stubs; the operators of a builder are made when they are called.
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("onnxtxt.pygments.OnnxTextLexer\nonnxtxt._operator_methods\n")
    run(tmp_path, "mypy.stubtest", "onnxtxt", "--ignore-missing-stub", "--allowlist", str(allowed))


def test_mypy_accepts_the_example(tmp_path):
    pytest.importorskip("mypy")
    run(tmp_path, "mypy", "--strict", str(HERE / "typed_example.py"))


def test_pyright_accepts_the_example(tmp_path):
    pytest.importorskip("pyright")
    config = tmp_path / "pyrightconfig.json"
    config.write_text(f'{{"extraPaths": ["{MODULE}"], "include": ["{HERE / "typed_example.py"}"]}}')
    run(tmp_path, "pyright", "--project", str(config), "--pythonpath", sys.executable)


def documented():
    yield "onnxtxt", onnxtxt.__doc__
    for module in (onnxtxt._native, onnxtxt._builder, onnxtxt._compare, onnxtxt._findings, onnxtxt._operators, onnxtxt._progress):
        for name, thing in vars(module).items():
            yield name, getattr(thing, "__doc__", None)
            if isinstance(thing, type) and thing.__module__.startswith("onnxtxt"):
                for key, member in vars(thing).items():
                    yield f"{name}.{key}", getattr(member, "__doc__", None)


def test_examples_of_the_documentation_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(HERE.parents[1] / "examples")
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    seen = 0
    for name, text in documented():
        if isinstance(text, str) and ">>>" in text:
            # As in the documentation of NumPy, the packages are imported.
            example = parser.get_doctest(text, {"np": np, "onnxtxt": onnxtxt}, name, None, 0)
            output = []
            runner.run(example, out=output.append)
            assert not output, "".join(output)
            seen += 1
    assert seen >= 90


def test_every_function_and_method_has_an_example():
    for name in onnxtxt.__all__:
        thing = getattr(onnxtxt, name)
        if getattr(onnxtxt._native, name, None) is not thing:
            continue
        if not isinstance(thing, type):
            assert name == "__version__" or ">>>" in thing.__doc__, name
            continue
        for key, member in vars(thing).items():
            if not key.startswith("_") and callable(member):
                # Of the attribute: a static method in the dictionary has the documentation of its kind.
                assert ">>>" in (getattr(thing, key).__doc__ or ""), f"{name}.{key}"


def test_everything_public_is_documented():
    for name in onnxtxt.__all__:
        thing = getattr(onnxtxt, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        for key, member in vars(thing).items() if isinstance(thing, type) else ():
            if not key.startswith("_") and thing.__module__ == "onnxtxt" and callable(member):
                assert member.__doc__, f"{name}.{key}"
