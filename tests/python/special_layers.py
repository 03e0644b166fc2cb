"""Special values through normalizations, choices, regions of images and classifiers: more cases of `special.py`."""

import itertools
import math

import mpmath
from mpmath import mpf

from special import INF, NAN, STEPS, Format, case, is_nan, number, sigmoid, softmax, stable, tensor

EPSILON = mpf(2) ** -16


def over(x, y):
    """IEEE division; mpmath has one zero, which is positive here."""
    if y == 0:
        return NAN if x == 0 or is_nan(x) else mpmath.sign(x) * INF
    return x / y


def root(x):
    return NAN if is_nan(x) or x < 0 else mpmath.sqrt(x)


def means(values, cut):
    """The mean with each sum rounded, in all orders."""
    found = []
    for order in itertools.permutations(values):
        total = order[0]
        for x in order[1:]:
            total = cut(total + x)
        found.append(cut(total / len(values)))
    return list(dict.fromkeys(found))


def same(x):
    return x


def by_text(row, cut, epsilon):
    """(x - mean) / sqrt(mean((x - mean)^2) + epsilon), each step rounded."""
    for mean in means(row, cut):
        parts = [cut(x - mean) for x in row]
        for variance in means([cut(d * d) for d in parts], cut):
            size = cut(root(cut(variance + epsilon)))
            yield [cut(over(d, size)) for d in parts]
            inverse = cut(over(mpf(1), size))
            yield [cut(d * inverse) for d in parts]


def by_body(row, cut, epsilon, outside=False):
    """The same with mean(x^2) - mean(x)^2, as function bodies write it; `outside`: epsilon is added to the root."""
    for mean in means(row, cut):
        for square in means([cut(x * x) for x in row], cut):
            variance = cut(square - cut(mean * mean))
            size = cut(cut(root(variance)) + epsilon) if outside else cut(root(cut(variance + epsilon)))
            yield [cut(over(cut(x - mean), size)) for x in row]


def by_square(row, cut, epsilon):
    """x / sqrt(mean(x^2) + epsilon)"""
    for square in means([cut(x * x) for x in row], cut):
        size = cut(root(cut(square + epsilon)))
        yield [cut(over(x, size)) for x in row]
        inverse = cut(over(mpf(1), size))
        yield [cut(x * inverse) for x in row]


# Name, attributes, version, shape of a row, scale and bias, definitions, whether single floats are prescribed, epsilon.
NORMALIZATIONS = [
    ("LayerNormalization", "<epsilon = 0.0000152587890625>", 17, [3], "3", (by_text, by_body), True),
    ("GroupNormalization", "<num_groups = 1, epsilon = 0.0000152587890625>", 21, [1, 3], "1", (by_text, by_body), True),
    ("InstanceNormalization", "<epsilon = 0.0000152587890625>", 22, [1, 3], "1", (by_text, by_body), False),
    ("RMSNormalization", "<epsilon = 0.0000152587890625>", 23, [3], "3s", (by_square,), True),
    ("MeanVarianceNormalization", "<axes = [1]>", 13, [3], "", (), False),
]


