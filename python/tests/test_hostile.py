"""Arguments that nobody should pass, at random from a fixed seed: exceptions, and never the end of the interpreter.

The cases run in a process of their own: a crash is a failed test, not the end of all tests.
"""

import subprocess
import sys
import tempfile

import pytest

#: Seconds after which the process says where its threads are, and ends.
LIMIT = 240
SCRIPT = f"import faulthandler; faulthandler.dump_traceback_later({LIMIT}, exit=True)" + r'''
import random, sys, threading, warnings
import ml_dtypes, numpy as np
import onnxtxt

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
HEAD = '<ir_version: 13, opset_import: ["": 23, "my": 1]>\n'
MODELS = [
    "g (float[N] x) => (float[N] y) { y = Relu(x) }",
    "g (float[A,B] x, float[B,C] w) => (float[A,C] y) { y = MatMul(x, w) }",
    "g (float[N] x, int64[K] s) => (float y) { y = Reshape(x, s) }",
    "g (float x, int64 i) => (float y) { y = Gather(x, i) }",
    "g (string[N] x) => (string[N] y) { y = Identity(x) }",
    "g (seq(float[N]) x) => (float[M] y) { y = ConcatFromSequence <axis = 0> (x) }",
    "g (int4[N] x) => (int4[N] y) { y = Identity(x) }",
    "g (float[N,C,H,W] x, float[O,C,3,3] w) => (float y) { y = Conv(x, w) }",
    "g (float[N] x) => (float y) { y = my.Op(x) }",
    "g (optional(float[N]) x) => (bool y) { y = OptionalHasElement(x) }",
]


class Liar:
    """An object whose protocols lie."""
    def __init__(self, kind): self.kind = kind
    def __len__(self): return 1 << 40
    def __getitem__(self, i): raise rng.choice([IndexError, ValueError, MemoryError])("no")
    def __array__(self, *args, **options):
        return rng.choice([np.zeros(3), None, "x", np.zeros((2,), object)])
    @property
    def shape(self): return (float("nan"), -1)


class Changer(str):
    """A key that changes its dictionary when it is compared."""
    target = None
    def __hash__(self): return str.__hash__(self)
    def __eq__(self, other):
        if self.target is not None: self.target.clear()
        return str.__eq__(self, other)


def op(x):
    what = rng.randrange(8)
    if what == 0: raise rng.choice([ValueError, KeyError, SystemError, RecursionError, MemoryError])("from an operator")
    if what == 1: return None
    if what == 2: return (), x
    if what == 3: return np.zeros((2, 2), object)
    if what == 4: return x[::-1]
    if what == 5: return [x, x]
    if what == 6: return x.reshape(-1)[:0]
    return x


SESSIONS = [onnxtxt.Session(onnxtxt.parse(HEAD + text), unchecked=True, max_memory=1 << 28, operators={"my.Op": op}) for text in MODELS]
TYPES = ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "c8", "O", "U3", "S2", "M8[s]", "V3", ">f4", ">i8", "g",
         ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e5m2, np.dtypes.StringDType(), [("a", "f4"), ("b", "i8")]]


def array():
    shape = [rng.choice([0, 1, 2, 3, 3, 4]) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4, 4, 9]))]
    ty = rng.choice(TYPES + ["f4"] * 20 + ["i8"] * 5)
    try:
        x = np.zeros(shape, ty)
        if x.dtype.kind in "fiu":
            x = (np.random.default_rng(rng.randrange(99)).standard_normal(shape) * rng.choice([1, 1e30, np.nan])).astype(ty)
    except (TypeError, ValueError, OverflowError):
        x = np.zeros(2, "f4")
    for _ in range(rng.randrange(4)):
        how = rng.randrange(11)
        if how == 0 and x.ndim: x = x[::-1]
        if how == 1 and x.ndim: x = x[..., ::2]
        if how == 2: x = x.T
        if how == 3: x = x.copy(); x.setflags(write=False)
        if how == 4 and x.ndim: x = np.broadcast_to(x, (3, *x.shape))
        if how == 5: x = np.ma.masked_array(x) if x.dtype.kind in "fiu" else x
        if how == 6 and x.dtype == np.float32: x = np.broadcast_to(np.float32(1), (1 << 20, 1 << 25))[: rng.choice([0, 1, 2, 1 << 20])]
        if how == 7 and x.dtype == np.float32: x = np.lib.stride_tricks.as_strided(x, x.shape, [0] * x.ndim)
        if how == 8 and x.dtype.kind in "fiu" and x.flags.c_contiguous: 
            raw = np.zeros(x.nbytes + 1, "u1"); x = np.ndarray(x.shape, x.dtype, raw.data, 1)
        if how == 9: x = x.view(type("Sub", (np.ndarray,), {}))
        if how == 10 and x.size < 100 and x.dtype.kind == "f" and x.dtype.itemsize == 4: x = x.view("i4") if rng.random() < 0.5 else x.view("u1") if x.flags.c_contiguous and x.ndim else x
    return x


def thing(depth=0):
    what = rng.randrange(24)
    if what < 14: return array()
    if what == 14: return None
    if what == 15: return rng.choice([1, -1, 2**70, 1.5, float("nan"), True, "text", b"bytes", "\ud800", 1j])
    if what == 16 and depth < 3: return [thing(depth + 1) for _ in range(rng.randrange(3))]
    if what == 17 and depth < 3: return {rng.choice([1, "a", None, 2.5, (1,), 2**70]): thing(depth + 1) for _ in range(rng.randrange(3))}
    if what == 18: return Liar(1)
    if what == 19: return object()
    if what == 20: return memoryview(bytearray(8)).cast("f")
    if what == 21: x = []; x.append(x); return x
    if what == 22: return np.float32(1)
    return range(3)


def fitting(port):
    if port.dtype is None or port.shape is None: return thing()
    shape = [size if isinstance(size, int) else rng.choice([0, 1, 3, 5, 900]) for size in port.shape]
    x = np.zeros(shape, port.dtype)
    if port.dtype.kind == "O": x[...] = "text"
    if x.ndim and rng.random() < 0.5: x = x[::-1]
    if rng.random() < 0.2: x.setflags(write=False)
    return x


def dictionary(ports):
    feeds = {port.name: fitting(port) if rng.random() < 0.6 else thing() for port in ports if rng.random() < 0.95}
    if rng.random() < 0.05: feeds[rng.choice([1, None, "q", "", "\ud800", (1,)])] = array()
    if rng.random() < 0.03:
        key = Changer("other"); feeds[key] = array(); key.target = feeds
    return feeds


def turn():
    session = rng.choice(SESSIONS)
    feeds = dictionary(session.inputs)
    what = rng.randrange(7)
    if what < 4: done = session.run(feeds, threads=rng.choice([None, 1, 2, 300]))
    elif what == 4: done = session.run(feeds, rng.choice([["y"], [], ["x"], ["q"], "y", [1], ["y", "y"]]), timeout=rng.choice([None, 0, -1, 1e300, float("nan"), 5]))
    elif what == 5: done = session.run(feeds, intermediate=rng.choice([True, False, [], "x", 3, ["x"]]))
    else: session.run_into(feeds, {rng.choice(["y", "x", "q"]): thing()}); done = {}
    for value in done.values():
        if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "fiu":
            value.reshape(-1)[0] = 1
            value.sum()
'''

