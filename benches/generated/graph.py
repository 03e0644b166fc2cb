"""Builds a model node by node, with random weights."""

from __future__ import annotations

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    numpy.dtype(numpy.float32): TensorProto.FLOAT,
    numpy.dtype(numpy.float16): TensorProto.FLOAT16,
    numpy.dtype(numpy.int64): TensorProto.INT64,
    numpy.dtype(numpy.int32): TensorProto.INT32,
    numpy.dtype(numpy.uint8): TensorProto.UINT8,
    numpy.dtype(numpy.int8): TensorProto.INT8,
    numpy.dtype(numpy.bool_): TensorProto.BOOL,
}


class Graph:
    """A graph that grows. Values are names; `feeds` has an array for each input."""

    def __init__(self, seed=0, opset=17):
        self.rng = numpy.random.default_rng(seed)
        self.opset = opset
        self.domains = {"": opset}
        self.nodes, self.inputs, self.outputs, self.weights = [], [], [], []
        self.feeds = {}
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}_{self.count}"

    def input(self, name, array):
        """An input of the type and extents of an array, which is what the model is run with."""
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape))
        self.feeds[name] = array
        return name

    def image(self, channels, size, name="x"):
        return self.input(name, self.rng.uniform(-1, 1, (1, channels, size, size)).astype(numpy.float32))

    def floats(self, *dims, name="x"):
        return self.input(name, self.rng.standard_normal(dims, dtype=numpy.float32))

    def constant(self, array, name="c"):
        name = self.name(name)
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def ints(self, *values):
        return self.constant(numpy.array(values, numpy.int64), "shape")

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def normal(self, *dims, scale=None):
        """Random weights; by default as for training (He et al., "Delving deep into rectifiers", 2015)."""
        fan = int(numpy.prod(dims[1:])) or 1
        scale = (2.0 / fan) ** 0.5 if scale is None else scale
        return self.constant((self.rng.standard_normal(dims) * scale).astype(numpy.float32), "w")

    def near(self, centre, dims):
        return self.constant((centre + 0.05 * self.rng.standard_normal(dims)).astype(numpy.float32), "b")

    def op(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [self.name(op.lower()) for _ in range(outputs)]
        node = helper.make_node(op, list(inputs), names, name=self.name(op), domain=domain, **attributes)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def conv(self, x, cin, cout, k=1, stride=1, groups=1, bias=True):
        """A convolution that keeps the extents of an image, divided by the stride."""
        weights = [self.normal(cout, cin // groups, k, k)] + ([self.near(0, (cout,))] if bias else [])
        return self.op(
            "Conv", x, *weights, kernel_shape=[k, k], pads=[k // 2] * 4, strides=[stride] * 2, dilations=[1, 1], group=groups
        )

    def batch_norm(self, x, channels):
        dims = (channels,)
        variance = numpy.abs(1 + 0.05 * self.rng.standard_normal(dims)).astype(numpy.float32)
        numbers = [self.near(1, dims), self.near(0, dims), self.near(0, dims), self.constant(variance)]
        return self.op("BatchNormalization", x, *numbers, epsilon=1e-5)

    def pool(self, op, x, k, stride, pad=0):
        more = {} if op == "MaxPool" else {"count_include_pad": 0}
        return self.op(op, x, kernel_shape=[k, k], strides=[stride] * 2, pads=[pad] * 4, **more)

    def linear(self, x, cin, cout):
        """A matrix product of the last axis, and a bias."""
        w = self.normal(cin, cout, scale=cin**-0.5)
        return self.op("Add", self.op("MatMul", x, w), self.near(0, (cout,)))

    def classify(self, x, channels, classes=1000):
        """The head of a network of images."""
        x = self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)
        return self.op("Gemm", x, self.normal(classes, channels, scale=channels**-0.5), self.near(0, (classes,)), transB=1)

    def layer_norm(self, x, channels):
        return self.op("LayerNormalization", x, self.near(1, (channels,)), self.near(0, (channels,)), axis=-1, epsilon=1e-5)

    def output(self, name, kind=TensorProto.FLOAT, dims=None):
        """An output; without extents those that are inferred."""
        self.outputs.append(helper.make_tensor_value_info(name, kind, dims))

    def model(self, name):
        """The model, with the types of its outputs as ONNX infers them."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=9)
        typed = onnx.shape_inference.infer_shapes(model)
        del model.graph.output[:]
        model.graph.output.extend(typed.graph.output)
        onnx.checker.check_model(model)
        return model
