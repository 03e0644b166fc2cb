"""What one request means.

Input of every op: "path" (a file), "text" (a string) or "base64".  Output: written to the file "out" when the request
names one, else in the answer: "text" for text, "base64" for bytes.  "kind" is the construct: model (default), graph,
function, node, and for binary forms also tensor, attribute, type, value_info, sequence, map, optional.

| op | takes | gives |
| --- | --- | --- |
| parse | ONNX text | the proto's bytes exactly as the C++ parser wrote them |
| print | a proto's bytes | the C++ printer's text |
| check | a model; "full": true for type inference too | ok or the checker's message |
| equal | "a" and "b" as {"path"} or {"base64"}; "ignore": list, see compare.py | "equal", and "difference" |
| convert | a proto; "from" and "to" of protobuf, json, textproto | the proto in the other form |
| infer | a model's "path"; "strip" what it declares; "data_prop" | "types" of values as text |
| stripped | a model's "path", "out" | the model that "strip" infers |
| runtime | a model's "path", "inputs" as .npz | "shapes" of all values, as onnxruntime computes them |
| results | "models" and inputs, see evaluate.py | "equal", and "difference" |
| agree | a model's "path", "ours", "tolerance", see agree.py | "engine", and "difference"; or "refused" |
| judge_arrays | a model's "path", and what we compute beside it | "wrong", or what is "said" |
| texts, sleep | used by corpus_texts.py and selftest.py | |
"""

from __future__ import annotations

import base64
import json
import time

import onnx
import onnx.onnx_cpp2py_export.parser as cpp_parser
import onnx.onnx_cpp2py_export.printer as cpp_printer
import onnx.serialization

import agree
import compare
import corpus_texts
import evaluate
import infer
import random_arrays

MESSAGES = {
    "model": onnx.ModelProto,
    "graph": onnx.GraphProto,
    "function": onnx.FunctionProto,
    "node": onnx.NodeProto,
    "tensor": onnx.TensorProto,
    "attribute": onnx.AttributeProto,
    "type": onnx.TypeProto,
    "value_info": onnx.ValueInfoProto,
    "sequence": onnx.SequenceProto,
    "map": onnx.MapProto,
    "optional": onnx.OptionalProto,
}


def input_of(request) -> bytes:
    if "path" in request:
        with open(request["path"], "rb") as f:
            return f.read()
    if "text" in request:
        return request["text"].encode()
    return base64.b64decode(request["base64"])


def output_to(request, data: bytes | str):
    if "out" in request:
        with open(request["out"], "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)
        return {"out": request["out"]}
    if isinstance(data, str):
        return {"text": data}
    return {"base64": base64.b64encode(data).decode()}


def message_of(request, data: bytes):
    message = MESSAGES[request.get("kind", "model")]()
    message.ParseFromString(data)
    return message


def parse(request):
    text = input_of(request).decode()
    ok, error, data = getattr(cpp_parser, "parse_" + request.get("kind", "model"))(text)
    if not ok:
        return {"ok": False, "error": corpus_texts.reason(error)}
    return output_to(request, data)


def print_(request):
    return output_to(request, getattr(cpp_printer, request.get("kind", "model") + "_to_text")(input_of(request)))


def check(request):
    # The checker resolves external data beside the file, so it wants the path where there is one.
    model = request["path"] if "path" in request else onnx.load_from_string(input_of(request))
    onnx.checker.check_model(model, full_check=bool(request.get("full")))
    return {}


def equal(request):
    a, b = (message_of(request, input_of(request[side])) for side in "ab")
    difference = compare.first_difference(a, b, request.get("ignore", []))
    if difference is None:
        return {"equal": True}
    return {"equal": False, "difference": difference}


def convert(request):
    registry = onnx.serialization.registry
    message = MESSAGES[request.get("kind", "model")]()
    registry.get(request["from"]).deserialize_proto(input_of(request), message)
    data = registry.get(request["to"]).serialize_proto(message)
    return output_to(request, data if request["to"] == "protobuf" else data.decode())


def sleep(request):
    time.sleep(request["seconds"])
    return {}


OPS = {
    "parse": parse,
    "print": print_,
    "check": check,
    "equal": equal,
    "convert": convert,
    "results": evaluate.results,
    "agree": agree.agree,
    "infer": infer.infer,
    "stripped": infer.stripped,
    "runtime": infer.runtime,
    "texts": corpus_texts.texts,
    "sleep": sleep,
    "judge_arrays": random_arrays.judge_one,
}


def answer(line: str):
    request_id = None
    try:
        request = json.loads(line)
        request_id = request.get("id")
        return {"id": request_id, "ok": True, **OPS[request["op"]](request)}
    except Exception as e:  # one bad case must not end the others
        return {"id": request_id, "ok": False, "error": f"{type(e).__name__}: {e}"}
