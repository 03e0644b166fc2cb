"""The table of starts of docs/cluster.md: 256 MiB of weights, from a process that starts to its first results, with and without packed weights
that were kept, beside ONNX Runtime; and the memory of two processes at once.

``python starts.py PROGRAM [--write]`` prints it, or writes it into the page. PROGRAM is ``onnxtxt``. All start by turns; the numbers are medians. Files
are in the cache of the system, as they are when a machine starts workers again.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/cluster.md"
TURNS = int(os.environ.get("ONNXTXT_RUNS", "5"))
#: A run has as many rows, so that it takes no longer than a start.
ROWS = 2
THREADS = 2

PEER = """
import json, sys, time
import numpy as np, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
begin, cpu = time.perf_counter(), time.process_time()
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = np.random.default_rng(0).random((int(sys.argv[3]), 4096), np.float32)
middle = time.perf_counter()
session.run(None, {"x": x})
end = time.perf_counter()
session.run(None, {"x": x})
cpu = time.process_time() - cpu
later = []
while len(later) < 5 or float(sys.argv[4]) > time.perf_counter() - end:
    start = time.perf_counter()
    session.run(None, {"x": x})
    later.append(time.perf_counter() - start)
print(json.dumps({"cpu_seconds": cpu, "load_seconds": middle - begin, "prepare_seconds": 0, "first_run_seconds": end - middle, "median_seconds": sorted(later)[len(later) // 2]}))
"""


def write_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Four products with matrices of 4096 by 4096: weights beside the model, and inside, where they are not aligned."""
    random = np.random.default_rng(1)
    weights = [(random.standard_normal((4096, 4096), np.float32) / 64) for _ in range(4)]
    names = ["x", "a", "b", "c", "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(4)]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4096]) for name in "xy"]
    initializers = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True) for i, w in enumerate(weights)]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], initializers)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
    inside, beside = folder / "inside.onnx", folder / "beside.onnx"
    onnx.save(model, inside)
    onnx.save(model, beside, save_as_external_data=True, location="beside.bin")
    return {"beside": beside, "inside": inside}


def memory(pid: int) -> tuple[float, float]:
    """What a process has alone, and its share of all that it has mapped, in MiB."""
    alone = share = 0
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            share = int(line.split()[1])
        elif line.startswith(("Private_Dirty:", "Private_Clean:")):
            alone += int(line.split()[1])
    return alone / 1024, share / 1024


def command(program: str, kind: str, model: pathlib.Path, seconds: float) -> list[str]:
    if kind == "ONNX Runtime":
        return [sys.executable, "-c", PEER, str(model), str(THREADS), str(ROWS), str(seconds)]
    runs = ["--runs", "5"] if seconds == 0 else ["--runs", "1000000"]
    bench = [program, "bench", str(model), "-D", f"N={ROWS}", "--threads", str(THREADS), "--json", *runs]
    return bench if kind == "onnxtxt" else [*bench, "--cache"]


def start(program: str, kind: str, model: pathlib.Path) -> dict[str, float]:
    """Seconds of a start and of a later run, and the processor time of a start with one more run."""

    def figures(line: list[str]) -> dict[str, float]:
        done = subprocess.run(line, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.strip().splitlines()[-1])

    line = command(program, kind, model, 0)
    found = figures(line)
    own = found["load_seconds"] + found["prepare_seconds"] + found["first_run_seconds"]
    if "cpu_seconds" not in found:
        # Our processes do nothing else, so theirs is that of the whole process.
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        figures([word if word != "5" else "1" for word in line])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found["cpu_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"start": own, "later": found["median_seconds"], "cpu": found["cpu_seconds"]}


def two_at_once(program: str, kind: str, model: pathlib.Path) -> tuple[float, float]:
    """The memory of each of two processes that run at the same time: the larger one's, when it does not change any more."""
    started = [subprocess.Popen(command(program, kind, model, 1e6), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        before: list[tuple[float, float]] = []
        for _ in range(60):
            time.sleep(2)
            now = [memory(process.pid) for process in started]
            if before and all(abs(a - b) < 2 for one, other in zip(now, before) for a, b in zip(one, other)):
                break
            before = now
        return max(now)
    finally:
        for process in started:
            process.kill()
            process.wait()


def main(arguments: list[str]) -> None:
    [program] = [argument for argument in arguments if not argument.startswith("-")]
    lines = []
    with tempfile.TemporaryDirectory(prefix="onnxtxt-starts-") as folder:
        os.environ["ONNXTXT_CACHE"] = str(pathlib.Path(folder) / "cache")
        for place, model in write_models(pathlib.Path(folder)).items():
            # The first start with a cache packs the weights and writes them.
            packed = start(program, "with a cache", model)["start"]
            kinds = ["onnxtxt", "with a cache", "ONNX Runtime"]
            turns: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
            for _ in range(TURNS):
                for kind in kinds:
                    turns[kind].append(start(program, kind, model))
            for kind in kinds:
                begin, later, cpu = (statistics.median(turn[name] for turn in turns[kind]) for name in ("start", "later", "cpu"))
                pairs = zip(turns[kind], turns["ONNX Runtime"])
                ratio = statistics.median(ours["start"] / theirs["start"] for ours, theirs in pairs)
                alone, share = two_at_once(program, kind, model)
                name = {"onnxtxt": "without a cache", "with a cache": f"with a cache (its first start: {packed:.2f} s)"}.get(kind, kind)
                lines.append([place, name, f"{begin:.3f}", f"{ratio:.2f}", f"{cpu:.2f}", f"{later * 1e3:.1f}", f"{alone:.0f}", f"{share:.0f}"])
    head = [
        "| weights | start | load and first run, s | beside ONNX Runtime | processor time with one more run, s | later runs, ms | memory of one of two alone, MiB | its share, MiB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    table = "\n".join([*head, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"
    if "--write" not in arguments:
        print(table)
        return
    begin, end = "<!-- cargo xtask cluster --starts -->\n", "<!-- end of the starts -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text(before + begin + table + end + rest.split(end, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
