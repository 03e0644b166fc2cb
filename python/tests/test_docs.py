"""The examples of docs/python.md and README.md run, one after the other."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_the_documentation_run(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    space = {}
    blocks = list(BLOCKS.finditer(text))
    assert len(blocks) > 5
    for block in blocks:
        # Places in the document, for exceptions.
        lines = "\n" * (text[: block.start(1)].count("\n"))
        exec(compile(lines + block[1], "docs/python.md", "exec"), space)
    assert (tmp_path / "trained.onnxtxt").exists() and (tmp_path / "weights.safetensors").exists()
    assert "close" in capsys.readouterr().out


def test_the_example_of_the_front_page_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(ROOT)
    (block,) = BLOCKS.finditer(text)
    exec(compile(block[1], "README.md", "exec"), {})
    assert capsys.readouterr().out == "[4]\n"