def normalizations(format):
    values = [x for x in format.few() if x != format.normal]
    # The order of elements is that of results.
    rows = list(itertools.combinations_with_replacement(values, 3))
    flat = [x for row in rows for x in row]
    single = Format("float")
    for op, attributes, version, shape, parameters, definitions, is_single in NORMALIZATIONS:
        cuts = [format.wide().rounded]
        if is_single and format.name == "double":
            cuts.append(single.rounded)
        outside = mpf(1e-9)
        expected = []
        for row in rows:
            exact = [mpf(x) for x in row]
            alternatives = []
            for cut in [same, *cuts]:
                if cut is same and not all(map(mpmath.isfinite, exact)):
                    continue
                given = [cut(x) for x in exact]
                for definition in definitions:
                    alternatives.extend(definition(given, cut, EPSILON))
                if not definitions:
                    alternatives.extend(by_text(given, cut, outside**2))
                    alternatives.extend(by_text(given, format.rounded if cut is not same else cut, outside**2))
                    if cut is same and max(abs(x - y) for x in exact for y in exact) ** 2 / 9 > format.largest:
                        # The variance overflows.
                        alternatives.append([mpf(0)] * 3)
                    alternatives.extend(by_body(given, cut, outside, outside=True))
                    alternatives.extend(by_body(given, format.rounded if cut is not same else cut, outside, outside=True))
            for i in range(3):
                expected.append(list(dict.fromkeys(number(a[i]) for a in alternatives)))
        inputs = [tensor(format, [len(rows), *shape], flat)]
        names = ["x"]
        count = int(parameters[:1] or 0)
        for name, value in (("s", 1.0), ("b", 0.0)):
            if count and not (name == "b" and parameters.endswith("s")):
                inputs.append({**tensor(format, [count], [value] * count), "name": name})
                names.append(name)
        # Differences of squares have few bits.
        slack = [STEPS[format.name]] * len(expected)
        node = f"y = {op} {attributes} ({', '.join(names)})"
        yield case(op, node, version, inputs, format.name, expected, STEPS[format.name], slack=slack)
    # Parameters that are special themselves.
    values = format.values()
    for scale, bias, mean, variance in [
        (math.inf, 1.0, 0.5, 4.0),
        (2.0, math.inf, 0.5, 4.0),
        (2.0, 1.0, math.inf, 4.0),
        (2.0, 1.0, 0.5, math.inf),
        (2.0, 1.0, 0.5, 0.0),
        (0.0, 1.0, 0.5, 4.0),
        (math.nan, 1.0, 0.5, 4.0),
        (2.0, 1.0, 0.5, -4.0),
    ]:
        expected = []
        for x in values:
            centered = mpf(x) - mpf(mean)
            direct = over(centered, root(mpf(variance))) * mpf(scale) + mpf(bias)
            factor = over(mpf(scale), root(mpf(variance)))
            folded = mpf(x) * factor + (mpf(bias) - mpf(mean) * factor)
            # The text says the first; all runtimes compute the second, which differs where the scale or its quotient is infinite.
            # A product may overflow before it is divided.
            cut = format.wide().rounded
            scaled = over(cut(cut(centered) * mpf(scale)), root(mpf(variance))) + mpf(bias)
            expected.append(list(dict.fromkeys(number(y) for y in (direct, centered * factor + mpf(bias), folded, scaled))))
        inputs = [tensor(format, [len(values), 1], values)]
        for name, value in (("s", scale), ("b", bias), ("m", mean), ("v", variance)):
            inputs.append({**tensor(format, [1], [value]), "name": name})
        node = "y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v)"
        yield case("BatchNormalization", node, 15, inputs, format.name, expected, STEPS[format.name])


def choices(format):
    """Where and TopK: no arithmetic, so every bit stays."""
    values = format.values()
    pairs = list(itertools.product(values, values))
    xs, ys = zip(*pairs)
    conditions = [i % 3 == 0 for i in range(len(pairs))]
    inputs = [
        tensor(format, [len(pairs)], xs),
        tensor(format, [len(pairs)], ys),
        {"elem": "bool", "dims": [len(pairs)], "bits": [int(c) for c in conditions], "name": "c"},
    ]
    expected = [[repr(x if c else y)] for c, x, y in zip(conditions, xs, ys)]
    yield case("Where", "y = Where(c, x, z)", 16, inputs, format.name, expected, 0.0, signs=True, exact=True)
    rows = list(itertools.product(format.few(), repeat=3))
    flat = [x for row in rows for x in row]
    for largest in (0, 1):
        order = lambda row: sorted(range(3), key=lambda i: (-row[i] if largest else row[i], i))[:2]
        # Where NaN goes, nothing says.
        firsts = [[None, None] if any(map(math.isnan, row)) else order(row) for row in rows]
        inputs = [tensor(format, [len(rows), 3], flat), {"elem": "int64", "dims": [1], "bits": [2], "name": "k"}]
        expected = [[None if i is None else repr(row[i])] for row, first in zip(rows, firsts) for i in first]
        yield case("TopK", f"y, i = TopK <largest = {largest}> (x, k)", 11, inputs, format.name, expected, 0.0, exact=True)
        expected = [[None if i is None else repr(float(i))] for first in firsts for i in first]
        yield case("TopK", f"v, y = TopK <largest = {largest}> (x, k)", 11, inputs, "int64", expected, 0.0)


def regions(format):
    """RoiAlign with one sample in each bin: between two pixels, and on one."""
    rows = list(itertools.product(format.values(), repeat=2))
    flat = [x for row in rows for x in (*row, *row)]
    for at, mode in itertools.product((0.5, 0.0), ("avg", "max")):
        # The sample of a region of one pixel is at its corner and a half of it.
        corner = [at, 0.5, at + 1, 1.5]
        inputs = [
            tensor(format, [len(rows), 1, 2, 2], flat),
            {**tensor(format, [len(rows), 4], corner * len(rows)), "name": "r"},
            {"elem": "int64", "dims": [len(rows)], "bits": list(range(len(rows))), "name": "n"},
        ]
        expected = []
        for a, b in rows:
            parts = [mpf(a) / 4, mpf(a) / 4, mpf(b) / 4, mpf(b) / 4] if at == 0.5 else [mpf(a) / 2, mpf(a) / 2]
            # Runtimes take the greatest of the weighted neighbours (see conformance/differences.md).
            alternatives = [sum(parts)]
            if mode == "max" and not (math.isfinite(a) and math.isfinite(b)):
                expected.append([None])
                continue
            if mode == "max":
                alternatives += [max(parts), max(*parts, mpf(0))]
            if at == 0.0:
                # Neighbours without weight count or do not.
                alternatives.append(sum(parts) + 0 * mpf(b))
            expected.append(list(dict.fromkeys(number(y) for y in alternatives)))
        # Places are rounded, and so are weights.
        node = f'y = RoiAlign <mode = "{mode}", sampling_ratio = 1, output_height = 1, output_width = 1> (x, r, n)'
        yield case("RoiAlign", node, 22, inputs, format.name, expected, STEPS[format.name])


