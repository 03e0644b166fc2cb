"""`onnx.helper`: messages built and read.

>>> node = make_node("LeakyRelu", ["x"], ["y"], alpha=0.1)
>>> graph = make_graph([node], "g", [make_tensor_value_info("x", 1, ["N"])], [make_tensor_value_info("y", 1, ["N"])])
>>> make_model(graph, opset_imports=[make_opsetid("", 21)]).graph.node[0].op_type
'LeakyRelu'
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onnxtxt.compat import _types
from onnxtxt.compat._messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    MapProto,
    Message,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    OptionalProto,
    SequenceProto,
    SparseTensorProto,
    TensorProto,
    TensorShapeProto,
    TrainingInfoProto,
    TypeProto,
    ValueInfoProto,
    newest,
)
from onnxtxt.compat._printable import (
    printable_attribute,
    printable_dim,
    printable_graph,
    printable_node,
    printable_tensor_proto,
    printable_type,
    printable_value_info,
)
from onnxtxt.compat._types import (
    get_all_tensor_dtypes,
    np_dtype_to_tensor_dtype,
    tensor_dtype_to_field,
    tensor_dtype_to_np_dtype,
    tensor_dtype_to_storage_tensor_dtype,
    tensor_dtype_to_string,
)

__all__ = [
    "OP_SET_ID_VERSION_MAP",
    "VERSION_TABLE",
    "find_min_ir_version_for",
    "get_all_tensor_dtypes",
    "get_attribute_value",
    "get_node_attr_value",
    "make_attribute",
    "make_attribute_ref",
    "make_empty_tensor_value_info",
    "make_function",
    "make_graph",
    "make_map",
    "make_map_type_proto",
    "make_model",
    "make_model_gen_version",
    "make_node",
    "make_operatorsetid",
    "make_opsetid",
    "make_optional",
    "make_optional_type_proto",
    "make_sequence",
    "make_sequence_type_proto",
    "make_sparse_tensor",
    "make_sparse_tensor_type_proto",
    "make_sparse_tensor_value_info",
    "make_tensor",
    "make_tensor_sequence_value_info",
    "make_tensor_type_proto",
    "make_tensor_value_info",
    "make_training_info",
    "make_value_info",
    "np_dtype_to_tensor_dtype",
    "printable_attribute",
    "printable_dim",
    "printable_graph",
    "printable_node",
    "printable_tensor_proto",
    "printable_type",
    "printable_value_info",
    "set_metadata_props",
    "set_model_props",
    "strip_doc_string",
    "tensor_dtype_to_field",
    "tensor_dtype_to_np_dtype",
    "tensor_dtype_to_storage_tensor_dtype",
    "tensor_dtype_to_string",
]

# Releases: their version of the format, of ai.onnx, of ai.onnx.ml and of ai.onnx.training.
_FIRST = [("1.0", 3, 1, 1), ("1.1", 3, 5, 1), ("1.1.2", 3, 6, 1), ("1.2", 3, 7, 1), ("1.3", 3, 8, 1), ("1.4.1", 4, 9, 1)]
_SINCE = [("1.5.0", 5, 10, 1), ("1.6.0", 6, 11, 2), ("1.7.0", 7, 12, 2, 1), ("1.8.0", 7, 13, 2, 1), ("1.9.0", 7, 14, 2, 1)]
_THEN = [("1.10.0", 8, 15, 2, 1), ("1.11.0", 8, 16, 3, 1), ("1.12.0", 8, 17, 3, 1), ("1.13.0", 8, 18, 3, 1)]
_LATER = [("1.14.0", 9, 19, 3, 1), ("1.15.0", 9, 20, 4, 1), ("1.16.0", 10, 21, 5, 1), ("1.17.0", 10, 22, 5, 1)]
_NOW = [("1.18.0", 11, 23, 5, 1), ("1.19.0", 12, 24, 5, 1), ("1.20.0", 13, 25, 5, 1), ("1.21.0", 13, 26, 5, 1)]
_NEW = [("1.22.0", 13, 27, 5, 1), ("1.23.0", 14, 28, 5, 1)]
VERSION_TABLE: list[tuple[Any, ...]] = [*_FIRST, *_SINCE, *_THEN, *_LATER, *_NOW, *_NEW]
_DOMAINS = (("ai.onnx", "ai.onnx.preview"), ("ai.onnx.ml",), ("ai.onnx.training", "ai.onnx.preview.training"))
#: From pairs of a domain and its version to the version of the format that came with it.
OP_SET_ID_VERSION_MAP: dict[tuple[str, int], int] = {
    (domain, version): row[1]
    for row in reversed(VERSION_TABLE)
    for domains, version in zip(_DOMAINS, row[2:])
    for domain in domains
}
# Values of attributes: the class of an element, the field and the type of one, and those of a list. In the order in which they are tried.
_ATTRIBUTES: list[tuple[Any, str, Any, str, Any]] = [
    (numbers.Integral, "i", AttributeProto.INT, "ints", AttributeProto.INTS),
    (numbers.Real, "f", AttributeProto.FLOAT, "floats", AttributeProto.FLOATS),
    ((str, bytes), "s", AttributeProto.STRING, "strings", AttributeProto.STRINGS),
    (TensorProto, "t", AttributeProto.TENSOR, "tensors", AttributeProto.TENSORS),
    (SparseTensorProto, "sparse_tensor", AttributeProto.SPARSE_TENSOR, "sparse_tensors", AttributeProto.SPARSE_TENSORS),
    (GraphProto, "g", AttributeProto.GRAPH, "graphs", AttributeProto.GRAPHS),
    (TypeProto, "tp", AttributeProto.TYPE_PROTO, "type_protos", AttributeProto.TYPE_PROTOS),
]


def find_min_ir_version_for(opsetidlist: Iterable[OperatorSetIdProto], ignore_unknown: bool = False) -> int:
    """The lowest version of the format for these imports. Raises `ValueError` for an unknown version, unless it is to be ignored."""
    least = 3
    for opset in opsetidlist:
        key = (opset.domain or "ai.onnx", opset.version)
        if key not in OP_SET_ID_VERSION_MAP and not ignore_unknown:
            raise ValueError("Unsupported opset-version.")
        least = max(least, OP_SET_ID_VERSION_MAP.get(key, least))
    return least


def make_node(
    op_type: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    name: str | None = None,
    doc_string: str | None = None,
    domain: str | None = None,
    overload: str | None = None,
    **kwargs: Any,
) -> NodeProto:
    """A node. Keywords are attributes, in the order of their names; `None` is left out."""
    node = NodeProto(op_type=op_type, input=inputs, output=outputs)
    _set(node, name=name or None, doc_string=doc_string or None, domain=domain, overload=overload)
    node.attribute.extend(make_attribute(key, value) for key, value in sorted(kwargs.items()) if value is not None)
    return node


def _set(message: Any, **fields: Any) -> None:
    for name, value in fields.items():
        if value is not None:
            setattr(message, name, value)


def make_operatorsetid(domain: str, version: int) -> OperatorSetIdProto:
    """An import of a version of a domain."""
    return OperatorSetIdProto(domain=domain, version=version)


make_opsetid = make_operatorsetid


def make_graph(
    nodes: Sequence[NodeProto],
    name: str,
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializer: Sequence[TensorProto] | None = None,
    doc_string: str | None = None,
    value_info: Sequence[ValueInfoProto] | None = None,
    sparse_initializer: Sequence[SparseTensorProto] | None = None,
) -> GraphProto:
    """A graph of nodes."""
    graph = GraphProto(node=nodes, name=name, input=inputs, output=outputs, initializer=initializer or ())
    graph.value_info.extend(value_info or ())
    graph.sparse_initializer.extend(sparse_initializer or ())
    _set(graph, doc_string=doc_string or None)
    return graph


def make_function(
    domain: str,
    fname: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    nodes: Sequence[NodeProto],
    opset_imports: Sequence[OperatorSetIdProto],
    attributes: Sequence[str] | None = None,
    attribute_protos: Sequence[AttributeProto] | None = None,
    doc_string: str | None = None,
    overload: str | None = None,
    value_info: Sequence[ValueInfoProto] | None = None,
) -> FunctionProto:
    """A function of a model."""
    function = FunctionProto(
        domain=domain, name=fname, input=inputs, output=outputs, node=nodes, opset_import=opset_imports,
        attribute=attributes or (), attribute_proto=attribute_protos or (), value_info=value_info or (),
    )  # fmt: skip
    _set(function, doc_string=doc_string or None, overload=overload)
    return function


def make_model(graph: GraphProto, **kwargs: Any) -> ModelProto:
    """A model with a graph. `opset_imports` (by default the newest version of ai.onnx) and `functions` are lists, other keywords fields."""
    ir_version, opset = newest()
    model = ModelProto(ir_version=ir_version, graph=graph)
    imports = kwargs.pop("opset_imports", None)
    model.opset_import.extend([OperatorSetIdProto(version=opset)] if imports is None else imports)
    model.functions.extend(kwargs.pop("functions", None) or ())
    _set(model, **kwargs)
    return model


def make_model_gen_version(graph: GraphProto, **kwargs: Any) -> ModelProto:
    """`make_model` with the lowest version of the format that the imports need."""
    kwargs.setdefault("ir_version", find_min_ir_version_for(kwargs.get("opset_imports", [])))
    return make_model(graph, **kwargs)


def set_metadata_props(proto: Any, dict_value: Mapping[str, str]) -> None:
    """Replaces the metadata of a message."""
    del proto.metadata_props[:]
    for key, value in dict_value.items():
        proto.metadata_props.add(key=key, value=value)


set_model_props = set_metadata_props


def make_tensor(name: str, data_type: int, dims: Sequence[int], vals: Any, raw: bool = False) -> TensorProto:
    """A tensor of an element type (such as `TensorProto.FLOAT`) and a shape, with its elements as numbers or strings; or with `raw` as bytes.

    Raises `ValueError` if the number of elements is not that of the shape, `TypeError` for raw strings.
    """
    if data_type == TensorProto.STRING and raw:
        raise TypeError("Can not use raw_data to store string type.")
    tensor = TensorProto(data_type=data_type, name=name, dims=dims)
    count = math.prod(dims)
    if raw:
        if isinstance(vals, np.ndarray):
            vals = _types.encoded(vals, data_type)
        if not isinstance(vals, bytes):
            raise TypeError(f"Raw data must be bytes or numpy.ndarray, but got {type(vals)}.")
        size = _types.size(data_type, count)
        if len(vals) != size:
            raise ValueError(f"Raw data size does not match tensor's size. Expected {size} bytes, but got {len(vals)} bytes.")
        tensor.raw_data = vals
        return tensor
    flat = _types.elements(vals, data_type)
    if len(flat) != count:
        raise ValueError(f"Number of values ({len(flat)}) does not match tensor dimensions requiring {count} elements.")
    getattr(tensor, tensor_dtype_to_field(data_type)).extend(_types.stored(flat, data_type))
    return tensor


def make_sparse_tensor(values: TensorProto, indices: TensorProto, dims: Sequence[int]) -> SparseTensorProto:
    """A sparse tensor of a shape, with the values that are not zero and their indices."""
    return SparseTensorProto(values=values, indices=indices, dims=dims)


# The fields of values in sequences and optionals, by their type.
_CONTENT: dict[int, str] = {
    SequenceProto.TENSOR: "tensor_value",
    SequenceProto.SPARSE_TENSOR: "sparse_tensor_value",
    SequenceProto.SEQUENCE: "sequence_value",
    SequenceProto.MAP: "map_value",
    SequenceProto.OPTIONAL: "optional_value",
}


def make_sequence(name: str, elem_type: int, values: Sequence[Any]) -> SequenceProto:
    """A sequence of values that are messages. Raises `TypeError` for an unknown type of elements."""
    sequence = SequenceProto(name=name, elem_type=elem_type)
    if elem_type != SequenceProto.UNDEFINED:
        if elem_type not in _CONTENT:
            raise TypeError("The element type in the input sequence is not supported.")
        getattr(sequence, _CONTENT[elem_type] + "s").extend(values)
    return sequence


def make_map(name: str, key_type: int, keys: Sequence[Any], values: SequenceProto) -> MapProto:
    """A map from keys, which are strings or integers, to the elements of a sequence."""
    result = MapProto(name=name, key_type=key_type, values=values)
    if key_type == TensorProto.STRING:
        result.string_keys.extend(keys)
    elif key_type in _types.INTEGERS:
        result.keys.extend(keys)
    return result


def make_optional(name: str, elem_type: int, value: Any | None) -> OptionalProto:
    """An optional with a value that is a message. Raises `TypeError` for an unknown type of values."""
    optional = OptionalProto(name=name, elem_type=elem_type)
    if elem_type != OptionalProto.UNDEFINED:
        if elem_type not in _CONTENT:
            raise TypeError("The element type in the input optional is not supported.")
        getattr(optional, _CONTENT[elem_type]).CopyFrom(value)
    return optional


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def make_attribute(key: str, value: Any, doc_string: str | None = None, attr_type: int | None = None) -> AttributeProto:
    """An attribute; its type is that of the value, and `attr_type` says it for an empty list.

    Raises `ValueError` if a list has elements of several types, or none and no type, `TypeError` if the value is not one of an attribute or not of
    `attr_type`.
    """
    attribute = AttributeProto(name=key)
    _set(attribute, doc_string=doc_string or None)
    for classes, field, kind, *_ in _ATTRIBUTES:
        if isinstance(value, classes):
            attribute.type = kind
            if isinstance(value, Message):
                getattr(attribute, field).CopyFrom(value)
            else:
                setattr(attribute, field, int(value) if field == "i" else float(value) if field == "f" else _bytes(value))
            break
    else:
        if not isinstance(value, Iterable):
            raise TypeError(f"'{value}' is not an accepted attribute value.")
        items = list(value)
        if not items and attr_type is None:
            raise ValueError(f"Could not infer attribute `{key}` type from empty iterator")
        for classes, *_, field, kind in _ATTRIBUTES:
            if kind == attr_type or attr_type is None and all(isinstance(item, classes) for item in items):
                attribute.type = kind
                getattr(attribute, field).extend(map(_bytes, items))
                break
        else:
            if attr_type is None:
                raise ValueError("Could not infer the attribute type from the elements of the passed Iterable value.")
    if attr_type is not None and attribute.type != attr_type:
        raise TypeError(
            f"Inferred attribute type '{_attr_type_to_str(attribute.type)}'({attribute.type}) mismatched with specified type "
            f"'{_attr_type_to_str(attr_type)}'({attr_type})"
        )
    return attribute


def make_attribute_ref(
    name: str, attr_type: int, doc_string: str | None = None, *, ref_attr_name: str | None = None
) -> AttributeProto:
    """An attribute in a function whose value is that of the function's attribute of the same name, or of `ref_attr_name`."""
    reference = name if ref_attr_name is None else ref_attr_name
    if not reference:
        raise ValueError("ref_attr_name must be non-empty")
    attribute = AttributeProto(name=name, ref_attr_name=reference)
    attribute.type = attr_type  # type: ignore[assignment, unused-ignore]
    _set(attribute, doc_string=doc_string or None)
    return attribute


