"""`onnxtxt.compat.helper` and `numpy_helper` beside those of `onnx`, and messages without the packages `onnx` and `protobuf`."""

import pathlib
import pickle
import random
import subprocess
import sys

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import helper as theirs
from onnx import numpy_helper as their_arrays

from onnxtxt.compat import _own_messages as own
from onnxtxt.compat import helper, numpy_helper

TYPES = [kind for kind in onnx.TensorProto.DataType.values() if kind != onnx.TensorProto.UNDEFINED]
MODELS = sorted((pathlib.Path(onnx.backend.test.__file__).parent / "data").glob("*/*/model.onnx"))


def values_of(kind, count, rng):
    """Elements of a type that both packages can store."""
    if kind == onnx.TensorProto.STRING:
        return [rng.choice(["", "text", "Ä", b"bytes"]) for _ in range(count)]
    if kind == onnx.TensorProto.BOOL:
        return [rng.random() < 0.5 for _ in range(count)]
    return [rng.choice([0, 1, 1, 0.5 if "FLOAT" in onnx.TensorProto.DataType.Name(kind) else 1]) for _ in range(count)]


@pytest.mark.parametrize("kind", TYPES, ids=onnx.TensorProto.DataType.Name)
def test_tensors_of_all_types_are_those_of_the_reference(kind):
    rng = random.Random(kind)
    assert helper.tensor_dtype_to_np_dtype(kind) == theirs.tensor_dtype_to_np_dtype(kind)
    assert helper.tensor_dtype_to_field(kind) == theirs.tensor_dtype_to_field(kind)
    assert helper.tensor_dtype_to_string(kind) == theirs.tensor_dtype_to_string(kind)
    assert helper.tensor_dtype_to_storage_tensor_dtype(kind) == theirs.tensor_dtype_to_storage_tensor_dtype(kind)
    for shape in [(), (0,), (1,), (3,), (2, 5), (7, 1, 3)]:
        values = values_of(kind, int(np.prod(shape)), rng)
        ours, reference = (module.make_tensor("t", kind, shape, values) for module in (helper, theirs))
        assert ours == reference
        array = their_arrays.to_array(reference)
        np.testing.assert_array_equal(numpy_helper.to_array(reference), array)
        if kind != onnx.TensorProto.STRING:
            assert numpy_helper.to_array(reference).dtype == array.dtype
            raw = numpy_helper.from_array(array, "t")
            assert raw == their_arrays.from_array(array, "t")
            np.testing.assert_array_equal(numpy_helper.to_array(raw), array)
            assert helper.make_tensor("t", kind, shape, raw.raw_data, raw=True) == raw


def test_parts_of_models_are_those_of_the_reference():
    def made(module):
        shape, tensor = ["N", 3, None], module.make_tensor("w", 1, [2], [1, 2])
        value = module.make_tensor_value_info("x", 1, shape, "said", ["A", "B", "C"])
        inner = module.make_graph([module.make_node("Neg", ["x"], ["z"])], "inner", [], [module.make_empty_tensor_value_info("z")])
        node = module.make_node(
            "Op", ["x", ""], ["y"], name="n", doc_string="d", domain="my", overload="o", i=3, f=1.5, s="text", t=tensor, none=None,
            ints=[1, 2], floats=[1, 2.5], strings=["a", b"b"], tensors=[tensor], g=inner, graphs=(inner, inner),
        )  # fmt: skip
        node.attribute.append(module.make_attribute_ref("alpha", 1, ref_attr_name="beta"))
        imports = [module.make_opsetid("", 21), module.make_operatorsetid("my", 1)]
        function = module.make_function("my", "Op", ["a"], ["b"], [node], imports, ["alpha"], [module.make_attribute("beta", [], attr_type=7)])
        sparse = module.make_sparse_tensor(tensor, module.make_tensor("", 7, [2], [0, 3]), [4])
        types = [
            module.make_sequence_type_proto(value.type),
            module.make_optional_type_proto(value.type),
            module.make_map_type_proto(8, value.type),
            module.make_sparse_tensor_type_proto(1, shape),
            module.make_tensor_type_proto(1, None),
            module.make_tensor_type_proto(1, []),
        ]
        values = [module.make_value_info(f"v{i}", type) for i, type in enumerate(types)]
        values.append(module.make_tensor_sequence_value_info("s", 1, shape))
        graph = module.make_graph([node], "g", [value], values, [tensor], "doc", [value], [sparse])
        model = module.make_model(graph, opset_imports=imports, functions=[function], producer_name="p")
        module.set_metadata_props(model, {"a": "b"})
        model.training_info.append(module.make_training_info(graph, [("w", "y")], graph, None))
        least = module.make_model_gen_version(graph, opset_imports=imports[:1])
        texts = [module.printable_node(node), module.printable_value_info(value), module.printable_tensor_proto(tensor)]
        attributes = [module.get_node_attr_value(node, name) for name in ["i", "f", "s", "ints", "floats", "strings", "t"]]
        return model, least, texts, attributes, module.make_model(graph)

    ours = made(helper)
    assert ours == made(theirs)
    helper.strip_doc_string(ours[0])
    assert "doc_string" not in str(ours[0])


