"""Classical machine learning: encoders, scalers, linear models and support vectors."""

import numpy as np
from onnx import numpy_helper

ML = "ai.onnx.ml"
KINDS = ["float32", "float64", "int64", "int32"]
# PROBIT is for probabilities.
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def ml(d, least=1, most=5):
    d.since(7)
    d.domains[ML] = d.int(least, most)
    return d.domains[ML]


def quarters(d, count, low=-3, high=3):
    return [d.int(4 * low, 4 * high) / 4 for _ in range(count)]


def labels(d):
    version = ml(d)
    if version == 1:
        classes = ["a", "b", "c"]
        if d.chance():
            x = d.input(np.array([d.one([*classes, "z"]) for _ in range(4)], object), "string")
        else:
            x = d.input(d.array("int64", [4], 0, 4))
        d.node("LabelEncoder", [x], domain=ML, classes_strings=classes, default_int64=d.maybe(-7), default_string=d.maybe("none"))
        return
    pool = {"int64": [1, 2, 3, 4], "float32": [1.0, 2.5, -3.0, float("nan")], "string": ["a", "b", "", "d"]}
    names = {"int64": "int64", "float32": "float", "string": "string"}
    a, b = d.one(pool), d.one(pool)
    x = np.array([d.one([*pool[a], {"int64": 9, "float32": 9.0, "string": "z"}[a]]) for _ in range(6)], object)
    x = x if a == "string" else x.astype(a)
    # NaN is a key as others are; below version 4, ONNX Runtime does not find it.
    count = d.int(1, 4 if version >= 4 else 3)
    default = {"int64": 5, "float32": 0.5, "string": "other"}[b]
    if version >= 4 and d.chance():
        kinds = {"int64": ["int64", "int32", "int16"], "float32": ["float32", "float64"], "string": ["string"]}
        a2, b2 = d.one(kinds[a]), d.one(kinds[b])
        if (a2, b2) in (("int16", "int16"), ("float64", "float64")) or d.chance():
            a2, b2 = a, b
        # Of other types there is the reference alone, which does not find NaN either.
        count = count if (a2, b2) == (a, b) else min(count, 3)
        array = lambda values, kind: numpy_helper.from_array(np.array(values, object if kind == "string" else kind), "t")
        d.node(
            "LabelEncoder",
            [d.input(x if a == "string" else x.astype(a2), a2)],
            domain=ML,
            keys_tensor=array(pool[a][:count], a2),
            values_tensor=array(pool[b][:count], b2),
            default_tensor=array([default], b2),
        )
        return
    given = {f"keys_{names[a]}s": pool[a][:count], f"values_{names[b]}s": pool[b][:count]}
    given[f"default_{names[b]}"] = d.maybe(default)
    d.node("LabelEncoder", [d.input(x, a)], domain=ML, **given)


def one_hot(d):
    ml(d)
    zeros = d.maybe(1)
    dims = d.dims(1, 2, (1, 2, 3))
    if d.chance():
        x = np.array([d.one("abc" if not zeros else "abcz") for _ in range(int(np.prod(dims)))], object).reshape(dims)
        d.node("OneHotEncoder", [d.input(x, "string")], domain=ML, cats_strings=["a", "b", "c"], zeros=zeros)
    else:
        kind = d.one(KINDS)
        x = d.array(kind, dims, 0, 2 if not zeros else 4)
        x = np.trunc(x).astype(kind)
        d.node("OneHotEncoder", [d.input(x)], domain=ML, cats_int64s=[0, 1, 2], zeros=zeros)


def scaler(d):
    ml(d)
    kind, dims = d.one(KINDS), d.dims(1, 2, (1, 2, 3))
    n = d.one([1, dims[-1]])
    x = d.input(d.array(kind, dims))
    d.node("Scaler", [x], domain=ML, offset=quarters(d, n), scale=quarters(d, n))


def imputer(d):
    ml(d)
    kind, dims = d.one(KINDS), d.dims(1, 2, (1, 2, 3))
    n = d.one([1, dims[-1]])
    x = d.array(kind, dims, -1, 1, special=True)
    x = d.input(x)
    if kind.startswith("float"):
        given = {"imputed_value_floats": quarters(d, n), "replaced_value_float": d.one([0.0, 1.0, float("nan")])}
    else:
        given = {"imputed_value_int64s": [d.int(-9, 9) for _ in range(n)], "replaced_value_int64": d.maybe(d.int(-1, 1))}
    d.node("Imputer", [x], domain=ML, **given)


def normalizer(d):
    ml(d)
    x = d.input(d.array(d.one(KINDS), d.dims(1, 2, (1, 2, 3))))
    d.node("Normalizer", [x], domain=ML, norm=d.maybe(d.one(["MAX", "L1", "L2"])))


def binarizer(d):
    ml(d)
    x = d.input(d.array(d.one(KINDS), d.dims(1, 3)))
    d.node("Binarizer", [x], domain=ML, threshold=d.maybe(d.int(-4, 4) / 4))


def features(d):
    ml(d)
    n = d.int(1, 3)
    parts = [d.int(1, 3) for _ in range(n)]
    kind = d.one(KINDS)
    xs = [d.input(d.array(kind, [n_rows, p])) for n_rows in [d.int(1, 2)] for p in parts]
    d.node("FeatureVectorizer", xs, domain=ML, inputdimensions=parts)