def get_attribute_value(attr: AttributeProto) -> Any:
    """The value of an attribute; lists as lists. Raises `ValueError` if it refers to an attribute of its function, or has an unknown type."""
    if attr.ref_attr_name:
        raise ValueError(f"Cannot get value of reference attribute: {attr}")
    if attr.type == AttributeProto.UNDEFINED:
        return None
    for _, field, kind, fields, kinds in _ATTRIBUTES:
        if attr.type == kind:
            return getattr(attr, field)
        if attr.type == kinds:
            return list(getattr(attr, fields))
    raise ValueError(f"Unsupported ONNX attribute: {attr}")


def get_node_attr_value(node: NodeProto, attr_name: str) -> Any:
    """The value of an attribute of a node. Raises `ValueError` if there is not one of this name."""
    matching = [attribute for attribute in node.attribute if attribute.name == attr_name]
    if len(matching) != 1:
        raise ValueError(f"Node has {'multiple attributes' if matching else 'no attribute'} with name {attr_name}")
    return get_attribute_value(matching[0])


def make_empty_tensor_value_info(name: str) -> ValueInfoProto:
    """A value without a type."""
    return ValueInfoProto(name=name)


_Shape = Sequence["str | int | None"]


def _fill(shape: TensorShapeProto, dims: _Shape, denotation: Sequence[str] | None) -> None:
    if denotation and len(denotation) != len(dims):
        raise ValueError("Invalid shape_denotation. Must be of the same length as shape.")
    shape.SetInParent()
    for i, size in enumerate(dims):
        dim = shape.dim.add()
        if isinstance(size, str):
            dim.dim_param = size
        elif isinstance(size, numbers.Integral):
            dim.dim_value = int(size)
        elif size is not None:
            raise ValueError(f"Invalid item in shape: {size}. Needs to be of int or str.")
        if denotation:
            dim.denotation = denotation[i]


