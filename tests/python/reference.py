#!/usr/bin/env python3
"""The reference implementation (the `onnx` package) as an oracle for differential tests.

    reference.py serve [--jobs N] [--timeout S]    JSON requests on stdin, JSON answers on stdout, one a line
    reference.py parse | print | check FILE...     the same for files, answers on stdout
    reference.py equal A B [--ignore WHAT]...      field-for-field comparison; exit 1 when they differ
    reference.py corpus CORPUS                     reference texts of all models, see corpus_texts.py
    reference.py bench-parse | bench-print FILE... [--seconds S]
                                                   MB/s of the package's C++ core, see bench.py

A request is {"id": ANY, "op": OP, ...}; its answer has the same id, "ok", and "error" when not ok.  Answers come in
the order of the requests, so a caller may write everything and then read everything.  What each op takes and
gives is described in cases.py.  Requests run in worker processes: one that kills its worker (deep nesting overflows the
parser's stack) or takes too long is answered {"ok": false, "crash": WHY}, and the others continue.
"""

from __future__ import annotations

import argparse
import json
import sys

import pool


def lines(stream):
    for line in stream:
        if line.strip():
            yield line


def serve(args) -> int:
    for answer in pool.run(lines(sys.stdin), jobs=args.jobs, timeout=args.timeout):
        sys.stdout.write(answer)
        sys.stdout.flush()
    return 0


def files(args) -> int:
    requests = (json.dumps({"id": p, "op": args.command, "path": p}) for p in args.files)
    failed = 0
    for answer in pool.run(requests, jobs=args.jobs, timeout=args.timeout):
        failed += not json.loads(answer)["ok"]
        sys.stdout.write(answer)
    return 1 if failed else 0


def equal(args) -> int:
    request = {"op": "equal", "a": {"path": args.a}, "b": {"path": args.b}, "ignore": args.ignore}
    (answer,) = pool.run([json.dumps(request)], jobs=1, timeout=args.timeout)
    sys.stdout.write(answer)
    return 0 if json.loads(answer).get("equal") else 1


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--jobs", type=int, default=pool.JOBS, help="worker processes (default: the cores allowed)")
    ap.add_argument("--timeout", type=float, default=120.0, help="seconds for one request")
    sub = ap.add_subparsers(dest="command", required=True)
    sub.add_parser("serve")
    for op in ("parse", "print", "check"):
        sub.add_parser(op).add_argument("files", nargs="+")
    p = sub.add_parser("equal")
    p.add_argument("a")
    p.add_argument("b")
    p.add_argument("--ignore", action="append", default=[])
    sub.add_parser("corpus").add_argument("corpus")
    for op in ("bench-parse", "bench-print"):
        p = sub.add_parser(op)
        p.add_argument("files", nargs="+")
        p.add_argument("--seconds", type=float, default=2.0)
    args = ap.parse_args()

    if args.command == "serve":
        return serve(args)
    if args.command == "equal":
        return equal(args)
    if args.command == "corpus":
        import corpus_texts

        return corpus_texts.main(args.corpus, args.jobs)
    if args.command.startswith("bench-"):
        import bench

        return bench.main(args.command.removeprefix("bench-"), args.files, args.seconds)
    return files(args)


if __name__ == "__main__":
    sys.exit(main())
