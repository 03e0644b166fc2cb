"""Element types of tensors, and how messages store elements."""

from __future__ import annotations

from collections.abc import KeysView, Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxtxt.compat._messages import TensorProto


class _Row(NamedTuple):
    """The name of NumPy's type, or that of the package ml_dtypes, the type whose field has the elements, and the bits of an element."""

    dtype: str
    storage: int
    bits: int


_T = TensorProto
_ROWS: dict[int, _Row] = {
    _T.FLOAT: _Row("float32", _T.FLOAT, 32),
    _T.UINT8: _Row("uint8", _T.INT32, 8),
    _T.INT8: _Row("int8", _T.INT32, 8),
    _T.UINT16: _Row("uint16", _T.INT32, 16),
    _T.INT16: _Row("int16", _T.INT32, 16),
    _T.INT32: _Row("int32", _T.INT32, 32),
    _T.INT64: _Row("int64", _T.INT64, 64),
    _T.BOOL: _Row("bool", _T.INT32, 8),
    _T.FLOAT16: _Row("float16", _T.INT32, 16),
    _T.BFLOAT16: _Row("bfloat16", _T.INT32, 16),
    _T.DOUBLE: _Row("float64", _T.DOUBLE, 64),
    _T.COMPLEX64: _Row("complex64", _T.FLOAT, 64),
    _T.COMPLEX128: _Row("complex128", _T.DOUBLE, 128),
    _T.UINT32: _Row("uint32", _T.UINT64, 32),
    _T.UINT64: _Row("uint64", _T.UINT64, 64),
    _T.STRING: _Row("object", _T.STRING, 0),
    _T.FLOAT8E4M3FN: _Row("float8_e4m3fn", _T.INT32, 8),
    _T.FLOAT8E4M3FNUZ: _Row("float8_e4m3fnuz", _T.INT32, 8),
    _T.FLOAT8E5M2: _Row("float8_e5m2", _T.INT32, 8),
    _T.FLOAT8E5M2FNUZ: _Row("float8_e5m2fnuz", _T.INT32, 8),
    _T.UINT4: _Row("uint4", _T.INT32, 4),
    _T.INT4: _Row("int4", _T.INT32, 4),
    _T.FLOAT4E2M1: _Row("float4_e2m1fn", _T.INT32, 4),
    _T.FLOAT8E8M0: _Row("float8_e8m0fnu", _T.INT32, 8),
    _T.UINT2: _Row("uint2", _T.INT32, 2),
    _T.INT2: _Row("int2", _T.INT32, 2),
    _T.FLOAT6E2M3: _Row("float6_e2m3fn", _T.INT32, 6),
    _T.FLOAT6E3M2: _Row("float6_e3m2fn", _T.INT32, 6),
}
_FIELDS: dict[int, str] = {
    _T.FLOAT: "float_data",
    _T.INT32: "int32_data",
    _T.INT64: "int64_data",
    _T.DOUBLE: "double_data",
    _T.UINT64: "uint64_data",
    _T.STRING: "string_data",
}
#: Element types that keys of maps may have, beside strings.
INTEGERS = {_T.INT8, _T.INT16, _T.INT32, _T.INT64, _T.UINT8, _T.UINT16, _T.UINT32, _T.UINT64}
_FLOATS_OF_8_BITS = {_T.FLOAT8E4M3FN, _T.FLOAT8E4M3FNUZ, _T.FLOAT8E5M2, _T.FLOAT8E5M2FNUZ}


def tensor_dtype_to_np_dtype(tensor_dtype: int) -> np.dtype[Any]:
    """NumPy's type for an element type. Types that NumPy does not have are those of the package ml_dtypes, which must be installed."""
    name = _ROWS[tensor_dtype].dtype
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def tensor_dtype_to_storage_tensor_dtype(tensor_dtype: int) -> int:
    """The element type whose field has the elements of tensors of an element type."""
    return _ROWS[tensor_dtype].storage


