"""Models opened, checked, run and trained."""

import pathlib
import sys
import tempfile
import threading
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

import onnxtxt

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'


def raises(text, call):
    try:
        call()
    except onnxtxt.Error as error:
        assert text in str(error), error
        return
    raise AssertionError(f"nothing was raised, expected: {text}")


def test_texts_are_checked_and_run():
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) {\n    # of t\n    t = Abs(x)\n    y = Sqrt(t)\n}\n")
    assert model.check() == [] and "# of t" in str(model)
    assert model.infer() == [] and "float[N] t" in model.text()
    executable = model.compile()
    assert (executable.inputs, executable.outputs) == (["x"], ["y"])
    x = np.array([-4, 9], np.float32)
    y = executable.run({"x": x}, threads=1)["y"]
    assert y.dtype == np.float32 and y.tolist() == [2, 3]
    y[0] = 1  # writable
    raises("no input `z`", lambda: executable.run({"z": x}))
    raises("int64", lambda: executable.run({"x": np.array([1, 2])}))
    proto = onnx.load_from_string(model.to_bytes())
    assert proto.graph.node[1].op_type == "Sqrt"
    assert onnxtxt.decode(proto.SerializeToString()).check() == []


def test_findings_have_places():
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(nowhere) }")
    [finding] = model.check()
    assert (finding.code, finding.severity) == ("E0203", "error"), finding
    assert "nowhere" in finding.message and "^" in str(finding) or "─" in str(finding)
    raises("E0203", model.compile)
    raises("No such file", lambda: onnxtxt.open("/nowhere.onnx"))


def test_models_run_if_their_meaning_is_clear():
    def warned(call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        return result, [str(warning.message) for warning in caught]

    x = np.array([-1, 2], np.float32)
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(t) t = Neg(x) }")
    executable, messages = warned(model.compile)
    assert len(messages) == 1 and "E0202 (node-order)" in messages[0], messages
    assert executable.run({"x": x})["y"].tolist() == [1, 0]
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(t) t = Neg(y) }")
    raises("E0213", model.compile)
    model = onnxtxt.parse(HEAD + "g (float[N] a, float[N] b, float[2] c) => (float[N] y) { y = Abs(a) }")
    inputs = {"a": x, "b": np.zeros(3, np.float32), "c": x}
    executable = model.compile()
    _, messages = warned(lambda: executable.run(inputs))
    assert len(messages) == 1 and "`N` is 2 in input `a` and 3 in input `b`" in messages[0], messages
    raises("input `c` is float[3], expected float[2]", lambda: executable.run(inputs | {"c": inputs["b"]}))
    raises("convert its elements to float", lambda: executable.run(inputs | {"c": np.arange(2)}))


