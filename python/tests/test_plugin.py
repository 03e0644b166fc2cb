"""The plugin of pytest, in a pytest of its own."""

import os
import subprocess
import sys

import onnxtxt

TEST = """#! pass dead-code
<ir_version: 10, opset_import: ["": 21]>
g (float[N] x) => (float[N] y) { t = Identity(x) y = Relu(t) }
"""


def pytest_in(folder, *args):
    command = [sys.executable, "-m", "pytest", "-p", "onnxtxt.pytest_plugin", "-p", "no:cacheprovider", "-v", *args]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ)
    return done.returncode, done.stdout + done.stderr


def test_golden_tests_are_collected_and_blessed(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nonnxtxt_golden = models\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "simple.onnxtxt").write_text(TEST)
    (tmp_path / "models" / "part.onnxtxt").write_text('<ir_version: 10, opset_import: ["": 21]> g () => () {}\n')
    (tmp_path / "other.onnxtxt").write_text("#! nonsense\n")
    code, told = pytest_in(tmp_path)
    assert code == 1 and "models/simple.onnxtxt::simple FAILED" in told and "1 failed" in told, told
    code, told = pytest_in(tmp_path, "--onnxtxt-bless")
    assert code == 0 and "1 passed" in told, told
    code, told = pytest_in(tmp_path)
    assert code == 0 and "models/simple.onnxtxt::simple PASSED" in told, told


def test_fixtures_compare(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import onnxtxt\n"
        "A = onnxtxt.parse('<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')\n"
        "def test_same(assert_models_equal, assert_runs_like):\n"
        "    assert_models_equal(A, A)\n"
        "    assert_runs_like(A, 'onnxruntime')\n"
    )
    code, told = pytest_in(tmp_path)
    assert code == 0 and "1 passed" in told, told


def test_a_golden_test_is_an_object(tmp_path):
    path = tmp_path / "m.onnxtxt"
    path.write_text(TEST)
    [test] = onnxtxt.golden_tests(path, bless=True)
    test.run()
    assert (test.name, repr(test)) == ("m", "<onnxtxt.GoldenTest m>")
