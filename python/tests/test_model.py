"""Models as objects: what is read from graphs, nodes, values, attributes and initializers."""

import copy
import pathlib
import pickle

import ml_dtypes
import numpy as np
import onnx
import pytest

import onnxtxt

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 10, opset_import: ["": 21, "local": 1]>\n'
TEXT = (
    HEAD
    + """g (bool c, float[N,2] x) => (float[N,3] y)
<float[2,3] w = {1, 2, 3, 4, 5, 6}, float[N,3] t>
{
    # the product
    [first] t = MatMul(x, w)
    u = If (c) <then_branch = a () => (p) { p = Neg(t) }, else_branch = b () => (q) { q = LeakyRelu <alpha = 0.5> (t) }>
    y = local.Twice(u)
}
<domain: "local", opset_import: ["": 21]> Twice (a) => (b) { b = Add(a, a) }
"""
)


@pytest.fixture
def model():
    return onnxtxt.parse(TEXT)


def test_graphs_have_values_and_nodes(model):
    graph = model.graph
    assert graph.name == "g" and [value.name for value in graph.inputs] == ["c", "x"]
    assert [value.name for value in graph.outputs] == ["y"] and [value.name for value in graph.value_info] == ["t"]
    assert [node.op_type for node in graph.nodes] == ["MatMul", "If", "Twice"]
    assert [node.op_type for node in graph.all_nodes()] == ["MatMul", "If", "Neg", "LeakyRelu", "Twice"]
    assert [value.name for value in graph.values] == ["c", "x", "w", "t", "u", "y"]
    first, branch, call = graph.nodes
    assert (first.name, first.domain, call.domain) == ("first", "", "local")
    assert [value.name for value in first.inputs] == ["x", "w"] and first.output == branch.graphs[0].nodes[0].inputs[0]
    assert first.since_version == 13 and call.since_version is None
    assert graph.node_named("first") == first == graph.node_named("t") and graph.value_named("t") == first.output
    with pytest.raises(KeyError):
        graph.value_named("nothing")


def test_values_know_type_producer_and_uses(model):
    x, w, t = (model.graph.value_named(name) for name in "xwt")
    assert (x.type, x.shape, x.dtype) == ("float[N,2]", ("N", 2), np.float32)
    assert (w.type, w.shape, w.is_initializer, w.is_input) == ("float[2,3]", (2, 3), True, False)
    assert x.producer() is None and t.producer().op_type == "MatMul" and t.index == 0
    assert [(node.op_type, i) for node, i in t.uses()] == [("Neg", 0), ("LeakyRelu", 0)]
    u = model.graph.value_named("u")
    assert u.type is None and not u.is_output and model.graph.outputs[0].is_output
    model.infer()
    assert u.type == "float[N,3]" and u.shape == ("N", 3)


def test_attributes_are_typed(model):
    node = model.graph.nodes[1]
    assert list(node.attributes) == ["then_branch", "else_branch"] and len(node.attributes) == 2
    graph = node.attributes["then_branch"]
    assert isinstance(graph, onnxtxt.Graph) and graph.owner == node and graph in node.graphs
    leaky = model.graph.all_nodes()[3]
    assert dict(leaky.attributes) == {"alpha": 0.5} and "beta" not in leaky.attributes
    leaky.attributes["alpha"] = 1
    assert leaky.attributes["alpha"] == 1.0 and isinstance(leaky.attributes["alpha"], float)
    with pytest.raises(ValueError, match="did you mean `alpha`"):
        leaky.attributes["alhpa"] = 1
    with pytest.raises(TypeError, match="expected a float, not str"):
        leaky.attributes["alpha"] = "x"
    del leaky.attributes["alpha"]
    assert not leaky.attributes and leaky.attributes.get("alpha", 7) == 7
    with pytest.raises(KeyError):
        leaky.attributes["alpha"]


