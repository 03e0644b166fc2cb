#!/usr/bin/env python3
"""Classical-ML pipelines (the ai.onnx.ml operators): fit on seeded synthetic data, converted with skl2onnx and onnxmltools.

    export_sklearn.py OUT

OUT/<name>/<name>.onnx and .npz (in_<name>, out_<name>; a sequence or map output is JSON text under
outjson_<name>; strings are unicode arrays) and .json (difference between the library and ONNX Runtime, opsets).
Progress as in progress.py; a model whose stamp is current is not built again.
"""

import sys, os, json, warnings

warnings.filterwarnings("ignore")
import numpy as np
from progress import Progress, is_done, key_of, mark_done, only_stderr

REG = {}


def reg(name, opset=None, **kw):
    def d(f):
        REG[name] = dict(fn=f, opset=opset or {"": 18, "ai.onnx.ml": 3}, **kw)
        return f

    return d


def cls(n=400, f=10, k=3, seed=0):
    from sklearn.datasets import make_classification

    X, y = make_classification(n, f, n_informative=6, n_classes=k, random_state=seed)
    return X.astype("f4"), y


def rgs(n=400, f=8, t=1, seed=0):
    from sklearn.datasets import make_regression

    X, y = make_regression(n, f, n_targets=t, noise=3.0, random_state=seed)
    return X.astype("f4"), (y / 50).astype("f4")


WORDS = "alpha beta gamma delta red blue green fast slow price offer free winner meeting report budget hello world the a of to and in model graph node Zebra Under NAIVE".split()


def texts(n=300, seed=0):
    r = np.random.RandomState(seed)
    T = [" ".join(r.choice(WORDS, r.randint(3, 12))) + ("!" if r.rand() < 0.3 else "") for _ in range(n)]
    y = np.array([int("free" in t or "winner" in t or "offer" in t) for t in T])
    return np.array(T), y


def mixed(n=300, seed=0):
    import pandas as pd

    r = np.random.RandomState(seed)
    d = pd.DataFrame(
        dict(
            age=r.randint(18, 80, n).astype("f4"),
            fare=np.where(r.rand(n) < 0.1, np.nan, r.gamma(2, 20, n)).astype("f4"),
            city=r.choice(["paris", "rome", "oslo", "lima"], n),
            kind=r.choice(["A", "B", "C"], n),
        )
    )
    d["city"] = d["city"].astype(object)
    d["kind"] = d["kind"].astype(object)
    y = ((d.age > 45) ^ (d.city.isin(["rome", "lima"])) | (d.kind == "C")).astype(int).values
    return d, y


def toskl(m, types, opset, **opt):
    from skl2onnx import convert_sklearn

    return convert_sklearn(m, initial_types=types, target_opset=opset, options={id(m): opt} if opt else None)


def F(n):
    from skl2onnx.common.data_types import FloatTensorType

    return [("X", FloatTensorType([None, n]))]


def S(name="text"):
    from skl2onnx.common.data_types import StringTensorType

    return [(name, StringTensorType([None, 1]))]


def mixt(d):
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    return [
        (c, FloatTensorType([None, 1]) if d[c].dtype.kind == "f" else StringTensorType([None, 1])) for c in d.columns
    ]


def mixfeed(d):
    return {
        c: (d[[c]].values.astype("f4") if d[c].dtype.kind == "f" else d[[c]].values.astype(object)) for c in d.columns
    }


@reg("logreg_scaler_zipmap", {"": 15, "ai.onnx.ml": 2})
def _(o):
    from sklearn.pipeline import make_pipeline as P
    from sklearn.preprocessing import StandardScaler
    from sklearn.linear_model import LogisticRegression

    X, y = cls()
    m = P(StandardScaler(), LogisticRegression()).fit(X, y)
    return toskl(m, F(10), o), {"X": X[:20]}, m.predict(X[:20])


@reg("random_forest_cls")
def _(o):
    from sklearn.ensemble import RandomForestClassifier as C

    X, y = cls(k=4)
    m = C(60, max_depth=9, random_state=0).fit(X, y)
    return toskl(m, F(10), o, zipmap=False), {"X": X[:33]}, m.predict_proba(X[:33])


@reg("gradient_boosting_reg", {"": 12, "ai.onnx.ml": 1})
def _(o):
    from sklearn.ensemble import GradientBoostingRegressor as C

    X, y = rgs()
    m = C(n_estimators=80, random_state=0).fit(X, y)
    return toskl(m, F(8), o), {"X": X[:33]}, m.predict(X[:33])


