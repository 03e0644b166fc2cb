"""Runs a model on batches of rows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from onnxtxt._native import Error, Port, Session
from onnxtxt.arrow._columns import Rows, convert, fit, join, read
from onnxtxt.arrow._results import column_type, in_order, to_column

try:
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ModuleNotFoundError:
    pa = None


class RowError(Error):
    """A row of a batch cannot be an input, or the model fails for it. ``row`` is its index, ``column`` its column or ``None``."""

    row: int
    column: str | None

    def __init__(self, message: str, row: int = 0, column: str | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return RowError, (str(self), self.row, self.column)


class Predictor:
    """Runs a session on batches of Arrow: ``predictor(batch)`` returns the batch with a column for each output.

    ``columns`` has a column, or a list of columns side by side, for each input by name; an input that it does not name has the column of its
    own name. ``constants`` are inputs that are the same for all rows. ``outputs`` are the outputs to compute, or a dictionary from them to the
    names of their columns; ``types`` has types of Arrow for columns, where the model does not say the shape. ``keep`` tells which columns of
    the batch are kept: all, none, or those of a list.

    ``fill`` replaces null elements of the columns that it names; with ``cast``, numbers are rounded and truncated to the type of the input.
    A row that cannot be an input, or for which the model fails, raises a ``RowError``; with ``errors="column"``, its results are null, and the
    column ``error`` has the reason.

    ``key`` is a column whose values name rows in errors.

    A run has as many rows as ``max_bytes`` of inputs, and at most ``max_rows``: one, if the first axis of the inputs has the size 1. Rows of
    different shapes are run by shape. With ``is_java``, results have types of engines in Java: nested lists, signed integers, no halves.
    """

    def __init__(
        self,
        session: Session,
        *,
        columns: Mapping[str, str | Sequence[str]] | None = None,
        constants: Mapping[str, Any] | None = None,
        outputs: Sequence[str] | Mapping[str, str] | None = None,
        types: Mapping[str, Any] | None = None,
        keep: bool | Sequence[str] = True,
        fill: Mapping[str, Any] | None = None,
        cast: bool = False,
        errors: Literal["raise", "column"] = "raise",
        key: str | None = None,
        max_bytes: int = 4 << 20,
        max_rows: int | None = None,
        is_java: bool = False,
    ) -> None:
        if pa is None:
            raise ImportError("onnxtxt.arrow needs the package pyarrow, which is not installed", name="pyarrow")
        if errors not in ("raise", "column"):
            raise ValueError(f"errors is {errors!r}, expected 'raise' or 'column'")
        if max_bytes < 1 or (max_rows is not None and max_rows < 1):
            raise ValueError(f"max_bytes is {max_bytes} and max_rows {max_rows}, expected numbers from 1 on")
        self.session = session
        self._constants = dict(constants or {})
        self._fill = dict(fill or {})
        self._cast = cast
        self._asides = errors == "column"
        self._max_bytes = max_bytes
        self._max_rows = max_rows
        self._keep = keep
        self._key = key
        self._columns = self._mapped(dict(columns or {}))
        self._batch = self._fixed_batch()
        ports = {port.name: port for port in session.outputs}
        names = dict(outputs) if isinstance(outputs, Mapping) else {name: name for name in outputs or ports}
        fields = []
        for name, column in names.items():
            if name not in ports:
                raise ValueError(f"the model has no output `{name}`{_meant(name, ports)}")
            given = (types or {}).get(name)
            try:
                fields.append(pa.field(column, column_type(ports[name], is_java=is_java) if given is None else given))
            except TypeError as why:
                raise TypeError(f"output `{name}` {why}") from None
        self._outputs = list(names)
        #: The columns of results, the last of which is ``error`` if errors are put aside.
        self.results = pa.schema([*fields, *([pa.field("error", pa.string())] if self._asides else [])])

    @property
    def column_names(self) -> list[str]:
        """The columns of the inputs, in the order of the inputs, each once."""
        return list(dict.fromkeys(column for columns in self._columns.values() for column in columns))

    def _mapped(self, given: dict[str, str | Sequence[str]]) -> dict[str, list[str]]:
        """The columns of each input that has some."""
        inputs = {port.name: port for port in self.session.inputs}
        for name in [*given, *self._constants]:
            if name not in inputs:
                raise ValueError(f"the model has no input `{name}`{_meant(name, inputs)}")
        mapped: dict[str, list[str]] = {}
        for name, port in inputs.items():
            if name in self._constants or (port.has_default and name not in given):
                continue
            if port.dtype is None:
                raise TypeError(f"input `{name}` is {port.text}, expected a tensor: pass it in constants=")
            if port.shape == []:
                raise TypeError(f"input `{name}` is a scalar and has no axis for rows: pass it in constants=")
            columns = given.get(name, name)
            mapped[name] = [columns] if isinstance(columns, str) else list(columns)
            if not mapped[name]:
                raise ValueError(f"input `{name}` has an empty list of columns")
        if not mapped:
            raise ValueError("no input of the model has a column")
        return mapped

    def _fixed_batch(self) -> int | None:
        """The number of rows that the model is made for, if it is fixed."""
        sizes = {
            port.name: port.shape[0]
            for port in self.session.inputs
            if port.name in self._columns and port.shape and isinstance(port.shape[0], int)
        }
        if len(set(sizes.values())) > 1:
            raise TypeError(f"the first axes of the inputs have different sizes: {sizes}")
        return next(iter(sizes.values()), None)

    def schema(self, batch: Any) -> Any:
        """The schema of the result for batches of a schema. Raises ``ValueError`` if a column is missing, or there already."""
        for name, columns in self._columns.items():
            for column in columns:
                if column not in batch.names:
                    found = f"input `{name}` has no column `{column}`{_meant(column, batch.names)}"
                    raise ValueError(f"{found}; map it with columns={{{name!r}: …}}")
        if self._key is not None and self._key not in batch.names:
            raise ValueError(f"key is `{self._key}`, which is not a column{_meant(self._key, batch.names)}")
        kept = batch.names if self._keep is True else list(self._keep or [])
        for column in kept:
            if column not in batch.names:
                raise ValueError(f"keep has `{column}`, which is not a column{_meant(column, batch.names)}")
            if column in self.results.names:
                raise ValueError(f"a column `{column}` is there already: name that of the result with outputs={{{column!r}: …}}, or keep fewer")
        return pa.schema([*(batch.field(column) for column in kept), *self.results])

    def __call__(self, batch: Any, *, first_row: int = 0) -> Any:
        """The result for a record batch or a table, as such; ``first_row`` is its first row in errors."""
        if not batch.num_columns and not batch.num_rows:
            # An empty part of a data set has no columns.
            return self.results.empty_table()
        schema = self.schema(batch.schema)
        kept = len(schema) - len(self.results)
        columns = [batch.column(schema.names[at]) for at in range(kept)] + self.columns(batch, first_row=first_row)
        # A batch has chunks of one length, a table may have others.
        return type(batch).from_arrays(columns, schema=schema)

    def columns(self, batch: Any, *, first_row: int = 0) -> list[Any]:
        """The columns of ``results`` for a record batch or a table."""
        inputs, bad = self._inputs(batch)

        def refuse(row: int, why: str, column: str | None, cause: Exception | None = None) -> None:
            """Raises the error of a row, or puts it aside."""
            bad[row] = (why, column)
            if not self._asides:
                named = "" if self._key is None else f" ({self._key} {batch.column(self._key)[row].as_py()!r})"
                raise RowError(f"row {first_row + row}{named}: {why}", first_row + row, column) from cause

        for row, (why, column) in sorted(bad.items()):
            refuse(row, why, column)
        done: list[dict[str, Any]] = []
        places = np.full(batch.num_rows, -1, np.int64)
        position = 0
        for rows in self._runs(inputs, batch.num_rows, bad):
            for these, results in self._run(inputs, rows, refuse):
                done.append(results)
                count = len(places[these])
                places[these] = np.arange(position, position + count)
                position += count
        fields = list(self.results)[: len(self._outputs)]
        columns = []
        for name, field in zip(self._outputs, fields):
            try:
                parts = [to_column(results[name], field.type) for results in done]
            except TypeError as why:
                raise TypeError(f"output `{name}` {why}") from None
            columns.append(in_order(parts, field.type, places))
        if self._asides:
            reasons: list[str | None] = [None] * batch.num_rows
            for row, (reason, _) in bad.items():
                reasons[row] = reason
            columns.append(pa.array(reasons, pa.string()))
        return columns

    def _inputs(self, batch: Any) -> tuple[dict[str, Rows], dict[int, tuple[str, str | None]]]:
        """The rows of each input, and the bad ones."""
        ports: dict[str, Port] = {port.name: port for port in self.session.inputs}
        inputs: dict[str, Rows] = {}
        bad: dict[int, tuple[str, str | None]] = {}
        for name, columns in self._columns.items():
            port = ports[name]
            assert port.dtype is not None, "checked before"
            parts = [self._column(batch.column(column), column, port.dtype, name) for column in columns]
            rows = parts[0] if len(parts) == 1 else join(parts, columns)
            try:
                fit(rows, tuple(port.shape[1:]) if port.shape else None)
            except TypeError as why:
                raise TypeError(f"column `{columns[0]}` {why}: input `{name}` is {port.text}") from None
            only = columns[0] if len(columns) == 1 else None
            for row, reason in rows.bad.items():
                bad.setdefault(row, (reason if only is None else f"column `{only}` {reason}", only))
            inputs[name] = rows
        return inputs, bad

    def _column(self, column: Any, name: str, dtype: np.dtype[Any], to: str) -> Rows:
        try:
            rows = read(column, fill=self._fill.get(name), is_text=dtype.kind == "O")
            convert(rows, dtype, cast=self._cast)
        except TypeError as why:
            raise TypeError(f"column `{name}` {why} (input `{to}`)") from None
        return rows

    def _runs(self, inputs: dict[str, Rows], count: int, bad: dict[int, Any]) -> Iterator[Any]:
        """The rows of each run, as a slice or as indices."""
        if not count:
            return
        if not bad and all(rows.row_shape is not None for rows in inputs.values()):
            most = self._most(inputs, 0)
            for start in range(0, count, most):
                yield slice(start, min(start + most, count))
            return
        good = np.delete(np.arange(count), list(bad))
        if not len(good):
            return
        shapes = np.concatenate([rows.shapes[good] for rows in inputs.values()], axis=1)
        _, groups = np.unique(shapes, axis=0, return_inverse=True)
        for group in range(int(groups.max()) + 1):
            members = good[groups.reshape(-1) == group]
            most = self._most(inputs, int(members[0]))
            for start in range(0, len(members), most):
                yield members[start : start + most]

    def _most(self, inputs: dict[str, Rows], row: int) -> int:
        """The number of rows of a run of rows that have the shape of this one."""
        if self._batch is not None:
            return self._batch
        each = 0
        for rows in inputs.values():
            size = rows.elements.dtype.itemsize
            if rows.elements.dtype.kind == "O":
                # Their lengths are not known without looking at all.
                size = 64
            each += size * int(rows.starts[row + 1] - rows.starts[row])
        most = max(1, self._max_bytes // max(each, 1))
        return most if self._max_rows is None else min(most, self._max_rows)

    def _run(self, inputs: dict[str, Rows], rows: Any, refuse: Callable[..., None]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Results of rows. If the model fails, the half with the row that is to blame is searched, down to that row."""
        count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        try:
            feeds = {name: self._filled(column.take(rows), count) for name, column in inputs.items()}
            results = self.session.run({**self._constants, **feeds}, self._outputs)
        except (TimeoutError, MemoryError):
            raise
        except Exception as why:  # noqa: BLE001: also what an operator of Python has raised
            if count == 1:
                refuse(int(rows.start if isinstance(rows, slice) else rows[0]), _first_line(why), None, why)
                return
            half = count // 2
            if isinstance(rows, slice):
                parts = [slice(rows.start, rows.start + half), slice(rows.start + half, rows.stop)]
            else:
                parts = [rows[:half], rows[half:]]
            for part in parts:
                yield from self._run(inputs, part, refuse)
            return
        yield rows, {name: self._rows_of(name, result, count) for name, result in results.items()}

    def _filled(self, array: Any, count: int) -> Any:
        """Rows for a model of a fixed number of them: the last one is repeated."""
        if self._batch is None or count == self._batch:
            return array
        return np.concatenate([array, np.repeat(array[-1:], self._batch - count, axis=0)])

    def _rows_of(self, name: str, result: Any, count: int) -> Any:
        expected = self._batch or count
        have = None if isinstance(result, np.ndarray) and result.ndim == 0 or result is None else len(result)
        if have != expected:
            what = "no rows" if have is None else f"{have} rows"
            raise TypeError(f"output `{name}` has {what} for {expected} rows of inputs: choose others with outputs=")
        return result[:count]


def _first_line(error: Exception) -> str:
    findings = getattr(error, "findings", ())
    return str(findings[0].message) if findings else str(error).split("\n", 1)[0]


def _meant(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f": did you mean `{close[0]}`?" if close else f"; it has {', '.join(map(str, known)) or 'none'}"