@pytest.mark.parametrize("wrong", [object(), [1, "a"], [], 1j])
def test_values_that_are_no_attributes_are_refused_as_there(wrong):
    errors = []
    for module in (helper, theirs):
        with pytest.raises((TypeError, ValueError)) as raised:
            module.make_attribute("a", wrong)
        errors.append((type(raised.value), str(raised.value)))
    assert errors[0] == errors[1]


def test_values_of_python_are_those_of_the_reference():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    for value in [[array, array], [[array], [array]], [{1: array}], []]:
        ours, reference = numpy_helper.from_list(value, "l"), their_arrays.from_list(value, "l")
        assert ours == reference
        np.testing.assert_equal(numpy_helper.to_list(ours), their_arrays.to_list(reference))
    for value in [{1: array, 2: array}, {np.int8(1): array}]:
        ours = numpy_helper.from_dict(value, "m")
        assert ours == their_arrays.from_dict(value, "m")
        np.testing.assert_equal(numpy_helper.to_dict(ours), their_arrays.to_dict(ours))
    assert numpy_helper.to_dict(numpy_helper.from_dict({"a": array, "text": array})).keys() == {b"a", b"text"}
    for value in [None, array, [array], {1: array}]:
        ours = numpy_helper.from_optional(value, "o")
        assert ours == their_arrays.from_optional(value, "o")
        np.testing.assert_equal(numpy_helper.to_optional(ours), their_arrays.to_optional(ours))
    for rounding in ["up", "down", "nearest"]:
        for saturate in [True, False]:
            x = np.random.default_rng(0).integers(0, 2**32, 10000, dtype=np.uint32).view(np.float32)
            ours = numpy_helper.to_float8e8m0(x, saturate, rounding)
            assert (ours.view(np.uint8) == their_arrays.to_float8e8m0(x, saturate, rounding).view(np.uint8)).all()


@pytest.mark.parametrize("entries, offset", [({"location": "w.bin", "offset": "4", "length": "8"}, 4), ({"location": "w.bin"}, 0)])
def test_external_data_is_read_from_its_folder(tmp_path, entries, offset):
    (tmp_path / "w.bin").write_bytes(bytes(offset) + np.array([1, 2], np.float32).tobytes())
    tensor = onnx.TensorProto(dims=[2], data_type=1, data_location=1)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    assert numpy_helper.to_array(tensor, str(tmp_path)).tolist() == [1, 2]
    tensor.external_data[0].value = "../w.bin"
    with pytest.raises(ValueError, match="outside of its folder"):
        numpy_helper.to_array(tensor, str(tmp_path))


