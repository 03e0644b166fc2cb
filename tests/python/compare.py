"""Field-for-field equality of two protos: presence, order, unknown fields and the bits of floats all count.

`ignore` names what does not count:

- `Message.field` or `*.field`: that field, e.g. `NodeProto.doc_string`, `*.metadata_props`;
- `annotations`: every field that the reference's text has no place for (our text carries them in `#@` comments);
- `presence`: a scalar that is set to its default, or a message without fields that count, is the same as one that is
  not set;
- `nan_bits`: all NaNs are the same;
- `tensor_storage`: raw_data and the typed fields are the same when they hold the same elements.
"""

from __future__ import annotations

import math
import struct

import numpy as np
import onnx
from google.protobuf.descriptor import FieldDescriptor as F
from google.protobuf.unknown_fields import UnknownFieldSet

# Measured: set, printed and parsed again, these are gone (the form has no place for them).
ANNOTATIONS = {
    "ModelProto.training_info",
    "ModelProto.configuration",
    "GraphProto.doc_string",
    "GraphProto.sparse_initializer",
    "GraphProto.quantization_annotation",
    "GraphProto.metadata_props",
    "NodeProto.doc_string",
    "NodeProto.metadata_props",
    "NodeProto.device_configurations",
    "AttributeProto.doc_string",
    "TensorProto.doc_string",
    "TensorProto.segment",
    "TensorProto.metadata_props",
    "ValueInfoProto.doc_string",
    "ValueInfoProto.metadata_props",
    "TypeProto.denotation",
    "Dimension.denotation",
    "FunctionProto.metadata_props",
}
STORAGE = {"raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"}
T = onnx.TensorProto
# The typed field of each element type, and its element as raw_data would hold it (complex types: pairs of it).
TYPED = {
    T.FLOAT: ("float_data", "<f4"),
    T.COMPLEX64: ("float_data", "<f4"),
    T.DOUBLE: ("double_data", "<f8"),
    T.COMPLEX128: ("double_data", "<f8"),
    T.INT64: ("int64_data", "<i8"),
    T.UINT32: ("uint64_data", "<u4"),
    T.UINT64: ("uint64_data", "<u8"),
    T.INT32: ("int32_data", "<i4"),
    T.INT16: ("int32_data", "<i2"),
    T.UINT16: ("int32_data", "<u2"),
    T.FLOAT16: ("int32_data", "<u2"),
    T.BFLOAT16: ("int32_data", "<u2"),
}
# One to an entry of int32_data, and packed in raw_data.
SIX_BITS = {T.FLOAT6E2M3, T.FLOAT6E3M2}
SHOWN = 80


class Ignore:
    def __init__(self, what):
        what = set(what)
        self.presence = "presence" in what
        self.tensor_storage = "tensor_storage" in what
        self.nan_bits = "nan_bits" in what
        self.fields = what - {"presence", "tensor_storage", "nan_bits", "annotations"}
        if "annotations" in what:
            self.fields |= ANNOTATIONS

    def field(self, message_name: str, field_name: str) -> bool:
        return f"{message_name}.{field_name}" in self.fields or f"*.{field_name}" in self.fields


def first_difference(a, b, ignore=()):
    """None, or {"path", "a", "b"} of the first field that differs."""
    if a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True):
        return None
    return message(a, b, "", Ignore(ignore))


def message(a, b, path, ignore):
    name = a.DESCRIPTOR.name
    fields = {f.name: f for m in (a, b) for f, _ in m.ListFields()}
    raw = (raw_bytes(a, ignore), raw_bytes(b, ignore)) if ignore.tensor_storage and name == "TensorProto" else (None, None)
    if None not in raw:
        if raw[0] != raw[1]:
            return found(path, *raw)
        fields = {n: f for n, f in fields.items() if n not in STORAGE}
    for f in sorted(fields.values(), key=lambda f: f.number):
        if ignore.field(name, f.name):
            continue
        here = f"{path}.{f.name}" if path else f.name
        difference = field(a, b, f, here, ignore)
        if difference:
            return difference
    unknown = [sorted((u.field_number, u.wire_type, str(u.data)) for u in UnknownFieldSet(m)) for m in (a, b)]
    if unknown[0] != unknown[1]:
        return found(f"{path}(unknown fields)", *unknown)
    return None


def field(a, b, f, path, ignore):
    x, y = getattr(a, f.name), getattr(b, f.name)
    if f.is_repeated:
        if f.type == F.TYPE_MESSAGE:
            for i, (p, q) in enumerate(zip(x, y)):
                difference = message(p, q, f"{path}[{i}]", ignore)
                if difference:
                    return difference
        elif len(x) == len(y):
            x, y = bits(f, x, ignore), bits(f, y, ignore)
            for i in () if x == y else range(len(x)):
                if x[i] != y[i]:
                    return found(f"{path}[{i}]", getattr(a, f.name)[i], getattr(b, f.name)[i])
        if len(x) != len(y):
            return found(f"{path}(length)", len(x), len(y))
        return None
    if f.has_presence and a.HasField(f.name) != b.HasField(f.name):
        if not (ignore.presence and is_same(x, y, f, path, ignore)):
            return found(path, *(getattr(m, f.name) if m.HasField(f.name) else "(not set)" for m in (a, b)))
        return None
    if f.type == F.TYPE_MESSAGE:
        return message(x, y, path, ignore)
    return None if is_same(x, y, f, path, ignore) else found(path, x, y)


def is_same(x, y, f, path, ignore) -> bool:
    if f.type == F.TYPE_MESSAGE:
        return message(x, y, path, ignore) is None
    return bits(f, [x], ignore) == bits(f, [y], ignore)


def bits(f, values, ignore):
    """Values that compare as their bits do: NaN equals itself, 0.0 is not -0.0."""
    if f.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE) and ignore.nan_bits:
        values = [math.nan if math.isnan(v) else v for v in values]
    if f.type == F.TYPE_FLOAT:
        return np.array(values, "<f4").view("<u4").tolist()
    if f.type == F.TYPE_DOUBLE:
        return [struct.pack("<d", v) for v in values]
    return list(values)


def raw_bytes(t, ignore):
    """A tensor's elements as raw_data would hold them; None for those that it cannot hold or that are elsewhere."""
    raw = stored_bytes(t)
    _, dtype = TYPED.get(t.data_type, (None, ""))
    if ignore.nan_bits and dtype.startswith("<f") and raw is not None and len(raw) % int(dtype[2:]) == 0:
        values = np.frombuffer(raw, dtype).copy()
        values[np.isnan(values)] = np.nan
        raw = values.tobytes()
    return raw


def stored_bytes(t):
    if t.HasField("raw_data"):
        return t.raw_data
    if t.data_location == T.EXTERNAL or t.data_type == T.STRING:
        return None
    if t.data_type in SIX_BITS:
        bits = sum((value & 0x3F) << (6 * i) for i, value in enumerate(t.int32_data))
        return bits.to_bytes((6 * len(t.int32_data) + 7) // 8, "little")
    name, dtype = TYPED.get(t.data_type, ("int32_data", "<u1"))
    values = np.array(getattr(t, name), dtype if dtype.startswith("<f") else None)
    return (values if dtype.startswith("<f") else values.astype(dtype)).tobytes()


def found(path, a, b):
    return {"path": path, "a": shown(a), "b": shown(b)}


def shown(value) -> str:
    text = str(value) if not isinstance(value, (bytes, str)) else repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
