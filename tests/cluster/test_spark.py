"""Data frames of Spark: results of one process, workers that die, bad rows, functions of columns."""

import models
import numpy as np
import pyarrow as pa
import pytest
from processes import Watch, wait_until_gone

import onnxtxt
import onnxtxt.spark
from onnxtxt.arrow import _shipping as shipping

#: As Spark has columns: nested lists, integers with signs.
JAVA = {"is_java": True}


def frame(spark, table, parts=8):
    # Unsigned bytes and lists of fixed size are not types of Spark.
    columns = []
    for column in table.columns:
        if pa.types.is_fixed_size_list(column.type):
            values = column.combine_chunks()
            inner = values.values.cast(pa.int16())
            offsets = pa.array(np.arange(len(values) + 1) * column.type.list_size, pa.int32())
            column = pa.ListArray.from_arrays(offsets, inner)
        columns.append(column)
    return spark.createDataFrame(pa.table(columns, names=table.column_names)).repartition(parts)


def predicted(spark, table, model, parts=8, **options):
    return onnxtxt.spark.predict(frame(spark, table, parts), model, **options).toArrow()


def test_a_million_rows_of_a_forest(spark):
    table = models.rows(1_000_000)
    found = predicted(spark, table, models.forest(), **models.FOREST)
    models.assert_same_bits(found, models.in_one_process(models.forest(), table, models.FOREST | JAVA))


def test_images(spark):
    table = models.images(4000)
    found = predicted(spark, table, models.network(), **models.IMAGES)
    models.assert_same_bits(found, models.in_one_process(models.network(), table, models.IMAGES | JAVA))


def test_texts(spark):
    table = models.texts(100_000)
    found = predicted(spark, table, onnxtxt.parse(models.TEXT), **models.TEXTS)
    models.assert_same_bits(found, models.in_one_process(models.TEXT, table, models.TEXTS | JAVA))


def test_a_killed_worker_loses_nothing(spark):
    table = models.rows(1_000_000)
    df = onnxtxt.spark.predict(frame(spark, table, 32), models.forest(), **models.FOREST)
    with Watch("pyspark.daemon", kills=True, after=0.3) as watch:
        found = df.toArrow()
    assert watch.killed is not None, "no worker was killed: the data frame is too small"
    wait_until_gone(watch.killed)
    models.assert_same_bits(found, models.in_one_process(models.forest(), table, models.FOREST))


def test_bad_rows(spark):
    bad = pa.table({"id": np.arange(1000), "x": pa.array([99 if i == 777 else None if i == 778 else i % 4 for i in range(1000)], pa.int64())})
    with pytest.raises(Exception, match=r"partition \d+, row \d+ \(id 77[78]\): "):
        predicted(spark, bad, onnxtxt.parse(models.LOOKUP), key="id")
    found = predicted(spark, bad, onnxtxt.parse(models.LOOKUP), errors="column").sort_by("id").to_pylist()
    assert [row["id"] for row in found] == list(range(1000))
    reasons = {row["id"]: row["error"] for row in found if row["error"] is not None}
    assert list(reasons) == [777, 778] and "99" in reasons[777] and reasons[778] == "column `x` is null"
    assert all(row["y"] == 10 + row["x"] for row in found if row["id"] not in reasons)


@pytest.mark.parametrize("pandas", [False, True])
def test_functions_of_columns(spark, pandas):
    table = models.rows(5000)
    expected = models.in_one_process(models.forest(), table, models.FOREST | JAVA).sort_by("id")
    df = frame(spark, table)
    label = onnxtxt.spark.predict_udf(models.forest(), columns={"X": models.FEATURES}, outputs=["label"], pandas=pandas)
    found = df.select("id", label(*models.FEATURES).alias("label")).toArrow().sort_by("id")
    assert found["label"].to_pylist() == expected["label"].to_pylist()
    both = onnxtxt.spark.predict_udf(models.forest(), columns={"X": models.FEATURES}, errors="column", pandas=pandas)
    found = df.select("id", both(*models.FEATURES).alias("r")).select("id", "r.*").toArrow().sort_by("id")
    assert found["label"].to_pylist() == expected["label"].to_pylist()
    assert found["probabilities"].to_pylist() == expected["p"].to_pylist()
    assert set(found["error"].to_pylist()) == {None}


def test_names_and_types_are_checked_before_anything_runs(spark):
    df = frame(spark, pa.table({"z": [1]}), 1)
    with pytest.raises(ValueError, match="input `x` has no column `x`; it has z"):
        onnxtxt.spark.predict(df, onnxtxt.parse(models.LOOKUP))
    with pytest.raises(ValueError, match="a column `y` is there already"):
        onnxtxt.spark.predict(df.withColumnRenamed("z", "y"), onnxtxt.parse(models.LOOKUP), columns={"x": "y"})


def test_the_model_is_sent_once(spark):
    df = frame(spark, pa.table({"id": [0, 1], "x": [1, 2]}), 2)
    model = onnxtxt.parse(models.LOOKUP.replace("13}", "14}"))
    before = len(onnxtxt.spark._shipped)
    for _ in range(3):
        assert sorted(row.y for row in onnxtxt.spark.predict(df, model).collect()) == [11, 12]
    assert len(onnxtxt.spark._shipped) == before + 1


def test_workers_use_the_threads_of_their_task(spark):
    df = frame(spark, pa.table({"x": [1]}), 1)
    parcel, content, _ = shipping.pack(onnxtxt.parse(models.LOOKUP), None, {})
    onnxtxt.spark._ship(spark, parcel, content)

    def threads(batches):
        from pyspark import TaskContext

        predictor, place = onnxtxt.spark._predictor(parcel)
        used = predictor.session.__getnewargs_ex__()[1]["threads"]
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"said": [f"{used} of {TaskContext.get().cpus()}, {place}"] * batch.num_rows})

    assert df.mapInArrow(threads, "said string").collect()[0].said == "1 of 1, partition 0"
