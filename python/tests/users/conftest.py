"""Says loudly which packages are missing: then what users do with them is not tried."""

import importlib.util

#: What the tests of this folder need, and the environments that have it.
PACKAGES = {"skl2onnx": "sklearn.txt", "torch": "torch.txt", "onnxscript": "torch.txt", "transformers": "torch.txt", "jax": "jax.txt"}


def pytest_terminal_summary(terminalreporter):
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing and any("users" in str(report.nodeid) for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "nodeid")):
        files = ", ".join(sorted({f"xtask/requirements/{PACKAGES[name]}" for name in missing}))
        terminalreporter.write_line(
            f"*** USERS MISSING: without {', '.join(missing)} ({files}), some programs of users are not tried: cargo xtask python --users", red=True
        )