#: The end of a script: calls `turn` so many times, and then from several threads.
TURNS = r'''
raised, lock = {}, threading.Lock()


def work(turns):
    for _ in range(turns):
        try:
            turn()
            name = "nothing"
        except Exception as why:
            name = type(why).__name__
            str(why)
        except BaseException as why:
            if type(why).__name__ == "PanicException":
                print("panicked:", why, flush=True)
                raise
            raise
        with lock:
            raised[name] = raised.get(name, 0) + 1


warnings.simplefilter("ignore")
work(count)
threads = [threading.Thread(target=work, args=[count // 8]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done", sum(raised.values()), raised)
'''


def ensure_survives(script, seed, count):
    """Runs a script with a seed and a number of turns: it must end by itself, and some turns must succeed."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as folder:
        # Into a file, which keeps what is written before the end of the time.
        command = [sys.executable, "-X", "faulthandler", "-c", script + TURNS, str(seed), str(count)]
        run = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
        try:
            status = run.wait(LIMIT + 60)
        except subprocess.TimeoutExpired:
            run.kill()
            status = "no status: it hangs"
        output.seek(0)
        text = output.read()
    if status != 0 or f"done {count + 4 * (count // 8)}" not in text or "nothing" not in text or "panicked" in text or "AssertionError" in text:
        pytest.fail(f"seed {seed} ended with {status}:\n{text[-8000:]}", pytrace=False)


@pytest.mark.parametrize("seed", range(4))
def test_no_argument_ends_the_interpreter(seed):
    ensure_survives(SCRIPT, seed, 400)
