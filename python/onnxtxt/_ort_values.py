"""Values of sessions with the interface of ``onnxruntime``: ``OrtValue``, ``OrtDevice`` and ``IOBinding``.

>>> import numpy as np, onnxtxt
>>> value = onnxtxt.OrtValue.ortvalue_from_numpy(np.ones((2, 3), np.float32))
>>> value.shape(), value.data_type(), value.device_name()
([2, 3], 'tensor(float)', 'cpu')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnxtxt.inference import InferenceSession


#: Element types of ``OrtValue``, by the type of NumPy.
_ELEMENTS = {
    "float32": ("float", 1), "uint8": ("uint8", 2), "int8": ("int8", 3), "uint16": ("uint16", 4), "int16": ("int16", 5),
    "int32": ("int32", 6), "int64": ("int64", 7), "object": ("string", 8), "bool": ("bool", 9), "float16": ("float16", 10),
    "float64": ("double", 11), "uint32": ("uint32", 12), "uint64": ("uint64", 13), "complex64": ("complex64", 14),
    "complex128": ("complex128", 15), "bfloat16": ("bfloat16", 16), "float8_e4m3fn": ("float8e4m3fn", 17),
    "float8_e4m3fnuz": ("float8e4m3fnuz", 18), "float8_e5m2": ("float8e5m2", 19), "float8_e5m2fnuz": ("float8e5m2fnuz", 20),
    "uint4": ("uint4", 21), "int4": ("int4", 22), "float4_e2m1fn": ("float4e2m1", 23),
}  # fmt: skip


class OrtValue:
    """A value in the memory of the processor: an array, a list of arrays, or ``None``."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        """A value over an array, which is not copied."""
        _ensure_cpu(device_type)
        return OrtValue(np.asarray(numpy_obj))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Any, onnx_element_type: int) -> OrtValue:
        """A value over an array whose elements have the bits of a type of ``onnx.TensorProto``, which is not copied.

        Raises ``ValueError`` for another size of elements.
        """
        array, dtype = np.asarray(data), _element_dtype(onnx_element_type)
        if array.dtype.itemsize != dtype.itemsize:
            raise ValueError(f"elements of {array.dtype} have {array.dtype.itemsize} bytes, expected {dtype.itemsize} for {dtype}")
        return OrtValue(array.view(dtype))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A value of zeros; the type is one of NumPy, or a number of ``onnx.TensorProto``."""
        _ensure_cpu(device_type)
        return OrtValue(np.zeros(tuple(shape), _element_dtype(element_type)))

    @staticmethod
    def from_dlpack(data: Any) -> OrtValue:
        """A value over the memory of another library."""
        return OrtValue(np.from_dlpack(data))

    def numpy(self) -> Any:
        """The array."""
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._value) if dtype is None else np.asarray(self._value, dtype)

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self._value.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._value.ctypes.data)

    def device_name(self) -> str:
        """``cpu``."""
        return "cpu"

    def shape(self) -> list[int]:
        """The sizes of the axes."""
        return list(np.shape(self._value))

    def element_type(self) -> int:
        """The number of the element type in ``onnx.TensorProto``."""
        return _ELEMENTS.get(self._value.dtype.name, ("undefined", 0))[1]

    def data_type(self) -> str:
        """``tensor(float)``."""
        if isinstance(self._value, list):
            return f"seq({OrtValue(self._value[0]).data_type() if self._value else 'tensor(undefined)'})"
        return f"tensor({_ELEMENTS.get(self._value.dtype.name, ('undefined', 0))[0]})"

    def tensor_size_in_bytes(self) -> int:
        """The bytes of the elements."""
        return int(self._value.nbytes)

    def has_value(self) -> bool:
        """Whether it has a value: an optional may be empty."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether it is an array."""
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """``False``: sparse tensors are stored as dense ones."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a list of arrays."""
        return isinstance(self._value, list)

    def update_inplace(self, np_arr: Any) -> None:
        """Copies elements into the array."""
        if np.shape(np_arr) != self._value.shape or np.asarray(np_arr).dtype != self._value.dtype:
            raise ValueError(f"the new elements are {np.shape(np_arr)}, expected {self._value.dtype}{self._value.shape}")
        self._value[...] = np_arr


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _element_dtype(element_type: Any) -> Any:
    """The type of NumPy for one, or for a number of ``onnx.TensorProto``."""
    if not isinstance(element_type, int):
        return np.dtype(element_type)
    name = next((name for name, (_, number) in _ELEMENTS.items() if number == element_type), None)
    if name is None:
        raise ValueError(f"element_type is {element_type}, expected a number of onnx.TensorProto")
    return _dtype(name)


def _ensure_cpu(device: str) -> None:
    if device.lower() != "cpu":
        raise RuntimeError(f"unknown device {device!r}, expected `cpu`")


class OrtDevice:
    """The processor, which is the one device of this package."""

    def __init__(self, device_type: int = 0, memory_type: int = 0, device_id: int = 0) -> None:
        if device_type != 0:
            raise RuntimeError(f"the device type is {device_type}, expected 0 (`cpu`)")

    @staticmethod
    def cpu() -> int:
        """The number of the processor among types of devices."""
        return 0

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """The device of a name. Raises ``RuntimeError`` for others than ``cpu``."""
        _ensure_cpu(ort_device_name)
        return OrtDevice()

    def device_type(self) -> int:
        """``0``, the processor."""
        return 0

    def device_id(self) -> int:
        """``0``."""
        return 0

    def device_mem_type(self) -> int:
        """``0``, its usual memory."""
        return 0

    def device_vendor_id(self) -> int:
        """``0``: none."""
        return 0


class IOBinding:
    """Inputs and outputs that are bound before a run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an array."""
        self._inputs[name] = arr_on_cpu

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value."""
        self._inputs[name] = ortvalue.numpy()

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds elements at an address, which must stay there as long as the binding is used."""
        _ensure_cpu(device_type)
        self._inputs[name] = _at(element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output; with ``buffer_ptr``, its elements are written there."""
        _ensure_cpu(device_type)
        self._outputs[name] = None if buffer_ptr is None else _at(element_type, shape or (), buffer_ptr)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output in the memory of a value."""
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Nothing: inputs are there."""

    def synchronize_outputs(self) -> None:
        """Nothing: outputs are there."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run."""
        return [OrtValue(value) for value in self._results]

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """The same."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as arrays."""
        return list(self._results)

    def clear_binding_inputs(self) -> None:
        """Forgets all inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets all outputs."""
        self._outputs.clear()
        self._results = []


def _at(element_type: Any, shape: Sequence[int], address: int) -> Any:
    import ctypes

    dtype, shape = _element_dtype(element_type), tuple(shape)
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(shape)
