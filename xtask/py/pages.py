"""Looks at everything that is shown: Markdown with its tables and links, HTML, settings, and pictures, parsed by libraries and rendered.

usage: pages.py ROOT FOLDER [PROGRAM]     FOLDER gets the pictures as PNG; PROGRAM is onnxtxt, whose drawings are looked at as well
"""

import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree as tree

import html5lib
import resvg_py
import yaml
from markdown_it import MarkdownIt
from PIL import Image

# A page of paper, in pixels.
MAX_HEIGHT = 1123
# The part of a picture that has to differ from its background.
MIN_INK = 0.005
# What the families of CSS are where the renderer has no browser to ask.
FONTS = {"font_family": "DejaVu Sans", "sans_serif_family": "DejaVu Sans", "monospace_family": "DejaVu Sans Mono"}
SVG = "{http://www.w3.org/2000/svg}"


class Repository:
    """The files that git knows or would add."""

    def __init__(self, root):
        self.root = root
        command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
        self.files = sorted(file for file in listed if file and (root / file).is_file())
        self.folders = {str(folder) for file in self.files for folder in pathlib.PurePosixPath(file).parents}

    def read(self, file):
        return (self.root / file).read_text(encoding="utf-8")


def slug(heading):
    """The anchor that a forge gives a heading."""
    kept = [c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM"]
    return "".join(kept).replace(" ", "-")


def text_of(token):
    return "".join(child.content for child in token.children or [] if child.type in ("text", "code_inline"))


def anchors(text):
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    found, seen = set(), {}
    for heading, inline in zip(tokens, tokens[1:]):
        if heading.type == "heading_open":
            name = slug(text_of(inline))
            seen[name] = seen.get(name, -1) + 1
            found.add(name if not seen[name] else f"{name}-{seen[name]}")
    return found


def cells(line):
    """The number of cells of a line of a table: a pipe that is not escaped ends one, also in code."""
    return len(re.findall(r"(?<!\\)\|", line.strip().strip("|"))) + 1


def inlines(tokens):
    for token in tokens:
        if token.type == "inline":
            for child in token.children:
                yield (token.map[0] if token.map else 0), child


def markdown(text, file, exists, anchors_of):
    """What is wrong with a page: (line, message)."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lines = text.split("\n")
    in_tables = set()
    for token in tokens:
        if token.type in ("fence", "code_block", "html_block") and token.map:
            in_tables.update(range(*token.map))
        if token.type == "table_open":
            rows = range(*token.map)
            in_tables.update(rows)
            counts = [cells(lines[row]) for row in rows]
            for row, count in zip(rows, counts):
                if count != counts[0]:
                    yield row, f"{count} cells in a table of {counts[0]}"
    for at, line in enumerate(lines):
        if line.startswith("|") and at not in in_tables:
            yield at, "a line of a table that is not part of one"
    folder = pathlib.PurePosixPath(file).parent
    for at, token in inlines(tokens):
        if token.type == "image" and not token.content.strip():
            yield at, f"a picture without a description: {token.attrs['src']}"
        target = token.attrs.get("href" if token.type == "link_open" else "src", "") if token.attrs else ""
        if token.type not in ("link_open", "image") or re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        parts = []
        for part in (folder / path if path else pathlib.PurePosixPath(file)).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        path = "/".join(parts)
        if not exists(path):
            yield at, f"a link to {target}, which is not there"
        elif anchor and anchor not in anchors_of(path):
            yield at, f"a link to {target}, which has no such heading"


def html(text):
    try:
        html5lib.HTMLParser(strict=True).parse(text)
    except html5lib.html5parser.ParseError as error:
        yield 0, f"not HTML: {error}"


def settings(text):
    try:
        assert isinstance(yaml.safe_load(text), (dict, list)), "neither keys nor a list"
    except (yaml.YAMLError, AssertionError) as error:
        yield 0, f"not YAML: {error}"


def svg(text, save=None):
    """What is wrong with a picture."""
    try:
        root = tree.fromstring(text)
    except tree.ParseError as error:
        yield error.position[0] - 1, f"not XML, so nothing is shown: {error}"
        return
    if root.tag != f"{SVG}svg":
        yield 0, f"the root is {root.tag}, not svg"
        return
    box = root.get("viewBox", "").split()
    if len(box) != 4:
        yield 0, "no viewBox, so that it does not scale"
        return
    if [element for element in root.iter() if element.tag == f"{SVG}script"]:
        yield 0, "a script, which a forge does not run"
    png = resvg_py.svg_to_bytes(svg_string=text, background="white", **FONTS)
    picture = Image.open(io.BytesIO(bytes(png))).convert("RGB")
    if save:
        picture.save(save)
    counts = sorted((count for count, _ in picture.getcolors(1 << 24)), reverse=True)
    ink = 1 - counts[0] / sum(counts)
    if ink < MIN_INK:
        yield 0, f"{ink:.2%} of the picture differ from its background: it is blank"


def drawings(program, root, folder):
    """Pictures and pages that the program makes of the examples, by name."""
    for name in ("digits", "softmax", "columns"):
        for ending in ("svg", "html"):
            out = folder / f"{name}.{ending}"
            subprocess.run([program, "-q", "draw", root / f"examples/{name}.onnxtxt", "-o", out], check=True)
            yield f"drawing of {name}.{ending}", out.read_text(encoding="utf-8")
    old, new = root / "examples/digits.onnxtxt", folder / "new.onnxtxt"
    new.write_text(old.read_text(encoding="utf-8").replace("Relu(", "Abs("), encoding="utf-8")
    done = subprocess.run([program, "diff", "--format", "html", old, new], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    yield "difference.html", done.stdout


def selftest():
    """Broken pages and pictures are found."""
    pages = [
        ("| a | b |\n| --- | --- |\n| 1 | 2 | 3 |\n", "3 cells in a table of 2"),
        ("| a | b |\n| --- | --- |\n| `x|y` | 2 |\n", "3 cells"),
        ("text\n\n| a | b |\n| 1 | 2 |\n", "not part of one"),
        ("[x](gone.md)", "not there"),
        ("[x](there.md#gone)", "no such heading"),
        ("[x](#gone)", "no such heading"),
        ("![](there.md)", "without a description"),
    ]
    is_there, of = {"there.md", "p.md"}.__contains__, lambda _: {"here-it-is"}
    for text, expected in pages:
        found = [message for _, message in markdown(text, "p.md", is_there, of)]
        assert any(expected in message for message in found), (text, found)
    sound = "# Here `it` is\n\n| a | b |\n| --- | --- |\n| `x\\|y` | 2 |\n\n[x](there.md#here-it-is) [y](#here-it-is)\n"
    assert not list(markdown(sound, "p.md", is_there, of)), sound
    assert anchors("# Here `it` is!\n## A\n## A\n") == {"here-it-is", "a", "a-1"}
    blank = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9">{}</svg>'
    pictures = [
        (blank.format("<!-- a -- b -->"), "not XML"),
        (blank.format('<rect width="9" height="9" fill="red"/>'), "blank"),
        ("<html/>", "not svg"),
        (blank.replace("viewBox", "box"), "no viewBox"),
    ]
    for text, expected in pictures:
        found = [message for _, message in svg(text)]
        assert any(expected in message for message in found), (text, found)
    assert not list(svg(blank.format('<rect width="4" height="9"/>')))
    assert list(settings("a: b: c")) and not list(settings("a: b"))
    assert list(html("<!DOCTYPE html><title>t</title><p></div>")) and not list(html("<!DOCTYPE html><title>t</title><p>x"))


def main(root, folder, program=None):
    selftest()
    root, folder = pathlib.Path(root).resolve(), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    repository = Repository(root)
    exists = lambda path: path in repository.files or path in repository.folders
    anchors_of = lambda path: anchors(repository.read(path)) if path.endswith(".md") else set()
    wrong, counts = [], dict.fromkeys(("md", "svg", "html", "yml", "yaml", "cff"), 0)
    shown = [(file, repository.read(file)) for file in repository.files if file.rsplit(".", 1)[-1] in counts]
    with tempfile.TemporaryDirectory() as scratch:
        if program:
            shown += drawings(program, root, pathlib.Path(scratch))
        for file, text in shown:
            ending = file.rsplit(".", 1)[-1]
            counts[ending] += 1
            if ending == "md":
                found = markdown(text, file, exists, anchors_of)
            elif ending == "html":
                found = html(text)
            elif ending != "svg":
                found = settings(text)
            else:
                name = file.replace("/", "-").replace(" ", "-")
                found = svg(text, folder / f"{name}.png")
                height = re.search(r'viewBox="[-0-9.]+ [-0-9.]+ [-0-9.]+ ([-0-9.]+)"', text)
                if file in repository.files and height and float(height[1]) > MAX_HEIGHT:
                    wrong.append(f"{file}: {height[1]} pixels high, more than a page")
            wrong += [f"{file}:{line + 1}: {message}" for line, message in found]
    print("\n".join(wrong))
    print(f"{counts['md']} pages, {counts['svg']} pictures, {counts['html']} HTML pages, {counts['yml'] + counts['yaml'] + counts['cff']} settings, {len(wrong)} findings; pictures are in {folder}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
