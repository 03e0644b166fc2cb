"""The Python side of formats.rs.

    python formats.py write FOLDER    writes NAME.bin, NAME.python.json and NAME.python.txtpb
    python formats.py read FOLDER     reads NAME.ours.json and NAME.ours.txtpb; both must serialize to NAME.bin

NAME begins with the name of the message. The messages: the models and values that the onnx package ships, and a few
with everything that is hard to write as text.
"""

import glob
import os
import struct
import sys

import onnx
from google.protobuf import json_format, text_format
from onnx import onnx_data_pb2, onnx_ml_pb2, onnx_operators_ml_pb2

LARGEST = 2_000_000  # bytes of a file; the formats are slow in Python


def class_of(name):
    for module in (onnx_ml_pb2, onnx_operators_ml_pb2, onnx_data_pb2):
        if hasattr(module, name):
            return getattr(module, name)
    raise KeyError(name)


def numbers(count, seed=1):
    """Bit patterns without order, always the same."""
    for _ in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield seed >> 32


def hard_ones():
    t = onnx_ml_pb2.TensorProto(data_type=1, name='q"\'\\\n\t\x01ü😀', doc_string="")
    t.dims.extend([0, -1, 2**63 - 1, -(2**63)])
    floats = (struct.unpack("<f", struct.pack("<I", bits))[0] for bits in numbers(20_000))
    t.float_data.extend(f for f in floats if f == f)
    t.float_data.extend([float("nan"), float("inf"), -float("inf"), -0.0, 0.1, 1e-45, 3.4028234663852886e38, 1e16])
    t.double_data.extend(
        d for hi, lo in zip(numbers(5000, 7), numbers(5000, 8))
        for d in struct.unpack("<d", struct.pack("<II", lo, hi)) if d == d
    )
    t.double_data.extend([float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308, 0.1])
    t.int32_data.extend([-(2**31), 2**31 - 1, -1])
    t.int64_data.extend([-(2**63), 2**63 - 1, -1, 2**53 + 1])
    t.uint64_data.extend([2**64 - 1, 0, 2**53 + 1])
    t.string_data.extend([b"", b"\xff\x00\xfe", bytes(range(256)), "ü".encode()])
    t.raw_data = b""
    t.data_location = 0
    t.segment.begin = 5
    t.metadata_props.add(key="")
    t.metadata_props.add()
    yield t

    a = onnx_ml_pb2.AttributeProto(name="a", type=8, f=-0.0, i=-(2**63), s=bytes(range(256)))
    a.floats.extend([float("nan"), float("-inf"), 0.1])
    a.ints.extend([2**63 - 1, -1])
    a.strings.extend([b"", b"\x80"])
    a.tp.denotation = "IMAGE"
    a.tp.map_type.key_type = 7
    a.tp.map_type.value_type.sequence_type.elem_type.opaque_type.name = "n"
    a.sparse_tensor.values.name = "v"
    graph = onnx_ml_pb2.GraphProto(name="inner")
    graph.node.add(op_type="aten::add").attribute.append(a)
    node = graph.node[0]
    node.device_configurations.add(configuration_id="c", pipeline_stage=-1).sharding_spec.add(
        tensor_name="x", device=[-1, 2]
    ).sharded_dim.add(axis=-1).simple_sharding.add(dim_param="N", num_shards=2)
    value = graph.input.add(name="x", type=onnx_ml_pb2.TypeProto())
    value.type.tensor_type.shape.dim.add(dim_value=-1)
    value.type.tensor_type.shape.dim.add(dim_param="", denotation="DATA_BATCH")
    value.type.tensor_type.shape.dim.add()
    graph.output.add(name="scalar").type.tensor_type.shape.SetInParent()
    for _ in range(30):  # close to what decoders allow
        outer = onnx_ml_pb2.GraphProto()
        outer.node.add().attribute.add(type=5).g.CopyFrom(graph)
        graph = outer
    yield onnx_ml_pb2.ModelProto(ir_version=14, graph=graph, domain="", model_version=-1)

    o = onnx_data_pb2.OptionalProto(name="o", elem_type=4)
    o.map_value.keys.extend([1, -1])
    o.map_value.string_keys.extend([b"\xff"])
    o.map_value.values.optional_values.add()
    yield o

    s = onnx_operators_ml_pb2.OperatorSetProto(magic="ONNXOPSET", opset_version=1)
    s.operator.add(op_type="X", status=0)
    yield s


def messages():
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for path in sorted(glob.glob(f"{data}/**/*.onnx", recursive=True)):
        if os.path.getsize(path) <= LARGEST:
            yield onnx_ml_pb2.ModelProto.FromString(open(path, "rb").read())
    for path in sorted(glob.glob(f"{data}/simple/**/*.pb", recursive=True)):
        graph = onnx.load(os.path.join(os.path.dirname(path), "..", "model.onnx")).graph
        side, index = os.path.basename(path).removesuffix(".pb").split("_")
        declared = (graph.input if side == "input" else graph.output)[int(index)].type
        name = "SequenceProto" if declared.HasField("sequence_type") else "TensorProto"
        content = open(path, "rb").read()
        if 0 < len(content) <= LARGEST:
            yield class_of(name).FromString(content)
    yield from hard_ones()


def write(folder):
    for index, message in enumerate(messages()):
        base = os.path.join(folder, f"{message.DESCRIPTOR.name}-{index}")
        open(f"{base}.bin", "wb").write(message.SerializeToString(deterministic=True))
        open(f"{base}.python.json", "w").write(json_format.MessageToJson(message))
        open(f"{base}.python.txtpb", "w").write(text_format.MessageToString(message))


def read(folder):
    bad = 0
    for path in sorted(glob.glob(f"{folder}/*.bin")):
        base = path.removesuffix(".bin")
        kind = class_of(os.path.basename(base).split("-")[0])
        expected = open(path, "rb").read()
        for reader, ending in ((json_format.Parse, "json"), (text_format.Parse, "txtpb")):
            try:
                got = reader(open(f"{base}.ours.{ending}").read(), kind()).SerializeToString(deterministic=True)
            except Exception as error:
                got = error
            if got != expected:
                bad += 1
                print(f"{os.path.basename(base)}.ours.{ending}: {str(got)[:300]}", file=sys.stderr)
    return bad


if __name__ == "__main__":
    step, folder = sys.argv[1:]
    sys.exit(1 if (write if step == "write" else read)(folder) else 0)
