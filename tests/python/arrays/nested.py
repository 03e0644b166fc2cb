"""Graphs in graphs, and states that are sequences or optional values."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper

from .control import step, value
from .draw import elem_of

KINDS = ["float32", "int64", "float64", "int32"]


def listed(kind, dims=None):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem_of(kind), dims))


def port(name, of):
    return helper.make_value_info(name, of)


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def graph(name, nodes, inputs, outputs):
    return helper.make_graph(nodes, name, inputs, outputs)


def counted(states, outputs, nodes):
    """The body of a Loop that continues."""
    nodes = [node("Identity", ["go"], "go_on"), *nodes]
    inputs = [value("i", "int64", []), value("go", "bool", []), *states]
    return graph("body", nodes, inputs, [value("go_on", "bool", []), *outputs])


def trips(d, most=4):
    return d.input(np.array(d.int(0, most), "int64"))


def even(nodes, i="i", to="is_even"):
    """Whether a count is even."""
    nodes += [
        node("Constant", [], f"{to}_two", value_int=2),
        node("Constant", [], f"{to}_none", value_int=0),
        node("Mod", [i, f"{to}_two"], f"{to}_rest"),
        node("Equal", [f"{to}_rest", f"{to}_none"], to),
    ]
    return to


def lists(d):
    """A Loop with a sequence among its states; each iteration inserts, or takes one away where there are more than one."""
    d.since(13)
    kind, dims = d.one([*KINDS, "string"]), d.dims(0, 2, (1, 2))
    x = d.input(d.array(kind, dims), kind)
    given = [d.input(d.array(kind, dims), kind) for _ in range(d.int(0, 3))]
    if given:
        first = d.node("SequenceConstruct", given, keep=False)
    else:
        first = d.node("SequenceEmpty", [], dtype=elem_of(kind), keep=False)
    nodes = []
    more = graph("more", [node("SequenceInsert", ["s", x], "a")], [], [port("a", listed(kind))])
    if d.chance():
        less = [node("SequenceInsert", ["s", x], "b0"), node("SequenceErase", ["b0"], "b")]
    else:
        less = [node("Identity", ["s"], "b")]
    less = graph("less", less, [], [port("b", listed(kind))])
    nodes.append(node("If", [even(nodes)], "t", then_branch=more, else_branch=less))
    nodes.append(node("SequenceLength", ["t"], "n"))
    outputs = [port("t", listed(kind)), value("n", "int64", [])]
    body = counted([port("s", listed(kind))], outputs, nodes)
    results = d.node("Loop", [trips(d), "", first], 2, body=body)
    if d.chance(3):
        length = d.node("SequenceLength", [results[0]], keep=False)
        d.results = [length, results[1]]


def optionals(d):
    """A Loop whose state is a value or none."""
    d.since(18)
    kind, dims = d.one(["float32", "int64"]), d.dims(0, 2, (1, 2))
    of = helper.make_tensor_type_proto(elem_of(kind), dims)
    x = d.input(d.array(kind, dims), kind)
    first = d.node("Optional", [x] if d.chance() else [], keep=False, type=of)
    state = helper.make_optional_type_proto(of)
    nodes = [node("OptionalHasElement", ["s"], "is_there")]
    then = [node("OptionalGetElement", ["s"], "a"), step(d, "a", x, "b"), node("Optional", ["b"], "c", type=of)]
    then_branch = graph("then", then, [], [port("c", state)])
    other = [node("Optional", [x], "d", type=of)]
    nodes.append(node("If", ["is_there"], "t", then_branch=then_branch, else_branch=graph("else", other, [], [port("d", state)])))
    nodes.append(node("OptionalHasElement", ["t"], "was"))
    body = counted([port("s", state)], [port("t", state), value("was", "bool", [])], nodes)
    last, was = d.node("Loop", [d.input(np.array(d.int(1, 3), "int64")), "", first], 2, body=body)
    got = d.node("OptionalGetElement", [last], keep=False)
    d.results = [got, was]


def branches(d):
    """An If whose branches give sequences, or tensors of other ranks."""
    d.since(14)
    kind = d.one(KINDS)
    x, y = (d.input(d.array(kind, d.dims(0, 3)), kind) for _ in range(2))
    graphs = []
    is_list = d.chance()
    for name in ("then", "else"):
        if is_list:
            some = [d.one([x, y]) for _ in range(d.int(1, 3))]
            nodes = [node("SequenceConstruct", some, f"{name}_a")]
            if d.chance(3):
                nodes = [node("SequenceEmpty", [], f"{name}_a", dtype=elem_of(kind))]
            out = port(f"{name}_a", listed(kind))
        else:
            nodes = [node(d.one(["Identity", "Neg"]), [d.one([x, y])], f"{name}_a")]
            out = value(f"{name}_a", kind, None)
        graphs.append(graph(name, nodes, [], [out]))
    d.node("If", [d.input(d.array("bool", []))], then_branch=graphs[0], else_branch=graphs[1])
    if is_list and d.chance():
        d.node("SequenceLength", [d.results[0]])


def deep(d):
    """A Scan in a Loop in an If, each of which reads values from without."""
    d.since(11)
    kind, dims, length = d.one(["float32", "int64"]), d.dims(0, 2, (1, 2)), d.int(1, 3)
    outer = d.input(d.array(kind, dims, -2, 2), kind)
    parts = d.input(d.array(kind, [length, *dims], -2, 2), kind)
    # Within the Scan there are the state of the Loop, and values from without it.
    scan = graph(
        "scan",
        [step(d, "u", d.one(["p", outer, "s"]), "u1"), step(d, "u1", d.one(["s", "p", "twice"]), "q")],
        [value("u", kind, dims), value("p", kind, dims)],
        [value("u1", kind, dims), value("q", kind, dims)],
    )
    given = {"scan_input_directions": [d.int(0, 1)], "scan_output_directions": [d.int(0, 1)]}
    nodes = [
        step(d, "s", outer, "twice"),
        helper.make_node("Scan", ["twice", parts], ["v", "w"], body=scan, num_scan_inputs=1, **given),
        step(d, "v", d.one(["s", outer, "v"]), "t"),
    ]
    states = [value("s", kind, dims)]
    body = counted(states, [value("t", kind, dims), value("w", kind, [length, *dims])], nodes)
    count = d.input(np.array(d.int(0, 3), "int64"))
    loop = helper.make_node("Loop", [count, "", outer], ["l", "m"], body=body)
    then = graph("then", [loop], [], [value("l", kind, dims), value("m", kind, ["n", length, *dims])])
    other = [node("Identity", [outer], "e"), node("Unsqueeze", [parts, "zero"], "f")]
    zero = node("Constant", [], "zero", value_ints=[0])
    if d.opset < 13:
        other, zero = [node("Identity", [outer], "e"), node("Unsqueeze", [parts], "f", axes=[0])], None
    other = graph("else", ([zero] if zero else []) + other, [], [value("e", kind, dims), value("f", kind, [1, length, *dims])])
    condition = d.input(np.array(not d.chance(4)))
    d.node("If", [condition], 2, then_branch=then, else_branch=other)


def nothing(d):
    """Loops without any iteration, with scan outputs whose extents are known or not."""
    d.since(13)
    # ONNX Runtime counts axes of scalars that are not zero.
    kind, dims = d.one(["float32", "int64"]), d.dims(1, 2, (1, 2))
    x = d.input(d.array(kind, dims), kind)
    nodes = [step(d, "s", x, "t"), node("NonZero", ["t"], "z"), node("Shape", ["t"], "n")]
    outputs = [value("t", kind, dims), value("z", "int64", [len(dims), "count"]), value("n", "int64", [len(dims)])]
    count = 0 if d.chance() else 1
    body = counted([value("s", kind, dims)], outputs, nodes)
    most = d.input(np.array(count, "int64"))
    condition = d.input(np.array(not d.chance(3))) if d.chance() else ""
    d.node("Loop", [most, condition, x], 3, body=body)


def each(d):
    """SequenceMap over several sequences, with values from without, and graphs of its own."""
    d.since(17)
    kind, count = d.one(["float32", "int64"]), d.int(1, 4)
    shapes = [d.dims(0, 2, (1, 2, 3)) for _ in range(count)]
    sequences = [
        d.node("SequenceConstruct", [d.input(d.array(kind, s), kind) for s in shapes], keep=False) for _ in range(d.int(1, 3))
    ]
    outer = d.input(d.array(kind, []), kind)
    inputs = [f"e{i}" for i in range(len(sequences))]
    names = [*inputs, outer] if d.chance() else inputs
    nodes = [step(d, inputs[0], d.one(names), "a")]
    outputs = [value("a", kind, None)]
    if d.chance():
        nodes.append(node("Shape", [d.one([*inputs, "a"])], "b"))
        outputs.append(value("b", "int64", None))
    if d.chance(3):
        nodes.append(node("ReduceSum", ["a"], "sum", keepdims=0))
        nodes.append(node("Cast", ["sum"], "sum_single", to=T.FLOAT))
        nodes.append(node("Constant", [], "zero", value_float=0.0))
        nodes.append(node("Less", ["sum_single", "zero"], "is_less"))
        graphs = [graph(n, [node(o, ["a"], n)], [], [value(n, kind, None)]) for n, o in (("c", "Neg"), ("d", "Identity"))]
        nodes.append(node("If", ["is_less"], "c_or_d", then_branch=graphs[0], else_branch=graphs[1]))
        outputs.append(value("c_or_d", kind, None))
    ports = [value(name, kind, None) for name in inputs]
    body = graph("body", nodes, ports, outputs)
    d.node("SequenceMap", sequences, len(outputs), body=body)


DRAWS = [
    ("lists", lists),
    ("optionals", optionals),
    ("branches_of_lists", branches),
    ("deep", deep),
    ("nothing", nothing),
    ("each_of_lists", each),
]
