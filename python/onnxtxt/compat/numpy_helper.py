"""`onnx.numpy_helper`: tensors, sequences, maps and optionals of messages as values of Python, and back.

>>> tensor = from_array(np.array([[1, 2], [3, 4]], np.float32), "w")
>>> to_array(tensor)
array([[1., 2.],
       [3., 4.]], dtype=float32)
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from onnxtxt.compat import _types
from onnxtxt.compat._messages import MapProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto

__all__ = [
    "create_random_int",
    "from_array",
    "from_dict",
    "from_list",
    "from_optional",
    "saturate_cast",
    "to_array",
    "to_dict",
    "to_float8e8m0",
    "to_list",
    "to_optional",
    "tobytes_little_endian",
]

_Array = np.ndarray[Any, Any]


def _external(tensor: TensorProto, base_dir: str | os.PathLike[str]) -> bytes:
    """The bytes of a tensor in another file, which lies under a folder."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    folder = os.path.realpath(base_dir or ".")
    path = os.path.realpath(os.path.join(folder, entries.get("location", "")))
    if os.path.commonpath([folder, path]) != folder:
        raise ValueError(f"the data of tensor {tensor.name!r} is outside of its folder: {entries.get('location')!r}")
    with open(path, "rb") as file:
        file.seek(int(entries.get("offset", 0)))
        return file.read(int(entries["length"])) if "length" in entries else file.read()


def to_array(tensor: TensorProto, base_dir: str = "") -> _Array:
    """The elements of a tensor as an array of its shape; those of external data are read from a file under `base_dir`.

    Raises `TypeError` for a tensor without an element type, `ValueError` if there are too few elements for its shape.
    """
    if tensor.HasField("segment"):
        raise ValueError("Currently not supporting loading segments.")
    kind, dims = tensor.data_type, tuple(tensor.dims)
    if kind == TensorProto.UNDEFINED:
        raise TypeError("The element type in the input tensor is UNDEFINED.")
    dtype = _types.tensor_dtype_to_np_dtype(kind)
    if kind == TensorProto.STRING:
        return np.array([text.decode() for text in tensor.string_data], object).reshape(dims)
    is_external = tensor.data_location == TensorProto.EXTERNAL
    if is_external or tensor.HasField("raw_data"):
        raw = _external(tensor, base_dir) if is_external else tensor.raw_data
        if _types.is_packed(kind):
            return _types.unpacked(np.frombuffer(raw, np.uint8), kind, dims).view(dtype)
        array = np.frombuffer(raw, dtype.newbyteorder("<")).reshape(dims)
        return array.astype(dtype, copy=False)
    values = getattr(tensor, _types.tensor_dtype_to_field(kind))
    if kind in (TensorProto.FLOAT6E2M3, TensorProto.FLOAT6E3M2):
        return (np.array(values, np.int32).astype(np.uint8) & 0x3F).view(dtype).reshape(dims)
    if _types.is_packed(kind):
        return _types.unpacked(np.array(values, np.int32).astype(np.uint8), kind, dims).view(dtype)
    if kind in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return np.array(values, dtype.type().real.dtype).view(dtype).reshape(dims)
    if _types.tensor_dtype_to_storage_tensor_dtype(kind) == TensorProto.INT32 and dtype.kind not in "iu":
        codes = np.array(values, np.int32).astype(np.uint16 if dtype.itemsize == 2 else np.uint8)
        return codes.view(dtype).reshape(dims)
    return np.array(values).astype(dtype).reshape(dims)


