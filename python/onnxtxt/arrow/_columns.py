"""Columns of Arrow as rows of tensors: each row of a column is a scalar, or a list that is a tensor."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import pyarrow.compute as pc  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ModuleNotFoundError:
    pa = pc = None

_Indices = NDArray[np.int64]


@dataclasses.dataclass
class Rows:
    """The rows of a column: ``elements`` has those of all rows, one row after the other."""

    elements: NDArray[Any]
    #: The first element of each row, and the end of the last one.
    starts: _Indices
    #: The shape of each row.
    shapes: _Indices
    #: Why a row cannot be an input. Its shape and elements mean nothing.
    bad: dict[int, str]

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def row_shape(self) -> tuple[int, ...] | None:
        """The shape that all rows have."""
        if self.bad or len(self) == 0 or (self.shapes != self.shapes[0]).any():
            return None
        return tuple(self.shapes[0].tolist())

    def take(self, rows: slice | _Indices) -> NDArray[Any]:
        """Some rows of equal shape as a tensor, in the memory of the column if they are a slice."""
        if isinstance(rows, slice):
            shape = self.shapes[rows.start]
            begin, end = self.starts[rows.start], self.starts[rows.stop]
            return self.elements[begin:end].reshape(rows.stop - rows.start, *shape)
        shape = self.shapes[rows[0]]
        size = int(shape.prod())
        places = self.starts[rows][:, None] + np.arange(size)
        taken: NDArray[Any] = self.elements[places]
        return taken.reshape(len(rows), *shape)

    def rows_of(self, elements: NDArray[Any]) -> _Indices:
        """The rows that elements with these indices belong to."""
        return np.unique(np.searchsorted(self.starts[1:], elements, side="right"))

    def refuse(self, elements: NDArray[Any], why: str) -> None:
        """Marks the rows of these elements as bad."""
        for row in self.rows_of(elements).tolist():
            self.bad.setdefault(row, why)


def whole(column: Any) -> Any:
    """A column as one array. Chunks are copied into one, if there are several."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
    return column


def read(column: Any, *, fill: Any = None, is_text: bool = False) -> Rows:
    """The rows of a column of numbers, booleans, strings, lists of such, or tensors.

    ``fill`` replaces null elements; rows that are or have others are bad. With ``is_text``, binary values are strings in UTF-8, otherwise
    lists of bytes. Raises ``TypeError`` for a type that no tensor has.
    """
    array = plain(whole(column))
    if isinstance(array.type, pa.BaseExtensionType):
        return _extension(array, fill, is_text)
    if _is_variable_tensor(array.type):
        return _variable_tensors(array, fill)
    count = len(array)
    starts = np.arange(count + 1, dtype=np.int64)
    rows = Rows(np.empty(0), starts, np.empty((count, 0), np.int64), {})
    is_row = True
    while True:
        array = plain(array)
        kind = array.type
        if _is_binary(kind) and not is_text:
            array = _bytes(array)
            kind = array.type
        is_list = _is_list(kind)
        if array.null_count and (is_list or fill is None):
            why = "is null" if is_row else "has a null element"
            rows.refuse(_of_rows(rows.starts, np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))), why)
        if not is_list:
            rows.elements = _elements(array, fill)
            return rows
        array = _descend(array, rows)
        is_row = False


