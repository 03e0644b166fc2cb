"""Models whose time is not that of products: ensembles of trees, linear models, control flow, many tiny nodes."""

from __future__ import annotations

import numpy
from onnx import TensorProto, helper

from .graph import Graph

FEATURES = 30


def trees(g, count, depth, targets):
    """Random full trees as attributes; each leaf has a weight for one target."""
    inner, all_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    names = "nodes_treeids nodes_nodeids nodes_featureids nodes_values nodes_modes nodes_truenodeids nodes_falsenodeids".split()
    table = {name: [] for name in names}
    leaves = {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for tree in range(count):
        for node in range(all_nodes):
            is_leaf = node >= inner
            feature = 0 if is_leaf else int(g.rng.integers(FEATURES))
            value = 0.0 if is_leaf else float(numpy.float32(g.rng.normal()))
            row = [tree, node, feature, value, "LEAF" if is_leaf else "BRANCH_LEQ"]
            row += [0, 0] if is_leaf else [2 * node + 1, 2 * node + 2]
            for name, cell in zip(names, row):
                table[name].append(cell)
            if is_leaf:
                weight = float(numpy.float32(g.rng.normal() / count))
                for key, cell in zip(leaves, (tree, node, int(g.rng.integers(targets)), weight)):
                    leaves[key].append(cell)
    return table, leaves


def tree_regressor(g):
    """100 trees of depth 7, 128 rows."""
    table, leaves = trees(g, 100, 7, 1)
    g.domains["ai.onnx.ml"] = 3
    leaves = {f"target_{key}": cells for key, cells in leaves.items()}
    x = g.floats(128, FEATURES)
    y = g.op("TreeEnsembleRegressor", x, domain="ai.onnx.ml", n_targets=1, **table, **leaves)
    g.output(y)


def tree_classifier(g):
    """60 trees of depth 6, 3 classes, one row."""
    table, leaves = trees(g, 60, 6, 3)
    g.domains["ai.onnx.ml"] = 3
    leaves = {f"class_{key}": cells for key, cells in leaves.items()}
    more = {"classlabels_int64s": [0, 1, 2], "post_transform": "SOFTMAX"}
    x = g.floats(1, FEATURES)
    label, scores = g.op("TreeEnsembleClassifier", x, domain="ai.onnx.ml", outputs=2, **table, **leaves, **more)
    g.output(label, TensorProto.INT64)
    g.output(scores)


def linear_model(g):
    """A scaler and a linear classifier, 64 rows of 30 features."""
    g.domains["ai.onnx.ml"] = 3
    normal = lambda count: [float(n) for n in g.rng.standard_normal(count, dtype=numpy.float32)]
    x = g.floats(64, FEATURES)
    x = g.op("Scaler", x, domain="ai.onnx.ml", offset=normal(FEATURES), scale=[abs(n) for n in normal(FEATURES)])
    more = {"classlabels_ints": [0, 1, 2, 3], "post_transform": "SOFTMAX", "multi_class": 0}
    weights = {"coefficients": normal(4 * FEATURES), "intercepts": normal(4)}
    label, scores = g.op("LinearClassifier", x, domain="ai.onnx.ml", outputs=2, **weights, **more)
    g.output(label, TensorProto.INT64)
    g.output(scores)


def machine(g):
    """A support vector machine, 200 vectors, 16 rows."""
    g.domains["ai.onnx.ml"] = 3
    normal = lambda count: [float(n) for n in g.rng.standard_normal(count, dtype=numpy.float32)]
    more = {"kernel_type": "RBF", "kernel_params": [0.05, 0.0, 3.0], "n_supports": 200}
    weights = {"coefficients": normal(200), "support_vectors": normal(200 * FEATURES), "rho": normal(1)}
    y = g.op("SVMRegressor", g.floats(16, FEATURES), domain="ai.onnx.ml", **weights, **more)
    g.output(y, dims=(16, 1))


def branch(g):
    """Which of two layers is applied depends on the input, 8 times."""
    x = g.floats(1, 64)
    for _ in range(8):
        condition = g.op("Greater", g.op("ReduceSum", x, g.ints(0, 1), keepdims=0), g.scalar(0))
        graphs = []
        for act in ("Relu", "Tanh"):
            inner = Graph(seed=g.count)
            inner.count, before = g.count, len(g.weights)
            y = g.name("layer")
            w = g.normal(64, 64, scale=1 / 8)
            nodes = [helper.make_node("MatMul", [x, w], [y + "_p"]), helper.make_node(act, [y + "_p"], [y])]
            graphs.append(helper.make_graph(nodes, act, [], [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 64])]))
            assert len(g.weights) == before + 1
        x = g.op("If", condition, then_branch=graphs[0], else_branch=graphs[1])
    g.output(x)


def loop(g):
    """100 iterations of a cell over a state of 64 numbers."""
    w = g.normal(64, 64, scale=1 / 8)
    state = g.floats(1, 64)
    nodes = [
        helper.make_node("MatMul", ["s", w], ["p"]),
        helper.make_node("Tanh", ["p"], ["t"]),
        helper.make_node("Add", ["t", "s"], ["n"]),
        helper.make_node("Identity", ["c"], ["again"]),
    ]
    of = lambda name, kind, dims: helper.make_tensor_value_info(name, kind, dims)
    inputs = [of("i", TensorProto.INT64, []), of("c", TensorProto.BOOL, []), of("s", TensorProto.FLOAT, [1, 64])]
    outputs = [of("again", TensorProto.BOOL, []), of("n", TensorProto.FLOAT, [1, 64])]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    y = g.op("Loop", g.constant(numpy.int64(100)), g.constant(numpy.bool_(True)), state, body=body)
    g.output(y, dims=(1, 64))


def tiny(g):
    """400 nodes over 16 numbers."""
    x, w = g.floats(4, 4), g.normal(4, 4)
    for at in range(400):
        op = ("Sin", "Transpose", "Softmax", "MatMul")[at % 4]
        more = {"Transpose": {"perm": [1, 0]}, "Softmax": {"axis": -1}}.get(op, {})
        x = g.op(op, x, *([w] if op == "MatMul" else []), **more)
    g.output(x)


def perceptron(g):
    """Three small layers, one row."""
    x = g.floats(1, 32)
    for cin, cout in ((32, 64), (64, 64), (64, 8)):
        x = g.op("Relu", g.op("Gemm", x, g.normal(cout, cin), g.near(0, (cout,)), transB=1))
    g.output(x)


def made(build):
    g = Graph(seed=4)
    build(g)
    return g.model(build.__name__), g.feeds


MODELS = [tree_regressor, tree_classifier, linear_model, machine, branch, loop, tiny, perceptron]