def tobytes_little_endian(array: _Array) -> bytes:
    """The bytes of an array in the order of little-endian machines."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def from_array(array: _Array, /, name: str | None = None) -> TensorProto:
    """A tensor of an array, with a name. Raises `NotImplementedError` if an array of objects has others than strings and bytes."""
    tensor = TensorProto(dims=array.shape)
    if name:
        tensor.name = name
    if array.dtype.kind in "OU":
        tensor.data_type = TensorProto.STRING
        for value in array.ravel():
            if not isinstance(value, (str, bytes)):
                raise NotImplementedError(
                    f"Unrecognized object in the object array, expect a string, or array of bytes: {type(value)}"
                )
            tensor.string_data.append(value.encode() if isinstance(value, str) else value)
        return tensor
    tensor.data_type = _types.np_dtype_to_tensor_dtype(array.dtype)
    tensor.raw_data = _types.encoded(array, tensor.data_type)
    return tensor


def to_list(sequence: SequenceProto) -> list[Any]:
    """The values of a sequence. Raises `TypeError` for a type of elements that has no counterpart."""
    if sequence.elem_type == SequenceProto.TENSOR:
        return [to_array(value) for value in sequence.tensor_values]
    if sequence.elem_type == SequenceProto.SPARSE_TENSOR:
        return [_dense(value) for value in sequence.sparse_tensor_values]
    if sequence.elem_type == SequenceProto.SEQUENCE:
        return [to_list(value) for value in sequence.sequence_values]
    if sequence.elem_type == SequenceProto.MAP:
        return [to_dict(value) for value in sequence.map_values]
    raise TypeError("The element type in the input sequence is not supported.")


def _dense(sparse: SparseTensorProto) -> _Array:
    """All elements of a sparse tensor: its indices are places in the order of elements, or one for each axis."""
    values, indices = to_array(sparse.values), to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 2:
        dense[tuple(indices.T)] = values
    else:
        dense.reshape(-1)[indices] = values
    return dense


def from_list(lst: list[Any], name: str | None = None, dtype: int | None = None) -> SequenceProto:
    """A sequence of the values of a list, which are all tensors, lists or dictionaries. `dtype` is the type of the elements of an empty list.

    Raises `TypeError` if the values are of several types.
    """
    kind = dtype if dtype is not None else _kind(lst[0]) if lst else SequenceProto.TENSOR
    sequence = SequenceProto(elem_type=kind)
    if name:
        sequence.name = name
    if not all(isinstance(item, type(lst[0])) for item in lst):
        raise TypeError(
            "The element type in the input list is not the same "
            "for all elements and therefore is not supported as a sequence."
        )
    if kind == SequenceProto.TENSOR:
        sequence.tensor_values.extend(from_array(np.asarray(item)) for item in lst)
    elif kind == SequenceProto.SEQUENCE:
        sequence.sequence_values.extend(map(from_list, lst))
    elif kind == SequenceProto.MAP:
        sequence.map_values.extend(map(from_dict, lst))
    else:
        raise TypeError("The element type in the input list is not a tensor, sequence, or map and is not supported.")
    return sequence


def _kind(value: Any) -> int:
    if isinstance(value, dict):
        return SequenceProto.MAP
    return SequenceProto.SEQUENCE if isinstance(value, list) else SequenceProto.TENSOR


def to_dict(map_proto: MapProto) -> dict[Any, Any]:
    """The entries of a map; keys that are strings are bytes. Raises `IndexError` if there are not as many keys as values."""
    keys = list(map_proto.string_keys if map_proto.key_type == TensorProto.STRING else map_proto.keys)
    values = to_list(map_proto.values)
    if len(keys) != len(values):
        raise IndexError(
            f"Length of keys and values for MapProto (map name: {map_proto.name}) are not the same."
        )
    return dict(zip(keys, values))


def from_dict(dict_: dict[Any, Any], name: str | None = None) -> MapProto:
    """A map of the entries of a dictionary, whose keys are integers or strings.

    Raises `ValueError` for an empty one, `TypeError` if keys or values are of several types, or keys of another type.
    """
    if not dict_:
        raise ValueError("Cannot convert an empty dictionary to MapProto.")
    result = MapProto(name=name) if name else MapProto()
    for what, items in [("key", list(dict_)), ("value", list(dict_.values()))]:
        if any(_type(item) != _type(items[0]) for item in items):
            raise TypeError(
                f"The {what} type in the input dictionary is not the same "
                f"for all {what}s and therefore is not valid as a map."
            )
    result.key_type = _types.np_dtype_to_tensor_dtype(_type(next(iter(dict_))))
    if result.key_type == TensorProto.STRING:
        result.string_keys.extend(key.encode() if isinstance(key, str) else key for key in dict_)
    elif result.key_type in _types.INTEGERS:
        result.keys.extend(dict_)
    else:
        raise TypeError(f"Unsupported map key type: {result.key_type}")
    result.values.CopyFrom(from_list(list(dict_.values())))
    return result


def _type(value: Any) -> Any:
    """NumPy's type of a key or a value; a text is not the name of a type."""
    return np.dtype("U") if isinstance(value, (str, bytes)) else np.result_type(value)


