"""A pool of worker processes that survives the death of any of them.

`run` hands each request line to a worker and yields the answer lines in the order of the requests.  A worker is
`python pool.py`: one request line in, one answer line out.  One that dies or exceeds the timeout is replaced, and
its request is answered {"ok": false, "crash": WHY}.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading

JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
# Requests read ahead of the oldest unanswered one, per worker: bounds memory, keeps all workers busy.
AHEAD = 64


class Worker:
    def __init__(self):
        self.process = None

    def ask(self, line: str, timeout: float) -> str:
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(line.strip().encode() + b"\n")
            self.process.stdin.flush()
            answer = self.read_line(timeout)
        except OSError:
            answer = b""
        if answer is None:
            self.stop()
            return crash(line, f"no answer within {timeout:g} s")
        if not answer.endswith(b"\n"):
            return crash(line, how_it_ended(self.stop()))
        return answer.decode()

    def read_line(self, timeout: float):
        """A whole line, what there was at the end of the stream, or None after `timeout`."""
        chunks = []
        fd = self.process.stdout.fileno()
        while True:
            if not select.select([fd], [], [], timeout)[0]:
                return None
            chunk = os.read(fd, 1 << 20)
            chunks.append(chunk)
            if not chunk or chunk.endswith(b"\n"):
                return b"".join(chunks)

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.process.stdin = os.fdopen(os.dup(self.process.stdin.fileno()), "wb")

    def stop(self) -> int:
        if self.process is None:
            return 0
        process, self.process = self.process, None
        try:
            process.stdin.close()
        except OSError:
            pass
        try:
            code = process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        process.stdout.close()
        return code


def how_it_ended(code: int) -> str:
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"


def crash(line: str, why: str) -> str:
    return json.dumps({"id": json.loads(line).get("id"), "ok": False, "crash": why, "error": why}) + "\n"


def run(requests, jobs: int = JOBS, timeout: float = 120.0):
    jobs = max(1, jobs)
    todo: queue.Queue = queue.Queue()
    ahead = threading.Semaphore(jobs * AHEAD)
    answers: queue.Queue = queue.Queue()

    def feed():
        for n, line in enumerate(requests):
            ahead.acquire()
            todo.put((n, line))
        for _ in range(jobs):
            todo.put(None)

    def work():
        worker = Worker()
        while (item := todo.get()) is not None:
            n, line = item
            try:
                answer = worker.ask(line, timeout)
            except ValueError as e:
                answer = json.dumps({"id": None, "ok": False, "error": f"not a request: {e}"}) + "\n"
            answers.put((n, answer))
        worker.stop()
        answers.put(None)

    threads = [threading.Thread(target=t, daemon=True) for t in [feed] + [work] * jobs]
    for t in threads:
        t.start()
    waiting, next_n, live = {}, 0, jobs
    while live or waiting:
        if next_n in waiting:
            yield waiting.pop(next_n)
            ahead.release()
            next_n += 1
            continue
        item = answers.get()
        if item is None:
            live -= 1
        else:
            waiting[item[0]] = item[1]


def worker_main():
    import resource

    import cases

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not look like an answer
    for line in sys.stdin:
        out.write(json.dumps(cases.answer(line)) + "\n")
        out.flush()


if __name__ == "__main__":
    worker_main()
