"""Quantized and float16 versions of generated networks: by the tools of ONNX Runtime, and float16 by hand."""

from __future__ import annotations

import pathlib
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process


class Samples(quantization.CalibrationDataReader):
    """Inputs like the one that the model is run with, and that one."""

    def __init__(self, feeds, count=3):
        rng = numpy.random.default_rng(7)
        alike = lambda array: rng.uniform(-1, 1, array.shape).astype(array.dtype)
        more = [{name: alike(array) for name, array in feeds.items()} for _ in range(count)]
        self.rest = [feeds, *more]

    def get_next(self):
        return self.rest.pop() if self.rest else None


def through_files(model, work):
    """What a tool that reads and writes files makes of a model."""
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder) / "before.onnx", pathlib.Path(folder) / "after.onnx"
        onnx.save(model, before)
        work(before, after)
        return onnx.load(after)


def static(model, feeds, form, per_channel=True):
    def work(before, after):
        ready = before.with_name("ready.onnx")
        quant_pre_process(before, ready)
        quantization.quantize_static(
            ready,
            after,
            Samples(feeds),
            quant_format=form,
            per_channel=per_channel,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )

    return through_files(model, work)


def qdq(model, feeds):
    """QuantizeLinear and DequantizeLinear around what stays in floats."""
    return static(model, feeds, quantization.QuantFormat.QDQ)


def qoperator(model, feeds):
    """Operators of bytes: QLinearConv, QLinearMatMul and those of ONNX Runtime."""
    return static(model, feeds, quantization.QuantFormat.QOperator)


def dynamic(model, feeds):
    """Weights as bytes, and what they are multiplied with quantized in each run."""

    def work(before, after):
        quantization.quantize_dynamic(before, after, weight_type=quantization.QuantType.QInt8)

    return through_files(model, work)


def float16(model, feeds):
    """All floats in 16 bits; inputs and outputs stay as they were."""
    half = onnx.ModelProto()
    half.CopyFrom(model)
    graph = half.graph
    for at, tensor in enumerate(graph.initializer):
        # The scales of Resize are single floats whatever it resizes.
        is_scale = any(node.op_type == "Resize" and tensor.name in node.input[1:] for node in graph.node)
        if tensor.data_type == TensorProto.FLOAT and not is_scale:
            array = numpy_helper.to_array(tensor).astype(numpy.float16)
            graph.initializer[at].CopyFrom(numpy_helper.from_array(array, tensor.name))
    casts = []
    for port in graph.input:
        if port.type.tensor_type.elem_type == TensorProto.FLOAT:
            casts.append(helper.make_node("Cast", [port.name], [port.name + "_16"], to=TensorProto.FLOAT16))
    renamed = {cast.input[0]: cast.output[0] for cast in casts}
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    after = []
    for port in graph.output:
        if port.type.tensor_type.elem_type == TensorProto.FLOAT:
            inner = port.name + "_16"
            for node in graph.node:
                node.output[:] = [inner if name == port.name else name for name in node.output]
                node.input[:] = [inner if name == port.name else name for name in node.input]
            after.append(helper.make_node("Cast", [inner], [port.name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node, *after]
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(half)
    return half
