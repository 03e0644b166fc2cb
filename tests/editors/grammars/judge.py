"""Compares the classes that a grammar gives to characters with those of the lexer."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHOWN = 12


def rows(path):
    with open(path, encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def difference(row, found, refined=lambda expected, actual: False):
    """The first token whose characters have another class, unless `refined` allows it."""
    text, end = row["text"], 0
    for start, stop, expected in row["tokens"]:
        for first, last, wanted in ((end, start, ""), (start, stop, expected)):
            for at in range(first, last):
                is_blank = text[at].isspace() or text[at] == "\ufeff"
                if not is_blank and found[at] != wanted and not refined(wanted, found[at]):
                    number = text.count("\n", 0, at) + 1
                    line = text.split("\n")[number - 1][:120]
                    return f"{number}: `{text[first:last]}` is {wanted or 'nothing'}, not {found[at] or 'nothing'}: {line}"
        end = stop
    return None


def judge(name, path, classes):
    texts = tokens = count = 0
    for row in rows(path):
        texts += 1
        tokens += len(row["tokens"])
        wrong = difference(row, classes(row["text"]))
        if wrong:
            count += 1
            if count <= SHOWN:
                print(f"{name}: {row['path']}:{wrong}")
    print(f"{name}: {count} of {texts} texts ({tokens} tokens) differ from the lexer")
    if count or texts < 500:
        sys.exit(1)