def test_attributes_of_each_type_survive():
    values = {
        "int": 3,
        "float": 0.5,
        "string": "ä",
        "bytes": b"\xff",
        "ints": [1, -2],
        "floats": [0.5, 1.0],
        "strings": ["a", "b"],
        "tensor": np.array([[1, 2]], np.int16),
        "parameter": onnxtxt.Parameter("p", "int"),
    }
    model = onnxtxt.Model.new(21)
    node = model.graph.append("Any", [], values, domain="other")
    again = onnxtxt.decode(model.to_bytes()).graph.nodes[0].attributes
    for attributes in (node.attributes, again):
        for name, value in values.items():
            assert np.array_equal(attributes[name], value) and type(attributes[name]) is type(value), name
    with pytest.raises(TypeError, match="empty list"):
        node.attributes["none"] = []


def test_initializers_share_the_memory_of_the_model(model):
    initializers = model.graph.initializers
    assert list(initializers) == ["w"] and "w" in initializers and len(initializers) == 1
    w = initializers["w"]
    assert w.tolist() == [[1, 2, 3], [4, 5, 6]] and not w.flags.writeable
    assert w.__array_interface__["data"] == initializers["w"].__array_interface__["data"]
    del model, initializers
    assert w.sum() == 21  # the array keeps the memory alive


def test_arrays_of_all_types_are_initializers():
    types = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]
    types += [np.uint64, np.bool_, np.complex64, np.complex128, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, object]
    types += [ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4]
    for ty in types:
        model = onnxtxt.Model.new(21)
        array = np.array([["a"], ["ß"]], object) if ty is object else np.arange(6).reshape(3, 2).T.astype(ty)
        for given in (array, array[:0], array.astype(array.dtype.newbyteorder(">")) if ty in types[:7] else array):
            model.graph.initializers["w"] = given
            for read in (model, onnxtxt.decode(model.to_bytes()), onnxtxt.parse(str(model))):
                got = read.graph.initializers["w"]
                assert got.dtype == array.dtype and got.shape == given.shape and (got == given).all(), (ty, got)


def test_external_data_is_read_when_it_is_asked_for(tmp_path, model):
    model.save(tmp_path / "m.onnx")
    big = onnxtxt.open(tmp_path / "m.onnx")
    big.graph.initializers["big"] = np.arange(10000, dtype=np.float32)
    big.save(tmp_path / "big.onnx", external_data=True)
    again = onnxtxt.open(tmp_path / "big.onnx")
    assert (again.graph.initializers["big"] == np.arange(10000)).all()
    assert (again.weights()["big"] == np.arange(10000)).all()
    (tmp_path / "big.onnx.data").unlink()
    broken = onnxtxt.open(tmp_path / "big.onnx")
    with pytest.raises(onnxtxt.Error, match="big.onnx.data"):
        broken.graph.initializers["big"]
    assert broken.graph.value_named("big").shape == (10000,)


def test_functions_and_header(model):
    [function] = model.functions
    assert (function.name, function.domain, dict(function.opset_imports)) == ("Twice", "local", {"": 21})
    assert [node.op_type for node in function.graph.nodes] == ["Add"] and model.function_named("local.Twice") == function
    assert dict(model.opset_imports) == {"": 21, "local": 1} and model.ir_version == 10
    model.metadata = {"a": "b"}
    model.doc_string, model.producer_name, model.model_version = "text", "me", 3
    proto = model.to_proto()
    assert (proto.doc_string, proto.producer_name, proto.model_version) == ("text", "me", 3)
    assert [(entry.key, entry.value) for entry in proto.metadata_props] == [("a", "b")]
    with pytest.raises(TypeError):
        model.metadata["a"] = "c"  # a mapping that cannot be written
    function.remove()
    assert model.functions == ()
    with pytest.raises(onnxtxt.StaleError, match="Function.remove"):
        function.name


