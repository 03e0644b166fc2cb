"""Trains the model of this folder: ten handwritten digits, in images of 8 by 8 gray values from 0 to 16.

    python examples/digits.py

Needs numpy, scikit-learn (for its copy of the UCI data set of handwritten digits) and onnx, and Rust for this project's
program, which writes the model as text. The result is the same every time, up to the last bits of floats on another machine.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

images, labels = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
train, test = order[:1500], order[1500:]
mean = images[train].mean(axis=0)
network = MLPClassifier((24,), max_iter=400, random_state=0).fit((images[train] - mean) / 16, labels[train])
accuracy = network.score((images[test] - mean) / 16, labels[test])


def weights(name, values):
    values = np.asarray(values, np.float32)
    # Pixels that are always white leave weights that training has shrunk to almost nothing.
    return numpy_helper.from_array(np.where(np.abs(values) < 1e-6, np.float32(0), values), name)


def value(name, elem_type, shape):
    return helper.make_tensor_value_info(name, elem_type, shape)


graph = helper.make_graph(
    [
        helper.make_node("Flatten", ["image"], ["pixels"], "flatten"),
        helper.make_node("Sub", ["pixels", "mean"], ["centered"], "center"),
        helper.make_node("Div", ["centered", "range"], ["scaled"], "scale"),
        helper.make_node("Gemm", ["scaled", "w1", "b1"], ["h"], "hidden"),
        helper.make_node("Relu", ["h"], ["r"], "relu"),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["logits"], "output"),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=-1),
        helper.make_node("ArgMax", ["logits"], ["digit"], "argmax", axis=-1, keepdims=0),
    ],
    "digits",
    [value("image", TensorProto.FLOAT, ["N", 8, 8])],
    [value("probabilities", TensorProto.FLOAT, ["N", 10]), value("digit", TensorProto.INT64, ["N"])],
    [
        weights("mean", mean),
        weights("range", 16),
        weights("w1", network.coefs_[0]),
        weights("b1", network.intercepts_[0]),
        weights("w2", network.coefs_[1]),
        weights("b2", network.intercepts_[1]),
    ],
    value_info=[value("h", TensorProto.FLOAT, ["N", 24]), value("logits", TensorProto.FLOAT, ["N", 10])],
)
model = helper.make_model(
    graph,
    ir_version=10,
    opset_imports=[helper.make_opsetid("", 21)],
    producer_name="digits.py",
    producer_version="1",
    domain="org.example",
)
model.metadata_props.add(key="org.example.accuracy", value=f"{accuracy:.3f}")
onnx.checker.check_model(model, full_check=True)
here = Path(__file__).parent
with tempfile.TemporaryDirectory() as folder:
    binary = Path(folder, "digits.onnx")
    onnx.save(model, binary)
    convert = ["cargo", "run", "--release", "-p", "onnx-cli", "--", "convert", "--force", binary, "-o", here / "digits.onnxtxt"]
    subprocess.run(convert, cwd=here, check=True)
# The data for `onnxtxt train examples/train-digits.onnxtxt`.
for name, rows in (("train", train), ("test", test)):
    data = {"image": images[rows].reshape(-1, 8, 8).astype(np.float32), "label": labels[rows].astype(np.int64)}
    np.savez_compressed(here / f"digits-{name}.npz", **data)
# A picture that it has not seen: a 4.
np.save(here / "digit.npy", images[test[2]].reshape(1, 8, 8).astype(np.float32))
print(f"accuracy on {len(test)} images that it has not seen: {accuracy:.3f}")
