"""The tables of docs/cluster.md: rows a second, memory of a worker and time to start, beside ONNX Runtime in the same frame.

``python tables.py [--write] [NAME…]`` prints them, or writes them into the page. Ours and theirs run alternately; the numbers are medians.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import conftest
import models
import numpy as np
import pyarrow as pa
from processes import Watch

import onnxtxt
import onnxtxt.ray
import onnxtxt.spark

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/cluster.md"
RUNS = int(os.environ.get("ONNXTXT_RUNS", "3"))


def feeds_of(job: str, batch: Any) -> dict[str, Any]:
    """The inputs of a job as a user of ONNX Runtime makes them of a batch of Arrow."""
    if job == "forest":
        return {"X": np.column_stack([batch.column(name).to_numpy(zero_copy_only=False) for name in models.FEATURES])}
    column = batch.column("x" if job == "images" else "text")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if job == "images":
        return {"x": column.flatten().to_numpy(zero_copy_only=False).astype(np.uint8).reshape(-1, 3, 32, 32)}
    return {"text": column.to_numpy(zero_copy_only=False).astype(object)}


class Theirs:
    """The same with ONNX Runtime: in an actor of Ray, or in a worker of Spark."""

    def __init__(self, job: str, content: bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._job = job
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def __call__(self, batch: Any) -> Any:
        names = [output.name for output in self._session.get_outputs()]
        results = self._session.run(names, feeds_of(self._job, batch))
        columns = {"id": batch.column("id")}
        for name, result in zip(names, results):
            flat = pa.array(result.reshape(-1))
            columns[name] = flat if result.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, result.shape[1]).cast(pa.list_(flat.type))
        return type(batch).from_pydict(columns)


def jobs() -> dict[str, tuple[bytes, pa.Table, dict[str, Any]]]:
    return {
        "forest": (models.forest(), models.rows(1_000_000), models.FOREST),
        "images": (models.network(), models.images(20_000), models.IMAGES),
        "text": (onnxtxt.parse(models.TEXT).to_bytes(), models.texts(300_000), models.TEXTS),
    }


class Measured:
    """The runs of a frame with one of the runtimes."""

    def __init__(self, run: Callable[[], int], name: str, count: int) -> None:
        self._run, self._name, self._count = run, name, count
        self._seconds: list[float] = []
        #: The seconds of the first run, and the most memory that a worker had alone, in MiB.
        self.first, self.memory = 0.0, 0.0

    def run(self) -> None:
        with Watch(self._name) as watch:
            begin = time.perf_counter()
            rows = self._run()
            seconds = time.perf_counter() - begin
        assert rows == self._count
        self.memory = max(self.memory, watch.memory[1] / 2**20)
        if self.first:
            self._seconds.append(seconds)
        else:
            self.first = seconds

    @property
    def speed(self) -> float:
        """Rows a second."""
        return self._count / statistics.median(self._seconds)


def ray_rows(job: str, content: bytes, table: pa.Table, options: dict[str, Any]) -> list[list[str]]:
    import ray

    parts = [table.slice(start, len(table) // 16 + 1) for start in range(0, len(table), len(table) // 16 + 1)]

    def count(ds: Any) -> int:
        return sum(len(part) for part in ray.get(ds.to_arrow_refs()))

    def ours() -> int:
        return count(onnxtxt.ray.predict(ray.data.from_arrow(parts), content, workers=2, **options))

    def theirs() -> int:
        pool = ray.data.ActorPoolStrategy(size=2)
        ds = ray.data.from_arrow(parts)
        return count(ds.map_batches(Theirs, fn_constructor_args=(job, content), batch_format="pyarrow", compute=pool, num_cpus=1))

    return compared("Ray Data", job, len(table), (ours, "_Worker"), (theirs, "Theirs"))


def spark_rows(spark: Any, job: str, content: bytes, table: pa.Table, options: dict[str, Any]) -> list[list[str]]:
    import test_spark

    df = test_spark.frame(spark, table, 8).cache()
    df.count()
    predicted = onnxtxt.spark.predict(df, content, **options)
    kept = [name for name in predicted.columns if name != "id"]

    def ours() -> int:
        return onnxtxt.spark.predict(df, content, **options).toArrow().num_rows

    def batches(parts: Any) -> Any:
        theirs = Theirs(job, content)
        for part in parts:
            yield theirs(part).select(["id", *theirs_names])

    theirs_names = {"forest": ["label", "probabilities"], "images": ["scores"], "text": ["tone", "score"]}[job]
    fields = dict(zip(theirs_names, kept))
    schema = ", ".join(["id bigint", *(f"{name} {predicted.schema[fields[name]].dataType.simpleString()}" for name in theirs_names)])

    def theirs() -> int:
        return df.mapInArrow(batches, schema).toArrow().num_rows

    return compared("Spark", job, len(table), (ours, "pyspark.daemon"), (theirs, "pyspark.daemon"))


def compared(frame: str, job: str, count: int, ours: tuple[Any, str], theirs: tuple[Any, str]) -> list[list[str]]:
    a, b = Measured(*ours, count), Measured(*theirs, count)
    for _ in range(RUNS + 1):
        a.run()
        b.run()
    line = [frame, f"{job}, {count:,} rows", f"{a.speed:,.0f}", f"{b.speed:,.0f}", f"{a.speed / b.speed:.2f}"]
    starts = ["", ""] if frame.startswith("one") else [f"{a.first:.1f} / {b.first:.1f}", f"{a.memory:.0f} / {b.memory:.0f}"]
    return [line + starts]


def one_process(job: str, content: bytes, table: pa.Table, options: dict[str, Any]) -> list[list[str]]:
    """What one process does without an engine, with one thread and with all."""
    import onnxruntime

    lines = []
    for threads in (1, os.cpu_count() or 1):
        predictor = onnxtxt.arrow.Predictor(onnxtxt.Session(onnxtxt.open(content), threads=threads), **options)
        session_options = onnxruntime.SessionOptions()
        session_options.intra_op_num_threads = threads
        theirs = Theirs(job, content)
        theirs._session = onnxruntime.InferenceSession(content, session_options, providers=["CPUExecutionProvider"])
        name = f"one process, {threads} thread{'s' if threads > 1 else ''}"
        ours, peer = (lambda: len(predictor(table)), "-"), (lambda: len(theirs(table)), "-")
        lines += compared(name, job, len(table), ours, peer)
    return lines


def main(arguments: list[str]) -> None:
    chosen = [argument for argument in arguments if not argument.startswith("-")]
    conftest.pytest_configure(None)
    import ray
    import ray.data
    from pyspark.sql import SparkSession

    work = {name: job for name, job in jobs().items() if not chosen or name in chosen}
    lines = []
    for name, job in work.items():
        lines += one_process(name, *job)
    conftest.start_ray(4)
    ray.data.DataContext.get_current().enable_progress_bars = False
    # The engine itself starts before the clock does.
    ray.data.range(100).map_batches(lambda batch: batch, batch_format="pyarrow").materialize()
    for name, job in work.items():
        lines += ray_rows(name, *job)
    ray.shutdown()
    spark = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", False).config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.range(100).mapInArrow(lambda batches: batches, "id long").collect()
    for name, job in work.items():
        lines += spark_rows(spark, name, *job)
    spark.stop()
    head = [
        "| frame | job | ours, rows/s | ONNX Runtime, rows/s | ours/theirs | first run, s | memory of a worker, MiB |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    table = "\n".join([*head, *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"
    if "--write" not in arguments:
        print(table)
        return
    begin, end = "<!-- cargo xtask cluster --tables -->\n", "<!-- end -->"
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    PAGE.write_text(before + begin + table + end + rest.split(end, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