TRANSFORMS = {
    "NONE": lambda s: s,
    "LOGISTIC": lambda s: [sigmoid(y) for y in s],
    "SOFTMAX": softmax,
    # Zeros are left out.
    "SOFTMAX_ZERO": lambda s: [mpf(0) if y == 0 else mpmath.exp(y) / sum(mpmath.exp(z) for z in s if z != 0) for y in s],
}


def classifiers(format):
    """Classifiers of one feature and three classes, and trees that ask whether a feature is one of some numbers."""
    values = format.values()
    x = tensor(format, [len(values), 1], values)
    single = Format("float")
    # The weights of the classes right and left of a threshold.
    sides = [[0.5, 0.25, 0.125], [0.0, 0.75, 0.375]]
    thresholds = (-math.inf, -single.largest, single.smallest, 1.0, single.largest, math.inf)
    for threshold, (transform, function) in itertools.product(thresholds, TRANSFORMS.items()):
        text = {math.inf: "inf", -math.inf: "-inf"}.get(threshold) or repr(threshold)
        weights = [w for side in sides for w in side]
        head = (
            "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], "
            f'nodes_values = [{text}, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], '
            f"nodes_falsenodeids = [2, 0, 0], class_treeids = [0, 0, 0, 0, 0, 0], class_nodeids = [1, 1, 1, 2, 2, 2], "
            f"class_ids = [0, 1, 2, 0, 1, 2], class_weights = {weights}, classlabels_int64s = [10, 20, 30]"
        )
        chosen = [sides[0 if not math.isnan(v) and v <= threshold else 1] for v in values]
        scores = [[number(y)] for side in chosen for y in function([mpf(w) for w in side])]
        node = f'l, y = ai.onnx.ml.TreeEnsembleClassifier <post_transform = "{transform}", {head}> (x)'
        yield case("TreeEnsembleClassifier", node, 21, [x], "float", scores, STEPS["float"])
        labels = [[repr(10.0 * (1 + side.index(max(side))))] for side in chosen]
        node = f'y, s = ai.onnx.ml.TreeEnsembleClassifier <post_transform = "{transform}", {head}> (x)'
        yield case("TreeEnsembleClassifier", node, 21, [x], "int64", labels, 0.0)
    # A machine without support vectors is a linear function of each class.
    for transform, function in TRANSFORMS.items():
        node = (
            f'l, y = ai.onnx.ml.SVMClassifier <kernel_type = "LINEAR", post_transform = "{transform}", '
            "coefficients = [1.0, 0.5, -2.0], rho = [0.25], classlabels_ints = [0, 1, 2]> (x)"
        )
        expected = []
        for v in values:
            alternatives = []
            for at in (mpf(v), single.rounded(mpf(v))):
                scores = [at + mpf("0.25"), at / 2 + mpf("0.25"), -2 * at + mpf("0.25")]
                for s in (scores, [single.rounded(y) for y in scores]):
                    alternatives.append(function(s))
                    if transform.startswith("SOFTMAX"):
                        below = stable(softmax)(s)
                        zero = transform == "SOFTMAX_ZERO"
                        alternatives.append([mpf(0) if zero and y == 0 else p for y, p in zip(s, below)])
            for i in range(3):
                expected.append(list(dict.fromkeys(number(a[i]) for a in alternatives)))
        yield case("SVMClassifier", node, 21, [x], "float", expected, STEPS["float"])
    members = [0.0, format.smallest, 1.0, format.largest, math.inf]
    elem = format.name
    texts = ", ".join({math.inf: "inf"}.get(m) or repr(m) for m in members)
    for tracks in (None, 0, 1):
        missing = "" if tracks is None else f"nodes_missing_value_tracks_true = [{tracks}], "
        node = (
            f"y = ai.onnx.ml.TreeEnsemble <{missing}n_targets = 1, tree_roots = [0], nodes_featureids = [0], "
            f"nodes_splits = {elem}[1] {{0.0}}, nodes_modes = uint8[1] {{6}}, nodes_truenodeids = [0], nodes_trueleafs = [1], "
            "nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0, 0], "
            f"leaf_weights = {elem}[2] {{1.0, 2.0}}, membership_values = {elem}[{len(members)}] {{{texts}}}> (x)"
        )
        goes = [bool(tracks) if math.isnan(v) else v in members for v in values]
        yield case("TreeEnsemble", node, 21, [x], elem, [["1.0" if way else "2.0"] for way in goes], 0.0, ml=5)


def layers(format):
    yield from normalizations(format)
    yield from choices(format)
    yield from regions(format)