@reg("svc_rbf_proba")
def _(o):
    from sklearn.svm import SVC

    X, y = cls()
    m = SVC(probability=True, random_state=0).fit(X, y)
    return toskl(m, F(10), o, zipmap=False), {"X": X[:33]}, m.predict(X[:33])


@reg("knn_cls")
def _(o):
    from sklearn.neighbors import KNeighborsClassifier as C

    X, y = cls()
    m = C(5).fit(X, y)
    return toskl(m, F(10), o, zipmap=False), {"X": X[:33] + 0.01}, m.predict_proba(X[:33] + 0.01)


@reg("kmeans")
def _(o):
    from sklearn.cluster import KMeans as C

    X, _ = cls()
    m = C(7, n_init=2, random_state=0).fit(X)
    return toskl(m, F(10), o), {"X": X[:33]}, m.predict(X[:33])


@reg("titanic_like_onehot_gbc", {"": 17, "ai.onnx.ml": 3})
def _(o):
    from sklearn.compose import ColumnTransformer as CT
    from sklearn.pipeline import make_pipeline as P
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.impute import SimpleImputer
    from sklearn.ensemble import GradientBoostingClassifier as G

    d, y = mixed()
    m = P(
        CT(
            [
                ("n", P(SimpleImputer(), StandardScaler()), ["age", "fare"]),
                ("c", OneHotEncoder(handle_unknown="ignore"), ["city", "kind"]),
            ]
        ),
        G(n_estimators=30, random_state=0),
    ).fit(d, y)
    t = d[:25].copy()
    t.iloc[3, 2] = "mars"
    return toskl(m, mixt(d), o), mixfeed(t), m.predict(t)


@reg("tfidf_word_sgd", {"": 18, "ai.onnx.ml": 3})
def _(o):
    from sklearn.feature_extraction.text import TfidfVectorizer as T
    from sklearn.linear_model import LogisticRegression as L
    from sklearn.pipeline import make_pipeline as P

    X, y = texts()
    m = P(T(ngram_range=(1, 2), token_pattern="[a-zA-Z]+"), L()).fit(X, y)
    return toskl(m, S(), o, zipmap=False), {"text": X[:20].reshape(-1, 1).astype(object)}, m.predict_proba(X[:20])


@reg("lgbm_cls", {"": 15, "ai.onnx.ml": 3})
def _(o):
    from lightgbm import LGBMClassifier as C
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType as FT

    X, y = cls()
    m = C(n_estimators=40, verbose=-1, n_jobs=1, random_state=0).fit(X, y)
    return (
        convert_lightgbm(m, initial_types=[("X", FT([None, 10]))], target_opset=15, zipmap=False),
        {"X": X[:33]},
        m.predict_proba(X[:33]),
    )


@reg("gaussian_nb")
def _(o):
    from sklearn.naive_bayes import GaussianNB as C

    X, y = cls()
    m = C().fit(X, y)
    return toskl(m, F(10), o, zipmap="columns"), {"X": X[:33]}, m.predict(X[:33])


@reg("isolation_forest")
def _(o):
    from sklearn.ensemble import IsolationForest as C

    X, _ = cls()
    m = C(n_estimators=40, random_state=0).fit(X)
    return toskl(m, F(10), o), {"X": X[:33] * 2}, m.predict(X[:33] * 2)


@reg("ordinal_encoder_ridge")
def _(o):
    from sklearn.compose import ColumnTransformer as CT
    from sklearn.pipeline import make_pipeline as P
    from sklearn.preprocessing import OrdinalEncoder, RobustScaler
    from sklearn.linear_model import Ridge
    from sklearn.impute import SimpleImputer

    d, y = mixed(seed=3)
    m = P(
        CT(
            [
                ("n", P(SimpleImputer(strategy="median"), RobustScaler()), ["age", "fare"]),
                ("c", OrdinalEncoder(), ["city", "kind"]),
            ]
        ),
        Ridge(),
    ).fit(d, y)
    return toskl(m, mixt(d), o), mixfeed(d[:25]), m.predict(d[:25])


@reg("pca_mlp_cls")
def _(o):
    from sklearn.decomposition import PCA
    from sklearn.neural_network import MLPClassifier as C
    from sklearn.pipeline import make_pipeline as P

    X, y = cls()
    m = P(PCA(6), C((24, 12), max_iter=200, random_state=0)).fit(X, y)
    return toskl(m, F(10), o, zipmap=False), {"X": X[:33]}, m.predict_proba(X[:33])


