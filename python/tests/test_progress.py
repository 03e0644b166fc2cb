"""What is shown of long work."""

import io
import sys
import types

import numpy as np
import pytest

import onnxtxt
from onnxtxt import _progress

TEXT = '<ir_version: 10, opset_import: ["": 21]> g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { t = Identity(x) y = MatMul(t, w) }'


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(_progress, "_PATIENCE", 0)
    monkeypatch.setattr(_progress, "_BETWEEN", 0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def batches():
    return [{"x": np.ones((i + 1, 2), np.float32)} for i in range(3)]


def test_a_function_is_told(batches, tmp_path):
    told = []
    tell = lambda done, total: told.append((done, total))  # noqa: E731
    onnxtxt.parse(TEXT).quantize(calibrate=batches, progress=tell)
    assert told == [(1, 3), (2, 3), (3, 3)]
    told.clear()
    # Each input is run before and after the change; the function may use the model meanwhile.
    model = onnxtxt.parse(TEXT)
    model.simplify(verify=batches, progress=lambda done, total: told.append((done, total, len(model.graph.nodes))))
    assert told == [(i + 1, 6, 2) for i in range(6)] and len(model.graph.nodes) == 1
    told.clear()
    tested = tmp_path / "t.onnxtxt"
    tested.write_text("#! check\n" + TEXT + "\n")
    onnxtxt.test(tested, progress=tell)
    assert told == [(1, 1)]
    told.clear()
    onnxtxt.parse(TEXT).reduce(lambda model: len(model.graph.nodes) > 0, progress=tell)
    assert told == [(i + 1, None) for i in range(len(told))] and told


def test_an_exception_of_the_function_ends_the_work(batches):
    def tell(done, total):
        raise LookupError("enough")

    model = onnxtxt.parse(TEXT)
    for call in (lambda: model.simplify(verify=batches, progress=tell), lambda: model.quantize(calibrate=batches, progress=tell)):
        with pytest.raises(LookupError, match="enough"):
            call()
    assert [node.op_type for node in model.graph.nodes] == ["Identity", "MatMul"]


def test_a_model_that_changes_while_it_is_verified_stays(batches):
    model = onnxtxt.parse(TEXT)

    def tell(done, total):
        if done == total:
            model.graph.nodes[0].name = "other"

    with pytest.raises(onnxtxt.Error, match="was changed while it was verified"):
        model.simplify(verify=batches, progress=tell)
    assert model.graph.nodes[0].name == "other" and len(model.graph.nodes) == 2


def test_a_terminal_shows_one_line(at_once, monkeypatch, batches):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert [item for item in onnxtxt.progress(range(3), "run")] == [0, 1, 2]
    lines = screen.getvalue().split("\r")
    assert lines[1].startswith("run:  33 % 1/3 [00:00, 00:00 left]") and lines[-1].startswith("run: 100 % 3/3 [00:00]")
    assert screen.getvalue().count("\n") == 1 and screen.getvalue().endswith("\n")
    screen.truncate(0)
    onnxtxt.parse(TEXT).quantize(calibrate=batches, progress=True)
    assert "calibrate: 100 % 3/3" in screen.getvalue()
    screen.truncate(0)
    # Without a length, the number is shown alone.
    list(onnxtxt.progress(iter("abcd")))
    assert "4 [00:00]" in screen.getvalue()


def test_a_log_has_the_last_line_alone(at_once, monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    for _ in onnxtxt.progress(range(50), "run"):
        pass
    assert log.getvalue().strip().startswith("run: 100 % 50/50") and log.getvalue().count("\n") == 1


def test_quick_work_shows_nothing(monkeypatch, batches):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    list(onnxtxt.progress(range(3)))
    onnxtxt.parse(TEXT).quantize(calibrate=batches, progress=True)
    assert screen.getvalue() == ""


def test_notebooks_show_it_by_default(at_once, monkeypatch, batches):
    shown = []

    class Handle:
        def update(self, content, raw):
            assert raw
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        assert raw and display_id
        shown.append(content["text/plain"])
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    onnxtxt.parse(TEXT).quantize(calibrate=batches)
    assert shown[0].startswith("calibrate:  33 % 1/3") and shown[-1].startswith("calibrate: 100 % 3/3")
    shown.clear()
    onnxtxt.parse(TEXT).quantize(calibrate=batches, progress=False)
    assert shown == []
    monkeypatch.setattr(ipython, "get_ipython", lambda: None)
    onnxtxt.parse(TEXT).quantize(calibrate=batches)
    assert shown == []
