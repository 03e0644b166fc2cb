"""Sessions: what is computed, threads, time, signals, processes, operators of Python."""

import copy
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
MODEL = HEAD + "g (float[N,3] x) => (float[N,3] y, float[N,3] z) { h = Neg(x) y = Relu(h) z = Abs(h) }"
X = np.array([[1, -2, 3]], np.float32)
#: Runs for about a minute.
LONG = HEAD + """g (float[N] x) => (float[N] y) {
    most = Constant <value = int64 {2000000}> () true = Constant <value = bool {1}> ()
    y = Loop (most, true, x) <body = b (int64 i, bool c, float[N] v) => (bool d, float[N] w) { d = Identity(c) s = Sin(v) w = Cos(s) }>
}"""


def long():
    return onnxtxt.Session(onnxtxt.parse(LONG), max_memory=1 << 30)


def test_inputs_and_outputs_are_described():
    session = onnxtxt.Session(onnxtxt.parse(MODEL))
    [x] = session.inputs
    assert (x.name, x.shape, x.type, x.dtype, x.text) == ("x", ["N", 3], "tensor(float)", np.float32, "float[N,3]")
    assert [port.name for port in session.outputs] == ["y", "z"]
    assert repr(session) == "<onnxtxt.Session (float[N,3] x) => (float[N,3] y, float[N,3] z)>"


@pytest.mark.parametrize("exact", [False, True])
def test_only_what_is_asked_is_computed(exact):
    session = onnxtxt.Session(onnxtxt.parse(MODEL), exact=exact)
    assert {name: y.tolist() for name, y in session.run({"x": X}).items()} == {"y": [[0, 2, 0]], "z": [[1, 2, 3]]}
    assert session.run({"x": X}, ["z"])["z"].tolist() == [[1, 2, 3]]
    assert list(session.run({"x": X}, ["h", "y"])) == ["h", "y"]
    assert list(session.run({"x": X}, intermediate=["h"])) == ["y", "z", "h"]
    assert list(session.run({"x": X}, intermediate=True)) == ["y", "z", "h"]
    assert [y.tolist() for y in session.run_list({"x": X}, ["z", "h"])] == [[[1, 2, 3]], [[-1, 2, -3]]]
    with pytest.raises(onnxtxt.Error, match="the model computes no `q`"):
        session.run({"x": X}, ["q"])
    # What fails is not computed.
    text = HEAD + "g (float[N] x) => (float[N] y, float[2] z) { y = Neg(x) z = Reshape(x, s) } "
    text = text.replace("=> (float[N] y, float[2] z) {", "=> (float[N] y, float[2] z) <int64[1] s = {2}> {")
    session = onnxtxt.Session(onnxtxt.parse(text))
    with pytest.raises(onnxtxt.Error, match="Reshape"):
        session.run({"x": X[0]})
    assert session.run({"x": X[0]}, ["y"])["y"].tolist() == [-1, 2, -3]


def test_a_profile_has_a_row_for_each_kernel():
    session = onnxtxt.Session(onnxtxt.parse(HEAD + "g (float[A,B] x) => (float[A,B] y) { y = MatMul(x, x) }"))
    [row] = session.profile({"x": np.eye(64, dtype=np.float32)}, runs=3)
    assert row["op"] == "MatMul" and row["results"] == ["float[64,64]"] and len(row["times"]) == 3
    assert row["operations"] >= 2 * 64**3 and 0 < row["time"] < 10