def to_optional(optional: OptionalProto) -> Any | None:
    """The value of an optional, or `None`. Raises `TypeError` for a type of values that has no counterpart."""
    kind = optional.elem_type
    if kind == OptionalProto.UNDEFINED:
        return None
    if kind == OptionalProto.TENSOR:
        return to_array(optional.tensor_value)
    if kind == OptionalProto.SPARSE_TENSOR:
        return _dense(optional.sparse_tensor_value)
    if kind == OptionalProto.SEQUENCE:
        return to_list(optional.sequence_value)
    if kind == OptionalProto.MAP:
        return to_dict(optional.map_value)
    if kind == OptionalProto.OPTIONAL:
        return to_optional(optional.optional_value)
    raise TypeError("The element type in the input optional is not supported.")


def from_optional(opt: Any | None, name: str | None = None, dtype: int | None = None) -> OptionalProto:
    """An optional with a value, or without: then `dtype` is the type that a value would have."""
    if dtype is not None and dtype not in OptionalProto.DataType.values():
        raise TypeError(f"{dtype} must be a valid OptionalProto.DataType.")
    kind = dtype if dtype is not None else OptionalProto.UNDEFINED if opt is None else _kind(opt)
    optional = OptionalProto(elem_type=kind)
    if name:
        optional.name = name
    if opt is None:
        return optional
    if kind == OptionalProto.TENSOR:
        optional.tensor_value.CopyFrom(from_array(opt))
    elif kind == OptionalProto.SEQUENCE:
        optional.sequence_value.CopyFrom(from_list(opt))
    elif kind == OptionalProto.MAP:
        optional.map_value.CopyFrom(from_dict(opt))
    else:
        raise TypeError("The element type in the input is not a tensor, sequence, or map and is not supported.")
    return optional


def create_random_int(input_shape: tuple[int, ...], dtype: Any, seed: int = 1) -> _Array:
    """Random integers of a type, within the range of 32 bits. Raises `TypeError` for other types."""
    if np.dtype(dtype).kind not in "iu":
        raise TypeError(f"{dtype} is not supported by create_random_int.")
    np.random.seed(seed)
    limits, middle = np.iinfo(dtype), np.iinfo(np.int32)
    low, high = max(limits.min, middle.min), min(limits.max, middle.max)
    return np.random.randint(low, high, size=input_shape).astype(dtype)


def saturate_cast(x: _Array, dtype: Any) -> _Array:
    """Numbers as those of a type, clamped to its range; for integers, rounded."""
    import ml_dtypes

    try:
        info: Any = ml_dtypes.iinfo(dtype)
        x = np.round(x)
    except ValueError:
        info = ml_dtypes.finfo(dtype)
    return np.clip(x, info.min, info.max).astype(dtype)


def to_float8e8m0(x: _Array, saturate: bool = True, round_mode: str = "up") -> _Array:
    """Numbers as powers of two of 8 bits, rounded `up`, `down` or to the `nearest`. Raises `ValueError` for another rounding.

    The largest is not rounded up if `saturate` is true, but becomes NaN otherwise.
    """
    import ml_dtypes

    bits = np.asarray(x, np.float32).view(np.uint32)
    exponent, fraction = (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if round_mode == "up":
        is_raised = fraction > 0
    elif round_mode == "nearest":
        # Ties go to the even one of the two: the upper one, but for the smallest.
        is_raised = (fraction > 0x400000) | ((fraction == 0x400000) & (exponent > 0))
    elif round_mode == "down":
        is_raised = np.zeros(fraction.shape, bool)
    else:
        raise ValueError(f"Unsupported rounding mode: {round_mode}")
    is_raised = is_raised & (exponent != 0xFF) & ~(saturate & (exponent == 0xFE))
    return (exponent + is_raised).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def _pack_4bitx2(array: _Array) -> _Array:
    """Elements of 4 bits, two a byte. Programs use these functions of `onnx.numpy_helper` in spite of their names."""
    return _types.packed(array, TensorProto.UINT4)


def _pack_2bitx4(array: _Array) -> _Array:
    """Elements of 2 bits, four a byte."""
    return _types.packed(array, TensorProto.UINT2)


def _pack_6bit(values: _Array) -> _Array:
    """Elements of 6 bits, four in three bytes."""
    return _types.packed(values.astype(np.uint8, copy=False), TensorProto.FLOAT6E2M3)