def plain(array: Any) -> Any:
    """An array without an encoding: dictionaries, runs, views."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    for is_view, same in (("is_string_view", pa.large_string), ("is_binary_view", pa.large_binary)):
        if getattr(pa.types, is_view, _never)(kind):
            return array.cast(same())
    if getattr(pa.types, "is_list_view", _never)(kind) or getattr(pa.types, "is_large_list_view", _never)(kind):
        return array.cast(pa.large_list(kind.value_type))
    return array


def _never(_: Any) -> bool:
    return False


def _of_rows(starts: _Indices, items: NDArray[Any]) -> NDArray[Any]:
    """The items that belong to a row: a slice of a column has others around it."""
    kept: NDArray[Any] = items[(items >= starts[0]) & (items < starts[-1])]
    return kept


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_binary(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _descend(array: Any, rows: Rows) -> Any:
    """From lists to their elements: another axis of each row."""
    counts = np.diff(rows.starts)
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        lengths = np.full(len(rows), size, np.int64)
        rows.starts = rows.starts * size
        inner = array.values.slice(array.offset * size, len(array) * size)
    else:
        offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
        each = np.diff(offsets)
        # A row without lists has no elements, whatever their number would be.
        lengths = np.zeros(len(rows), np.int64)
        has = counts > 0
        lengths[has] = each[rows.starts[:-1][has]]
        if rows.shapes.shape[1]:
            differs = each[rows.starts[0] : rows.starts[-1]] != np.repeat(lengths, counts)
            places = np.flatnonzero(differs) + rows.starts[0]
            for row, place in zip(np.searchsorted(rows.starts[1:], places, side="right").tolist(), places.tolist()):
                rows.bad.setdefault(row, f"has lists of {lengths[row]} and of {each[place]} elements, expected equal lengths")
        rows.starts = offsets[rows.starts]
        inner = array.values
    rows.shapes = np.concatenate([rows.shapes, lengths[:, None]], axis=1)
    return inner


def _elements(array: Any, fill: Any) -> NDArray[Any]:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_binary(kind):
        none: Any = b"" if _is_binary(kind) else ""
    elif pa.types.is_boolean(kind):
        none = False
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        none = 0
    else:
        raise TypeError(f"has the type {kind}, which no tensor has: cast it to numbers, booleans or strings")
    if array.null_count:
        array = array.fill_null(pa.scalar(none if fill is None else fill, kind))
    # Numbers are read where they are.
    return np.asarray(array.to_numpy(zero_copy_only=isinstance(none, int) and not isinstance(none, bool)))


def _bytes(array: Any) -> Any:
    """Binary values as lists of bytes, in their memory."""
    offset = pa.large_list if pa.types.is_large_binary(array.type) else pa.list_
    valid, offsets, data = array.buffers()
    data = pa.py_buffer(b"") if data is None else data
    inner = pa.Array.from_buffers(pa.uint8(), data.size, [None, data])
    return pa.Array.from_buffers(offset(pa.uint8()), len(array), [valid, offsets], array.null_count, array.offset, [inner])


def _extension(array: Any, fill: Any, is_text: bool) -> Rows:
    """Tensors of Arrow and of Ray; other extensions are what they are stored as."""
    shape = getattr(array.type, "shape", None)
    if shape is None or _is_variable_tensor(array.storage.type):
        return read(array.storage, fill=fill, is_text=is_text)
    rows = read(array.storage, fill=fill)
    order = getattr(array.type, "permutation", None)
    if order and list(order) != sorted(order):
        # Stored in another order of axes than they are meant.
        axes = [0, *(axis + 1 for axis in order)]
        ordered = rows.take(slice(0, len(rows))).reshape(len(rows), *shape).transpose(axes)
        shape = [shape[axis] for axis in order]
        rows.elements = np.ascontiguousarray(ordered).reshape(-1)
        rows.starts = rows.starts - rows.starts[0]
    rows.shapes = np.tile(np.array(shape, np.int64), (len(rows), 1))
    return rows


def _is_variable_tensor(kind: Any) -> bool:
    return bool(pa.types.is_struct(kind) and {kind.field(i).name for i in range(kind.num_fields)} == {"data", "shape"})


def _variable_tensors(array: Any, fill: Any) -> Rows:
    """Tensors of different shapes: a list of elements, and one of sizes."""
    rows = read(array.field("data"), fill=fill)
    sizes = read(array.field("shape"))
    for row in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
        rows.bad[row] = "is null"
    rank = int(sizes.shapes.max(initial=0))
    if (sizes.shapes[[row not in rows.bad for row in range(len(rows))]] != rank).any():
        raise TypeError("has tensors of different ranks, expected one rank")
    counts = np.diff(rows.starts)
    shapes = np.zeros((len(rows), rank), np.int64)
    for row in range(len(rows)):
        if row in rows.bad or row in sizes.bad:
            rows.bad.setdefault(row, "has no shape")
            continue
        shapes[row] = sizes.elements[sizes.starts[row] : sizes.starts[row + 1]]
        if (shapes[row] < 0).any() or int(shapes[row].prod()) != counts[row]:
            rows.bad[row] = f"has {counts[row]} elements, but the shape {shapes[row].tolist()}"
    rows.shapes = shapes
    return rows


def convert(rows: Rows, dtype: np.dtype[Any], *, cast: bool) -> None:
    """Gives the elements another type. Rows with a value that the type does not have are bad, unless ``cast`` is true.

    Raises ``TypeError`` if the kinds differ, or floats would lose digits without ``cast``.
    """
    have = rows.elements.dtype
    if have == dtype:
        return
    numbers = "biuf"
    if have.kind not in numbers or dtype.kind not in "biufV" or (have.kind == "b") != (dtype.kind == "b"):
        raise TypeError(f"has elements of {_called(have)}, but the input has {_called(dtype)}")
    if have.kind == "f" and not cast and not np.can_cast(have, dtype):
        raise TypeError(f"has elements of {_called(have)}, but the input has {_called(dtype)}: pass cast=True to round them")
    with np.errstate(all="ignore"):
        converted = rows.elements.astype(dtype)
        if not cast and not np.can_cast(have, dtype):
            lost = np.flatnonzero(converted.astype(have) != rows.elements)
            lost = _of_rows(rows.starts, lost)
            for place, row in zip(lost.tolist(), np.searchsorted(rows.starts[1:], lost, side="right").tolist()):
                rows.bad.setdefault(row, f"has the element {rows.elements[place]}, which {_called(dtype)} does not have")
    rows.elements = converted


def _called(dtype: np.dtype[Any]) -> str:
    return "strings" if dtype.kind in "OUS" else dtype.name


def fit(rows: Rows, sizes: tuple[int | str | None, ...] | None) -> None:
    """Makes the rows those of an input with these sizes after the first axis. Rows of another size are bad.

    Rows of one axis or none have the elements of a tensor in order, if the sizes are fixed. Raises ``TypeError`` for another rank.
    """
    if sizes is None:
        return
    rank = rows.shapes.shape[1]
    if rank != len(sizes):
        fixed = [size for size in sizes if isinstance(size, int)]
        if rank > 1 or len(fixed) < len(sizes):
            raise TypeError(f"has rows of rank {rank}, but rows of the input have rank {len(sizes)}")
        total = int(np.prod(fixed, dtype=np.int64))
        counts = rows.shapes.prod(axis=1)
        for row in np.flatnonzero(counts != total).tolist():
            rows.bad.setdefault(row, f"has {counts[row]} elements, expected {total} for the shape {fixed}")
        rows.shapes = np.tile(np.array(fixed, np.int64), (len(rows), 1))
        return
    for axis, size in enumerate(sizes):
        if isinstance(size, int):
            for row in np.flatnonzero(rows.shapes[:, axis] != size).tolist():
                rows.bad.setdefault(row, f"has the shape {rows.shapes[row].tolist()}, expected {size} for axis {axis}")


def join(parts: list[Rows], names: list[str]) -> Rows:
    """Columns side by side as the rows of one input: each is a number, or a list of the same length in all rows."""
    bad: dict[int, str] = {}
    for name, part in zip(names, parts):
        for row, why in part.bad.items():
            bad.setdefault(row, f"column `{name}` {why}")
    count = len(parts[0])
    arrays = []
    good = np.delete(np.arange(count), list(bad))
    for name, part in zip(names, parts):
        shapes = part.shapes[good]
        if len(good) and (shapes != shapes[0]).any():
            raise TypeError(f"column `{name}` has lists of different lengths, expected one length")
        width = int(shapes[0].prod()) if len(good) else int(part.shapes.shape[1] == 0)
        array = np.zeros((count, width), part.elements.dtype)
        if len(good) == count and count:
            array = part.take(slice(0, count)).reshape(count, width)
        elif len(good):
            array[good] = part.take(good).reshape(len(good), width)
        arrays.append(array)
    joined = np.concatenate(arrays, axis=1)
    width = joined.shape[1]
    starts = np.arange(count + 1, dtype=np.int64) * width
    return Rows(joined.reshape(-1), starts, np.full((count, 1), width, np.int64), bad)
