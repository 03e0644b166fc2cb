"""Results of runs as columns of Arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ModuleNotFoundError:
    pa = None

#: The types of Arrow for element types that it has under another name, or not at all: those that have all their values.
_TYPES = {
    "object": "string", "bfloat16": "float", "float8_e4m3fn": "float", "float8_e4m3fnuz": "float", "float8_e5m2": "float",
    "float8_e5m2fnuz": "float", "float4_e2m1fn": "float", "int4": "int8", "uint4": "uint8", "int2": "int8", "uint2": "uint8",
}  # fmt: skip
#: For engines without unsigned numbers and halves: those of Java.
_SIGNED = {"uint8": "int16", "uint16": "int32", "uint32": "int64", "halffloat": "float"}
#: Element types as ONNX Runtime writes them.
_NAMES = {"double": "float64", "float": "float32", "string": "object"}
_SEQUENCE_OF_MAPS = re.compile(r"seq\(map\((\w+),tensor\((\w+)\)\)\)")


def element_type(dtype: np.dtype[Any], *, is_java: bool = False) -> Any:
    """The type of Arrow for elements. Raises ``TypeError`` if there is none."""
    name = _TYPES.get(dtype.name, dtype.name)
    try:
        kind = pa.string() if name == "string" else pa.float32() if name == "float" else pa.from_numpy_dtype(np.dtype(name))
    except (TypeError, pa.ArrowNotImplementedError):
        raise TypeError(f"has elements of {dtype.name}, which Arrow does not have: add a Cast to the model") from None
    if is_java and str(kind) == "uint64":
        raise TypeError("has elements of uint64, which the engine does not have: add a Cast to the model")
    return pa.type_for_alias(_SIGNED[str(kind)]) if is_java and str(kind) in _SIGNED else kind


def column_type(port: Any, *, is_java: bool = False) -> Any:
    """The type of the column of an output, of which each row is a part along the first axis.

    Tensors with fixed sizes are lists of fixed size, or with several axes ``pa.fixed_shape_tensor``; others are nested lists, as is everything
    with ``is_java``. Raises ``TypeError`` if the model does not say enough.
    """
    maps = _SEQUENCE_OF_MAPS.fullmatch(port.type)
    if maps:
        key, value = (element_type(np.dtype(_NAMES.get(name, name)), is_java=is_java) for name in maps.groups())
        return pa.map_(key, value)
    if port.dtype is None or port.shape is None:
        known = port.type or "no type"
        raise TypeError(f"has {known} and no shape in the model: pass its column as types={{{port.name!r}: pa.list_(pa.float32())}}")
    if not port.shape:
        raise TypeError("is a scalar, expected a row for each row of the batch: choose others with outputs=")
    kind = element_type(port.dtype, is_java=is_java)
    sizes = port.shape[1:]
    is_fixed = all(isinstance(size, int) and size > 0 for size in sizes) and not is_java
    if is_fixed and len(sizes) > 1 and hasattr(pa, "fixed_shape_tensor") and kind != pa.string() and kind != pa.bool_():
        return pa.fixed_shape_tensor(kind, list(sizes))
    for size in reversed(sizes):
        kind = pa.list_(kind, size) if is_fixed else pa.list_(kind)
    return kind


def to_column(result: Any, kind: Any) -> Any:
    """A result as a column of this type: an array whose first axis has the rows, or a list with a value for each row.

    Numbers stay in the memory of the array. Raises ``TypeError`` if the result does not have the type.
    """
    if isinstance(result, np.ndarray):
        return _tensor(result, kind)
    values = [_plain(value) for value in result]
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as why:
        raise TypeError(f"has values that are not of the type {kind}: {why}") from why


def _plain(value: Any) -> Any:
    """A value of a sequence as objects of Python: arrays as lists, maps as pairs."""
    if isinstance(value, dict):
        return [(key, item.item() if isinstance(item, np.ndarray) else item) for key, item in value.items()]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _tensor(array: Any, kind: Any) -> Any:
    if isinstance(kind, pa.BaseExtensionType):
        shape = tuple(kind.shape)
        if array.shape[1:] != shape:
            raise TypeError(f"has rows of the shape {list(array.shape[1:])}, expected {list(shape)}")
        size = int(np.prod(shape, dtype=np.int64))
        stored = pa.FixedSizeListArray.from_arrays(_flat(array, kind.value_type), size)
        return pa.ExtensionArray.from_storage(kind, stored)
    levels, inner = [], kind
    while pa.types.is_list(inner) or pa.types.is_large_list(inner) or pa.types.is_fixed_size_list(inner):
        levels.append(inner)
        inner = inner.value_type
    if len(levels) != array.ndim - 1:
        raise TypeError(f"has rows of rank {array.ndim - 1}, but the column has the type {kind}")
    column = _flat(array, inner)
    for axis in range(array.ndim - 1, 0, -1):
        column = _listed(column, levels[axis - 1], int(np.prod(array.shape[:axis], dtype=np.int64)), array.shape[axis])
    return column


def _flat(array: Any, kind: Any) -> Any:
    flat = array.reshape(-1)
    if flat.dtype.name in _TYPES and flat.dtype.name != "object":
        flat = flat.astype(np.float32 if _TYPES[flat.dtype.name] == "float" else _TYPES[flat.dtype.name])
    try:
        column = pa.array(flat)
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowInvalid as why:
        raise TypeError(f"has elements of {array.dtype.name}, but the column has {kind}: {why}") from why


def _listed(inner: Any, kind: Any, count: int, size: int) -> Any:
    """Lists of equal length over elements."""
    if pa.types.is_fixed_size_list(kind):
        if kind.list_size != size:
            raise TypeError(f"has lists of {size} elements, expected {kind.list_size}")
        return pa.FixedSizeListArray.from_arrays(inner, type=kind)
    is_large = pa.types.is_large_list(kind)
    offsets = pa.array(np.arange(count + 1, dtype=np.int64) * size, pa.int64())
    if is_large:
        return pa.LargeListArray.from_arrays(offsets, inner, type=kind)
    if count * size > np.iinfo(np.int32).max:
        raise TypeError(f"has {count * size} elements in one column, more than lists of Arrow hold: use smaller batches")
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), inner, type=kind)


def in_order(columns: Sequence[Any], kind: Any, places: Any) -> Any:
    """One column of several: row ``i`` is number ``places[i]`` of them; a negative number is null."""
    is_extension = isinstance(kind, pa.BaseExtensionType)
    stored = [column.storage if is_extension else column for column in columns]
    storage = kind.storage_type if is_extension else kind
    joined = pa.concat_arrays(stored) if stored else pa.array([], storage)
    if len(places) != len(joined) or (places != np.arange(len(joined))).any():
        joined = joined.take(pa.array(places, pa.int64(), mask=places < 0))
    return pa.ExtensionArray.from_storage(kind, joined) if is_extension else joined
