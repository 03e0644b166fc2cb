"""Compares the tree-sitter grammar with the parser and the lexer.

    python tests/editors/grammars/tree_sitter_classes.py PARSER.so CLASSES.jsonl

CLASSES.jsonl is what conformance/examples/token_classes.rs writes. Texts that the parser accepts have trees without errors, and those with
mistakes in their syntax have trees with errors, but for those in tree_sitter_deviations.txt. The captures of highlights.scm are the classes
of the lexer, where the tree does not know more. A mistake in one node leaves the others in the tree.
"""

import ctypes
import json
import pathlib
import re
import sys

from tree_sitter import Language, Parser, Query, QueryCursor

from judge import ROOT, SHOWN, difference, rows

#: The parser's codes for mistakes that a grammar can see. The others are about numbers, keys and types.
SYNTAX = {"E0101", "E0102", "E0103", "E0104", "E0105", "E0106", "E0107", "E0108"}

#: The class that the lexer sees in a word, and the one that the tree knows instead.
REFINED = {
    # The name of an attribute, a type variable, or an overload: all of them stand before a colon.
    ("Key", "Attribute"), ("Key", "Type"), ("Key", "Operator"),
    # Parts of a sparse tensor, in braces.
    ("Name", "Attribute"),
    # Types that the lexer does not know by name, and names that are spelled like types or numbers.
    ("Name", "Type"), ("Operator", "Type"), ("Name", "Domain"),
    ("Type", "Name"), ("Type", "Attribute"), ("Type", "Operator"), ("Type", "Domain"), ("Number", "Name"),
    # Words before the end of a line, and labels in the middle of one.
    ("Name", "Operator"), ("Name", "Keyword"), ("Name", "Label"), ("String", "Label"),
    # Values before and after a `<` that compares: the lexer takes it for the beginning of attributes.
    ("Operator", "Name"), ("Attribute", "Name"),
}


def load(path):
    library = ctypes.CDLL(str(pathlib.Path(path).resolve()))
    library.tree_sitter_onnxtxt.restype = ctypes.c_void_p
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return Language(make(library.tree_sitter_onnxtxt(), b"tree_sitter.Language", None))


class Highlights:
    def __init__(self, language):
        table = json.loads((ROOT / "editors/classes.json").read_text())
        self.classes = {row["treesitter"]: name for name, row in table.items()}
        self.query = Query(language, (ROOT / "editors/tree-sitter/queries/highlights.scm").read_text())

    def class_of(self, capture):
        return self.classes.get(capture) or self.classes.get(capture.split(".")[0], "")

    def of(self, text, tree):
        source = text.encode()
        found = [""] * (len(source) + 1)
        captures = []
        for index, matched in QueryCursor(self.query).matches(tree.root_node):
            captures += [(index, name, node) for name, nodes in matched.items() for node in nodes]
        # Of several patterns for a token, the last one counts.
        for _, name, node in sorted(captures, key=lambda it: it[0]):
            found[node.start_byte : node.end_byte] = [self.class_of(name)] * (node.end_byte - node.start_byte)
        if source.isascii():
            return found
        ends, at = [], 0
        for character in text:
            ends.append(found[at])
            at += len(character.encode())
        return ends


def deviations():
    """Texts about which the two differ: `accepts path` or `rejects path`."""
    lines = (pathlib.Path(__file__).parent / "tree_sitter_deviations.txt").read_text().splitlines()
    return {tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")}


def first_error(node):
    if node.is_missing or node.type == "ERROR":
        return node
    for child in node.children:
        if child.has_error or child.is_missing:
            return first_error(child) or child
    return None


def recovers(parser):
    """A mistake in one of ten nodes: most of the others are still there."""
    nodes = [f"   t{i + 1} = Add <axis = {i}> (t{i}, x)\n" for i in range(10)]
    count = lambda tree: len(re.findall(r"\(node\b", str(tree.root_node)))
    for i, node in enumerate(nodes):
        for broken in (node.replace("(", "("*2), node.replace(")", ""), node.replace("=", "= =", 1), node.replace("Add", ""), "   ]\n"):
            body = "".join(nodes[:i] + [broken] + nodes[i + 1 :])
            tree = parser.parse(f"g (float[N] x) => (float[N] t10) {{\n{body}}}\n".encode())
            if count(tree) < 7:
                return f"after the mistake `{broken.strip()}`, the tree has {count(tree)} of 10 nodes"
    return None


def main():
    language = load(sys.argv[1])
    parser, highlights = Parser(language), Highlights(language)
    known, met, unlisted = deviations(), set(), []
    texts = colored = wrong_colors = 0
    for row in rows(pathlib.Path(sys.argv[2])):
        texts += 1
        tree = parser.parse(row["text"].encode())
        expects_error = not SYNTAX.isdisjoint(row["errors"])
        name = row["path"].split("/tests/suite/")[-1].split("/target/")[-1].split("/../")[-1]
        if tree.root_node.has_error != expects_error and (expects_error or not row["errors"]):
            kind = ("accepts" if expects_error else "rejects", name)
            if kind in known:
                met.add(kind)
            else:
                node = first_error(tree.root_node)
                place = f":{node.start_point[0] + 1}:{node.start_point[1] + 1}" if node else ""
                unlisted.append(f"{kind[0]} {kind[1]}{place}")
        if not tree.root_node.has_error:
            colored += 1
            refined = lambda expected, actual: (expected, actual) in REFINED
            wrong = difference(row, highlights.of(row["text"], tree), refined)
            if wrong:
                wrong_colors += 1
                if wrong_colors <= SHOWN:
                    print(f"tree-sitter: {row['path']}:{wrong}")
    for line in unlisted[: 3 * SHOWN]:
        print(f"tree-sitter {line}")
    stale = {name for name in known - met}
    for kind, name in sorted(stale):
        print(f"tree-sitter no longer {kind} {name}: remove the line")
    broken = recovers(parser)
    if broken:
        print(f"tree-sitter: {broken}")
    print(
        f"tree-sitter: {len(unlisted)} of {texts} verdicts differ from the parser ({len(met)} listed), "
        f"colors of {wrong_colors} of {colored} texts from the lexer"
    )
    if unlisted or stale or broken or wrong_colors or texts < 500:
        sys.exit(1)


if __name__ == "__main__":
    main()
