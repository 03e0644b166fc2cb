"""A plugin of pytest: golden tests (``*.onnxtxt`` with directives), and assertions about models.

In ``pyproject.toml``, the folders whose models are tests::

    [tool.pytest.ini_options]
    onnxtxt_golden = ["tests/models"]

``pytest --onnxtxt-bless`` writes snapshots and expected values. Tests in Python use the fixtures ``assert_models_equal`` and
``assert_runs_like``, which are the functions of ``onnxtxt.testing``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    parser.addini("onnxtxt_golden", "folders whose .onnxtxt files with directives are tests", type="paths", default=[])
    group = parser.getgroup("onnxtxt")
    group.addoption("--onnxtxt-bless", action="store_true", help="write snapshots and expected values of golden tests")


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    if file_path.suffix not in (".onnxtxt", ".onnxtext"):
        return None
    folders = [Path(folder).resolve() for folder in parent.config.getini("onnxtxt_golden")]
    if not any(file_path.resolve().is_relative_to(folder) for folder in folders):
        return None
    lines = file_path.read_text(encoding="utf-8", errors="replace").splitlines()
    if not any(line.startswith(("#!", "#---")) for line in lines):
        return None
    return GoldenFile.from_parent(parent, path=file_path)


class GoldenFile(pytest.File):
    """A file of golden tests."""

    def collect(self) -> Iterator[Any]:
        import onnxtxt

        for test in onnxtxt.golden_tests(self.path, bless=self.config.getoption("--onnxtxt-bless")):
            yield GoldenItem.from_parent(self, name=test.name, test=test)


class GoldenItem(pytest.Item):
    """A golden test."""

    def __init__(self, *, test: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.test = test
        for tag in test.tags:
            self.keywords[tag] = True

    def runtest(self) -> None:
        self.test.run()

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


@pytest.fixture
def assert_models_equal() -> Any:
    """``onnxtxt.testing.assert_models_equal``."""
    from onnxtxt import testing

    return testing.assert_models_equal


@pytest.fixture
def assert_runs_like() -> Any:
    """``onnxtxt.testing.assert_runs_like``."""
    from onnxtxt import testing

    return testing.assert_runs_like
