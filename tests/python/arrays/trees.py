"""Ensembles of trees, in the forms of all versions."""

import numpy as np
from onnx import helper, numpy_helper

from .classical import ML, TRANSFORMS, ml, quarters

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def forest(d, features, version):
    """Nodes of some trees, and which of them are leaves."""
    one_mode = d.chance()
    mode = d.one(MODES)
    nodes, leaves = [], []
    for tree in range(d.int(1, 3)):
        open_nodes, number = [(0, 0)], 1
        while open_nodes:
            at, depth = open_nodes.pop()
            if depth < 3 and d.int(0, 3) > depth:
                left, right = number, number + 1
                number += 2
                kind = mode if one_mode else d.one(MODES)
                nodes.append((tree, at, kind, d.int(0, features - 1), d.int(-8, 8) / 4, left, right, d.int(0, 1)))
                open_nodes += [(left, depth + 1), (right, depth + 1)]
            else:
                nodes.append((tree, at, "LEAF", 0, 0.0, 0, 0, 0))
                leaves.append((tree, at))
    return nodes, leaves


def attributes_of(d, nodes, double):
    trees, ids, modes, features, values, left, right, missing = map(list, zip(*nodes))
    given = {
        "nodes_treeids": trees,
        "nodes_nodeids": ids,
        "nodes_modes": modes,
        "nodes_featureids": features,
        "nodes_truenodeids": left,
        "nodes_falsenodeids": right,
        "nodes_missing_value_tracks_true": d.maybe(missing),
    }
    if double:
        given["nodes_values_as_tensor"] = numpy_helper.from_array(np.array(values, "float64"), "v")
    else:
        given["nodes_values"] = values
    return given


def rows(d, kind, features, modes):
    """ONNX Runtime sends NaN to the true branch of BRANCH_NEQ, whatever the attribute says."""
    x = d.array(kind, [d.int(1, 4), features], -2, 2)
    if kind.startswith("float") and d.chance(3) and not {"BRANCH_NEQ", 5} & set(modes):
        x[0, d.int(0, features - 1)] = np.nan
    return d.input(x)


def targets(d, leaves, count, prefix, double, low=-8):
    """Each leaf says something of each target: without, ONNX Runtime has 0, and does not add the base."""
    chosen = [(tree, node, k, d.int(low, 8) / 4) for tree, node in leaves for k in range(count)]
    trees, ids, to, weights = map(list, zip(*chosen))
    given = {f"{prefix}_treeids": trees, f"{prefix}_nodeids": ids, f"{prefix}_ids": to}
    if double:
        given[f"{prefix}_weights_as_tensor"] = numpy_helper.from_array(np.array(weights, "float64"), "w")
    else:
        given[f"{prefix}_weights"] = weights
    return given


def base(d, count, double):
    if d.chance():
        return {}
    values = quarters(d, count)
    return {"base_values_as_tensor": numpy_helper.from_array(np.array(values, "float64"), "b")} if double else {"base_values": values}


def regressor(d):
    version = ml(d, 1, 3)
    kind = d.one(["float32", "float64"])
    double = version >= 3 and kind == "float64"
    features, count = d.int(1, 3), d.int(1, 3)
    nodes, leaves = forest(d, features, version)
    d.node(
        "TreeEnsembleRegressor",
        [rows(d, kind, features, [n[2] for n in nodes])],
        domain=ML,
        n_targets=count,
        aggregate_function=d.maybe(d.one(["SUM", "AVERAGE", "MIN", "MAX"])),
        post_transform=d.maybe(d.one(TRANSFORMS)),
        **attributes_of(d, nodes, double),
        **targets(d, leaves, count, "target", double),
        **base(d, count, double),
    )