def tensor_dtype_to_string(tensor_dtype: int) -> str:
    """The name of an element type: `TensorProto.FLOAT`."""
    return f"TensorProto.{TensorProto.DataType.Name(tensor_dtype)}"


def tensor_dtype_to_field(tensor_dtype: int) -> str:
    """The field that has the elements of tensors of an element type."""
    return _FIELDS[_ROWS[tensor_dtype].storage]


def np_dtype_to_tensor_dtype(np_dtype: np.dtype[Any]) -> int:
    """The element type for a type of NumPy or ml_dtypes. Raises `ValueError` if there is none."""
    dtype = np.dtype(np_dtype)
    if dtype.kind == "U":
        return TensorProto.STRING
    number = next((number for number, row in _ROWS.items() if row.dtype == dtype.name), None)
    if number is None:
        raise ValueError(f"Unable to convert type {np_dtype!r} into TensorProto element type.")
    return number


def get_all_tensor_dtypes() -> KeysView[int]:
    """All element types."""
    return _ROWS.keys()


def size(data_type: int, count: int) -> int:
    """The bytes of so many elements."""
    return -(-count * _ROWS[data_type].bits // 8)


def elements(values: Any, data_type: int) -> Any:
    """Values as a flat array of an element type: floats of 8 bits are clamped, strings encoded."""
    if data_type == TensorProto.STRING:
        flat = np.array(values, object if not isinstance(values, np.ndarray) else None).ravel()
        return [value.encode() if isinstance(value, str) else value for value in flat]
    dtype = tensor_dtype_to_np_dtype(data_type)
    if data_type in _FLOATS_OF_8_BITS:
        from onnxtxt.compat.numpy_helper import saturate_cast

        return saturate_cast(np.asarray(values), dtype).ravel()
    if data_type == TensorProto.FLOAT8E8M0:
        from onnxtxt.compat.numpy_helper import to_float8e8m0

        return to_float8e8m0(np.asarray(values)).ravel()
    return np.asarray(values, dtype=dtype).ravel()


def packed(array: np.ndarray[Any, Any], data_type: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Elements of less than 8 bits one after the other, beginning with the lowest bits."""
    bits = _ROWS[data_type].bits
    codes = np.ascontiguousarray(array).ravel().view(np.uint8)
    each = np.unpackbits(codes[:, None], axis=1, count=bits, bitorder="little")
    return np.packbits(each.ravel(), bitorder="little")


def unpacked(data: np.ndarray[Any, Any], data_type: int, dims: Sequence[int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The codes of elements of less than 8 bits, one a byte. Raises `ValueError` if there are too few bytes for a shape."""
    bits, count = _ROWS[data_type].bits, int(np.prod(dims, dtype=np.int64))
    if data.size * 8 < count * bits:
        raise ValueError(
            f"Packed {bits}-bit data ({data.size} bytes) is too small for the declared shape {list(dims)} ({size(data_type, count)} bytes required)."
        )
    each = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    return np.packbits(each, axis=1, bitorder="little").reshape(tuple(dims))


def is_packed(data_type: int) -> bool:
    """Whether elements have less than 8 bits."""
    return 0 < _ROWS[data_type].bits < 8


def encoded(array: np.ndarray[Any, Any], data_type: int) -> bytes:
    """The bytes of an array in a message, whose order is that of little-endian machines."""
    if is_packed(data_type):
        return packed(array, data_type).tobytes()
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def stored(flat: Any, data_type: int) -> Any:
    """A flat array as the numbers of its field: floats of 16 bits and less by their codes."""
    if data_type == TensorProto.STRING:
        return flat
    if data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return flat.view(flat.real.dtype)
    if data_type in (TensorProto.FLOAT6E2M3, TensorProto.FLOAT6E3M2):
        return flat.view(np.uint8)
    if is_packed(data_type):
        return packed(flat, data_type)
    if _ROWS[data_type].storage == TensorProto.INT32 and flat.dtype.kind not in "iu":
        return flat.view(np.uint16 if flat.dtype.itemsize == 2 else np.uint8)
    return flat
