"""Runs the tests of the package onnx with the modules of `onnxtxt.compat` in the place of those of `onnx`, and counts what passes.

    python reference_counts.py FOLDER [MODULE… | --write]     FOLDER has the source distribution of the package (xtask/py/fetch_tests.py)

As a plugin of pytest (`-p reference_counts`), it puts the modules in place.
"""

import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

# The modules, and the files of the reference's tests that are about them.
MODULES = {
    "parser": ["parser_test"],
    "printer": ["printer_test"],
    "checker": ["checker_test"],
    "shape_inference": ["shape_inference_test"],
    "inliner": ["inliner_test"],
    "version_converter": ["version_converter_test"],
    "compose": ["compose_test"],
    "utils": ["utils_test"],
}


def pytest_configure(config):
    """Puts the modules in place."""
    import onnx

    for name in os.environ.get("ONNXTXT_COMPAT", " ".join(MODULES)).split():
        module = importlib.import_module(f"onnxtxt.compat.{name}")
        sys.modules[f"onnx.{name}"] = module
        setattr(onnx, name, module)


def run(folder, module):
    """The number of tests of a module that pass, and the names of the others with the last line of their message."""
    here = pathlib.Path(__file__).parent
    passed, failed = 0, {}
    for file in MODULES[module]:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch, "report.xml")
            path = pathlib.Path(folder, "tests/python", f"{file}.py").resolve()
            arguments = ["-m", "pytest", "-q", "-p", "reference_counts", "-p", "no:cacheprovider", f"--junitxml={report}", str(path)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])}
            subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, cwd=scratch, timeout=3600)
            for case in xml.parse(report).iter("testcase"):
                problem = next((child for child in case if child.tag in ("failure", "error")), None)
                if problem is not None:
                    message = (problem.get("message") or "").strip().splitlines()
                    failed[case.get("name")] = message[0][:160] if message else ""
                elif not any(child.tag == "skipped" for child in case):
                    passed += 1
    return passed, failed


TABLE = pathlib.Path(__file__).parent / "compat_counts.md"
HEAD = """# Tests of the package onnx over `onnxtxt.compat`

Written by `reference_counts.py FOLDER --write`, which runs the reference's own tests with our modules in the place of its own. Each miss is
listed with the message of its failure.

| module | passed | of |
| --- | --- | --- |
"""


def write(folder):
    """Writes the table of all modules."""
    rows, misses = "", ""
    for module in MODULES:
        passed, failed = run(folder, module)
        rows += f"| {module} | {passed} | {passed + len(failed)} |\n"
        if failed:
            misses += f"\n## {module}\n\n"
            misses += "".join(f"- `{name}`: {message.replace('|', '/')}\n" for name, message in sorted(failed.items()))
    TABLE.write_text(HEAD + rows + misses)


def table():
    """The numbers of the table: the passed tests and all tests of each module."""
    rows = [line.strip("| ").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return {name: (int(passed), int(total)) for name, passed, total in rows if passed.isdigit()}


def main(folder, *modules):
    if modules == ("--write",):
        write(folder)
        return
    for module in modules or MODULES:
        passed, failed = run(folder, module)
        print(json.dumps({"module": module, "passed": passed, "of": passed + len(failed), "missed": failed}))


if __name__ == "__main__":
    main(*sys.argv[1:])
