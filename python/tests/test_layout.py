"""Edits of a model from a text keep its layout: comments, blank lines, alignment and numbers of what was not touched."""

import copy
import pickle

import numpy as np
import pytest

import onnxtxt

TEXT = """\
# A network by hand.
<ir_version: 10,
 opset_import: ["": 21]>
net (float[N,2] x)   =>   (float[N,2] y)
<float[2,2] w = {1.0, 0,
                 0, 1.0}>
{
  # The first layer.
  h = MatMul( x, w )   # a product

  a = Relu(h)          # positive
  y = Neg( a )

}
"""


@pytest.fixture
def model():
    model = onnxtxt.parse(TEXT)
    assert model.check("spec") == []
    return model


def difference(model, text=TEXT):
    """The lines that are gone, and the new ones."""
    old, new = text.splitlines(), str(model).splitlines()
    assert onnxtxt.parse(str(model)) == model
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_a_text_that_is_not_edited_stays(model, tmp_path):
    assert str(model) == model.text() == str(copy.deepcopy(model)) == str(pickle.loads(pickle.dumps(model))) == TEXT
    model.save(tmp_path / "net.onnxtxt")
    assert (tmp_path / "net.onnxtxt").read_text() == TEXT
    model.save(tmp_path / "net.onnxtxt", formatted=True)
    standard = (tmp_path / "net.onnxtxt").read_text()
    assert standard == model.text(formatted=True) != TEXT and "    h = MatMul(x, w)  # a product\n" in standard


def test_inserted_and_changed_nodes_are_the_only_lines_that_change(model, tmp_path):
    relu = model.graph.value_named("a").producer()
    relu.insert_after("Mul", [relu.output, np.float32(2)], outputs="twice")
    gone, new = difference(model)
    # The number is an initializer, after the others.
    assert gone == ["                 0, 1.0}>"] and new[0] == "                 0, 1.0}," and len(new) == 4
    assert new[3].startswith("  twice = Mul(a, ")
    model.graph.nodes[-1].set_input(0, "twice")
    gone, new = difference(model)
    assert "  y = Neg( a )" in gone and "  y = Neg(twice)" in new and "  h = MatMul( x, w )   # a product" not in gone
    model.save(tmp_path / "net.onnxtxt")
    assert (tmp_path / "net.onnxtxt").read_text() == str(model)


def test_comments_change_alone(model):
    model.graph.nodes[1].comment = "never negative"
    gone, new = difference(model)
    assert gone == [] and new == ["  # never negative"]
    model.graph.nodes[0].comment = ""
    assert difference(model) == (["  # The first layer."], ["  # never negative"])


def test_a_removed_node_takes_its_lines_along(model):
    relu = model.graph.nodes[1]
    relu.replace_with(relu.inputs[0])
    gone, new = difference(model)
    assert gone == ["  a = Relu(h)          # positive", "  y = Neg( a )"] and new == ["  y = Neg(h)"]


def test_weights_and_names_change_in_place(model):
    model.graph.initializers["w"] = np.array([[2, 0], [0, 2]], np.float32)
    gone, _ = difference(model)
    assert all("1.0" in line for line in gone)
    model.graph.value_named("a").name = "positive"
    gone, new = difference(model)
    assert "  y = Neg(positive)" in new and "  h = MatMul( x, w )   # a product" not in gone


def test_commands_keep_it_too(model):
    model.graph.append("Abs", ["x"])
    model.run_passes("dead-code")
    assert str(model) == TEXT
    model.infer()
    gone, _ = difference(model)
    assert not any(line.startswith("  ") and "=" in line and "(" in line for line in gone)


def test_findings_have_the_lines_of_the_text(model):
    model.graph.nodes[1].comment = "changed"
    model.graph.nodes[-1].op_type = "Ngg"
    (finding,) = model.check(select=["E1001"])
    assert str(model).splitlines()[finding.line - 1] == "  y = Ngg(a)"


def test_several_statements_on_a_line_have_no_layout():
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Abs(x)  y = Neg(t) }'
    model = onnxtxt.parse(text)
    assert str(model) == model.text(formatted=True) != text


def test_other_syntax_is_printed(model):
    assert model.text(profile="reference") == model.text(profile="reference", formatted=True)