def make_tensor_type_proto(elem_type: int, shape: _Shape | None, shape_denotation: list[str] | None = None) -> TypeProto:
    """The type of a tensor: sizes of its shape are numbers, names, or `None`. Without a shape, its rank is unknown."""
    result = TypeProto()
    result.tensor_type.elem_type = elem_type
    if shape is not None:
        _fill(result.tensor_type.shape, shape, shape_denotation)
    return result


def make_sparse_tensor_type_proto(elem_type: int, shape: _Shape | None, shape_denotation: list[str] | None = None) -> TypeProto:
    """The type of a sparse tensor: see `make_tensor_type_proto`."""
    result = TypeProto()
    result.sparse_tensor_type.elem_type = elem_type
    if shape is not None:
        _fill(result.sparse_tensor_type.shape, shape, shape_denotation)
    return result


def make_sequence_type_proto(inner_type_proto: TypeProto) -> TypeProto:
    """The type of a sequence of values of a type."""
    result = TypeProto()
    result.sequence_type.elem_type.CopyFrom(inner_type_proto)
    return result


def make_optional_type_proto(inner_type_proto: TypeProto) -> TypeProto:
    """The type of an optional value of a type."""
    result = TypeProto()
    result.optional_type.elem_type.CopyFrom(inner_type_proto)
    return result


