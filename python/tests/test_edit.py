"""Edits by values and nodes, and what becomes of views."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest

import onnxtxt

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'
TEXT = HEAD + "g (float[N] x) => (float[N] y) {\n    # of t\n    t = Abs(x)  # absolute\n    u = Neg(t)\n    y = Relu(u)\n}\n"


@pytest.fixture
def model():
    return onnxtxt.parse(TEXT)


def ops(model):
    return [node.op_type for node in model.graph.nodes]


def test_nodes_are_inserted_where_they_are_wanted(model):
    t, u, y = model.graph.nodes
    before = u.insert_before("Sqrt", [t.output])
    after = u.insert_after("Exp", [u.output], outputs=["e"])
    model.graph.insert(0, "Floor", ["x"])
    model.graph.append("Ceil", ["y"])
    assert ops(model) == ["Floor", "Abs", "Sqrt", "Neg", "Exp", "Relu", "Ceil"]
    u.inputs = [before.output]
    y.set_input(0, after.output)
    assert model.check() == [] and "e = Exp(u)" in str(model) and "u = Neg(sqrt)" in str(model)
    assert "# of t" in str(model) and "# absolute" in str(model)
    with pytest.raises(IndexError):
        y.set_input(1, "x")


def test_arrays_and_numbers_become_initializers(model):
    t = model.graph.nodes[0]
    node = t.insert_after("Mul", [t.output, 2])
    other = node.insert_after("Add", [node.output, np.array([1, 2, 3], np.float32)])
    model.graph.nodes[-1].inputs = [other.output]
    assert model.check() == []
    assert [array.dtype for array in model.graph.initializers.values()] == [np.float32, np.float32]
    shape = t.insert_before("Reshape", ["x", [-1]])
    assert model.graph.initializers[shape.inputs[1].name].dtype == np.int64


def test_names_that_are_unknown_or_taken_are_refused(model):
    t = model.graph.nodes[0]
    for call, message in [
        (lambda: t.insert_after("Rleu", ["x"]), "ai.onnx has no operator `Rleu`: did you mean `Relu`"),
        (lambda: t.insert_after("Relu", ["xx"]), "no value has the name `xx`"),
        (lambda: t.insert_after("Relu", ["x", "x"]), "expects at most 1 inputs, but 2 were given"),
        (lambda: t.insert_after("Relu", ["x"], outputs=["y"]), "a value has the name `y` already"),
        (lambda: t.insert_after("LeakyRelu", ["x"], {"alhpa": 1}), "did you mean `alpha`"),
        (lambda: t.insert_after("Swish", ["x"]), "`Swish` is new in version 24 of ai.onnx"),
        (lambda: setattr(t.output, "name", "y"), "a value has the name `y` already"),
        (lambda: model.graph.add_input("x", "float"), "a value has the name `x` already"),
        (lambda: model.graph.add_input("z", "flaot"), "`flaot` is not a type: unknown type `flaot`"),
        (lambda: t.insert_after("Relu", [onnxtxt.parse(TEXT).graph.inputs[0]]), "belongs to another model"),
    ]:
        with pytest.raises(ValueError, match=message.replace("?", ".")):
            call()
    for call, message in [
        (lambda: t.insert_after("Relu", 3), "expected a list of values, not int"),
        (lambda: t.insert_after("Relu", [object()]), "not object"),
        (lambda: t.insert_after("Relu", ["x"], outputs=1.5), "a number of outputs or a list of names, not float"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    assert str(model) == str(onnxtxt.parse(TEXT))


def test_removed_nodes_say_so(model):
    t, u, y = model.graph.nodes
    with pytest.raises(ValueError, match="`t` is read by the node `Neg` that computes `u`"):
        t.remove()
    value = t.output
    assert value.replace_all_uses_with(model.graph.inputs[0])
    t.remove()
    assert ops(model) == ["Neg", "Relu"] and model.check() == []
    with pytest.raises(onnxtxt.StaleError, match="node `Abs` that computed `t` was removed"):
        t.op_type
    with pytest.raises(onnxtxt.StaleError, match="value `t` was removed"):
        value.type
    assert repr(t) == "<onnxtxt.Node that was removed>" and u.op_type == "Neg" and y.inputs[0] == u.output


def test_nodes_are_replaced_and_outputs_keep_their_names(model):
    t, u, y = model.graph.nodes
    new = y.insert_before("Softplus", [u.output])
    y.replace_with(new.output)
    assert ops(model) == ["Abs", "Neg", "Softplus"] and model.graph.outputs[0].name == "y" and model.check() == []
    # An input cannot take the name of an output: it is passed on.
    new.replace_with(model.graph.inputs[0])
    assert ops(model)[-1] == "Identity" and model.graph.outputs[0].name == "y" and model.check() == []
    with pytest.raises(ValueError, match="1 outputs, but 2 values"):
        t.replace_with("x", "x")


def test_values_are_renamed_with_everything_that_names_them(model):
    model.infer()
    model.graph.nodes[1].output.name = "negative"
    model.graph.inputs[0].name = "image"
    model.graph.outputs[0].name = "scores"
    text = str(model)
    assert "negative = Neg(t)" in text and "scores = Relu(negative)" in text and "float[N] negative" in text
    assert "# of t" in text and model.check() == []


def test_inputs_outputs_and_types_change(model):
    graph = model.graph
    z = graph.add_input("z", "float[N]")
    total = graph.append("Add", ["u", z], outputs=["total"])
    graph.add_output(total.output, "sum")
    graph.add_output("t")
    graph.add_output("t", "again")
    assert [value.name for value in graph.outputs] == ["y", "sum", "t", "again"]
    model.infer()
    assert model.check() == [] and graph.outputs[1].type == "float[N]"
    graph.remove_output(3)
    graph.inputs[0].type = "float[3]"
    model.infer()
    assert graph.value_named("sum").shape == (3,)
    with pytest.raises(ValueError, match="input `z` is read"):
        graph.remove_input(1)


def test_initializers_change(model):
    graph = model.graph
    graph.initializers["w"] = np.ones(3, np.float32)
    node = graph.append("Add", ["t", "w"])
    assert graph.initializers["w"].sum() == 3
    graph.initializers["w"] = np.zeros(3, np.float32)
    assert graph.initializers["w"].sum() == 0
    with pytest.raises(ValueError, match="initializer `w` is read"):
        del graph.initializers["w"]
    with pytest.raises(ValueError, match="not an initializer"):
        graph.initializers["t"] = np.zeros(3, np.float32)
    node.remove()
    del graph.initializers["w"]
    assert len(graph.initializers) == 0 and "float" not in str(model.graph.initializers)
    graph.initializers["x"] = np.zeros(2, np.float32)  # a default of the input
    assert graph.inputs[0].is_input and graph.inputs[0].is_initializer


def test_passes_make_views_stale(model):
    node = model.graph.nodes[0]
    graph = model.graph
    model.simplify()
    for view in (lambda: node.op_type, lambda: graph.name, lambda: node.attributes):
        with pytest.raises(onnxtxt.StaleError, match=r"rewritten by simplify\(\): get the (node|graph) from the model again"):
            view()
    assert model.graph.nodes[0].op_type == "Abs"


def test_findings_about_an_edited_text_have_its_lines(model):
    model.graph.nodes[1].op_type = "Rleu"
    [finding] = model.check()
    assert str(model).splitlines()[finding.line - 1].strip().startswith("u = Rleu"), finding
    binary = onnxtxt.decode(onnxtxt.parse(TEXT).to_bytes())
    binary.graph.insert(0, "Identity", ["x"])
    binary.graph.nodes[2].op_type = "Rleu"
    [finding] = binary.check()
    assert "u = Rleu" in str(finding)


def test_a_model_that_was_read_in_part_is_not_edited():
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(x }")
    text = str(model)
    for call in (
        lambda: model.graph.append("Abs", ["x"]),
        lambda: setattr(model, "doc_string", "x"),
        lambda: model.simplify(),
        lambda: model.graph.initializers.__setitem__("w", np.zeros(1)),
    ):
        with pytest.raises(onnxtxt.Error) as caught:
            call()
        assert caught.value.findings
    assert str(model) == text and model.check("syntax") and model.infer()


def test_threads_edit_one_model():
    model = onnxtxt.Model.new(21)
    model.graph.add_input("x", "float[3]")
    errors = []

    def work(i):
        try:
            for j in range(50):
                model.graph.append("Abs", ["x"], outputs=[f"v{i}_{j}"]).name = f"n{i}_{j}"
                assert model.graph.value_named(f"v{i}_{j}").producer().name == f"n{i}_{j}"
                model.check("spec")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(model.graph.nodes) == 200


def test_nodes_are_a_sequence():
    model = onnxtxt.parse(HEAD + "g (float[N] x) => (float[N] z) { a = Relu(x) y = Neg(a) z = Abs(y) }")
    nodes = model.graph.nodes
    assert len(nodes) == 3 and [node.op_type for node in nodes] == ["Relu", "Neg", "Abs"]
    assert isinstance(nodes, onnxtxt.Nodes) and isinstance(nodes, Sequence)
    assert nodes[-1].op_type == "Abs" and nodes[0] in nodes and nodes.index(nodes[1]) == 1
    assert [node.op_type for node in nodes[::-1]] == ["Abs", "Neg", "Relu"] == [node.op_type for node in reversed(nodes)]
    assert nodes == list(nodes) == model.graph.nodes and nodes[1:] != nodes and nodes + [] == list(nodes)
    assert nodes.count(nodes[0]) == 1 and onnxtxt.parse(model.text()).graph.nodes[0] not in nodes
    assert repr(nodes[:1]).startswith("[<onnxtxt.Node a = Relu(x)")
    # What it lists is what the graph had.
    model.graph.append("Exp", "z")
    assert len(nodes) == 3 and len(model.graph.nodes) == 4
    for wrong in (3, -4, 2**40):
        with pytest.raises(IndexError, match=f"index {wrong} of the nodes of a graph that has 3"):
            nodes[wrong]
    with pytest.raises(TypeError, match="not by `<class 'str'>`"):
        nodes["Relu"]
    with pytest.raises(ValueError, match="does not list this node"):
        nodes.index(model.graph.nodes[3])
