"""Processes of a cluster on this machine: found, measured, and one of them killed."""

from __future__ import annotations

import os
import pathlib
import signal
import threading
import time


def descendants(of: int | None = None) -> dict[int, str]:
    """The processes that this one has started, directly or not, with their command lines."""
    parents, lines = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    root, found = of or os.getpid(), {}
    for pid in parents:
        at = pid
        while at in parents and at != root:
            at = parents[at]
        if at == root and pid != root:
            found[pid] = lines[pid]
    return found


def seconds_of(pid: int) -> float:
    """The processor time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> tuple[int, int]:
    """The memory of a process in bytes: its share of all that it has mapped, and what it has alone."""
    pss = private = 0
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            pss = int(line.split()[1]) << 10
        elif line.startswith(("Private_Clean:", "Private_Dirty:")):
            private += int(line.split()[1]) << 10
    return pss, private


class Watch:
    """Looks at the workers while the block runs: ``memory`` is the most that one of them had. With ``kills``, one is killed in the middle of
    its work, and ``killed`` is its number."""

    def __init__(self, name: str, *, kills: bool = False, after: float = 0.5) -> None:
        self._name = name
        self._kills = kills
        self._after = after
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.killed: int | None = None
        self.memory = (0, 0)

    def __enter__(self) -> Watch:
        # Those that have worked before.
        self._before = self._seconds()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _seconds(self) -> dict[int, float]:
        seconds = {}
        for pid, line in descendants().items():
            if self._name in line:
                try:
                    seconds[pid] = seconds_of(pid)
                except OSError:
                    continue
        return seconds

    def _look(self) -> None:
        while not self._done.wait(0.1):
            for pid, seconds in self._seconds().items():
                try:
                    self.memory = max(self.memory, memory_of(pid))
                except OSError:
                    continue
                # What a process needs to start is not its work.
                if self._kills and self.killed is None and seconds - self._before.get(pid, 0) > self._after:
                    os.kill(pid, signal.SIGKILL)
                    self.killed = pid


def wait_until_gone(pid: int) -> None:
    """Waits for the end of a process that was killed."""
    for _ in range(100):
        if pid not in descendants() or not pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} was killed, but is there")