def test_models_are_read_from_anything(tmp_path, model):
    content = model.to_bytes()
    proto = model.to_proto()
    path = tmp_path / "m.onnx"
    model.save(path)
    sources = [path, str(path), content, bytearray(content), memoryview(content), np.frombuffer(content, np.uint8), proto]
    for source in sources:
        assert onnxtxt.open(source) == model, type(source)
    with open(path, "rb") as file:
        assert onnxtxt.open(file) == model
    for source in sources[2:]:
        assert onnxtxt.decode(source) == model
    text = tmp_path / "m.onnxtxt"
    text.write_text(TEXT)
    with open(text) as file:
        assert onnxtxt.parse(file) == model
    assert onnxtxt.parse(text) == onnxtxt.parse(TEXT.encode()) == model
    with pytest.raises(TypeError, match="expected a path, a str, bytes.*not int"):
        onnxtxt.open(3)
    with pytest.raises(FileNotFoundError):
        onnxtxt.open(tmp_path / "nothing.onnx")
    with pytest.raises(onnxtxt.FileError):
        onnxtxt.open(tmp_path / "nothing.onnx")


def test_parts_are_read(model):
    part = onnxtxt.parse_node("y = LeakyRelu <alpha = 0.1> (x)")
    assert part.model.graph.nodes[0].op_type == "LeakyRelu"
    assert onnx.NodeProto.FromString(part.to_bytes()).op_type == "LeakyRelu"
    assert onnxtxt.parse_graph(model.to_proto().graph).text().splitlines()[1].startswith("g ")
    assert onnxtxt.parse_function('<domain: "l", opset_import: ["": 21]> f (x) => (y) { y = Relu(x) }').check() == []
    assert str(onnxtxt.parse_type("seq(float[N,3])")).strip() == "seq(float[N,3])"
    with pytest.raises(onnxtxt.Error) as caught:
        onnxtxt.parse_node("y = Relu(x")
    assert caught.value.findings[0].line == 1


def test_models_are_saved_in_each_form(tmp_path, model):
    for name, form in [("m.onnx", "binary"), ("m.onnxtxt", "text"), ("m.json", "json"), ("m.txtpb", "textproto")]:
        model.save(tmp_path / name)
        assert onnxtxt.open(tmp_path / name) == model
        model.save(tmp_path / "x.bin", form=form)
        assert (tmp_path / "x.bin").read_bytes() == (tmp_path / name).read_bytes()
    with pytest.raises(ValueError, match="unknown form `xml`, expected one of text"):
        model.save(tmp_path / "m.onnx", form="xml")
    assert "# the product" in (tmp_path / "m.onnxtxt").read_text()
    assert "#" not in model.text(profile="reference").replace("# the product", "")


def test_models_are_copied_and_pickled(model, tmp_path):
    model.save(tmp_path / "m.onnx")
    for original in (model, onnxtxt.open(tmp_path / "m.onnx")):
        for other in (original.copy(), copy.copy(original), copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
            assert other == original and str(other) == str(original)
            other.graph.nodes[0].name = "changed"
            assert other != original and original.graph.nodes[0].name == "first"
            assert pickle.loads(pickle.dumps(other)) == other
    with pytest.raises(TypeError):
        hash(model)  # a model changes


def test_reprs_say_what_it_is(model):
    shown = [model, model.graph, model.graph.nodes[0], model.graph.nodes[1], model.graph.inputs[1], model.functions[0]]
    assert [repr(thing) for thing in shown] == [
        "<onnxtxt.Model <text> with 5 nodes>",
        "<onnxtxt.Graph g with 3 nodes>",
        "<onnxtxt.Node [first] t = MatMul(x, w)>",
        repr(shown[3]),
        "<onnxtxt.Value float[N,2] x>",
        "<onnxtxt.Function local.Twice>",
    ]
    assert repr(shown[3]).startswith("<onnxtxt.Node u = If")
    assert "<svg" in model._repr_html_() and "MatMul" in model._repr_html_()
