#!/usr/bin/env python3
"""Does the oracle itself tell the truth?  Run with the reference environment's Python; fails by assertion."""

from __future__ import annotations

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import compare
import corpus_texts
import pool

MODEL = '<ir_version: 8, opset_import: ["": 18]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
DEEP = "g () => () " + "{ y = If(x) <then_branch = g () => () " * 40_000


def ask(*requests):
    lines = (json.dumps({"id": i, **r}) for i, r in enumerate(requests))
    return [json.loads(answer) for answer in pool.run(lines, jobs=2, timeout=60)]


def answers_come_in_order_and_survive_a_crash():
    cases = [{"op": "parse", "text": MODEL}, {"op": "parse", "text": DEEP}, {"op": "parse", "text": "g ("}]
    answers = ask(*cases * 5)
    assert [a["id"] for a in answers] == list(range(15))
    for good, deep, bad in zip(*[iter(answers)] * 3):
        assert good["ok"] and good["base64"]
        assert not deep["ok"] and "SIGSEGV" in deep["crash"], deep
        assert not bad["ok"] and "Identifier expected" in bad["error"], bad


def a_request_that_is_none_is_answered():
    (answer,) = ask({"op": "no such op"})
    assert not answer["ok"]
    (answer,) = pool.run(["not JSON"], jobs=1)
    assert not json.loads(answer)["ok"]


def a_slow_request_is_ended():
    first, second = (
        json.loads(a) for a in pool.run([json.dumps({"op": "sleep", "seconds": 60})] * 2, jobs=2, timeout=1)
    )
    assert first["crash"] == second["crash"] == "no answer within 1 s"


def text_goes_round():
    (parsed,) = ask({"op": "parse", "text": MODEL})
    (printed,) = ask({"op": "print", "base64": parsed["base64"]})
    again, as_json = ask(
        {"op": "parse", "text": printed["text"]},
        {"op": "convert", "base64": parsed["base64"], "from": "protobuf", "to": "json"},
    )
    assert again["base64"] == parsed["base64"]
    (back,) = ask({"op": "convert", "text": as_json["text"], "from": "json", "to": "protobuf"})
    assert back["base64"] == parsed["base64"]
    (checked,) = ask({"op": "check", "base64": parsed["base64"], "full": True})
    assert checked["ok"], checked


def comparison_sees_bits_and_presence():
    def tensor(values):
        return helper.make_tensor("t", TensorProto.FLOAT, [2], values)

    def same(a, b, *ignore):
        return compare.first_difference(a, b, ignore) is None

    nan = float("nan")
    assert same(tensor([nan, 0.0]), tensor([nan, 0.0]))
    assert not same(tensor([nan, 0.0]), tensor([nan, -0.0]))
    assert compare.first_difference(tensor([1, 2]), tensor([1, 3]))["path"] == "float_data[1]"
    raw = numpy_helper.from_array(np.array([1, 2], np.float32), "t")
    assert not same(tensor([1, 2]), raw)
    assert same(tensor([1, 2]), raw, "tensor_storage")
    assert not same(tensor([1, 3]), raw, "tensor_storage")
    a, b = onnx.NodeProto(domain=""), onnx.NodeProto()
    assert not same(a, b) and same(a, b, "presence")
    assert not same(onnx.NodeProto(domain="d"), b, "presence")
    c = onnx.NodeProto(doc_string="d")
    assert not same(c, b) and same(c, b, "annotations") and same(c, b, "*.doc_string")
    assert not same(c, b, "GraphProto.doc_string")
    unknown = onnx.NodeProto()
    unknown.ParseFromString(b"\xf8\x3f\x01")
    assert not same(unknown, b)


def storage_has_one_canonical_form():
    for data_type in compare.TYPED:
        if data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128, TensorProto.BFLOAT16):
            continue
        values = np.array([0, 1, 3], helper.tensor_dtype_to_np_dtype(data_type))
        typed = helper.make_tensor("t", data_type, [3], values)
        assert compare.raw_bytes(typed, compare.Ignore([])) == numpy_helper.from_array(values).raw_data, data_type
    negative = helper.make_tensor("t", TensorProto.INT8, [2], [-1, 127])
    assert compare.raw_bytes(negative, compare.Ignore([])) == b"\xff\x7f"


def results_are_compared_with_those_of_the_first():
    def model(body, functions=""):
        head = '<ir_version: 10, opset_import: ["": 21, "l": 1]> g (float[3] x) => (float[3] y)'
        (parsed,) = ask({"op": "parse", "text": f"{head} {{ {body} }} {functions}"})
        return {"base64": parsed["base64"]}

    relu, neg, random = model("y = Relu(x)"), model("y = Neg(x)"), model("y = RandomNormalLike(x)")
    function = '<domain: "l", opset_import: ["": 21]> f <p: float = 2.0> (a, b, c) => (d, a) '
    called = model("t, y = l.f(x)", function + "{ d = Clip(a, b, c) }")
    scaled = model("y, t = l.f(x)", function + "{ d = LeakyRelu<alpha: float = @p>(a) }")
    cases = [
        ([relu, relu, neg], {}, "which", 2),
        ([random, random], {}, "unfit", "other results each time"),
        ([called, model("y = Identity(x)")], {"engine": "functions"}, "equal", True),
        ([scaled, model("y = LeakyRelu<alpha = 2.0>(x)")], {"engine": "functions"}, "equal", True),
        ([relu, relu], {"engine": "onnxruntime", "inline": True}, "equal", True),
    ]
    for models, options, key, expected in cases:
        (answer,) = ask({"op": "results", "models": models, "seed": 1, **options})
        assert answer.get(key) == expected, answer


def eliding_keeps_everything_but_large_tensors():
    graph = helper.make_graph([], "g", [], [])
    graph.initializer.append(numpy_helper.from_array(np.zeros(10_000, np.float32), "large"))
    graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.float32), "small"))
    model = onnx.load_from_string(corpus_texts.elide(helper.make_model(graph).SerializeToString()))
    large, small = model.graph.initializer
    assert large.data_location == TensorProto.EXTERNAL and not large.raw_data
    assert len(small.raw_data) == 12


def main():
    tests = [
        f
        for f in globals().values()
        if callable(f) and getattr(f, "__module__", "") == "__main__" and f not in (ask, main)
    ]
    for test in tests:
        test()
        print("ok", test.__name__)


if __name__ == "__main__":
    main()
