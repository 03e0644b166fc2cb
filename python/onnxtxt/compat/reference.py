"""The evaluator of ``onnx.reference`` over onnxtxt: ``ReferenceEvaluator``, with operators of Python.

>>> import numpy as np
>>> from onnxtxt.compat.reference import ReferenceEvaluator
>>> text = b'<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
>>> ReferenceEvaluator(text).run(None, {"x": np.array([-1, 2], np.float32)})
[array([0., 2.], dtype=float32)]
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnxtxt
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
        self._operators = _operators([*_experimental(proto), *(new_ops or ())], opsets, verbose)
        self._functions = [getattr(function, "proto_", function) for function in functions or ()]
        kind = type(proto).__name__
        if kind == "FunctionProto":
            self._attributes = list(proto.attribute) + [attribute.name for attribute in proto.attribute_proto]
        self._kind = kind
        self._opsets = dict(opsets) if opsets else None
        self._message: Any = None
        if kind not in ("FunctionProto", "NodeProto"):
            self._message = self._model(proto, kind)
            session = self._typed({})
            self.input_names = [port.name for port in session.inputs]
            self.output_names = [port.name for port in session.outputs]
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
        import onnx

        if isinstance(proto, (str, bytes, Model)) or hasattr(proto, "__fspath__"):
            proto, kind = onnx.ModelProto.FromString(onnxtxt.open(proto).to_bytes()), "ModelProto"
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
        return {entry.domain: entry.version for entry in getattr(self._message or self.proto_, "opset_import", ())}

    @property
    def rt_nodes_(self) -> list[Any]:
        """The nodes as objects of the reference's own evaluator, for programs that look into them; they are not what runs."""
        from onnx.reference import reference_evaluator

        functions = None if self._message is not None else self._functions
        return reference_evaluator.ReferenceEvaluator(self._message or self.proto_, self._opsets, functions).rt_nodes_

    def _typed(self, feeds: Mapping[str, Any]) -> Session:
        """A session for these inputs, whose types need not be those that the model declares: as in the reference, these are descriptions."""
        import onnx

        graph = self._message.graph
        declared = {value.name: value.type.tensor_type.elem_type for value in graph.input if value.type.HasField("tensor_type")}
        computed = {name for node in graph.node for name in node.output}
        stored = {name for node in graph.node for name in node.input if name} - computed
        given = {}
        for name, value in feeds.items():
            if name in declared or name in stored and not isinstance(value, (list, dict)):
                kind = _elem_type(value)
                if kind != declared.get(name, 0):
                    given[name] = kind
        key = tuple(sorted(given.items()))
        if key not in self._values:
            model = onnx.ModelProto()
            model.CopyFrom(self._message)
            names = {value.name for value in model.graph.input}
            for value in model.graph.input:
                if value.type.HasField("tensor_type"):
                    value.type.tensor_type.ClearField("shape")
                    value.type.tensor_type.elem_type = given.get(value.name, value.type.tensor_type.elem_type)
            model.graph.input.extend(
                onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in given.items() if name not in names
            )
            del model.graph.value_info[:]
            for value in model.graph.output:
                value.ClearField("type")
            self._values[key] = self._made(model)
        return self._values[key]

    def run(
        self,
        output_names: Sequence[str] | None,
        feed_inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        intermediate: bool = False,
        check_shape_annotations: bool | None = None,
    ) -> Any:
        """The outputs of these names (all outputs) as a list; with ``intermediate``, all results as a dictionary."""
        if self._message is not None:
            session = self._typed(feed_inputs)
            known = {port.name for port in session.inputs}
            feed_inputs = {name: value for name, value in feed_inputs.items() if name in known}
        else:
            session = self._called(feed_inputs, attributes or {})
        if self.verbose > 1:
            return self._told(session, output_names, feed_inputs)
        if self.check_shape_annotations if check_shape_annotations is None else check_shape_annotations:
            self._check_shapes(session, feed_inputs)
        try:
            if intermediate:
                return {**feed_inputs, **session.run(dict(feed_inputs), intermediate=True)}
            results = session.run_list(dict(feed_inputs), list(output_names) if output_names else None)
            return [_with_texts(result) for result in results]
        except Error as error:
            declared = self._declared(feed_inputs)
            if declared is None:
                raise _evaluation_error(error) from error
        # Operators may not accept the types that are given: then they get those that are declared.
        return self.run(output_names, declared, attributes, intermediate, check_shape_annotations)

    def _declared(self, feeds: Mapping[str, Any]) -> dict[str, Any] | None:
        """The inputs with their declared types, if others are given."""
        import numpy as np
        import onnx

        if self._message is None:
            return None
        changed = dict(feeds)
        for value in self._message.graph.input:
            kind = value.type.tensor_type.elem_type
            if kind and value.name in feeds and kind != _elem_type(feeds[value.name]):
                changed[value.name] = np.asarray(feeds[value.name]).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
        return changed if any(changed[name] is not value for name, value in feeds.items()) else None

    def _told(self, session: Session, output_names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """Runs the model, and prints its nodes; from level 3 on with values, from level 11 on with calls."""
        values = {**feeds, **session.run(dict(feeds), intermediate=True)}
        for name, value in feeds.items() if self.verbose > 2 else ():
            print(f" +I {name}: {_shown(value)}")
        nodes = self._message.graph.node if self._message is not None else [self.proto_] if self._kind == "NodeProto" else self.proto_.node
        for node in nodes:
            print(f"{node.op_type}({', '.join(node.input)}) -> {', '.join(node.output)}")
            if self.verbose > 10:
                print(f"-- begin {node.op_type}.run({len(node.input)} input{'' if len(node.input) == 1 else 's'})")
                print(f"-- done {node.op_type}.run -> {len(node.output)} outputs")
            for name in node.output if self.verbose > 2 else ():
                print(f" + {name}: {_shown(values.get(name))}")
        return [values[name] for name in output_names or self.output_names]

    def _check_shapes(self, session: Session, feeds: Mapping[str, Any]) -> None:
        """Compares what is given, and then what is computed, with the types that the model declares."""
        import onnx
        from onnx.reference.shape_annotation_checker import SymbolBindings, check_value_against_type

        if self._message is None:
            return
        graph = self._message.graph
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
            return onnx.helper.make_tensor_value_info(name, _elem_type(value), np.shape(value))

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


def _with_texts(value: Any) -> Any:
    """Strings as the reference has them."""
    return value.astype(str) if getattr(value, "dtype", None) == object else value


def _shown(value: Any) -> str:
    """An array as its type, shape and first elements."""
    if not hasattr(value, "dtype"):
        return repr(value)
    flat = value.ravel().tolist()
    elements = f"{', '.join(map(str, flat[:10]))}{'...' if len(flat) > 10 else ''}"
    return f"{value.dtype}:{value.shape}:[{elements}]"


class EvaluationError(Error, ValueError, TypeError, RuntimeError):
    """A node cannot be computed. Operators of the reference raise `ValueError`, `TypeError` or `RuntimeError` then."""


#: What the reference says first, where programs look for it.
_SENTENCES = [
    (re.compile(r"`Concat`.*: axis (-?\d+) is out of range \[-(\d+), "), r"axis \1 is out of range for input rank \2."),
    (re.compile(r"`w_scale` of `QLinearConv` must have rank 0 to 1"), "w_scale must be a scalar or a 1-D tensor."),
    (re.compile(r"`SwiGLU` expects equal shapes"), "SwiGLU needs operands of identical shapes."),
]


def _evaluation_error(error: Error) -> EvaluationError:
    text = str(error)
    sentence = next((found.expand(words) for pattern, words in _SENTENCES if (found := pattern.search(text))), None)
    raised = EvaluationError(f"{sentence}\n{text}", *error.args[1:]) if sentence else EvaluationError(*error.args)
    raised.__dict__.update(error.__dict__)
    return raised


def _elem_type(value: Any) -> int:
    """The element type of an array."""
    import numpy as np
    import onnx

    dtype = np.asarray(value).dtype
    return onnx.TensorProto.STRING if dtype.kind in "OU" else onnx.helper.np_dtype_to_tensor_dtype(dtype)


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


def _experimental(proto: Any) -> list[type]:
    """The operators of the domain `experimental` that a model imports, which are no part of ONNX: the reference's own."""
    if "experimental" not in {entry.domain for entry in getattr(proto, "opset_import", ())}:
        return []
    from onnx.reference.ops.experimental.op_im2col import Im2Col

    return [type("Im2Col", (Im2Col,), {"op_domain": "experimental"})]


def _operators(new_ops: Iterable[type], opsets: Mapping[str, int] | None, verbose: int) -> dict[tuple[str, str], Any] | None:
    operators = {}
    for operator in new_ops:
        if not hasattr(operator, "op_domain"):
            raise AttributeError(f"Class {operator} must define attribute 'op_domain'.")
        if not hasattr(operator, "_run") or not hasattr(operator, "run"):
            raise TypeError(f"Class {operator} must have methods `_run` and `run`, as those derived from onnx.reference.op_run.OpRun")
        # As `onnx.reference`: a class may name a version after its operator.
        name, _, version = operator.__name__.rpartition("_")
        name = name if version.isdigit() else operator.__name__
        if any(base.__name__ == "OpRunExpand" for base in operator.__mro__):
            continue  # the operator is run by its function body
        operators[operator.op_domain, name] = _NewOp(operator, opsets, verbose)
    return operators or None
