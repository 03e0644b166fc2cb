"""`onnx.utils`: parts of models as models of their own."""

from __future__ import annotations

import os

import onnx

import onnxtxt
from onnxtxt.compat import checker, shape_inference


class Extractor:
    """Extracts parts of a model by the names of values."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.graph = model.graph

    def extract_model(self, input_names: list[str], output_names: list[str]) -> onnx.ModelProto:
        """The part between inputs and outputs, which are named. Raises `ValueError` if a name has no declared type."""
        graph = self.graph
        declared = {value.name for values in (graph.value_info, graph.input, graph.output) for value in values}
        missing = [name for name in [*input_names, *output_names] if name not in declared]
        if missing:
            raise ValueError(f"The following names were not found in value_infos: {', '.join(missing)}")
        try:
            part = onnxtxt.decode(self.model).extract(from_=input_names, to=output_names)
        except onnxtxt.Error as error:
            raise ValueError(str(error)) from None
        part.graph.name = f"Extracted from {{{graph.name}}}"
        part.producer_name = "onnx.utils.extract_model"
        return part.to_proto()


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
    model = onnx.load(input_path)
    if infer_shapes:
        model = shape_inference.infer_shapes(model)
    extracted = Extractor(model).extract_model(input_names, output_names)
    too_large = extracted.ByteSize() > checker.MAXIMUM_PROTOBUF
    onnxtxt.decode(extracted).save(output_path, form="binary", external_data=True if too_large else None)
    if check_model:
        checker.check_model(output_path)