def test_what_was_read_in_part_is_not_written():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        whole = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(x) }").to_bytes()
        for content in [whole[:-3], whole[: len(whole) // 2], b"garbage", b"g (float[N] x => () {}"]:
            path.write_bytes(content)
            model = onnxtxt.open(path)
            raises("would be lost", lambda: model.save(path))
            raises("would be lost", model.to_bytes)
            raises("error", lambda: model.compile(unchecked=True))
            raises("error", lambda: onnxtxt.Trainer(model))
            assert path.read_bytes() == content
            assert isinstance(model.to_bytes(partial=True), bytes)
            model.save(path, partial=True)
            assert not onnxtxt.open(path).check("syntax")


def test_types_survive():
    types = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16]
    types += [np.uint32, np.uint64, np.bool_, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, object]
    names = "float16 float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 bfloat16 float8e4m3fn string"
    for ty, name in zip(types, names.split(), strict=True):
        model = onnxtxt.parse(HEAD + f"g ({name}[N,2] x) => ({name}[N,2] y) {{ y = Identity(x) }}")
        x = np.array([["a", "ß"]], object) if ty is object else np.arange(6).reshape(3, 2).T[:, :2].astype(ty)
        for array in [x, x[:0]]:
            y = model.compile().run({"x": array})["y"]
            assert y.dtype == array.dtype and y.shape == array.shape and (y == array).all(), (name, y)


def test_sequences_are_lists():
    model = onnxtxt.parse(HEAD + "g (seq(float[N]) s) => (seq(float[N]) r, int64 n) { r = Identity(s) n = SequenceLength(s) }")
    results = model.compile().run({"s": [np.zeros(2, np.float32), np.ones(3, np.float32)]})
    assert results["n"] == 2 and [len(item) for item in results["r"]] == [2, 3]


def test_results_are_those_of_onnxruntime():
    model = onnxtxt.open(ROOT / "examples/digits.onnxtxt")
    session = onnxruntime.InferenceSession(model.to_bytes(), providers=["CPUExecutionProvider"])
    digit = np.load(ROOT / "examples/digit.npy")
    [name] = [given.name for given in session.get_inputs()]
    ours, theirs = model.compile().run({name: digit}), session.run(None, {name: digit})
    for a, b in zip(ours.values(), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_training_learns_and_continues():
    data, held = np.load(ROOT / "examples/digits-train.npz"), np.load(ROOT / "examples/digits-test.npz")
    model = onnxtxt.open(ROOT / "examples/train-digits.onnxtxt")
    trainer = onnxtxt.Trainer(model, seed=7)
    trainer.initialize()
    rows = len(next(iter(data.values())))
    random = np.random.default_rng(1)

    def train(trainer, order):
        for first in range(0, len(order), 64):
            outputs = trainer.step({name: data[name][order[first : first + 64]] for name in trainer.inputs if name in data})
        return outputs

    before = trainer.evaluate({name: held[name] for name in trainer.inputs if name in held})
    orders = [random.permutation(rows) for _ in range(4)]
    for order in orders[:3]:
        train(trainer, order)
    state, steps = {name: array.copy() for name, array in trainer.state().items()}, trainer.steps
    train(trainer, orders[3])
    after = trainer.evaluate({name: held[name] for name in trainer.inputs if name in held})
    loss = next(name for name in after if np.ndim(after[name]) == 0 and after[name].dtype.kind == "f")
    assert after[loss] < before[loss] / 2, (before[loss], after[loss])
    again = onnxtxt.Trainer(onnxtxt.open(ROOT / "examples/train-digits.onnxtxt"), seed=7)
    again.load_state(state, steps=steps)
    train(again, orders[3])
    for name, array in trainer.state().items():
        assert array.tobytes() == again.state()[name].tobytes(), name
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trained.onnxtxt"
        trainer.save(path)
        assert onnxtxt.open(path).check() == []
        saved = onnxtxt.Trainer(onnxtxt.open(path))
        assert all(saved.state()[name].tobytes() == array.tobytes() for name, array in trainer.state().items())
    raises("has no", lambda: again.load_state({}))


def test_threads_train_at_the_same_time():
    data = np.load(ROOT / "examples/digits-train.npz")
    model = onnxtxt.open(ROOT / "examples/train-digits.onnxtxt")
    trainers = [onnxtxt.Trainer(model, seed=3, threads=1) for _ in range(2)]
    for trainer in trainers:
        trainer.initialize()
    batch = {name: data[name][:256] for name in trainers[0].inputs if name in data}
    begun, losses = threading.Event(), []

    def train(trainer):
        begun.set()
        for _ in range(8):
            losses.append(trainer.step(batch)["loss"])

    # Python lets the others run only where a call releases the lock.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=train, args=trainers[:1])
        thread.start()
        begun.wait()
        meanwhile = len(losses)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert meanwhile < 8 == len(losses), "a step has kept the lock"
    train(trainers[1])
    assert losses[:8] == losses[8:], losses
    for name, array in trainers[0].state().items():
        assert array.tobytes() == trainers[1].state()[name].tobytes(), name
