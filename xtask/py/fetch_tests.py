"""Fetches the tests of the onnx package into a folder: they are in its source distribution, not in the package.

    python fetch_tests.py FOLDER

The version is that of the installed package.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path


def main(folder):
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        package = ["--no-deps", "--no-binary", "onnx", f"onnx=={version('onnx')}"]
        subprocess.run([*pip, *package, "--dest", scratch], check=True, timeout=600)
        [archive] = Path(scratch).glob("onnx-*.tar.gz")
        with tarfile.open(archive) as tar:
            members = [m for m in tar.getmembers() if "/tests/python/" in m.name]
            tar.extractall(scratch, members, filter="data")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(Path(scratch, archive.name.removesuffix(".tar.gz")), folder)


main(Path(sys.argv[1]))
