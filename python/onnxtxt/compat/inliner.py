"""`onnx.inliner`: calls of functions replaced by their bodies."""

from __future__ import annotations

import onnxtxt
from onnxtxt.compat._errors import ValidationError
from onnxtxt.compat._messages import ModelProto, message


def _inline(model: onnxtxt.Model, **options) -> ModelProto:
    try:
        model.inline(**options)
    except onnxtxt.Error as error:
        raise ValidationError(str(error)) from None
    return message(model)


def inline_local_functions(model: ModelProto, convert_version: bool = False) -> ModelProto:
    """The model with all calls of its functions replaced by their bodies.

    With `convert_version`, functions that import another version of ai.onnx than the model are converted first. Raises
    `checker.ValidationError` if a call cannot be replaced, such as one of a function that calls itself, or whose operators mean something else in the
    version of the model.

    >>> from onnxtxt.compat import parser
    >>> model = parser.parse_model('''<ir_version: 8, opset_import: ["": 13, "d": 1]> g (float[2,N] x) => (float[1,N] y) { y = d.sum(x) }
    ... <domain: "d", opset_import: ["": 12]> sum (x) => (y) { y = ReduceSum <axes = [0]> (x) }''')
    >>> [node.op_type for node in inline_local_functions(model, convert_version=True).graph.node]
    ['Constant', 'ReduceSum']
    """
    result = onnxtxt.decode(model)
    version = result.opset_imports.get("")
    if convert_version and version:
        try:
            result.convert_opset(version)
        except onnxtxt.Error as error:
            raise ValidationError(str(error)) from None
    return _inline(result)


def inline_selected_functions(
    model: ModelProto,
    function_ids: list[tuple[str, str]],
    exclude: bool = False,
    inline_schema_functions: bool = False,
) -> ModelProto:
    """The model with calls of some functions, given by domain and name, replaced by their bodies; of all others with `exclude`. With
    `inline_schema_functions`, operators that are defined by a function are replaced as well."""
    result = onnxtxt.decode(model)
    given = {f"{domain}.{name}" if domain else name for domain, name in function_ids}
    if not exclude:
        only = given
    else:
        names = {f"{function.domain}.{function.name}" if function.domain else function.name for function in result.functions}
        if inline_schema_functions:
            graphs = [result.graph, *(function.graph for function in result.functions)]
            nodes = [node for graph in graphs if graph for node in graph.all_nodes()]
            names |= {f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in nodes}
        only = names - given
    return _inline(result, only=sorted(only), schema=inline_schema_functions) if only else message(result)