def make_map_type_proto(key_type: int, value_type: TypeProto) -> TypeProto:
    """The type of a map from keys of an element type to values of a type."""
    result = TypeProto()
    result.map_type.key_type = key_type
    result.map_type.value_type.CopyFrom(value_type)
    return result


def make_value_info(name: str, type_proto: TypeProto, doc_string: str = "") -> ValueInfoProto:
    """A value of a type."""
    value = ValueInfoProto(name=name, type=type_proto)
    _set(value, doc_string=doc_string or None)
    return value


def make_tensor_value_info(
    name: str, elem_type: int, shape: _Shape | None, doc_string: str = "", shape_denotation: list[str] | None = None
) -> ValueInfoProto:
    """A value that is a tensor: see `make_tensor_type_proto`."""
    return make_value_info(name, make_tensor_type_proto(elem_type, shape, shape_denotation), doc_string)


def make_sparse_tensor_value_info(
    name: str, elem_type: int, shape: _Shape | None, doc_string: str = "", shape_denotation: list[str] | None = None
) -> ValueInfoProto:
    """A value that is a sparse tensor."""
    return make_value_info(name, make_sparse_tensor_type_proto(elem_type, shape, shape_denotation), doc_string)


def make_tensor_sequence_value_info(
    name: str, elem_type: int, shape: _Shape | None, doc_string: str = "", elem_shape_denotation: list[str] | None = None
) -> ValueInfoProto:
    """A value that is a sequence of tensors."""
    inner = make_tensor_type_proto(elem_type, shape, elem_shape_denotation)
    return make_value_info(name, make_sequence_type_proto(inner), doc_string)


