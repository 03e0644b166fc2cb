"""`onnx.utils`: parts of models as models of their own.

>>> from onnxtxt.compat import parser
>>> model = parser.parse_model('''<ir_version: 10, opset_import: ["": 21]>
... g (float[N] x) => (float[N] y) <float[N] t> { t = Relu(x) y = Neg(t) }''')
>>> [node.op_type for node in Extractor(model).extract_model(["t"], ["y"]).graph.node]
['Neg']
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import onnxtxt
from onnxtxt.compat import checker, shape_inference
from onnxtxt.compat._messages import ModelProto, NodeProto, message


def _read(node: NodeProto) -> Iterator[str]:
    """The names that a node reads, also in nested graphs."""
    yield from node.input
    for attribute in node.attribute:
        for graph in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
            for inner in graph.node:
                yield from _read(inner)
            yield from (value.name for value in graph.output)


class Extractor:
    """Extracts parts of a model by the names of values."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.graph = model.graph

    def extract_model(self, input_names: list[str], output_names: list[str]) -> ModelProto:
        """The part between inputs and outputs, which are named. Raises `ValueError` if a name has no declared type."""
        graph = self.graph
        declared = {value.name: value for values in (graph.value_info, graph.input, graph.output) for value in values}
        missing = [name for name in [*input_names, *output_names] if name not in declared]
        if missing:
            raise ValueError(f"The following names were not found in value_infos: {', '.join(missing)}")
        needed = self._needed(input_names, output_names)
        try:
            part = onnxtxt.decode(self.model).extract(from_=[name for name in input_names if name in needed], to=output_names)
        except onnxtxt.Error as error:
            raise ValueError(str(error)) from None
        part.graph.name = f"Extracted from {{{graph.name}}}"
        part.producer_name = "onnx.utils.extract_model"
        extracted = message(part)
        # What no output needs stays an input as well.
        inputs = {value.name: value for value in extracted.graph.input}
        del extracted.graph.input[:]
        extracted.graph.input.extend(inputs[name] if name in inputs else declared[name] for name in input_names)
        return extracted

    def _needed(self, input_names: list[str], output_names: list[str]) -> set[str]:
        """The values that the outputs depend on, up to the inputs."""
        producers = {name: node for node in self.graph.node for name in node.output if name}
        needed, todo = set(), list(output_names)
        while todo:
            name = todo.pop()
            if name in needed:
                continue
            needed.add(name)
            if name in producers and name not in input_names:
                todo.extend(_read(producers[name]))
        return needed


def extract_model(
    input_path: str | os.PathLike,
    output_path: str | os.PathLike,
    input_names: list[str],
    output_names: list[str],
    check_model: bool = True,
    infer_shapes: bool = True,
) -> None:
    """Extracts the part between inputs and outputs of a model in a file, into another file."""
    if not os.path.exists(input_path):
        raise ValueError(f"Invalid input model path: {input_path}")
    if not output_path:
        raise ValueError("Output model path shall not be empty!")
    for kind, names in [("Input", input_names), ("Output", output_names)]:
        if not names:
            raise ValueError(f"{kind} tensor names shall not be empty!")
    for kind, names in [("input", input_names), ("output", output_names)]:
        if len(names) != len(set(names)):
            raise ValueError(f"Duplicate names found in the {kind} tensor names.")
    if check_model:
        checker.check_model(input_path)
    model = ModelProto.FromString(onnxtxt.open(input_path).to_bytes())
    if infer_shapes:
        model = shape_inference.infer_shapes(model)
    extracted = Extractor(model).extract_model(input_names, output_names)
    too_large = extracted.ByteSize() > checker.MAXIMUM_PROTOBUF
    onnxtxt.decode(extracted).save(output_path, form="binary", external_data=True if too_large else None)
    if check_model:
        checker.check_model(output_path)
