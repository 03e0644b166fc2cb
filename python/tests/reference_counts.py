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
from typing import NamedTuple

from reference_misses import MISSES, OPEN

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
    "helper": ["helper_test"],
    "numpy_helper": ["numpy_helper_test"],
    "reference": ["reference_evaluator_test", "reference_evaluator_model_test", "reference_evaluator_attention_test", "reference_evaluator_ml_test"],
}


def pytest_configure(config):
    """Puts the modules in place."""
    import onnx.reference

    for name in os.environ.get("ONNXTXT_COMPAT", " ".join(MODULES)).split():
        module = importlib.import_module(f"onnxtxt.compat.{name}")
        if name == "reference":
            # The classes that operators derive from stay those of the reference.
            onnx.reference.ReferenceEvaluator = module.ReferenceEvaluator
            continue
        sys.modules[f"onnx.{name}"] = module
        setattr(onnx, name, module)


class Counts(NamedTuple):
    """The names of the tests that pass, and of those that fail with the first line of their message."""

    passed: list
    failed: dict


def run(folder, module):
    """Runs the tests of a module."""
    here = pathlib.Path(__file__).parent
    counts = Counts([], {})
    for file in MODULES[module]:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch, "report.xml")
            path = pathlib.Path(folder, "tests/python", f"{file}.py").resolve()
            arguments = ["-m", "pytest", "-q", "-p", "reference_counts", "-p", "no:cacheprovider", f"--junitxml={report}", str(path)]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])}
            done = subprocess.run(
                [sys.executable, *arguments], env=environment, capture_output=True, text=True, cwd=scratch, timeout=3600
            )
            if not report.exists():
                raise RuntimeError(f"the tests of {file} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            for case in xml.parse(report).iter("testcase"):
                problem = next((child for child in case if child.tag in ("failure", "error")), None)
                if problem is not None:
                    message = (problem.get("message") or "").strip().splitlines()
                    counts.failed[case.get("name")] = message[0][:160] if message else ""
                elif not any(child.tag == "skipped" for child in case):
                    counts.passed.append(case.get("name"))
    return counts


def reason(module, name):
    """Why a test of the reference fails, if that is known: the entry of the test, or of all its parameters."""
    reasons = {test: why for why, tests in MISSES.get(module, {}).items() for test in tests}
    return reasons.get(name) or reasons.get(name.partition("[")[0])


def surprises(module, counts):
    """The differences to what is known: tests that fail without a reason, and those that pass in spite of one."""
    new = {name: message for name, message in counts.failed.items() if reason(module, name) is None}
    return new, [name for name in counts.passed if reason(module, name) is not None]


TABLE = pathlib.Path(__file__).parent / "compat_counts.md"
HEAD = """# Tests of the package onnx over `onnxtxt.compat`

Written by `reference_counts.py FOLDER --write`, which runs the reference's own tests with our modules in the place of its own. Misses are
deliberate where the specification says something else than the reference, or nothing, or where a test is about the inside of the reference; the
others are open. Below the table, each miss has its reason; `reference_misses.py` has them as data, and a test compares both with what happens.

| module | passed | of | | deliberate | open | passed or deliberate |
| --- | --- | --- | --- | --- | --- | --- |
"""


def write(folder):
    """Writes the table of all modules."""
    rows, misses = "", ""
    for module in MODULES:
        counts = run(folder, module)
        passed, total = len(counts.passed), len(counts.passed) + len(counts.failed)
        is_open = sum(reason(module, name) in OPEN | {None} for name in counts.failed)
        share, all_but_open = 100 * passed / total, 100 * (total - is_open) / total
        rows += f"| {module} | {passed} | {total} | {share:.1f} % | {total - passed - is_open} | {is_open} | {all_but_open:.1f} % |\n"
        grouped = {}
        for name in sorted(counts.failed):
            why = reason(module, name) or f"no reason yet: {counts.failed[name]}".replace("|", "/")
            grouped.setdefault(why, []).append(name)
        if grouped:
            misses += f"\n## {module}\n\n"
        for why, names in sorted(grouped.items()):
            is_open = "open: " if why in OPEN or why.startswith("no reason yet") else ""
            misses += f"- {is_open}{why}: {', '.join(f'`{name}`' for name in names)}\n"
    TABLE.write_text(HEAD + rows + misses)


def table():
    """The numbers of the table: the passed tests and all tests of each module."""
    rows = [line.strip("| ").split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    return {name: (int(passed), int(total)) for name, passed, total, *_ in rows if passed.isdigit()}


def main(folder, *modules):
    if modules == ("--write",):
        write(folder)
        return
    for module in modules or MODULES:
        counts = run(folder, module)
        new, unexpected = surprises(module, counts)
        of = len(counts.passed) + len(counts.failed)
        print(json.dumps({"module": module, "passed": len(counts.passed), "of": of, "new": new, "unexpected": unexpected}))


if __name__ == "__main__":
    main(*sys.argv[1:])
