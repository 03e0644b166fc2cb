"""The evaluator of ``onnx.reference`` over onnxtxt: ``ReferenceEvaluator``, with operators of Python.

>>> import numpy as np
>>> from onnxtxt.compat.reference import ReferenceEvaluator
>>> text = b'<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
>>> ReferenceEvaluator(text).run(None, {"x": np.array([-1, 2], np.float32)})
[array([0., 2.], dtype=float32)]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onnxtxt._native import Error, Model, Session

__all__ = ["ReferenceEvaluator"]

# Findings about operators that nobody defines.
_NOT_IMPLEMENTED = {"E1001", "E1602"}


class ReferenceEvaluator:
    """Computes the outputs of a model, with the interface of ``onnx.reference.ReferenceEvaluator``.

    ``proto`` is a model, graph, function or node of ``onnx``, a path, bytes, or a ``Model``. ``new_ops`` are classes derived from
    ``onnx.reference.op_run.OpRun``, which run nodes of their ``op_domain`` and name; ``functions`` are functions that the model calls.
    Floats of 16 bits are rounded after each node. With ``check_shape_annotations``, values that do not have their declared type and shape raise
    ``onnx.reference.shape_annotation_checker.ShapeAnnotationError``; those of nested graphs and functions are not compared.

    Raises ``NotImplementedError`` for operators that nobody defines, ``TypeError`` for classes without a method ``_run``.
    """

    def __init__(
        self,
        proto: Any,
        opsets: Mapping[str, int] | None = None,
        functions: Iterable[Any] | None = None,
        verbose: int = 0,
        new_ops: Iterable[type] | None = None,
        optimized: bool = True,
        check_shape_annotations: bool = False,
        **kwargs: Any,
    ) -> None:
        self.proto_ = proto
        self.check_shape_annotations = check_shape_annotations
        self.verbose = verbose
        self.optimized = optimized
        self._attributes: list[str] = []
        self._values: dict[tuple[Any, ...], Session] = {}
        self._operators = _operators(new_ops or (), opsets, verbose)
        self._functions = [getattr(function, "proto_", function) for function in functions or ()]
        kind = type(proto).__name__
        if kind == "FunctionProto":
            self._attributes = list(proto.attribute) + [attribute.name for attribute in proto.attribute_proto]
        self._kind = kind
        self._opsets = dict(opsets) if opsets else None
        self._session: Session | None = None
        if kind not in ("FunctionProto", "NodeProto"):
            self._session = self._made(self._model(proto, kind))
            self.input_names = [port.name for port in self._session.inputs]
            self.output_names = [port.name for port in self._session.outputs]
        else:
            self.input_names = list(proto.input)
            self.output_names = list(proto.output)

    def _made(self, model: Any) -> Session:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                return Session(model, exact=True, unchecked=True, operators=self._operators)
            except Error as error:
                if any(finding.code in _NOT_IMPLEMENTED for finding in error.findings):
                    raise NotImplementedError(str(error)) from error
                raise

    def _model(self, proto: Any, kind: str) -> Any:
        if isinstance(proto, (str, bytes, Model)) or hasattr(proto, "__fspath__"):
            return proto
        import onnx

        if kind == "ModelProto":
            if not self._functions:
                return proto
            model = onnx.ModelProto()
            model.CopyFrom(proto)
        elif kind == "GraphProto":
            opsets = self._opsets or {"": onnx.defs.onnx_opset_version()}
            imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
            model = onnx.helper.make_model(proto, opset_imports=imports)
        else:
            raise TypeError(f"the model is {kind}, expected one of onnx, a path or bytes")
        known = {(function.domain, function.name) for function in model.functions}
        model.functions.extend(f for f in self._functions if (f.domain, f.name) not in known)
        domains = {entry.domain for entry in model.opset_import}
        for function in self._functions:
            if function.domain not in domains:
                domains.add(function.domain)
                model.opset_import.append(onnx.helper.make_opsetid(function.domain, 1))
        return model

    @property
    def opsets(self) -> dict[str, int]:
        """The versions of operator sets by domain."""
        if self._opsets is not None:
            return self._opsets
        return {entry.domain: entry.version for entry in getattr(self.proto_, "opset_import", ())}

    def run(
        self,
        output_names: Sequence[str] | None,
        feed_inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        intermediate: bool = False,
        check_shape_annotations: bool | None = None,
    ) -> Any:
        """The outputs of these names (all outputs) as a list; with ``intermediate``, all results as a dictionary."""
        session = self._session or self._called(feed_inputs, attributes or {})
        if self.check_shape_annotations if check_shape_annotations is None else check_shape_annotations:
            self._check_shapes(session, feed_inputs)
        if intermediate:
            return {**feed_inputs, **session.run(dict(feed_inputs), intermediate=True)}
        return session.run_list(dict(feed_inputs), list(output_names) if output_names else None)

    def _check_shapes(self, session: Session, feeds: Mapping[str, Any]) -> None:
        """Compares what is given, and then what is computed, with the types that the model declares."""
        import onnx
        from onnx.reference.shape_annotation_checker import SymbolBindings, check_value_against_type

        graph = self.proto_ if self._kind == "GraphProto" else getattr(self.proto_, "graph", None)
        if graph is None:
            return
        values: dict[str, Any] = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        values.update(feeds)
        bindings = SymbolBindings()
        for value in [*graph.input, *graph.value_info]:
            if value.name in values:
                check_value_against_type(value.type, values[value.name], bindings, value.name)
        computed = session.run(dict(feeds), intermediate=True)
        for value in [*graph.value_info, *graph.output]:
            if value.name in computed:
                check_value_against_type(value.type, computed[value.name], bindings, value.name)

    def _called(self, feeds: Mapping[str, Any], attributes: Mapping[str, Any]) -> Session:
        """A session for a node, or for a function with these attributes: their inputs have no types until there are values."""
        import numpy as np
        import onnx

        missing = [name for name in self.input_names if name and name not in feeds]
        if missing and self._kind == "NodeProto":
            raise Error(f"no value is given for {', '.join(missing)}")

        def described(name: str) -> Any:
            value = feeds[name]
            if isinstance(value, list) or value is None:
                return onnx.helper.make_value_info(name, onnx.TypeProto())
            array = np.asarray(value)
            kind = onnx.TensorProto.STRING if array.dtype.kind in "OU" else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            return onnx.helper.make_tensor_value_info(name, kind, array.shape)

        inputs = [described(name) for name in self.input_names if name in feeds]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in self.output_names if name]
        key = (*(info.SerializeToString() for info in inputs), *sorted((name, repr(value)) for name, value in attributes.items()))
        if key in self._values:
            return self._values[key]
        functions = list(self._functions)
        if self._kind == "NodeProto":
            node = self.proto_
            opsets = self._opsets or {node.domain: onnx.defs.onnx_opset_version()}
        else:
            function = self.proto_
            node = onnx.helper.make_node(function.name, function.input, function.output, domain=function.domain, **attributes)
            functions.append(function)
            opsets = {entry.domain: entry.version for entry in function.opset_import}
        for function in functions:
            opsets.setdefault(function.domain, 1)
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        graph = onnx.helper.make_graph([node], "g", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=imports, functions=functions)
        self._values[key] = self._made(model)
        return self._values[key]


class _NewOp:
    """An operator that a class like ``OpRun`` runs: an instance for each node."""

    def __init__(self, operator: Any, opsets: Mapping[str, int] | None, verbose: int) -> None:
        self.operator = operator
        self.opsets = dict(opsets or {})
        self.verbose = verbose

    def prepare(
        self, *, domain: str, op_type: str, name: str, inputs: list[str], outputs: list[str], attributes: dict[str, Any]
    ) -> Any:
        import onnx

        tensors = {
            key: onnx.numpy_helper.from_array(value, key) if hasattr(value, "dtype") else value
            for key, value in attributes.items()
        }
        node = onnx.helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **tensors)
        log = (lambda pattern, *args: print(pattern % args)) if self.verbose else (lambda *_: None)
        params = {"log": log, "opsets": {"": onnx.defs.onnx_opset_version(), **self.opsets}, "verbose": self.verbose,
                  "new_ops": None, "existing_functions": {}, "evaluator_cls": ReferenceEvaluator}  # fmt: skip
        operator = self.operator(node, params)

        def run(*values: Any) -> tuple[Any, ...]:
            results = operator.run(*values)
            return results if isinstance(results, tuple) else (results,)

        return run


def _operators(new_ops: Iterable[type], opsets: Mapping[str, int] | None, verbose: int) -> dict[tuple[str, str], Any] | None:
    operators = {}
    for operator in new_ops:
        if not hasattr(operator, "op_domain"):
            raise AttributeError(f"Class {operator} must define attribute 'op_domain'.")
        if not hasattr(operator, "_run"):
            raise TypeError(f"Class {operator} must have a method `_run`, as those derived from onnx.reference.op_run.OpRun")
        # As `onnx.reference`: a class may name a version after its operator.
        name, _, version = operator.__name__.rpartition("_")
        name = name if version.isdigit() else operator.__name__
        if any(base.__name__ == "OpRunExpand" for base in operator.__mro__):
            continue  # the operator is run by its function body
        operators[operator.op_domain, name] = _NewOp(operator, opsets, verbose)
    return operators or None
