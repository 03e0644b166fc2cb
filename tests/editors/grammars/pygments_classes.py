"""Compares the Pygments lexer of the wheel with the lexer's classes, token by token.

    python tests/editors/grammars/pygments_classes.py CLASSES.jsonl

CLASSES.jsonl is what conformance/examples/token_classes.rs writes.
"""

import importlib.util
import json
import pathlib
import sys
import tomllib

from pygments.token import string_to_tokentype

from judge import ROOT, judge


def main():
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pygments.lexers"]["onnxtxt"] == "onnxtxt.pygments:OnnxTextLexer"
    spec = importlib.util.spec_from_file_location("onnxtxt_pygments", ROOT / "python/onnxtxt/pygments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table = json.loads((ROOT / "editors/classes.json").read_text())
    classes = {string_to_tokentype(row["pygments"]): name for name, row in table.items()}
    lexer = module.OnnxTextLexer()

    def found(text):
        out = []
        for _, kind, value in lexer.get_tokens_unprocessed(text):
            out += [classes.get(kind, "")] * len(value)
        return out

    judge("Pygments", pathlib.Path(sys.argv[1]), found)


if __name__ == "__main__":
    main()
