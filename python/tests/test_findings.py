"""Findings: their fields, and how they are shown, compared and stored."""

import copy
import pickle

import pytest

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
TEXT = HEAD + "g (float[N] x) => (float[N] y) {\n    t = Abs(x)\n    t = Neg(x)\n    y = Rleu(t)\n}\n"


def test_findings_have_all_fields():
    second, unknown = onnxtxt.parse(TEXT).check()
    assert (second.severity, second.line, second.path) == ("error", 4, "<text>") and second.is_error
    assert second.code.startswith("E02") and second.name
    start, end = second.span
    assert TEXT[start:end] == "t" and (second.column, second.end_column) == (5, 6)
    assert second.labels and {label.line for label in second.labels} >= {3}
    assert unknown.help or unknown.fixes
    [fix] = unknown.fixes
    assert "Relu" in fix.title and "Relu" in fix.apply(TEXT) and not fix.safe
    with pytest.raises(ValueError):
        fix.apply("x")


def test_findings_are_values():
    found = onnxtxt.parse(TEXT).check()
    again = onnxtxt.parse(TEXT).check()
    assert found == again and set(found) == set(again) and hash(found[0]) == hash(again[0]) != hash(found[1])
    assert pickle.loads(pickle.dumps(found)) == found and copy.deepcopy(found) == found
    assert isinstance(pickle.loads(pickle.dumps(found)), onnxtxt.Findings)
    with pytest.raises(AttributeError):
        found[0].code = "x"


def test_errors_have_their_findings():
    with pytest.raises(onnxtxt.Error) as caught:
        onnxtxt.parse(TEXT).compile()
    error = caught.value
    assert error.findings and str(error.findings[0]) in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is onnxtxt.Error and again.findings == error.findings and str(again) == str(error)
    assert onnxtxt.Error("x").findings == () and issubclass(onnxtxt.StaleError, onnxtxt.Error)


def test_findings_are_shown(capsys, monkeypatch):
    found = onnxtxt.parse(TEXT).check()
    print(found)
    plain = capsys.readouterr().out
    assert "t = Neg(x)" in plain and "\x1b" not in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert "\x1b" in str(found) and "\x1b" not in str(found[0])
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in str(found)
    assert "&lt;" not in found[0]._repr_html_() or "<pre" in found[0]._repr_html_()
    assert repr(found[0]).startswith("<error E02") and "<text>:4:5" in repr(found[0])
    assert len(found.errors) == 2 and found.warnings == [] and str(onnxtxt.Findings()) == "no findings"


def test_fixes_are_applied():
    text = '<ir_version: 10, opset_import: ["" 21]>\ng (float[N] x) => (float[N] y) { y = Rleu(x) }'
    model = onnxtxt.parse(text)
    assert model.fix() == 1 and model.fix() == 0
    assert [finding.line for finding in model.check()] == [2]
    assert model.fix(unsafe_fixes=True) == 1 and model.check() == [] and "Relu" in str(model)
    binary = onnxtxt.decode(model.to_bytes())
    binary.graph.nodes[0].op_type = "Rleu"
    assert binary.fix(unsafe_fixes=True) == 1 and binary.check() == []
    assert binary == model