@reg("voting_soft")
def _(o):
    from sklearn.ensemble import VotingClassifier as V, RandomForestClassifier as R
    from sklearn.linear_model import LogisticRegression as L
    from sklearn.naive_bayes import GaussianNB as N

    X, y = cls()
    m = V(
        [("r", R(10, max_depth=5, random_state=0)), ("l", L()), ("n", N())], voting="soft", flatten_transform=False
    ).fit(X, y)
    return toskl(m, F(10), o, zipmap=False), {"X": X[:33]}, m.predict_proba(X[:33])


def jsonable(v):
    if isinstance(v, (list, tuple)):
        return [jsonable(x) for x in v]
    if isinstance(v, dict):
        return {str(k): jsonable(x) for k, x in v.items()}
    return v.item() if hasattr(v, "item") else v


def patch_make_attribute():
    """skl2onnx passes numpy integers and booleans that onnx >= 1.19 refuses."""
    import onnx
    import onnxmltools, skl2onnx  # noqa: F401  (their modules are what is patched)

    original = onnx.helper.make_attribute
    one = lambda x: int(x) if isinstance(x, (bool, np.bool_)) else x.item() if isinstance(x, np.generic) else x
    fix = lambda v: (
        [one(x) for x in v]
        if isinstance(v, (list, tuple)) or (isinstance(v, np.ndarray) and v.dtype.kind == "b")
        else v
    )

    def make_attribute(k, v, *a, **kw):
        return original(k, fix(v), *a, **kw)

    for module in list(sys.modules.values()):
        if getattr(module, "make_attribute", None) is original:
            module.make_attribute = make_attribute


def difference(outputs, ref):
    """The smallest difference between the library's own answer and an output of its size."""
    ref = np.asarray(ref)
    best = None
    for v in outputs:
        if not isinstance(v, np.ndarray) or v.size != ref.size:
            continue
        if ref.dtype.kind in "fiu" and v.dtype.kind in "fiu":
            e = float(np.abs(v.reshape(-1).astype("f8") - ref.reshape(-1).astype("f8")).max())
        else:
            e = 0.0 if (np.asarray(v.tolist(), dtype=str).reshape(-1) == ref.astype(str).reshape(-1)).all() else 1.0
        best = e if best is None else min(best, e)
    return best


def export(name, r, out):
    import onnx, onnxruntime as ort

    mdl, feed, ref = r["fn"](r["opset"])
    mdl.graph.name = name
    for n in mdl.graph.node:  # the host may lack en_US.UTF-8
        if n.op_type == "StringNormalizer":
            keep = [a for a in n.attribute if a.name != "locale"]
            del n.attribute[:]
            n.attribute.extend(keep + [onnx.helper.make_attribute("locale", "C")])
    p = os.path.join(out, name + ".onnx")
    onnx.save(mdl, p)
    so = ort.SessionOptions()
    so.intra_op_num_threads = 1
    so.log_severity_level = 3
    s = ort.InferenceSession(p, so, providers=["CPUExecutionProvider"])
    o = s.run(None, feed)
    text = lambda v: np.array(v.tolist(), dtype=str) if v.dtype == object else v
    d = {"in_" + k: text(v) for k, v in feed.items()}
    for x, v in zip(s.get_outputs(), o):
        if isinstance(v, np.ndarray):
            d["out_" + x.name] = text(v)
        else:
            d["outjson_" + x.name] = np.array(json.dumps(jsonable(v)))
    np.savez_compressed(os.path.join(out, name + ".npz"), **d)
    info = dict(
        name=name,
        library_vs_ort=difference(o, ref),
        opsets={x.domain: x.version for x in mdl.opset_import},
        outputs=[(x.name, x.type) for x in s.get_outputs()],
    )
    with open(os.path.join(out, name + ".json"), "w") as f:
        json.dump(info, f, indent=1)


def main(out):
    progress, key = Progress(len(REG)), key_of(__file__)
    todo = []
    for name in REG:
        if is_done(os.path.join(out, name), key):
            progress.report(name, "cached")
        else:
            todo.append(name)
    if todo:
        patch_make_attribute()
    for name in todo:
        d = os.path.join(out, name)
        os.makedirs(d, exist_ok=True)
        try:
            with only_stderr():
                export(name, REG[name], d)
            mark_done(d, key)
            progress.report(name, "ok")
        except Exception as e:
            progress.report(name, "failed", repr(e))


if __name__ == "__main__":
    main(sys.argv[1])
