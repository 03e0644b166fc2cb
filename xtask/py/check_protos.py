"""Holds proto/ against the installed `onnx` package: every name, number, type, label and enum value.

    python check_protos.py target/onnx.descriptors

The argument is the descriptor set that `cargo xtask codegen` compiled from proto/. Prints each difference; exits
with 1 if there is one. Names of files and options for code generators do not count.
"""

import sys

import onnx
from google.protobuf import descriptor_pb2 as d
from onnx import onnx_data_pb2, onnx_ml_pb2, onnx_operators_ml_pb2

EXPECTED = "1.23.2"
MODULES = (onnx_ml_pb2, onnx_operators_ml_pb2, onnx_data_pb2)


def enum_facts(enum, prefix):
    name = prefix + enum.name
    facts = {f"enum {name}": ""}
    for value in enum.value:
        facts[f"{name}.{value.name}"] = str(value.number)
    return facts


def message_facts(message, prefix):
    name = prefix + message.name
    facts = {f"message {name}": ""}
    for field in message.field:
        label = d.FieldDescriptorProto.Label.Name(field.label)
        kind = field.type_name or d.FieldDescriptorProto.Type.Name(field.type)
        packed = " packed" if field.options.packed else ""
        oneof = f" in {message.oneof_decl[field.oneof_index].name}" if field.HasField("oneof_index") else ""
        default = f" default {field.default_value}" if field.HasField("default_value") else ""
        facts[f"{name}.{field.name}"] = f"{field.number} {label} {kind}{packed}{oneof}{default}"
    numbers = sorted(n for r in message.reserved_range for n in range(r.start, r.end))
    facts[f"{name} reserved"] = f"{numbers} {sorted(message.reserved_name)} {len(message.extension_range)}"
    for enum in message.enum_type:
        facts |= enum_facts(enum, f"{name}.")
    for nested in message.nested_type:
        facts |= message_facts(nested, f"{name}.")
    return facts


def file_facts(file):
    facts = {}
    for enum in file.enum_type:
        facts |= enum_facts(enum, f"{file.package}.")
    for message in file.message_type:
        facts |= message_facts(message, f"{file.package}.")
    return facts


def main():
    theirs = {}
    for module in MODULES:
        file = d.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        theirs |= file_facts(file)
    ours = {}
    for file in d.FileDescriptorSet.FromString(open(sys.argv[1], "rb").read()).file:
        if file.syntax not in ("", "proto2"):
            print(f"{file.name}: syntax {file.syntax}")
            return 1
        ours |= file_facts(file)
    differences = 0
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            differences += 1
            print(f"{key}: the package says {theirs.get(key)!r}, proto/ says {ours.get(key)!r}")
    print(f"proto/ against onnx {onnx.__version__}: {len(theirs)} facts, {differences} differences")
    if onnx.__version__ != EXPECTED:
        print(f"note: proto/ follows onnx {EXPECTED}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