def test_threads_share_a_session():
    session = onnxtxt.Session(onnxtxt.parse(HEAD + "g (float[A,B] x) => (float[A,B] y) { t = MatMul(x, x) y = Neg(t) }"))
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((8 + seed, 8 + seed)).astype(np.float32)
        for turn in range(20):
            names = [["y"], ["t"], ["t", "y"]][turn % 3]
            done = session.run({"x": x}, names, threads=1 + turn % 2)
            if any(not np.allclose(done[n], (x @ x) * (1 if n == "t" else -1), atol=1e-3) for n in names):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_a_model_is_compiled_by_several_threads():
    model = onnxtxt.parse(MODEL)
    done = []
    threads = [threading.Thread(target=lambda: done.append(model.compile().run({"x": X})["z"].tolist())) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert done == [[[1, 2, 3]]] * 8


def test_a_run_ends_after_a_time():
    session, start = long(), time.monotonic()
    with pytest.raises(TimeoutError, match="cancelled after 0.2 s"):
        session.run({"x": np.zeros(10_000, np.float32)}, timeout=0.2)
    assert time.monotonic() - start < 2
    for bad in [-1, float("nan"), float("inf")]:
        with pytest.raises(ValueError, match="timeout"):
            session.run({"x": np.zeros(1, np.float32)}, timeout=bad)


def test_a_run_is_cancelled_by_another_thread():
    session = long()
    timer = threading.Timer(0.2, session.cancel)
    timer.start()
    with pytest.raises(onnxtxt.Error, match="cancelled"):
        session.run({"x": np.zeros(10_000, np.float32)})
    timer.join()
    assert onnxtxt.Session(onnxtxt.parse(MODEL)).run({"x": X})["y"].shape == (1, 3)


def test_ctrl_c_ends_a_run():
    script = f"""
import numpy as np, onnxtxt, os, signal, sys, threading, time
session = onnxtxt.Session(onnxtxt.parse({LONG!r}))
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, send).start()
try:
    session.run({{"x": np.zeros(10_000, np.float32)}})
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - sent[0])
print("goes on", session.run({{"x": np.zeros(1, np.float32)}}, ["most"])["most"])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    took = re.match(r"interrupted after ([\d.e-]+)", ended.stdout)
    assert took and float(took[1]) < 0.5 and "goes on 2000000" in ended.stdout, ended


def test_ctrl_c_is_that_of_python_after_a_model_was_saved(tmp_path):
    script = f"""
import onnxtxt, signal, time
onnxtxt.parse({MODEL!r}).save({str(tmp_path / "m.onnx")!r})
try:
    signal.raise_signal(signal.SIGINT)
    time.sleep(1)
except KeyboardInterrupt:
    time.sleep(0.5)
    print("interrupted")
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "interrupted\n", ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_runs():
    session = onnxtxt.Session(onnxtxt.parse(HEAD + "g (float[A,B] x) => (float[A,B] y) { y = MatMul(x, x) }"))
    x = np.random.default_rng(0).standard_normal((400, 400)).astype(np.float32)
    expected = session.run({"x": x}, threads=2)["y"]
    child = os.fork()
    if child == 0:
        # The threads of the parent are not there.
        same = all((session.run({"x": x}, threads=2)["y"] == expected).all() for _ in range(3))
        os._exit(0 if same else 1)
    end = time.monotonic() + 60
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            pytest.fail("a run in a forked process does not end")
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(status) == 0


def double(x, factor=2):
    return x * np.float32(factor)


def test_sessions_are_pickled_by_their_model_and_options():
    text = '<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Double(x) }'
    session = onnxtxt.Session(onnxtxt.parse(text), threads=1, operators={("my", "Double"): double})
    for other in [pickle.loads(pickle.dumps(session)), copy.copy(session), copy.deepcopy(session)]:
        assert other.run({"x": X[0]})["y"].tolist() == [2, -4, 6]


def computed(session, x):
    return session.run({"x": x})["y"].tolist()


def test_sessions_are_sent_to_other_processes():
    joblib = pytest.importorskip("joblib")
    text = '<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Double(x) }'
    model = onnxtxt.parse(text)
    model.operators["my.Double"] = double
    for session in [onnxtxt.Session(model), onnxtxt.Session(onnxtxt.parse(MODEL.replace("N,3", "N")), sizes=[("N", 3)])]:
        done = joblib.Parallel(n_jobs=2)(joblib.delayed(computed)(session, X[0] * at) for at in range(3))
        assert done == [computed(session, X[0] * at) for at in range(3)]


def test_operators_are_functions_of_python():
    text = """<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y, float[N] z) {
        h = Neg(x) y = my.Double <factor = 3.0> (h) k, z = my.Both(y, , h) }"""

    def both(a, left_out, b):
        assert left_out is None and not a.flags.writeable
        return a, a + b

    session = onnxtxt.Session(onnxtxt.parse(text), operators={"my.Double": double, ("my", "Both"): both})
    done = session.run({"x": X[0]})
    assert done["y"].tolist() == [-3, 6, -9] and done["z"].tolist() == [-4, 8, -12]
    assert session.run({"x": X[0]}, ["y"])["y"].tolist() == [-3, 6, -9]
    replaced = onnxtxt.Session(onnxtxt.parse(MODEL), operators={("", "Relu"): lambda x: x})
    assert replaced.run({"x": X})["y"].tolist() == [[-1, 2, -3]]


class Mistake(Exception):
    pass


def test_exceptions_of_operators_are_raised():
    text = '<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Op(x) }'

    def run(function, **options):
        return onnxtxt.Session(onnxtxt.parse(text), operators={"my.Op": function}).run({"x": X[0]}, **options)

    def mistake(x):
        raise Mistake("no")

    with pytest.raises(Mistake, match="no") as caught:
        run(mistake)
    assert any("`Op`, which computes `y`" in note for note in getattr(caught.value, "__notes__", ["`Op`, which computes `y`"]))
    with pytest.raises(TypeError, match="has returned None"):
        run(lambda x: None)
    with pytest.raises(TypeError, match="element 0 of an array of objects is object"):
        run(lambda x: object())
    with pytest.raises(onnxtxt.Error, match="0 of 1 outputs are computed"):
        run(lambda x: ())
    with pytest.raises(KeyboardInterrupt):
        run(lambda x: signal.raise_signal(signal.SIGINT) or time.sleep(1))
    with pytest.raises(TypeError, match="expected a function"):
        run(3)
    with pytest.raises(TypeError, match="the name of an operator is int"):
        onnxtxt.Session(onnxtxt.parse(text), operators={3: mistake})
    # An operator that runs another session.
    inner = onnxtxt.Session(onnxtxt.parse(MODEL))
    assert run(lambda x: inner.run({"x": x[None]})["z"][0])["y"].tolist() == [1, 2, 3]
    # The memory of an argument stays as long as it is kept.
    kept = []
    run(lambda x: kept.append(x) or x)
    assert kept[0].tolist() == X[0].tolist()


def test_what_is_no_model_is_refused():
    for bad, error in [(3, TypeError), (None, TypeError), ("/nowhere.onnx", onnxtxt.Error), (b"garbage", onnxtxt.Error)]:
        with pytest.raises(error):
            onnxtxt.Session(bad)
    with pytest.raises(onnxtxt.Error, match="E0203"):
        onnxtxt.Session(onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(nowhere) }"))
    with pytest.raises(ValueError, match="threads is 0"):
        onnxtxt.Session(onnxtxt.parse(MODEL), threads=0)
    with pytest.raises(onnxtxt.Error, match="not enough memory"):
        onnxtxt.Session(onnxtxt.parse(MODEL), max_memory=100).run({"x": np.zeros((1000, 3), np.float32)})


def test_sizes_of_symbols_are_set():
    session = onnxtxt.Session(onnxtxt.parse(MODEL), sizes=[("N", 1)])
    assert session.inputs[0].shape == [1, 3] and session.run({"x": X})["y"].shape == (1, 3)
    with pytest.raises(onnxtxt.Error):
        session.run({"x": np.zeros((2, 3), np.float32)})


def test_a_trainer_takes_what_a_session_takes():
    import pathlib

    root = pathlib.Path(__file__).resolve().parents[2]
    data = np.load(root / "examples/digits-train.npz")
    trainer = onnxtxt.Trainer(onnxtxt.open(root / "examples/train-digits.onnxtxt"), seed=1, threads=1)
    trainer.initialize()
    batch = {name: data[name][:8] for name in trainer.inputs if name in data}
    expected = trainer.evaluate(batch)["loss"]
    strided = {name: np.repeat(x, 2, axis=0)[::2] for name, x in batch.items()}
    lists = {name: x.tolist() for name, x in batch.items()}
    for other in [strided, lists]:
        assert trainer.evaluate(other)["loss"] == expected
    state = trainer.state()
    before = {name: x.copy() for name, x in state.items()}
    for x in batch.values():
        x[:] = 0
    for x in state.values():
        x[...] = 0
    assert all((trainer.state()[name] == x).all() for name, x in before.items()), "the state is a copy"
    with pytest.raises(TypeError, match="masked"):
        trainer.step({name: np.ma.masked_array(x) for name, x in batch.items()})


def product(rows=300, columns=256):
    weights = ", ".join(str(i * 7919 % 1009) for i in range(rows * columns))
    return HEAD + f"g (float[N,{rows}] x) => (float[N,{columns}] y) <float[{rows},{columns}] w = {{{weights}}}> {{ y = MatMul(x, w) }}"


def test_packed_weights_are_kept_in_a_folder(tmp_path, monkeypatch):
    model, feeds = onnxtxt.parse(product()), {"x": np.arange(900, dtype=np.float32).reshape(3, 300)}
    expected = onnxtxt.Session(model).run(feeds)["y"]
    for _ in range(2):
        session = onnxtxt.Session(model, cache=tmp_path / "given")
        assert np.array_equal(session.run(feeds)["y"], expected)
        assert [path.suffix for path in (tmp_path / "given").iterdir()] == [".packed"]
    assert np.array_equal(pickle.loads(pickle.dumps(session)).run(feeds)["y"], expected)
    monkeypatch.setenv("ONNXTXT_CACHE", str(tmp_path / "own"))
    assert np.array_equal(onnxtxt.Session(model, cache=False).run(feeds)["y"], expected)
    assert not (tmp_path / "own").exists()
    assert np.array_equal(onnxtxt.Session(model, cache=True).run(feeds)["y"], expected)
    assert len(list((tmp_path / "own" / "weights").iterdir())) == 1


def test_a_cache_that_cannot_be_used_is_a_warning(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="packed weights are not kept"):
        onnxtxt.Session(onnxtxt.parse(MODEL), cache=tmp_path / "file").run({"x": X})
    with pytest.raises(TypeError, match="cache is int, expected a bool, or the path of a folder"):
        onnxtxt.Session(onnxtxt.parse(MODEL), cache=3)
