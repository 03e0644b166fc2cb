"""Models on data frames of Spark: ``predict`` adds columns to a data frame, ``predict_udf`` makes a function of columns.

::

    import onnxtxt.spark

    df = onnxtxt.spark.predict(spark.read.parquet("flowers"), "iris.onnx", columns={"X": ["length", "width"]}, errors="column")
    label = onnxtxt.spark.predict_udf("iris.onnx", columns={"X": ["length", "width"]}, outputs=["label"])
    df.withColumn("label", label("length", "width"))

The functions need the packages ``pyspark`` and ``pyarrow``; the module is not imported with ``onnxtxt``. Executors need ``onnxtxt`` of the same version.
"""

from __future__ import annotations

import atexit
import pathlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from onnxtxt.arrow._predictor import Predictor, RowError
from onnxtxt.arrow._shipping import Parcel, pack

try:
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import pyspark  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ModuleNotFoundError:
    pa = pyspark = None

__all__ = ["predict", "predict_udf"]

_lock = threading.Lock()
#: Files that were given to a Spark context: its id, and the name of the file.
_shipped: set[tuple[str, str]] = set()


def predict(df: Any, model: Any, *, session: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """A data frame with a column for each output of a model, by ``mapInArrow``.

    ``model`` is whatever ``onnxtxt.open`` reads; ``options`` are those of ``onnxtxt.arrow.Predictor`` (``columns``, ``outputs``, ``errors``, …),
    ``session`` has arguments of ``onnxtxt.Session``. Names and types are checked before anything runs.

    The model is a file of the Spark context: each machine fetches it once, and its workers map it; they map its packed
    weights, too, from the cache folder of the user (``session={"cache": False}``: each worker packs its own). A worker uses ``spark.task.cpus`` threads. The
    rows of a batch are set by ``spark.sql.execution.arrow.maxRecordsPerBatch``; each run has at most ``max_bytes`` of inputs.
    """
    _ensure_pyspark()
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyspark.sql.types import StructField, StructType  # type: ignore[import-not-found, import-untyped, unused-ignore]

    parcel, content, predictor = pack(model, session, {**options, "is_java": True})
    schema = predictor.schema(to_arrow_schema(df.schema))
    fields = [df.schema[name] for name in schema.names[: len(schema) - len(predictor.results)]]
    fields += [StructField(field.name, from_arrow_type(field.type)) for field in predictor.results]
    _ship(df.sparkSession, parcel, content)
    return df.mapInArrow(_Batches(parcel), StructType(fields))


def predict_udf(model: Any, *, session: Mapping[str, Any] | None = None, pandas: bool | None = None, **options: Any) -> Any:
    """A user-defined function of columns, for ``select`` and ``withColumn``: those of the first input, then those of the second, and so on.

    Its result is the column of the output; a structure of columns, if there are several or ``errors="column"``. ``model``, ``session`` and
    ``options`` are those of ``predict``, without ``keep``. It is an Arrow UDF, or with ``pandas`` and for Spark 4.0 and older a pandas UDF.
    """
    _ensure_pyspark()
    import pyspark.sql.functions as functions  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyspark.sql import SparkSession  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyspark.sql.pandas.types import from_arrow_type  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from pyspark.sql.types import StructField, StructType  # type: ignore[import-not-found, import-untyped, unused-ignore]

    spark = SparkSession.getActiveSession()
    if spark is None:
        raise RuntimeError("no Spark session is active: make one first")
    parcel, content, predictor = pack(model, session, {**options, "is_java": True, "keep": False})
    _ship(spark, parcel, content)
    fields = [StructField(field.name, from_arrow_type(field.type)) for field in predictor.results]
    kind = fields[0].dataType if len(fields) == 1 else StructType(fields)
    if pandas is None:
        pandas = not hasattr(functions, "arrow_udf")
    call = _Arguments(parcel, predictor.column_names, pandas)
    if pandas:
        return functions.pandas_udf(lambda batches: call(batches), kind, functions.PandasUDFType.SCALAR_ITER)
    return functions.arrow_udf(lambda batches: call(batches), kind, functions.ArrowUDFType.SCALAR_ITER)


def _ensure_pyspark() -> None:
    if pyspark is None:
        raise ImportError("onnxtxt.spark needs the packages pyspark and pyarrow, which are not installed", name="pyspark")


def _ship(spark: Any, parcel: Parcel, content: bytes) -> None:
    """Gives the model to the context as a file, once."""
    try:
        context = spark.sparkContext
    except Exception as why:
        raise RuntimeError("Spark Connect has no Spark context to send a model with: use a classic session") from why
    key = (context.applicationId, parcel.file_name)
    with _lock:
        if key in _shipped:
            return
        # Machines that join later fetch it as well, so it stays until this program ends.
        folder = tempfile.mkdtemp(prefix="onnxtxt-spark-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = pathlib.Path(folder) / parcel.file_name
        path.write_bytes(content)
        context.addFile(str(path))
        _shipped.add(key)


def _predictor(parcel: Parcel) -> tuple[Predictor, str]:
    """The predictor of a worker, and the name of its part of the data."""
    from pyspark import SparkFiles, TaskContext

    task = TaskContext.get()
    threads = max(1, task.cpus()) if task else 1
    place = f"partition {task.partitionId()}" if task else "a partition"
    return parcel.predict_with(lambda: pathlib.Path(SparkFiles.get(parcel.file_name)), threads), place


class _Batches:
    """The function of ``mapInArrow``."""

    def __init__(self, parcel: Parcel) -> None:
        self._parcel = parcel

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        predictor, place = _predictor(self._parcel)
        row = 0
        for batch in batches:
            try:
                yield predictor(batch, first_row=row)
            except RowError as why:
                raise RowError(f"{place}, {why}", why.row, why.column) from None
            row += batch.num_rows


class _Arguments:
    """The function of a UDF, whose batches are columns."""

    def __init__(self, parcel: Parcel, names: list[str], is_pandas: bool) -> None:
        self._parcel = parcel
        self._names = names
        self._is_pandas = is_pandas

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        predictor, place = _predictor(self._parcel)
        row = 0
        for columns in batches:
            columns = columns if isinstance(columns, tuple) else (columns,)
            if len(columns) != len(self._names):
                raise TypeError(f"the function has {len(self._names)} arguments ({', '.join(self._names)}), but was called with {len(columns)}")
            if self._is_pandas:
                # A null in a column of floats is NaN here, and NaN stays what it is.
                columns = tuple(pa.array(column, from_pandas=column.dtype == object) for column in columns)
            batch = pa.RecordBatch.from_arrays(list(columns), names=self._names)
            try:
                results = predictor.columns(batch, first_row=row)
            except RowError as why:
                raise RowError(f"{place}, {why}", why.row, why.column) from None
            row += batch.num_rows
            yield self._result(predictor, results)

    def _result(self, predictor: Predictor, results: list[Any]) -> Any:
        if self._is_pandas:
            table = pa.Table.from_arrays(results, schema=predictor.results).to_pandas()
            return table if len(results) > 1 else table.iloc[:, 0]
        return results[0] if len(results) == 1 else pa.StructArray.from_arrays(results, fields=list(predictor.results))