def test_own_messages_are_read_and_written_as_by_protobuf():
    assert len(MODELS) > 100
    for path in MODELS[::5]:
        data = path.read_bytes()
        reference, ours = onnx.ModelProto.FromString(data), own.ModelProto.FromString(data)
        assert onnx.ModelProto.FromString(ours.SerializeToString()) == reference, path
        copy = own.ModelProto()
        copy.CopyFrom(ours)
        assert copy == ours == pickle.loads(pickle.dumps(ours))
        assert [field.name for field, _ in ours.ListFields()] == [field.name for field, _ in reference.ListFields()]


@pytest.mark.parametrize("seed", range(3))
def test_broken_bytes_are_refused_by_own_messages(seed):
    rng = random.Random(seed)
    data = MODELS[seed * 30].read_bytes()
    for _ in range(300):
        broken = bytearray(data[: rng.randrange(len(data) + 1)])
        for _ in range(rng.randrange(4)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        try:
            own.ModelProto.FromString(bytes(broken)).SerializeToString()
        except ValueError:
            pass


def test_fields_of_own_messages_are_those_of_the_format():
    for name, fields in ((name, cls._fields) for name, cls in own._CLASSES.items()):
        descriptor = onnx.ModelProto.DESCRIPTOR.file.message_types_by_name.get(name.partition(".")[0])
        if descriptor is None:
            descriptor = onnx.SequenceProto.DESCRIPTOR.file.message_types_by_name[name.partition(".")[0]]
        if "." in name:
            descriptor = descriptor.nested_types_by_name[name.partition(".")[2]]
        known = {field.name: field for field in descriptor.fields}
        assert {field.name: (field.number, field.is_list) for field in fields.values()} == {
            name: (field.number, field.is_repeated) for name, field in known.items()
        }, name
        for enum in descriptor.enum_types:
            assert getattr(own._CLASSES[name], enum.name).items() == sorted(
                ((value.name, value.number) for value in enum.values), key=lambda entry: entry[1]
            )


WITHOUT = r"""
import sys
sys.modules["onnx"] = sys.modules["google"] = sys.modules["google.protobuf"] = None
import numpy as np, onnxtxt
from onnxtxt.compat import checker, compose, helper, inliner, numpy_helper, parser, printer, shape_inference, utils, version_converter

w = numpy_helper.from_array(np.ones((2, 3), np.float32), "w")
x, y = (helper.make_tensor_value_info(name, 1, ["N", size]) for name, size in [("x", 2), ("y", None)])
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Relu", ["t"], ["y"])], "g", [x], [y], [w])
proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
assert type(proto).__module__ == "onnxtxt.compat._own_messages"
checker.check_model(proto, full_check=True)
checker.check_node(proto.graph.node[0])
inferred = shape_inference.infer_shapes(proto)
assert inferred.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 3
again = parser.parse_model(printer.to_text(proto))
assert [node.op_type for node in again.graph.node] == ["MatMul", "Relu"]
assert version_converter.convert_version(proto, 13).opset_import[0].version == 13
assert len(utils.Extractor(inferred).extract_model(["x"], ["t"]).graph.node) == 1
assert inliner.inline_local_functions(proto) == proto
merged = compose.merge_models(compose.add_prefix(proto, "a/"), compose.add_prefix(parser.parse_model(
    '<ir_version: 10, opset_import: ["": 21]> g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }'), "b/"), [("a/y", "b/x")])
done = onnxtxt.decode(merged).compile().run({"a/x": np.ones((1, 2), np.float32)})
assert done["b/y"].tolist() == [[-2, -2, -2]]
try:
    checker.check_node(helper.make_node("Relu", [], ["y"]))
except checker.ValidationError as error:
    assert "E1004" in str(error)
else:
    raise AssertionError
try:
    onnxtxt.decode(proto).to_proto()
except ImportError:
    print("fine")
"""


def test_everything_but_to_proto_works_without_the_package_onnx():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120)
    assert done.stdout == "fine\n", done.stderr
