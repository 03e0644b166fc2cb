"""Data sets of Ray: results of one process, workers that die, bad rows, a deployment of Ray Serve."""

import http.client
import pathlib
import re
import subprocess
import sys

import models
import numpy as np
import pyarrow as pa
import pytest
from processes import Watch, wait_until_gone

import onnxtxt
import onnxtxt.ray

ROOT = pathlib.Path(__file__).resolve().parents[2]


def collected(ray, ds):
    # Parts without rows have columns of no type.
    parts = ray.get(ds.to_arrow_refs())
    return pa.concat_tables([part for part in parts if len(part)] or parts[:1]).unify_dictionaries()


def dataset(ray, table, blocks=16):
    return ray.data.from_arrow([table.slice(start, -(-len(table) // blocks)) for start in range(0, len(table), -(-len(table) // blocks))])


def predicted(ray, table, model, blocks=16, **options):
    return collected(ray, onnxtxt.ray.predict(dataset(ray, table, blocks), model, workers=2, **options))


def test_a_million_rows_of_a_forest(ray):
    table = models.rows(1_000_000)
    found = predicted(ray, table, models.forest(), **models.FOREST)
    models.assert_same_bits(found, models.in_one_process(models.forest(), table, models.FOREST))


def test_images(ray):
    table = models.images(4000)
    expected = models.in_one_process(models.network(), table, models.IMAGES)
    models.assert_same_bits(predicted(ray, table, models.network(), **models.IMAGES), expected)
    # As tensors of Ray, in the other layout of batches, and a thread for each processor of a worker.
    x = np.stack(table["x"].to_numpy()).reshape(-1, 3, 32, 32)
    from ray.data.extensions import ArrowTensorArray

    # No map before it: the actor has all processors.
    ds = ray.data.from_arrow([pa.table({"x": ArrowTensorArray.from_numpy(part)}) for part in (x[:1500], x[1500:])])
    found = collected(ray, onnxtxt.ray.predict(ds, models.network(), num_cpus=2, keep=False, ray_options={"batch_size": 256}))
    scores = np.stack(found["scores"].to_numpy())
    assert sorted(map(tuple, scores.tolist())) == sorted(map(tuple, np.stack(expected["scores"].to_numpy()).tolist()))


def test_texts(ray):
    table = models.texts(100_000)
    model = onnxtxt.parse(models.TEXT)
    expected = models.in_one_process(models.TEXT, table, models.TEXTS)
    assert set(expected["tone"].to_pylist()) == {"blame", "neither", "praise"}
    models.assert_same_bits(predicted(ray, table, model, **models.TEXTS), expected)
    encoded = table.set_column(1, "text", table["text"].dictionary_encode())
    models.assert_same_bits(predicted(ray, encoded, model, **models.TEXTS), expected)


def test_a_killed_worker_loses_nothing(ray):
    table = models.rows(1_000_000)
    ds = onnxtxt.ray.predict(dataset(ray, table, 64), models.forest(), workers=2, **models.FOREST)
    with Watch("_Worker", kills=True) as watch:
        found = collected(ray, ds)
    assert watch.killed is not None, "no worker was killed: the data set is too small"
    wait_until_gone(watch.killed)
    models.assert_same_bits(found, models.in_one_process(models.forest(), table, models.FOREST))


def test_bad_rows(ray):
    table = pa.table({"id": np.arange(1000), "x": np.arange(1000) % 5 % 4})
    bad = table.set_column(1, "x", pa.array([99 if i == 777 else None if i == 778 else i % 4 for i in range(1000)], pa.int64()))
    with pytest.raises(Exception, match=r"row \d+ \(id 77[78]\): "):
        predicted(ray, bad, onnxtxt.parse(models.LOOKUP), key="id")
    found = predicted(ray, bad, onnxtxt.parse(models.LOOKUP), errors="column").sort_by("id").to_pylist()
    assert [row["id"] for row in found] == list(range(1000))
    reasons = {row["id"]: row["error"] for row in found if row["error"] is not None}
    assert list(reasons) == [777, 778] and "99" in reasons[777] and reasons[778] == "column `x` is null"
    assert all(row["y"] == 10 + row["x"] for row in found if row["id"] not in reasons)


def test_empty_parts_and_filters(ray):
    table = pa.table({"id": np.arange(100), "x": np.arange(100) % 4})
    ds = dataset(ray, table).filter(lambda row: row["id"] < 3)
    found = collected(ray, onnxtxt.ray.predict(ds, onnxtxt.parse(models.LOOKUP), workers=1))
    assert found.sort_by("id")["y"].to_pylist() == [10, 11, 12]


def test_what_workers_would_refuse_is_refused_by_the_driver(ray):
    ds = dataset(ray, pa.table({"x": [1]}), 1)
    with pytest.raises(ValueError, match="no output `z`"):
        onnxtxt.ray.predict(ds, onnxtxt.parse(models.LOOKUP), outputs=["z"])
    with pytest.raises(ValueError, match="num_cpus is 0.5, expected an integer"):
        onnxtxt.ray.predict(ds, onnxtxt.parse(models.LOOKUP), num_cpus=0.5)
    with pytest.raises(Exception, match="input `x` has no column `x`; it has z"):
        predicted(ray, pa.table({"z": [1]}), onnxtxt.parse(models.LOOKUP), 1)


def blocks():
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/cluster.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_deployment_of_the_documentation(ray, tmp_path, monkeypatch):
    from ray import serve

    [block] = [block for block in blocks() if "serve.deployment" in block]
    assert block.count("\n") <= 25
    monkeypatch.chdir(tmp_path)
    pathlib.Path("forest.onnx").write_bytes(models.forest())
    table = models.rows(50)
    expected = models.in_one_process(models.forest(), table, models.FOREST)
    # As a program, so that its class is sent to the workers.
    space = {"__name__": "__main__"}
    exec(compile(block, "docs/cluster.md", "exec"), space)
    app = space["Classifier"].bind(str(tmp_path / "forest.onnx"))
    try:
        handle = serve.run(app, route_prefix="/")
        rows = [np.array([table[name][i].as_py() for name in models.FEATURES], np.float32) for i in range(len(table))]
        answers = [handle.predict.remote(row) for row in rows]
        labels = [answer.result(timeout_s=60)["label"] for answer in answers]
        assert labels == expected["label"].to_pylist()
        connection = http.client.HTTPConnection("localhost", 8000, timeout=60)
        connection.request("POST", "/", str(rows[0].tolist()))
        assert f'"label":{labels[0]}' in connection.getresponse().read().decode().replace(" ", "")
    finally:
        serve.shutdown()


def test_golden_tests_on_many_machines(tmp_path):
    [block] = [block for block in blocks() if "--shard" in block]
    assert block.strip().count("\n") <= 12
    folder = tmp_path / "tests"
    folder.mkdir()
    model = '#! check\n<ir_version: 10, opset_import: ["": 21]>\ng (float[N] x) => (float[N] y) { y = Neg(x) }\n'
    for i in range(7):
        (folder / f"t{i}.onnxtxt").write_text(model.replace("Neg(x)", "Neg(z)") if i == 5 else model)
    (tmp_path / "golden.py").write_text(block)
    # A program of its own, which starts Ray itself.
    done = subprocess.run([sys.executable, "golden.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" passed, ") >= 1
    reports = [path.read_text() for path in sorted(tmp_path.glob("report-*.xml"))]
    assert len(reports) >= 1
    names = re.findall(r'<testcase name="([^"]*)"', "".join(reports))
    assert sorted(names) == [f"t{i}" for i in range(7)]
    assert len(re.findall("<failure", "".join(reports))) == 1
    whole = subprocess.run([sys.executable, "-m", "onnxtxt", "test", "tests", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert whole.stdout.split() == sorted(names)
