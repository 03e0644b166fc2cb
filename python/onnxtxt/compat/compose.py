"""`onnx.compose`: two models as one, and what prepares them for it.

>>> from onnxtxt.compat import parser
>>> head = '<ir_version: 10, opset_import: ["": 21]> g '
>>> first = parser.parse_model(head + '(float[N] x) => (float[N] y) { y = Relu(x) }')
>>> second = parser.parse_model(head + '(float[N] a) => (float[N] b) { b = Neg(a) }')
>>> [node.op_type for node in merge_models(first, second, [("y", "a")]).graph.node]
['Relu', 'Neg']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnxtxt.compat import checker, helper, utils
from onnxtxt.compat._messages import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto


def _ensure(name: str, proto, expected) -> None:
    if not isinstance(proto, expected):
        raise TypeError(f"{name} argument is not an ONNX {'model' if expected is ModelProto else 'graph'}")


def _copied(proto, inplace: bool | None):
    if inplace:
        return proto
    copy = type(proto)()
    copy.CopyFrom(proto)
    return copy


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _edges(graph: GraphProto, without: Iterable[str] = ()) -> set[str]:
    names = {name for node in graph.node for name in [*node.input, *node.output] if name}
    return names - set(without)


def check_overlapping_names(
    g1: GraphProto, g2: GraphProto, io_map: list[tuple[str, str]] | None = None
) -> list[tuple[str, list[str]]]:
    """The names that two graphs have in common, by kind: pairs of `edge`, `value_info`, `initializer` or `sparse_initializer` and names.
    Inputs of the second graph in `io_map` do not count."""
    _ensure("g1", g1, GraphProto)
    _ensure("g2", g2, GraphProto)
    connected = {name for _, name in io_map or []}
    kinds = {
        "edge": lambda graph: _edges(graph, connected if graph is g2 else ()),
        "value_info": lambda graph: {value.name for value in graph.value_info},
        "initializer": lambda graph: {tensor.name for tensor in graph.initializer},
    }
    found = [(kind, sorted(names(g1) & names(g2))) for kind, names in kinds.items()]
    values, indices = (
        {getattr(sparse, part).name for sparse in g1.sparse_initializer}
        & {getattr(sparse, part).name for sparse in g2.sparse_initializer}
        for part in ("values", "indices")
    )
    found.append(("sparse_initializer", sorted(values) + sorted(indices)))
    return [(kind, names) for kind, names in found if names]


def _cut(graph: GraphProto, inputs: list[str], outputs: list[str]) -> GraphProto:
    """The part of a graph between some of its inputs and outputs."""
    if len(inputs) == len(graph.input) and len(outputs) == len(graph.output):
        return graph
    return utils.Extractor(helper.make_model(graph)).extract_model(inputs, outputs).graph


def _connect(nodes: Iterable[NodeProto], sources: dict[str, str]) -> None:
    for node in nodes:
        for graph in _subgraphs(node):
            _connect(graph.node, sources)
        for i, name in enumerate(node.input):
            node.input[i] = sources.get(name, name)


def merge_graphs(
    g1: GraphProto,
    g2: GraphProto,
    io_map: list[tuple[str, str]],
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    prefix1: str | None = None,
    prefix2: str | None = None,
    name: str | None = None,
    doc_string: str | None = None,
) -> GraphProto:
    """One graph of two: `io_map` has pairs of an output of the first and the input of the second that it becomes. Others stay inputs and
    outputs, or those that `inputs` and `outputs` name; names of both graphs get the prefixes.

    Raises `ValueError` if a name is in neither graph or in both.
    """
    _ensure("g1", g1, GraphProto)
    _ensure("g2", g2, GraphProto)
    if prefix1:
        g1 = add_prefix_graph(g1, prefix1)
    if prefix2:
        g2 = add_prefix_graph(g2, prefix2)
    io_map = [((prefix1 or "") + source, (prefix2 or "") + target) for source, target in io_map]
    sources, targets = {source for source, _ in io_map}, {target for _, target in io_map}
    for source, target in io_map:
        if source not in {value.name for value in g1.output}:
            raise ValueError(f"Output {source} is not present in g1")
        if target not in {value.name for value in g2.input}:
            raise ValueError(f"Input {target} is not present in g2")

    def kept(values, wanted, also=frozenset()) -> list[str]:
        return [value.name for value in values if not wanted or value.name in wanted or value.name in also]

    g1 = _cut(g1, kept(g1.input, inputs), kept(g1.output, outputs, sources))
    g2 = _cut(g2, kept(g2.input, inputs, targets), kept(g2.output, outputs))
    for kind, names in check_overlapping_names(g1, g2, io_map):
        raise ValueError(
            "Cant merge two graphs with overlapping names. "
            f"Found repeated {kind} names: {', '.join(names)}\n"
            "Consider using ``onnx.compose.add_prefix`` to add a prefix to names in one of the graphs."
        )

    merged = GraphProto(name=f"{g1.name}_{g2.name}" if name is None else name)
    parts = [g1.name, g1.doc_string, g2.name, g2.doc_string]
    default = f"Graph combining {g1.name} and {g2.name}\n" + "\n\n".join(parts)
    merged.doc_string = default if doc_string is None else doc_string
    merged.node.extend(g1.node)
    merged.node.extend(g2.node)
    _connect(list(merged.node)[len(g1.node) :], {target: source for source, target in io_map})
    merged.input.extend(value for value in g1.input if not inputs or value.name in inputs)
    merged.input.extend(
        value for value in g2.input if (value.name in inputs if inputs else value.name not in targets)
    )
    merged.output.extend(
        value for value in g1.output if (value.name in outputs if outputs else value.name not in sources)
    )
    merged.output.extend(value for value in g2.output if not outputs or value.name in outputs)
    merged.initializer.extend(g1.initializer)
    merged.initializer.extend(tensor for tensor in g2.initializer if tensor.name not in targets)
    merged.sparse_initializer.extend(g1.sparse_initializer)
    merged.sparse_initializer.extend(
        sparse for sparse in g2.sparse_initializer if sparse.values.name not in targets
    )
    merged.value_info.extend(g1.value_info)
    merged.value_info.extend(value for value in g2.value_info if value.name not in targets)
    # What was an output keeps its type.
    declared = {value.name for values in (merged.value_info, merged.output) for value in values}
    merged.value_info.extend(value for value in g1.output if value.name in sources - declared)
    return merged


def _merged_imports(m1: ModelProto, m2: ModelProto) -> list:
    versions: dict[str, int] = {}
    imports = [*m1.opset_import, *m2.opset_import]
    for entry in imports:
        if versions.setdefault(entry.domain, entry.version) != entry.version:
            raise ValueError(
                "Can't merge two models with different operator set ids for a given domain. "
                f"Got: {m1.opset_import} and {m2.opset_import}"
            )
    return imports


def merge_models(
    m1: ModelProto,
    m2: ModelProto,
    io_map: list[tuple[str, str]],
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    prefix1: str | None = None,
    prefix2: str | None = None,
    name: str | None = None,
    doc_string: str | None = None,
    producer_name: str | None = "onnx.compose.merge_models",
    producer_version: str | None = "1.0",
    domain: str | None = "",
    model_version: int | None = 1,
) -> ModelProto:
    """One model of two, with their functions and metadata: see `merge_graphs`.

    Raises `ValueError` if the models have different versions of the format, of an operator set, different metadata of one name, or functions
    of one name.
    """
    _ensure("m1", m1, ModelProto)
    _ensure("m2", m2, ModelProto)
    if m1.ir_version != m2.ir_version:
        raise ValueError(
            f"IR version mismatch {m1.ir_version} != {m2.ir_version}. Both models should have the same IR version"
        )
    imports = _merged_imports(m1, m2)
    if prefix1:
        m1 = add_prefix(m1, prefix1)
    if prefix2:
        m2 = add_prefix(m2, prefix2)
    io_map = [((prefix1 or "") + source, (prefix2 or "") + target) for source, target in io_map]
    graph = merge_graphs(m1.graph, m2.graph, io_map, inputs, outputs, name=name, doc_string=doc_string)
    model = helper.make_model(
        graph,
        producer_name=producer_name,
        producer_version=producer_version,
        domain=domain,
        model_version=model_version,
        opset_imports=imports,
        ir_version=m1.ir_version,
    )
    metadata: dict[str, str] = {}
    for entry in [*m1.metadata_props, *m2.metadata_props]:
        known = metadata.setdefault(entry.key, entry.value)
        if known != entry.value:
            raise ValueError(
                "Can't merge models with different values for the same model metadata property."
                f" Found: property = {entry.key}, with values {known} and {entry.value}."
            )
    helper.set_model_props(model, metadata)
    shared = sorted({function.name for function in m1.functions} & {function.name for function in m2.functions})
    if shared:
        raise ValueError(
            "Can't merge models with overlapping local function names. Found in both graphs: " + ", ".join(shared)
        )
    model.functions.extend([*m1.functions, *m2.functions])
    checker.check_model(model)
    return model


def add_prefix_graph(
    graph: GraphProto,
    prefix: str,
    rename_nodes: bool | None = True,
    rename_edges: bool | None = True,
    rename_inputs: bool | None = True,
    rename_outputs: bool | None = True,
    rename_initializers: bool | None = True,
    rename_value_infos: bool | None = True,
    inplace: bool | None = False,
    name_map: dict[str, str] | None = None,
) -> GraphProto:
    """The graph with a prefix before the names of its nodes and values, of the kinds that are asked for. Empty names stay empty."""
    _ensure("graph", graph, GraphProto)
    graph = _copied(graph, inplace)
    renamed = {} if name_map is None else name_map
    outputs = {value.name for value in graph.output}
    names: list[str] = []
    if rename_edges:
        names += [name for node in graph.node for name in node.output if name not in outputs]
    for wanted, values in [(rename_inputs, graph.input), (rename_outputs, graph.output)]:
        names += [value.name for value in values] if wanted else []
    if rename_initializers:
        names += [tensor.name for tensor in graph.initializer]
        names += [name for sparse in graph.sparse_initializer for name in (sparse.values.name, sparse.indices.name)]
    if rename_value_infos:
        names += [value.name for value in graph.value_info]
    renamed.update((name, prefix + name) for name in names if name)
    for node in graph.node:
        if rename_nodes:
            node.name = prefix + node.name if node.name else ""
            for nested in _subgraphs(node):
                add_prefix_graph(nested, prefix, inplace=True, name_map=renamed)
        for listed in (node.input, node.output):
            listed[:] = [renamed.get(name, name) for name in listed]
    tensors = [*graph.initializer]
    for sparse in graph.sparse_initializer:
        tensors += [sparse.values, sparse.indices]
    for named in [*graph.input, *graph.output, *graph.value_info, *tensors]:
        named.name = renamed.get(named.name, named.name)
    return graph


def add_prefix(
    model: ModelProto,
    prefix: str,
    rename_nodes: bool | None = True,
    rename_edges: bool | None = True,
    rename_inputs: bool | None = True,
    rename_outputs: bool | None = True,
    rename_initializers: bool | None = True,
    rename_value_infos: bool | None = True,
    rename_functions: bool | None = True,
    inplace: bool | None = False,
) -> ModelProto:
    """The model with a prefix before the names of its nodes, values and functions, of the kinds that are asked for."""
    _ensure("model", model, ModelProto)
    model = _copied(model, inplace)
    add_prefix_graph(
        model.graph,
        prefix,
        rename_nodes,
        rename_edges,
        rename_inputs,
        rename_outputs,
        rename_initializers,
        rename_value_infos,
        inplace=True,
    )
    if rename_functions:
        functions = {function.name: prefix + function.name for function in model.functions}
        bodies: list[FunctionProto | GraphProto] = [model.graph, *model.functions]
        for body in bodies:
            for node in body.node:
                node.op_type = functions.get(node.op_type, node.op_type)
        for function in model.functions:
            function.name = functions[function.name]
    return model


def expand_out_dim_graph(graph: GraphProto, dim_idx: int, inplace: bool | None = False) -> GraphProto:
    """The graph with an axis of size 1 in each output, at `dim_idx`."""
    _ensure("graph", graph, GraphProto)
    graph = _copied(graph, inplace)
    flat = {value.name: f"{value.name}_collapsed_dim_{dim_idx}" for value in graph.output}
    for node in graph.node:
        for listed in (node.input, node.output):
            listed[:] = [flat.get(name, name) for name in listed]
    axis = f"{graph.name}_expand_out_dim_idx"
    tensor = helper.make_tensor(f"{axis}-value", TensorProto.INT64, [1], [dim_idx])
    graph.node.append(helper.make_node("Constant", [], [axis], name=f"{axis}-constant", value=tensor))
    for value in graph.output:
        name = f"unsqueeze-{value.name}"
        graph.node.append(helper.make_node("Unsqueeze", [flat[value.name], axis], [value.name], name=name))
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        shape.insert(dim_idx, 1)
        elem = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, elem, shape))
    return graph


def expand_out_dim(model: ModelProto, dim_idx: int, inplace: bool | None = False) -> ModelProto:
    """The model with an axis of size 1 in each output, at `dim_idx`."""
    _ensure("model", model, ModelProto)
    model = _copied(model, inplace)
    expand_out_dim_graph(model.graph, dim_idx, inplace=True)
    return model