def make_training_info(
    algorithm: GraphProto,
    algorithm_bindings: Iterable[tuple[str, str]],
    initialization: GraphProto | None,
    initialization_bindings: Iterable[tuple[str, str]] | None,
) -> TrainingInfoProto:
    """How a model is trained: a graph, the initializers that its results replace, and the same for the start."""
    info = TrainingInfoProto(algorithm=algorithm)
    for key, value in algorithm_bindings:
        info.update_binding.add(key=key, value=value)
    if initialization:
        info.initialization.CopyFrom(initialization)
    for key, value in initialization_bindings or ():
        info.initialization_binding.add(key=key, value=value)
    return info


def strip_doc_string(proto: Message) -> None:
    """Removes the documentation of a message and of all messages in it."""
    if not isinstance(proto, Message):
        raise TypeError(f"proto must be an instance of {Message}.")
    proto.ClearField("doc_string") if hasattr(proto, "doc_string") else None
    for _, value in proto.ListFields():
        for inner in [value] if isinstance(value, Message) else value if isinstance(value, Iterable) else ():
            if isinstance(inner, Message):
                strip_doc_string(inner)


def _attr_type_to_str(attr_type: int) -> str:
    names = {number: name for name, number in AttributeProto.AttributeType.items()}
    return names.get(attr_type, names[0])