def classifier(d):
    version = ml(d, 1, 3)
    kind = d.one(["float32", "float32", "float64", "int64", "int32"])
    double = version >= 3 and kind == "float64"
    features, count = d.int(1, 3), d.int(2, 4)
    nodes, leaves = forest(d, features, version)
    # Two classes have one weight; of two, ONNX Runtime looks at the second one alone.
    is_binary = count == 2
    given = targets(d, leaves, 1 if is_binary else count, "class", double, d.one([-8, 0]))
    # All weights may be for the second class; with base values ONNX Runtime forgets some of them.
    is_second = is_binary and d.chance()
    if is_second:
        given["class_ids"] = [1] * len(given["class_ids"])
    if d.chance():
        names = {"classlabels_int64s": d.random.sample(range(9), count)}
    else:
        names = {"classlabels_strings": d.random.sample(list("abcde"), count)}
    d.node(
        "TreeEnsembleClassifier",
        [rows(d, kind, features, [n[2] for n in nodes])],
        2,
        domain=ML,
        post_transform=d.maybe(d.one(TRANSFORMS)),
        **attributes_of(d, nodes, double),
        **given,
        **({} if is_second else base(d, 1 if is_binary else count, double)),
        **names,
    )


def ensemble(d):
    ml(d, 5, 5)
    kind = d.one(["float32", "float64"])
    features, count = d.int(1, 3), d.int(1, 3)
    # Each tree is for one target.
    trees = d.int(count, 4)
    modes = {"BRANCH_LEQ": 0, "BRANCH_LT": 1, "BRANCH_GTE": 2, "BRANCH_GT": 3, "BRANCH_EQ": 4, "BRANCH_NEQ": 5, "BRANCH_MEMBER": 6}
    chosen = d.one([list(modes)[:1], list(modes)[:6], list(modes)])
    nodes, leaves, roots, members = [], [], [], []

    def grow(depth):
        at = len(nodes)
        nodes.append(None)
        mode = modes[d.one(chosen)]
        split = d.int(-8, 8) / 4
        if mode == 6:
            members.extend([*(float(v) for v in d.random.sample(range(-2, 3), d.int(1, 3))), float("nan")])
            split = 0.0
        feature = d.int(0, features - 1)
        missing = d.int(0, 1)
        branch = []
        for _ in range(2):
            if depth < 2 and d.chance():
                branch.append((0, grow(depth + 1)))
            else:
                leaves.append((len(roots) % count, d.int(-8, 8) / 4))
                branch.append((1, len(leaves) - 1))
        nodes[at] = (mode, feature, split, *branch[0], *branch[1], missing)
        return at

    for _ in range(trees):
        roots.append(grow(0))
    if any(n[0] == 6 for n in nodes):
        # The sets are in the order of the nodes.
        members.clear()
        for n in nodes:
            if n[0] == 6:
                members.extend([*(float(v) for v in d.random.sample(range(-2, 3), d.int(1, 3))), float("nan")])
    mode, feature, split, true_leaf, true, false_leaf, false, missing = map(list, zip(*nodes))
    x = rows(d, kind, features, mode) if 6 not in mode else d.input(d.array("int32", [d.int(1, 4), features], -2, 2).astype(kind))
    tensor = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype), "t")
    weights = [w for _, w in leaves]
    # ONNX Runtime takes softmax and logistic for one another, and divides by 0 where all scores are 0.
    transform = d.maybe(d.one([0, 3]))
    if transform == 3:
        weights = [abs(w) + 0.25 for w in weights]
    d.node(
        "TreeEnsemble",
        # Whether numbers that are not whole are members, ONNX Runtime has its own ideas of.
        [x],
        domain=ML,
        n_targets=count,
        tree_roots=roots,
        nodes_modes=tensor(mode, "uint8"),
        nodes_featureids=feature,
        nodes_splits=tensor(split, kind),
        nodes_truenodeids=true,
        nodes_trueleafs=true_leaf,
        nodes_falsenodeids=false,
        nodes_falseleafs=false_leaf,
        nodes_missing_value_tracks_true=d.maybe(missing),
        leaf_targetids=[t for t, _ in leaves],
        leaf_weights=tensor(weights, kind),
        membership_values=tensor(members, kind) if members else None,
        aggregate_function=d.maybe(d.int(0, 3)),
        post_transform=transform,
    )


DRAWS = [("regressor", regressor), ("classifier", classifier), ("ensemble", ensemble)]
