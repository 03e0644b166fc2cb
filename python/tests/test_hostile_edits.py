"""Edits and commands of models with arguments at random from a fixed seed, by several threads: exceptions, and never the end of the
interpreter; and what is left can be printed, checked and encoded.

The cases run in a process of their own, as those of `test_hostile.py`.
"""

import pytest
from test_hostile import LIMIT, ensure_survives

SCRIPT = f"import faulthandler; faulthandler.dump_traceback_later({LIMIT}, exit=True)" + r'''
import copy, pickle, random, sys, threading, warnings
import numpy as np
import onnxtxt

seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
HEAD = '<ir_version: 10, opset_import: ["": 21, "my": 1]>\n'
TEXTS = [
    HEAD + "g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { h = MatMul(x, w)  a = Relu(h)  # a comment\n y = Neg(a) }",
    HEAD + "g (bool c, float[N] x) => (float[N] y) { y = If(c) <then_branch = t () => (float[N] a) { a = Neg(x) }, else_branch = e () => (float[N] b) { b = Abs(x) }> }",
    HEAD + "g (float[N] x) => (float[N] y) { t = my.F <k = 2> (x)  y = Add(t, x) }\n"
    '<domain: "my", opset_import: ["": 21]> F <k> (p) => (q) { s = Constant <value_int: int = @k> ()  f = CastLike(s, p)  q = Mul(p, f) }',
    HEAD + "g (float[2,3,4] x) => (float y) { s = Shape(x)  f = Cast <to = 1> (s)  r = ReduceSum(f)  y = Mul(r, r) }",
]
models = [onnxtxt.parse(text) for text in TEXTS]
#: Views that may be stale.
views = []
WORDS = ["x", "y", "w", "h", "a", "t", "Relu", "Neg", "my.F", "F", "my", "", " ", "\0", "\ud800", "ä", "a\nb", "x" * 5000, "float[N]",
         "float[", "1", "axis", "k", "value", "then_branch", "(", "{}", "g/*", "/(/", "/.*/", "$1"]


def word():
    return rng.choice(WORDS)


def thing(depth=0):
    what = rng.randrange(16)
    if what < 3: return word()
    if what < 5: return rng.choice([0, 1, -1, 2**63, -2**70, 1.5, float("nan"), True, None])
    if what == 5: return np.zeros(rng.choice([(), (0,), (2,), (4, 2)]), rng.choice(["f4", "i8", "O", "U3", "c16", "M8[s]"]))
    if what == 6: return b"bytes"
    if what == 7 and depth < 3: return [thing(depth + 1) for _ in range(rng.randrange(4))]
    if what == 8 and depth < 3: return {word(): thing(depth + 1) for _ in range(rng.randrange(3))}
    if what == 9: return object()
    if what == 10: return iter([1, "x"])
    if what == 11: return onnxtxt.Parameter("k", "int")
    if what == 12: return rng.choice(models)
    if views and what > 12: return rng.choice(views)
    return slice(rng.choice([None, -5, 2**40]), rng.choice([None, 3, -2**70]), rng.choice([None, -1, 2, 0]))


def keep(view):
    views.append(view)
    if len(views) > 200: del views[: 100]
    return view


def view(model):
    """A part of a model, or one from an earlier turn."""
    what = rng.randrange(9)
    graph = model.graph
    if what == 0: return keep(graph)
    if what < 4: return keep(rng.choice(graph.all_nodes()))
    if what < 6: return keep(rng.choice(graph.values))
    if what == 6: return keep(rng.choice(model.functions)) if model.functions else keep(graph.nodes)
    if what == 7: return rng.choice([graph.nodes, graph.initializers])
    return rng.choice(views) if views else keep(graph)


def called(target):
    """A method or property of an object, by its name, with arguments that may fit."""
    names = [name for name in dir(type(target)) if not name.startswith("_") and name not in ("reduce", "compile", "save", "draw", "export_weights", "import_weights")]
    name = rng.choice(names)
    member = getattr(target, name)
    if callable(member):
        return member(*(thing() for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))), **({word(): thing()} if rng.random() < 0.1 else {}))
    if rng.random() < 0.5:
        setattr(target, name, thing())
    return member


def edited(model):
    """An edit that fits most of the time."""
    nodes = model.graph.all_nodes()
    node = rng.choice(nodes)
    what = rng.randrange(12)
    if what == 0: keep(node.insert_after(rng.choice(["Relu", "Neg", "Identity"]), [rng.choice(node.outputs)]))
    elif what == 1: keep(node.insert_before("Abs", [rng.choice(model.graph.values)]))
    elif what == 2: node.set_input(rng.randrange(3), rng.choice([*model.graph.values, None, "x", np.ones(2, "f4")]))
    elif what == 3: rng.choice(model.graph.values).replace_all_uses_with(rng.choice(model.graph.values))
    elif what == 4: rng.choice(model.graph.values).name = f"n{rng.randrange(9)}"
    elif what == 5 and len(nodes) > 3: keep(node).remove()
    elif what == 6 and len(nodes) < 30: keep(model.graph.append("Add", [rng.choice(model.graph.values), 1.0]))
    elif what == 7: node.comment, node.doc_string = word(), word()
    elif what == 8: node.attributes[rng.choice(["axis", "to", "alpha", "my"])] = rng.choice([1, 0.5, "s", [1, 2], np.ones(2)])
    elif what == 9: model.graph.initializers[f"i{rng.randrange(4)}"] = np.ones(rng.randrange(4), rng.choice(["f4", "i8"]))
    elif what == 10: model.metadata = {"key": word()}
    else: rng.choice(model.graph.values).type = rng.choice(["float[N]", "float[2,2]", "int64", "seq(float)"])


def commanded(model):
    what = rng.randrange(9)
    if what == 0: model.simplify()
    elif what == 1: model.inline()
    elif what == 2: model.run_passes("dead-code")
    elif what == 3: model.convert_opset(rng.choice([20, 21, 22]))
    elif what == 4: model.infer()
    elif what == 5: model.extract(to=rng.choice(model.graph.values))
    elif what == 6: model.outline(rng.choice(model.graph.nodes), f"f{rng.randrange(5)}")
    elif what == 7: model.rename({"x": "x2", "/h(.*)/": "k$1"})
    else: model.strip()


def used(model):
    """What is left is whole: it has a text and an encoding, and both are read back."""
    text, content = str(model), model.to_bytes()
    assert onnxtxt.decode(content) is not None and isinstance(text, str)
    what = rng.randrange(5)
    if what == 0: str(model.check("strict"))
    elif what == 1:
        # Alone: other threads edit it between both.
        again = pickle.loads(pickle.dumps(model))
        assert threading.active_count() > 1 or again == model, (text, str(again))
    elif what == 2: copy.deepcopy(model).fix()
    elif what == 3: model.stats(N=2), model.diff(rng.choice(models))
    else: repr(model), model._repr_html_()


def turn():
    at = rng.randrange(len(models))
    model = models[at]
    what = rng.randrange(10)
    if what < 3: called(view(model))
    elif what < 6: edited(model)
    elif what < 7: commanded(model)
    elif what < 8: used(model)
    elif what < 9: called(model)
    elif rng.random() < 0.5: models[at] = onnxtxt.parse(TEXTS[at])
    else: models[at] = onnxtxt.decode(onnxtxt.parse(TEXTS[at]).to_bytes())
'''


@pytest.mark.parametrize("seed", range(3))
def test_no_edit_ends_the_interpreter(seed):
    ensure_survives(SCRIPT, seed, 1600)
