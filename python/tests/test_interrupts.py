"""Ctrl-C ends long work on a model soon, with a real signal, and the model is as it was, or as it is after the whole work."""

import subprocess
import sys

import pytest

# A chain of nodes whose operands differ, so that none is inferred by the result of another.
PROGRAM = """
import onnxtxt, os, signal, threading, time
ops = ["Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Sin", "Cos"]
nodes = []
for i in range(COUNT):
    if i % 4:
        nodes.append(f"x{i + 1} = {ops[i % 8]}(x{i})")
    elif i % 8:
        nodes.append(f"c{i} = Constant <value = float[1] {{{i}}}>()\\nx{i + 1} = Add(x{i}, c{i})")
    else:
        nodes.append(f"x{i + 1} = MatMul(x{i}, w)")
nodes = "\\n".join(nodes)
head = '<ir_version: 10, opset_import: ["": 21]>'
weight = f"float[4,4] w = {{{', '.join(map(str, range(16)))}}}"
text = f"{head} g (float[N,4] x0) => (float[N,4] x{COUNT}) <{weight}> {{\\n{nodes}\\n}}"
model = onnxtxt.decode(onnxtxt.parse(text).to_bytes())
content = model.to_bytes()
work = lambda model: WORK
sent = []

def send():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

# Once without a signal, to know how long it takes.
copy = model.copy()
start = time.perf_counter()
work(copy)
took = time.perf_counter() - start
threading.Timer(took / 3, send).start()
try:
    work(model)
    print("not ended", took)
except KeyboardInterrupt:
    late = time.perf_counter() - sent[0]
    print("ended", f"{late:.3f}", f"{took:.3f}", model.to_bytes() in (content, copy.to_bytes()))
"""


def run(work, count):
    program = PROGRAM.replace("WORK", work).replace("COUNT", str(count))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith("ended "), done
    _, late, took, is_whole = done.stdout.split()
    assert is_whole == "True", done.stdout
    return float(late), float(took)


@pytest.mark.parametrize(
    "work",
    ["model.check()", "model.infer()", "model.simplify()", "model.convert_opset(17)", "model.quantize()"],
)
def test_ctrl_c_ends_work_soon_and_changes_nothing_by_half(work):
    late, took = run(work, 30_000)
    # A fifth of a second, or on a busy machine less than what was left; writing inferred types into the model is not interrupted.
    assert late < max(0.2, took / 2), (late, took)


def test_work_on_other_threads_and_with_other_handlers_goes_on():
    program = """
import onnxtxt, signal, threading, time
model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Identity(x) y = Relu(t) }')
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(len(model.graph.nodes)))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
until = time.time() + 1
while time.time() < until:
    model.copy().simplify()
    model.check()
thread = threading.Thread(target=lambda: seen.append(bool(model.simplify())))
thread.start()
thread.join()
print(seen[0], seen[-1])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "2 True\n", done
