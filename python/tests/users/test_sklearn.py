"""Models of scikit-learn, exported by skl2onnx and run as its users do."""

import pytest

pytest.importorskip("skl2onnx", reason="the environment of xtask/requirements/sklearn.txt is needed")

from programs import ensure_alike  # noqa: E402

CLASSIFIER = """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.ensemble import RandomForestClassifier
from skl2onnx import to_onnx
import onnxruntime as rt

x, y = load_iris(return_X_y=True)
x = x.astype(np.float32)
x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(x_train, y_train)
onx = to_onnx(forest, x[:1])

sess = rt.InferenceSession(onx.SerializeToString(), providers=["CPUExecutionProvider"])
input_name = sess.get_inputs()[0].name
label_name = sess.get_outputs()[0].name
pred_onx = sess.run([label_name], {input_name: x_test})[0]
assert (pred_onx == forest.predict(x_test)).mean() > 0.99
results = [input_name, label_name, sess.get_inputs()[0].type, pred_onx, sess.run(None, {input_name: x_test})]
"""

PIPELINE = """
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
import onnxruntime as rt

random = np.random.default_rng(0)
age, city = random.normal(40, 10, (200, 1)).astype(np.float32), random.choice(["Ulm", "Rom", "Oslo"], (200, 1)).astype(object)
target = (age[:, 0] + 5 * (city[:, 0] == "Rom") > 42).astype(int)
import pandas as pd
frame = pd.DataFrame({"age": age[:, 0], "city": city[:, 0]})
columns = ColumnTransformer([("age", StandardScaler(), ["age"]), ("city", OneHotEncoder(), ["city"])])
model = Pipeline([("columns", columns), ("classifier", LogisticRegression())]).fit(frame, target)
types = [("age", FloatTensorType([None, 1])), ("city", StringTensorType([None, 1]))]
onx = convert_sklearn(model, initial_types=types, options={id(model): {"zipmap": False}})

sess = rt.InferenceSession(onx.SerializeToString())
feeds = {"age": age, "city": city}
labels, probabilities = sess.run(["label", "probabilities"], feeds)
assert np.allclose(probabilities, model.predict_proba(frame), atol=1e-5)
results = [[i.name for i in sess.get_inputs()], labels, probabilities]
"""

MAPS = """
import numpy as np
from sklearn.datasets import make_regression, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC, SVR
from skl2onnx import to_onnx
import onnxruntime as rt

x, y = make_regression(80, 4, random_state=0)
x = x.astype(np.float32)
results = []
for regressor in [GradientBoostingRegressor(random_state=0), KNeighborsRegressor(), SVR()]:
    onx = to_onnx(regressor.fit(x, y), x[:1])
    sess = rt.InferenceSession(onx.SerializeToString(), providers=rt.get_available_providers()[-1:])
    results.append(sess.run(None, {"X": x}))
flowers, kinds = load_iris(return_X_y=True)
flowers = flowers.astype(np.float32)
for classifier in [LogisticRegression(max_iter=500), SVC(probability=True, random_state=0)]:
    onx = to_onnx(classifier.fit(flowers, kinds), flowers[:1])
    sess = rt.InferenceSession(onx.SerializeToString())
    # Probabilities are a list of dictionaries.
    labels, probabilities = sess.run(None, {"X": flowers[::10]})
    results += [labels, [{k: round(float(v), 3) for k, v in row.items()} for row in probabilities]]
"""


@pytest.mark.parametrize("program", [CLASSIFIER, PIPELINE, MAPS], ids=["classifier", "pipeline", "maps"])
@pytest.mark.filterwarnings("ignore")
def test_programs_run_with_one_line_changed(program):
    ensure_alike(program)
