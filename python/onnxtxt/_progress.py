"""Progress of long work, on a line of a terminal or in a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")

#: Work that is done sooner shows nothing, in seconds.
_PATIENCE = 0.5
#: The least time between two changes of what is shown.
_BETWEEN = 0.1


def progress(iterable: Iterable[T], label: str = "", total: int | None = None) -> Iterator[T]:
    """The items of an iterable, with a line that says how many are done and how long the others will take: for batches that a model runs
    with, or steps of a training. ``total`` is their number, for an iterable without a length. What takes less than half a second shows
    nothing.

    >>> import numpy as np, onnxtxt
    >>> session = onnxtxt.Session(onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }'))
    >>> batches = np.ones((3, 1), np.float32)
    >>> [session.run({"x": batch})["y"].item() for batch in onnxtxt.progress(batches, "run")]
    [-1.0, -1.0, -1.0]
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    shown = Progress(label, total, _display())
    try:
        for done, item in enumerate(iterable):
            yield item
            shown.update(done + 1)
    finally:
        shown.close()


def begin(show: bool | Callable[[int, int | None], Any] | None, label: str, total: int | None) -> Any:
    """The display of the progress of a method: an object with ``update(done)`` and ``close()``, or ``None``. By default, notebooks show it."""
    if callable(show):
        return _Told(show, total)
    return Progress(label, total, _display()) if show or show is None and _notebook() else None


class _Told:
    """Calls a function with the number of what is done, and that of all."""

    def __init__(self, function: Callable[[int, int | None], Any], total: int | None) -> None:
        self.function, self.total = function, total

    def update(self, done: int) -> None:
        self.function(done, self.total)

    def close(self) -> None:
        pass


class Progress:
    """Shows how many of ``total`` are done."""

    def __init__(self, label: str, total: int | None, display: Callable[[str, bool], None]) -> None:
        self.label, self.total, self.display = label, total, display
        self.start = time.monotonic()
        self.next = self.start + _PATIENCE
        self.done = 0
        self.is_shown = False

    def update(self, done: int) -> None:
        self.done = done
        now = time.monotonic()
        if now >= self.next:
            self.next, self.is_shown = now + _BETWEEN, True
            self.display(self.text(now), False)

    def close(self) -> None:
        if self.is_shown:
            self.display(self.text(time.monotonic()), True)
            self.is_shown = False

    def text(self, now: float) -> str:
        took = now - self.start
        label = f"{self.label}: " if self.label else ""
        if self.total is None:
            return f"{label}{self.done} [{_clock(took)}]"
        left = took / self.done * (self.total - self.done) if self.done else None
        share = 100 * self.done // self.total if self.total else 100
        rest = "" if left is None or self.done >= self.total else f", {_clock(left)} left"
        return f"{label}{share:3} % {self.done}/{self.total} [{_clock(took)}{rest}]"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _notebook() -> bool:
    """Whether a notebook shows what this process prints. Does not import IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ in ("ZMQInteractiveShell", "Shell") and shell is not None


def _display() -> Callable[[str, bool], None]:
    """A function that shows a text in place of the one before; the last is the final one."""
    if _notebook():
        display = importlib.import_module("IPython.display").display
        handle = None

        def show(text: str, is_last: bool) -> None:
            nonlocal handle
            if handle is None:
                handle = display({"text/plain": text}, raw=True, display_id=True)
            else:
                handle.update({"text/plain": text}, raw=True)

        return show
    width = 0

    def write(text: str, is_last: bool) -> None:
        nonlocal width
        stream = sys.stderr
        if stream is None or not (is_last or stream.isatty()):
            # A file has the last line alone.
            return
        stream.write(f"\r{text:<{width}}" + ("\n" if is_last else ""))
        stream.flush()
        width = len(text)

    return write
