"""Models built by values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxtxt._native import Graph, Model, Value, explain, ops

if TYPE_CHECKING:
    # The operators for type checkers, and for editors that complete their names and attributes.
    from onnxtxt._operator_methods import OperatorMethods
else:
    OperatorMethods = object


#: What is known of operators by name: their documentation, or ``None`` for a function of a model.
_DOCUMENTATION: dict[str, str | None] = {}


def _documentation(op_type: str) -> str | None:
    """What the operator computes, and its operands; ``None`` for a function of a model."""
    if op_type not in _DOCUMENTATION:
        try:
            _DOCUMENTATION[op_type] = explain(op_type)
        except ValueError:
            _DOCUMENTATION[op_type] = None
    return _DOCUMENTATION[op_type]


class GraphBuilder(OperatorMethods):
    """Builds the main graph of a model, or another graph, by values.

    Each operator is a method. Its positional arguments are values, arrays (which become initializers), numbers (which get the
    element type that the operator requires), or ``None`` for an optional operand that is left out; its keyword arguments are
    attributes, converted to the types that the operator declares. The result is a value, or a tuple of values if the operator
    has several results (or ``outputs`` asks for several).

    >>> import numpy as np, onnxtxt
    >>> b = onnxtxt.GraphBuilder(opset=21)
    >>> x = b.input("x", "float[N,2]")
    >>> y = b.Relu(b.MatMul(x, np.ones((2, 3), np.float32)))
    >>> b.output(y, "y")
    <onnxtxt.Value y>
    >>> model = b.build()
    >>> model.graph.outputs[0].type
    'float[N,3]'

    Names of operators and their attributes are completed, and checked by type checkers; ``help(b.Conv)`` describes one.

    Graphs in attributes are functions that get a builder; they see the values around them:

    >>> b = onnxtxt.GraphBuilder(opset=21)
    >>> c, x = b.input("c", "bool"), b.input("x", "float[N]")
    >>> y = b.If(c, then_branch=lambda b: b.Neg(x), else_branch=lambda b: b.Abs(x))
    >>> b.output(y, "y").producer().op_type
    'If'
    """

    def __init__(
        self,
        opset: int | Mapping[str, int] | None = None,
        *,
        name: str = "g",
        ir_version: int | None = None,
        graph: Graph | None = None,
        model: Model | None = None,
    ) -> None:
        """Begins a model that imports ``opset`` (a version of ai.onnx, or a mapping from domains to versions; by default the
        newest version), or continues ``graph``, a graph of ``model``."""
        if graph is None:
            model = Model.new(opset, name=name, ir_version=ir_version)
            graph = model.graph
        elif opset is not None:
            raise ValueError("`opset` is for a new model: a graph has that of its model")
        self._model = model
        self._graph = graph

    @property
    def graph(self) -> Graph:
        """The graph as it is so far."""
        return self._graph

    @property
    def model(self) -> Model:
        """The model as it is so far; ``build`` infers its types and checks it."""
        if self._model is None:
            raise ValueError("this builder is for a graph of another builder's model")
        return self._model

    def input(self, name: str, type: str | None = None) -> Value:
        """Adds an input. ``type`` is a text such as ``float[N,3]``; functions have inputs without types."""
        return self._graph.add_input(name, type)

    def initializer(self, name: str, array: Any) -> Value:
        """Adds an initializer, which shares the memory of the array if it can."""
        self._graph.initializers[name] = array
        return self._graph.value_named(name)

    def output(self, value: Value, name: str | None = None, type: str | None = None) -> Value:
        """Adds an output, under a name if one is given, and returns its value. ``build`` infers a missing type."""
        return self._graph.add_output(value, name, type)

    def op(
        self,
        op_type: str,
        *inputs: Any,
        domain: str = "",
        outputs: int | str | Sequence[str | None] | None = None,
        name: str = "",
        overload: str = "",
        **attributes: Any,
    ) -> Any:
        """Adds a node. ``outputs`` are names of results or their number; by default as many as the operator has at least."""
        graphs = {key: value for key, value in attributes.items() if callable(value) and not isinstance(value, Value)}
        plain = {key: value for key, value in attributes.items() if key not in graphs}
        node = self._graph.append(
            op_type, inputs, plain, outputs=outputs, domain=domain, name=name, overload=overload
        )
        for key, fill in graphs.items():
            self._fill(node.add_graph(key), fill)
        results = node.outputs
        return results[0] if len(results) == 1 else results

    def _fill(self, graph: Graph, fill: Callable[[GraphBuilder], Any]) -> None:
        results = fill(GraphBuilder(graph=graph))
        if results is None:
            return
        for result in [results] if isinstance(results, Value) else results:
            producer = result.producer()
            # A value from around the graph needs a name inside it.
            here = producer is not None and producer.graph == graph
            graph.add_output(result, None if here else graph.fresh_name(result.name))

    def function(
        self, domain: str, name: str, fill: Callable[[GraphBuilder], Any], *, attributes: Sequence[str] = ()
    ) -> None:
        """Adds a function to the model: ``fill`` gets a builder for its body. Nodes call it by ``op(name, …, domain=domain)``."""
        function = self.model.add_function(domain, name, attributes=list(attributes))
        graph = function.graph
        assert graph is not None
        self._fill(graph, fill)

    def build(self, *, check: bool = True) -> Model:
        """The model, with inferred types. Raises ``onnxtxt.Error`` if it has errors, unless ``check`` is false."""
        from onnxtxt._native import _ensure_valid

        self.model.infer()
        if check:
            _ensure_valid(self.model)
        return self.model

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if op_type.startswith("_") or not op_type[:1].isupper():
            raise AttributeError(f"a GraphBuilder has no `{op_type}`: operators begin with a capital letter")

        def add(*inputs: Any, **attributes: Any) -> Any:
            return self.op(op_type, *inputs, **attributes)

        add.__name__, add.__doc__ = op_type, _documentation(op_type)
        return add

    def __dir__(self) -> list[str]:
        names = (operator["name"] for operator in ops(domain="ai.onnx") if not operator["deprecated"])
        return sorted([*object.__dir__(self), *names])
