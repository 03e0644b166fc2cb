"""The reference printer's text of every model of the corpus, and what the reference parser makes of that text.

    CORPUS/backend/**/model.onnx, CORPUS/models/<name>/*.onnx        the models
    CORPUS/reference_text/<same path>.onnxtxt                        printer output
    CORPUS/reference_parsed/<same path>.pb                           the parser's proto of it, byte for byte
    CORPUS/reference_text/index.json                                 what happened, one entry a model

An index entry: {"path", "model", "state", "elided", "text_bytes", "identical", "error"?} with state

- `ok`: text and proto are there; `identical` says whether the proto has the model's own bytes;
- `refused`: the reference parser refuses its own printer's text (`error` says how; without a proto);
- `unprintable`: the printer fails.

The text of a large model would be hundreds of megabytes: there, tensors over ELIDE_TENSOR bytes are first made
external (location, offset, length) and the entry says `elided`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys

import pool

MAX_MODEL = 24 << 20
MAX_TEXT = 64 << 20
ELIDE_TENSOR = 16 << 10
TIMEOUT = 300.0
MAX_LINE = 200


def texts(request):
    """The op behind one entry (runs in a worker)."""
    import onnx.onnx_cpp2py_export.parser as cpp_parser
    import onnx.onnx_cpp2py_export.printer as cpp_printer

    with open(request["path"], "rb") as f:
        model = f.read()
    elided = len(model) > MAX_MODEL
    try:
        text = cpp_printer.model_to_text(elide(model) if elided else model)
        if len(text) > MAX_TEXT and not elided:
            elided = True
            text = cpp_printer.model_to_text(elide(model))
    except Exception as e:
        return {"state": "unprintable", "elided": elided, "error": f"{type(e).__name__}: {e}"}
    data = text.encode()
    write(request["text_out"], data)
    entry = {"elided": elided, "text_bytes": len(data)}
    ok, error, parsed = cpp_parser.parse_model(text)
    if not ok:
        return {**entry, "state": "refused", "error": reason(error)}
    write(request["parsed_out"], parsed)
    return {**entry, "state": "ok", "identical": parsed == model}


def reason(error: bytes) -> str:
    """The parser's message; it quotes the whole line, which may be megabytes."""
    lines = error.decode(errors="replace").splitlines()
    return "\n".join(line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…" for line in lines)


def elide(model: bytes) -> bytes:
    import onnx

    proto = onnx.ModelProto()
    proto.ParseFromString(model)
    offset = 0
    for tensor in tensors_of(proto):
        size = tensor.ByteSize()
        if size <= ELIDE_TENSOR or tensor.external_data or tensor.data_type == onnx.TensorProto.STRING:
            continue
        for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(name)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", str(offset)), ("length", str(size))):
            tensor.external_data.add(key=key, value=value)
        offset += size
    return proto.SerializeToString()


def tensors_of(message):
    import onnx

    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for m in value if field.is_repeated else [value]:
            if isinstance(m, onnx.TensorProto):
                yield m
            else:
                yield from tensors_of(m)


def write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def models_of(corpus: str):
    for top in ("backend", "models"):
        for folder, folders, names in os.walk(os.path.join(corpus, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".onnx"):
                    yield os.path.relpath(os.path.join(folder, name), corpus)


def script_key() -> str:
    with open(os.path.abspath(__file__), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def read_index(path: str, key: str):
    try:
        with open(path) as f:
            index = json.load(f)
    except (OSError, ValueError):
        return {}
    return {e["model"]: e for e in index["entries"]} if index.get("key") == key else {}


def is_current(old, stamp, text_path, parsed_path) -> bool:
    if old is None or old["stamp"] != stamp:
        return False
    return (old["state"] == "unprintable" or os.path.exists(text_path)) and (
        old["state"] != "ok" or os.path.exists(parsed_path)
    )


def main(corpus: str, jobs: int) -> int:
    index_path, key = os.path.join(corpus, "reference_text", "index.json"), script_key()
    before, entries, requests = read_index(index_path, key), [], []
    for model in models_of(corpus):
        stem = os.path.splitext(model)[0]
        text_path = os.path.join(corpus, "reference_text", stem + ".onnxtxt")
        parsed_path = os.path.join(corpus, "reference_parsed", stem + ".pb")
        st = os.stat(os.path.join(corpus, model))
        entry = {"path": stem, "model": model, "stamp": [st.st_size, st.st_mtime_ns]}
        old = before.get(model)
        if is_current(old, entry["stamp"], text_path, parsed_path):
            entries.append(old)
            continue
        for stale in (text_path, parsed_path):
            if os.path.exists(stale):
                os.remove(stale)
        requests.append((entry, {"op": "texts", "path": os.path.join(corpus, model),
                                 "text_out": text_path, "parsed_out": parsed_path}))  # fmt: skip
    cached = len(entries)
    answers = pool.run((json.dumps(r) for _, r in requests), jobs=jobs, timeout=TIMEOUT)
    for (entry, _), line in zip(requests, answers):
        answer = json.loads(line)
        if not answer["ok"]:
            answer = {"state": "unprintable", "elided": False, "error": answer["error"]}
        entries.append({**entry, **{k: v for k, v in answer.items() if k not in ("id", "ok")}})
        if len(entries) % 200 == 0:
            print(f"{len(entries)} of {cached + len(requests)}", file=sys.stderr, flush=True)
    entries.sort(key=lambda e: e["model"])
    os.makedirs(os.path.dirname(index_path), exist_ok=True)
    with open(index_path + ".part", "w") as f:
        json.dump({"key": key, "entries": entries}, f, indent=1)
    os.replace(index_path + ".part", index_path)
    print(json.dumps(summary(entries, cached)))
    return 0


def summary(entries, cached):
    def names(state):
        return [e["model"] for e in entries if e["state"] == state]

    return {
        "models": len(entries),
        "cached": cached,
        "ok": len(names("ok")),
        "identical": sum(bool(e.get("identical")) for e in entries),
        "text_bytes": sum(e.get("text_bytes", 0) for e in entries),
        "elided": [e["model"] for e in entries if e["elided"]],
        "refused": names("refused"),
        "unprintable": names("unprintable"),
    }
