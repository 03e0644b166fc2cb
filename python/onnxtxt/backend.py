"""The backend interface of ONNX (``onnx.backend.base``): ``prepare``, ``run_model``, ``run_node``, ``supports_device``.

>>> import numpy as np, onnx.parser, onnxtxt.backend
>>> model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
>>> onnxtxt.backend.run_model(model, [np.array([-1, 2], np.float32)])
(array([0., 2.], dtype=float32),)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx.backend.base import Backend, BackendRep, namedtupledict

from onnxtxt._native import Session


class OnnxtxtRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names = [port.name for port in session.inputs]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, for inputs in order, by name, or a single one."""
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        elif isinstance(inputs, (list, tuple)):
            if len(inputs) > len(self._names):
                raise ValueError(f"the model has {len(self._names)} inputs, not {len(inputs)}")
            feeds = dict(zip(self._names, inputs))
        else:
            feeds = {self._names[0]: inputs}
        return tuple(self._session.run_list(feeds))


class OnnxtxtBackend(Backend):
    """The backend."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be run."""
        try:
            Session(model)
        except Exception:  # noqa: BLE001: whatever it is
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> OnnxtxtRep:
        """A model that is ready to be run: a ``Model``, an ``onnx.ModelProto``, a path, or bytes."""
        if not cls.supports_device(device):
            raise ValueError(f"unknown device {device!r}, expected `CPU`")
        # The tests of the interface compare with results that are rounded after each node.
        kwargs.setdefault("exact", True)
        return OnnxtxtRep(Session(model, **kwargs))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Sequence[Any] | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of a node; ``opset_version`` chooses the version of its operator."""
        import numpy as np
        from onnx import TensorProto, defs, helper

        def kind(array: Any) -> int:
            dtype = np.asarray(array).dtype
            return TensorProto.STRING if dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(dtype)

        names = [name for name in node.input if name]
        feeds = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        given = [helper.make_tensor_value_info(n, kind(x), np.shape(x)) for n, x in zip(names, feeds)]
        results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", given, results)
        version = kwargs.pop("opset_version", defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        # The types of outputs are those that inference finds.
        outputs = Session(model, unchecked=True).run_list(dict(zip(names, feeds)))
        return namedtupledict("Outputs", [name for name in node.output if name])(*outputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether it is the processor."""
        return device.split(":")[0] == "CPU"


is_compatible = OnnxtxtBackend.is_compatible
prepare = OnnxtxtBackend.prepare
run_model = OnnxtxtBackend.run_model
run_node = OnnxtxtBackend.run_node
supports_device = OnnxtxtBackend.supports_device