def mapper(d):
    ml(d)
    given = {"cats_int64s": [1, 2, 3], "cats_strings": ["a", "b", "c"]}
    given |= {"default_int64": d.maybe(-5), "default_string": d.maybe("none")}
    if d.chance():
        x = d.input(d.array("int64", [5], 0, 4))
    else:
        x = d.input(np.array([d.one("abcz") for _ in range(5)], object), "string")
    d.node("CategoryMapper", [x], domain=ML, **given)


def linear_regressor(d):
    ml(d)
    n, targets = d.int(1, 4), d.int(1, 3)
    x = d.input(d.array("float32", [d.int(1, 3), n]))
    d.node(
        "LinearRegressor",
        [x],
        domain=ML,
        coefficients=quarters(d, n * targets),
        intercepts=d.maybe(quarters(d, targets)),
        targets=targets if targets > 1 else d.maybe(1),
        post_transform=d.maybe(d.one(TRANSFORMS)),
    )


def quantiles(d):
    """A linear regressor whose scores are probabilities, as PROBIT needs them."""
    ml(d)
    n, targets = d.int(1, 3), d.int(1, 3)
    x = d.input(d.array("float32", [d.int(1, 3), n], 0, 1))
    d.node(
        "LinearRegressor",
        [x],
        domain=ML,
        coefficients=[d.int(1, 5) / 16 for _ in range(n * targets)],
        intercepts=d.maybe([d.int(0, 1) / 16 for _ in range(targets)]),
        targets=targets,
        post_transform="PROBIT",
    )


def class_names(d, count):
    if d.chance():
        return {"classlabels_ints": d.random.sample(range(10), count)}
    return {"classlabels_strings": d.random.sample(["a", "b", "c", "d", "e"], count)}


def linear_classifier(d):
    ml(d)
    n, classes = d.int(1, 4), d.int(2, 4)
    # One row of coefficients is enough for two classes.
    rows = 1 if classes == 2 and d.chance() else classes
    x = d.input(d.array(d.one(KINDS), [d.int(1, 3), n]))
    d.node(
        "LinearClassifier",
        [x],
        2,
        domain=ML,
        coefficients=quarters(d, n * rows),
        intercepts=quarters(d, rows),
        multi_class=d.maybe(d.int(0, 1)),
        post_transform=d.maybe(d.one(TRANSFORMS)),
        **class_names(d, classes),
    )


def kernel(d):
    return {
        "kernel_type": d.one(["LINEAR", "POLY", "RBF", "SIGMOID"]),
        "kernel_params": [d.int(1, 4) / 8, d.int(-2, 2) / 4, float(d.int(1, 3))],
    }


def svm_regressor(d):
    ml(d)
    n, supports = d.int(1, 4), d.int(1, 4)
    linear = d.chance(4)
    given = kernel(d)
    if linear:
        given.update(kernel_type="LINEAR", coefficients=quarters(d, n), n_supports=0)
    else:
        given.update(coefficients=quarters(d, supports), n_supports=supports, support_vectors=quarters(d, n * supports, -2, 2))
    x = d.input(d.array("float32", [d.int(1, 3), n], -2, 2))
    given |= {"one_class": d.maybe(d.int(0, 1)), "post_transform": d.maybe(d.one(TRANSFORMS))}
    d.node("SVMRegressor", [x], domain=ML, rho=quarters(d, 1), **given)


def svm_classifier(d):
    ml(d)
    # Which of two classes it is without probabilities, ONNX Runtime has rules of its own for.
    proba = d.chance()
    n, classes = d.int(1, 4), d.int(2 if proba else 3, 4)
    pairs = classes * (classes - 1) // 2
    given = kernel(d)
    if not proba and d.chance():
        given.update(kernel_type="LINEAR", coefficients=quarters(d, n * classes), rho=quarters(d, 1))
    else:
        per = [d.int(1, 3) for _ in range(classes)]
        given.update(
            vectors_per_class=per,
            support_vectors=quarters(d, n * sum(per), -2, 2),
            coefficients=quarters(d, sum(per) * (classes - 1)),
            rho=quarters(d, pairs),
        )
    if proba:
        given.update(prob_a=[-v - 0.25 for v in quarters(d, pairs, 0, 2)], prob_b=quarters(d, pairs, -1, 1))
    x = d.input(d.array(d.one(KINDS), [d.int(1, 3), n], -2, 2))
    given["post_transform"] = d.maybe(d.one(TRANSFORMS))
    d.node("SVMClassifier", [x], 2, domain=ML, **given, **class_names(d, classes))


def zip_map(d):
    ml(d)
    n = d.int(1, 4)
    x = d.input(d.array("float32", d.one([[n], [d.int(1, 3), n]])))
    given = {"classlabels_int64s": d.random.sample(range(9), n)} if d.chance() else {"classlabels_strings": list("abcd")[:n]}
    d.node("ZipMap", [x], domain=ML, **given)


DRAWS = [
    ("labels", labels),
    ("labels_more", labels),
    ("one_hot_encoder", one_hot),
    ("scaler", scaler),
    ("imputer", imputer),
    ("normalizer", normalizer),
    ("binarizer", binarizer),
    ("features", features),
    ("mapper", mapper),
    ("linear_regressor", linear_regressor),
    ("quantiles", quantiles),
    ("linear_classifier", linear_classifier),
    ("svm_regressor", svm_regressor),
    ("svm_classifier", svm_classifier),
    ("zip_map", zip_map),
]
