"""Messages of ONNX without the package `protobuf`.

A message has values by field: numbers, strings, bytes, messages, and lists of these. A message that is read and was not there is made, and becomes part
of its parent when something in it is set.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

# The fields of messages as in onnx.proto: number, `*` for lists, name, and type; `!` are alternatives, of which one is set, `p` are packed lists.
_FIELDS = {
    "ModelProto": "1 ir_version int64; 8 *opset_import OperatorSetIdProto; 2 producer_name string; 3 producer_version string; 4 domain string;"
    "5 model_version int64; 6 doc_string string; 7 graph GraphProto; 14 *metadata_props StringStringEntryProto;"
    "20 *training_info TrainingInfoProto; 25 *functions FunctionProto; 26 *configuration DeviceConfigurationProto",
    "OperatorSetIdProto": "1 domain string; 2 version int64",
    "GraphProto": "1 *node NodeProto; 2 name string; 5 *initializer TensorProto; 15 *sparse_initializer SparseTensorProto; 10 doc_string string;"
    "11 *input ValueInfoProto; 12 *output ValueInfoProto; 13 *value_info ValueInfoProto; 14 *quantization_annotation TensorAnnotation;"
    "16 *metadata_props StringStringEntryProto",
    "NodeProto": "1 *input string; 2 *output string; 3 name string; 4 op_type string; 7 domain string; 8 overload string;"
    "5 *attribute AttributeProto; 6 doc_string string; 9 *metadata_props StringStringEntryProto;"
    "10 *device_configurations NodeDeviceConfigurationProto",
    "AttributeProto": "1 name string; 21 ref_attr_name string; 13 doc_string string; 20 type int32; 2 f float; 3 i int64; 4 s bytes; 5 t TensorProto;"
    "6 g GraphProto; 22 sparse_tensor SparseTensorProto; 14 tp TypeProto; 7 *floats float; 8 *ints int64; 9 *strings bytes;"
    "10 *tensors TensorProto; 11 *graphs GraphProto; 23 *sparse_tensors SparseTensorProto; 15 *type_protos TypeProto",
    "TensorProto": "1 *dims int64; 2 data_type int32; 3 segment TensorProto.Segment; 4 *float_data floatp; 5 *int32_data int32p;"
    "6 *string_data bytes; 7 *int64_data int64p; 8 name string; 12 doc_string string; 9 raw_data bytes;"
    "13 *external_data StringStringEntryProto; 14 data_location int32; 10 *double_data doublep; 11 *uint64_data uint64p;"
    "16 *metadata_props StringStringEntryProto",
    "TensorProto.Segment": "1 begin int64; 2 end int64",
    "StringStringEntryProto": "1 key string; 2 value string",
    "SparseTensorProto": "1 values TensorProto; 2 indices TensorProto; 3 *dims int64",
    "TypeProto": "1 !tensor_type TypeProto.Tensor; 4 !sequence_type TypeProto.Sequence; 5 !map_type TypeProto.Map;"
    "9 !optional_type TypeProto.Optional; 8 !sparse_tensor_type TypeProto.SparseTensor; 7 !opaque_type TypeProto.Opaque; 6 denotation string",
    "TypeProto.Tensor": "1 elem_type int32; 2 shape TensorShapeProto",
    "TypeProto.Sequence": "1 elem_type TypeProto",
    "TypeProto.Map": "1 key_type int32; 2 value_type TypeProto",
    "TypeProto.Optional": "1 elem_type TypeProto",
    "TypeProto.SparseTensor": "1 elem_type int32; 2 shape TensorShapeProto",
    "TypeProto.Opaque": "1 domain string; 2 name string",
    "TensorShapeProto": "1 *dim TensorShapeProto.Dimension",
    "TensorShapeProto.Dimension": "1 !dim_value int64; 2 !dim_param string; 3 denotation string",
    "NodeDeviceConfigurationProto": "1 configuration_id string; 2 *sharding_spec ShardingSpecProto; 3 pipeline_stage int32",
    "ShardingSpecProto": "1 tensor_name string; 2 *device int64; 3 *index_to_device_group_map IntIntListEntryProto; 4 *sharded_dim ShardedDimProto",
    "IntIntListEntryProto": "1 key int64; 2 *value int64",
    "ShardedDimProto": "1 axis int64; 2 *simple_sharding SimpleShardedDimProto",
    "SimpleShardedDimProto": "1 !dim_value int64; 2 !dim_param string; 3 num_shards int64",
    "DeviceConfigurationProto": "1 name string; 2 num_devices int32; 3 *device string",
    "ValueInfoProto": "1 name string; 2 type TypeProto; 3 doc_string string; 4 *metadata_props StringStringEntryProto",
    "TensorAnnotation": "1 tensor_name string; 2 *quant_parameter_tensor_names StringStringEntryProto",
    "TrainingInfoProto": "1 initialization GraphProto; 2 algorithm GraphProto; 3 *initialization_binding StringStringEntryProto;"
    "4 *update_binding StringStringEntryProto",
    "FunctionProto": "1 name string; 4 *input string; 5 *output string; 6 *attribute string; 11 *attribute_proto AttributeProto; 7 *node NodeProto;"
    "8 doc_string string; 9 *opset_import OperatorSetIdProto; 10 domain string; 13 overload string; 12 *value_info ValueInfoProto;"
    "14 *metadata_props StringStringEntryProto",
    "SequenceProto": "1 name string; 2 elem_type int32; 3 *tensor_values TensorProto; 4 *sparse_tensor_values SparseTensorProto;"
    "5 *sequence_values SequenceProto; 6 *map_values MapProto; 7 *optional_values OptionalProto",
    "MapProto": "1 name string; 2 key_type int32; 3 *keys int64; 4 *string_keys bytes; 5 values SequenceProto",
    "OptionalProto": "1 name string; 2 elem_type int32; 3 tensor_value TensorProto; 4 sparse_tensor_value SparseTensorProto;"
    "5 sequence_value SequenceProto; 6 map_value MapProto; 7 optional_value OptionalProto",
}
_VALUES = "UNDEFINED TENSOR SPARSE_TENSOR SEQUENCE MAP OPTIONAL"
# Enumerations: the names of the numbers from 0 on.
_ENUMS = {
    ("TensorProto", "DataType"): "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 "
    "BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ UINT4 INT4 FLOAT4E2M1 FLOAT8E8M0 UINT2 INT2 FLOAT6E2M3 FLOAT6E3M2",
    ("TensorProto", "DataLocation"): "DEFAULT EXTERNAL",
    ("AttributeProto", "AttributeType"): "UNDEFINED FLOAT INT STRING TENSOR GRAPH FLOATS INTS STRINGS TENSORS GRAPHS SPARSE_TENSOR SPARSE_TENSORS "
    "TYPE_PROTO TYPE_PROTOS",
    ("SequenceProto", "DataType"): _VALUES,
    ("OptionalProto", "DataType"): _VALUES,
}
_DEFAULTS: dict[str, Any] = {"string": "", "bytes": b"", "float": 0.0, "double": 0.0, "int32": 0, "int64": 0, "uint64": 0}
_PACKED = {"float": "<f", "double": "<d"}
# How numbers are encoded outside of packed lists.
_WIRES = {"float": 5, "double": 1, "int32": 0, "int64": 0, "uint64": 0}


class _Field(NamedTuple):
    number: int
    name: str
    kind: str
    is_list: bool
    is_alternative: bool
    is_packed: bool


class Enumeration:
    """The names and numbers of an enumeration."""

    def __init__(self, names: str) -> None:
        self._numbers = {name: number for number, name in enumerate(names.split())}

    def keys(self) -> list[str]:
        return list(self._numbers)

    def values(self) -> list[int]:
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        return list(self._numbers.items())

    def Name(self, number: int) -> str:
        return self.keys()[number]

    def Value(self, name: str) -> int:
        return self._numbers[name]


class Items(list[Any]):
    """A list of a message: of messages, it has copies."""

    def __init__(self, owner: Message, kind: type[Message] | None) -> None:
        super().__init__()
        self._owner, self._kind = owner, kind

    def add(self, **fields: Any) -> Any:
        assert self._kind is not None
        item = self._kind(**fields)
        super().append(item)
        self._owner.SetInParent()
        return item

    def append(self, item: Any) -> None:
        super().append(_copied(item))
        self._owner.SetInParent()

    def extend(self, items: Iterable[Any]) -> None:
        for item in list(items):
            self.append(item)

    def insert(self, index: Any, item: Any) -> None:
        super().insert(index, _copied(item))
        self._owner.SetInParent()

    def CopyFrom(self, items: Iterable[Any]) -> None:
        self[:] = [_copied(item) for item in items]

    def MergeFrom(self, items: Iterable[Any]) -> None:
        self.extend(items)


def _copied(item: Any) -> Any:
    if not isinstance(item, Message):
        return item.item() if hasattr(item, "dtype") else item
    copy = type(item)()
    copy.CopyFrom(item)
    return copy


class Message:
    """A message: see `_FIELDS` for the fields of each class."""

    _fields: dict[str, _Field] = {}
    _name = ""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(_values={}, _parent=None)
        for name, value in fields.items():
            if value is None:
                continue
            if self._fields[name].is_list:
                getattr(self, name).extend(value)
            elif isinstance(value, Message):
                getattr(self, name).CopyFrom(value)
            else:
                setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f"{self._name} has no field {name!r}")
        if name in self._values:
            return self._values[name]
        kind = _CLASSES.get(field.kind)
        if field.is_list:
            return self._values.setdefault(name, Items(self, kind))
        if kind is None:
            return _DEFAULTS[field.kind]
        child = kind()
        child.__dict__["_parent"] = (self, name)
        return child

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._fields.get(name)
        if field is None or field.is_list or field.kind in _CLASSES:
            raise AttributeError(f"Assignment not allowed to field {name!r} of {self._name}")
        default = _DEFAULTS[field.kind]
        if isinstance(default, str) and isinstance(value, bytes):
            value = value.decode()
        elif isinstance(default, bytes) and isinstance(value, str):
            value = value.encode()
        elif isinstance(default, float):
            value = float(value)
            if field.kind == "float":
                value = struct.unpack("<f", struct.pack("<f", value))[0]
        elif isinstance(default, int):
            value = value.__index__()
        if not isinstance(value, type(default)):
            raise TypeError(f"{self._name}.{name} is {value!r}, expected {type(default).__name__}")
        self._put(name, value)

    def _put(self, name: str, value: Any) -> None:
        if self._fields[name].is_alternative:
            for other in [field.name for field in self._fields.values() if field.is_alternative]:
                self._values.pop(other, None)
        self._values[name] = value
        self.SetInParent()

    def SetInParent(self) -> None:
        """Makes the message part of the one that it was read from."""
        parent = self.__dict__["_parent"]
        if parent is not None:
            self.__dict__["_parent"] = None
            parent[0]._put(parent[1], self)

    def HasField(self, name: str) -> bool:
        if name not in self._fields or self._fields[name].is_list:
            raise ValueError(f"{self._name} has no field {name!r} that may be missing")
        return name in self._values

    def ClearField(self, name: str) -> None:
        self._values.pop(name, None)

    def Clear(self) -> None:
        self._values.clear()

    def WhichOneof(self, _group: str) -> str | None:
        return next((name for name in self._values if self._fields[name].is_alternative), None)

    def ListFields(self) -> list[tuple[_Field, Any]]:
        given = [(self._fields[name], value) for name, value in self._values.items() if not isinstance(value, Items) or value]
        return sorted(given, key=lambda entry: entry[0].number)

    def CopyFrom(self, other: Any) -> None:
        if other is self:
            return
        self.Clear()
        self.SetInParent()
        self.MergeFromString(other.SerializeToString())

    def SerializeToString(self) -> bytes:
        return b"".join(_written(field, value) for field, value in self.ListFields())

    def ByteSize(self) -> int:
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, data: bytes) -> Any:
        message = cls()
        message.MergeFromString(data)
        return message

    def ParseFromString(self, data: bytes) -> None:
        self.Clear()
        self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> None:
        """Adds what is encoded. Raises `ValueError` for bytes that are no message."""
        by_number = {field.number: field for field in self._fields.values()}
        for number, wire, value in _entries(memoryview(data)):
            field = by_number.get(number)
            if field is not None:
                self._read(field, wire, value)

    def _read(self, field: _Field, wire: int, value: Any) -> None:
        kind = _CLASSES.get(field.kind)
        is_block = kind is not None or field.kind in ("string", "bytes")
        if wire not in ((2,) if is_block else (_WIRES[field.kind], 2) if field.is_list else (_WIRES[field.kind],)):
            return  # another field than ours
        if kind is not None:
            if field.is_list:
                getattr(self, field.name).add().MergeFromString(value)
            else:
                child = getattr(self, field.name)
                child.SetInParent()
                child.MergeFromString(value)
        elif field.kind in ("string", "bytes"):
            plain = bytes(value) if field.kind == "bytes" else str(value, "utf-8")
            list.append(getattr(self, field.name), plain) if field.is_list else self._put(field.name, plain)
        else:
            numbers = list(_numbers(field.kind, wire, value))
            list.extend(getattr(self, field.name), numbers) if field.is_list else self._put(field.name, numbers[-1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or type(other) is not type(self):
            return NotImplemented
        return self.ListFields() == other.ListFields()

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "".join(_shown(field, value) for field, value in self.ListFields())

    __str__ = __repr__

    def __reduce__(self) -> Any:
        return _restored, (self._name, self.SerializeToString())


def _restored(name: str, data: bytes) -> Any:
    return _CLASSES[name].FromString(data)


def _shown(field: _Field, value: Any) -> str:
    lines = []
    for item in value if field.is_list else [value]:
        if isinstance(item, Message):
            lines.append(f"{field.name} {{\n" + "".join(f"  {line}\n" for line in str(item).splitlines()) + "}\n")
        else:
            shown = '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(item, str) else repr(item).lstrip("b")
            lines.append(f"{field.name}: {shown}\n")
    return "".join(lines)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _block(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _written(field: _Field, value: Any) -> bytes:
    items = value if field.is_list else [value]
    number, format = field.number, _PACKED.get(field.kind)
    if field.kind in _CLASSES:
        return b"".join(_block(number, item.SerializeToString()) for item in items)
    if field.kind in ("string", "bytes"):
        return b"".join(_block(number, item.encode() if isinstance(item, str) else item) for item in items)
    encoded = [struct.pack(format, item) if format else _varint(item) for item in items]
    if field.is_packed:
        return _block(number, b"".join(encoded))
    tag = _varint(number << 3 | _WIRES[field.kind])
    return b"".join(tag + item for item in encoded)


def _entries(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """The fields of a message: number, wire type and content."""
    at = 0
    while at < len(data):
        tag, at = _varint_at(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value: Any
            value, at = _varint_at(data, at)
        else:
            if wire == 2:
                length, at = _varint_at(data, at)
            elif wire in (1, 5):
                length = 8 if wire == 1 else 4
            else:
                raise ValueError(f"wire type {wire} of field {number}: expected 0, 1, 2 or 5")
            value = data[at : at + length]
            if len(value) < length:
                raise ValueError(f"field {number} has {length} bytes, but the message ends after {len(value)}")
            at += length
        yield number, wire, value


def _varint_at(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"a number does not end at byte {at}")
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def _numbers(kind: str, wire: int, value: Any) -> Iterator[Any]:
    if kind in _PACKED:
        if len(value) % struct.calcsize(_PACKED[kind]):
            raise ValueError(f"{len(value)} bytes are no list of {kind}")
        yield from (number for (number,) in struct.iter_unpack(_PACKED[kind], value))
        return
    if wire == 0:
        yield _signed(kind, value)
        return
    at = 0
    while at < len(value):
        number, at = _varint_at(value, at)
        yield _signed(kind, number)


def _signed(kind: str, value: int) -> int:
    bits = {"int32": 32, "int64": 64}.get(kind)
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _made(name: str, text: str) -> type[Message]:
    fields = {}
    for entry in text.split(";"):
        number, field, kind = entry.split()
        is_packed = kind.endswith("p") and kind[:-1] in _DEFAULTS
        fields[field.lstrip("*!")] = _Field(
            int(number), field.lstrip("*!"), kind[:-1] if is_packed else kind, field[0] == "*", field[0] == "!", is_packed
        )
    return type(name.rpartition(".")[2], (Message,), {"_fields": fields, "_name": name, "__module__": __name__})


_CLASSES: dict[str, type[Message]] = {name: _made(name, text) for name, text in _FIELDS.items()}
for _name, _class in _CLASSES.items():
    _outer, _, _inner = _name.rpartition(".")
    if _outer:
        setattr(_CLASSES[_outer], _inner, _class)
for (_owner, _enum), _names in _ENUMS.items():
    setattr(_CLASSES[_owner], _enum, Enumeration(_names))
    for _label, _number in Enumeration(_names).items():
        setattr(_CLASSES[_owner], _label, _number)

AttributeProto: Any = _CLASSES["AttributeProto"]
FunctionProto: Any = _CLASSES["FunctionProto"]
GraphProto: Any = _CLASSES["GraphProto"]
MapProto: Any = _CLASSES["MapProto"]
ModelProto: Any = _CLASSES["ModelProto"]
NodeProto: Any = _CLASSES["NodeProto"]
OperatorSetIdProto: Any = _CLASSES["OperatorSetIdProto"]
OptionalProto: Any = _CLASSES["OptionalProto"]
SequenceProto: Any = _CLASSES["SequenceProto"]
SparseTensorProto: Any = _CLASSES["SparseTensorProto"]
StringStringEntryProto: Any = _CLASSES["StringStringEntryProto"]
TensorProto: Any = _CLASSES["TensorProto"]
TensorShapeProto: Any = _CLASSES["TensorShapeProto"]
TrainingInfoProto: Any = _CLASSES["TrainingInfoProto"]
TypeProto: Any = _CLASSES["TypeProto"]
ValueInfoProto: Any = _CLASSES["ValueInfoProto"]
