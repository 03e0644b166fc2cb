"""What the corpus scripts share: one JSON object a line on stdout for every model, and stamps that make a second
run cheap.

    {"model": NAME, "state": "ok" | "cached" | "failed", "why": TEXT?, "n": DONE, "of": TOTAL}

Everything else that a script or a library prints belongs on stderr.  A script exits 0 even when some models
failed: its caller decides whether that is fatal.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading


class Progress:
    def __init__(self, total: int):
        self.total = total
        self.done = 0
        self.lock = threading.Lock()

    def report(self, model: str, state: str, why: str | None = None) -> None:
        with self.lock:
            self.done += 1
            row = {"model": model, "state": state, "n": self.done, "of": self.total}
            if why:
                row["why"] = why
            print(json.dumps(row), flush=True)


def key_of(*paths: str) -> str:
    """A stamp's content: changes whenever one of the scripts does."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()


def is_done(folder: str, key: str) -> bool:
    try:
        with open(os.path.join(folder, ".stamp")) as f:
            return f.read() == key
    except OSError:
        return False


def mark_done(folder: str, key: str) -> None:
    with open(os.path.join(folder, ".stamp"), "w") as f:
        f.write(key)


@contextlib.contextmanager
def only_stderr():
    """Sends what libraries print to stderr, so that stdout stays JSON."""
    with contextlib.redirect_stdout(sys.stderr):
        yield
