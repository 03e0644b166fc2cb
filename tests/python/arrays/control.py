"""Graphs in nodes: If, Loop, Scan and SequenceMap."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from .draw import elem_of


def value(name, kind=None, shape=None):
    if kind is None:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, elem_of(kind), shape)


def step(d, a, b, name):
    """A node that keeps shape and type of its first argument."""
    op = d.one(["Add", "Sub", "Mul"])
    return helper.make_node(op, [a, b], [name])


def branches(d):
    kind, dims = d.one(["float32", "int64", "float64"]), d.dims(0, 3)
    x, y = (d.input(d.array(kind, dims), kind) for _ in range(2))
    condition = d.array("bool", d.one([[], [1]]))
    graphs = []
    for which in ("then", "else"):
        nodes = [step(d, x, y, f"{which}_a")]
        last = f"{which}_a"
        if d.chance():
            nodes.append(helper.make_node("Identity", [d.one([x, last])], [f"{which}_b"]))
            last = f"{which}_b"
        if d.chance(4) and dims:
            nodes.append(helper.make_node("Concat", [last, last], [f"{which}_c"], axis=0))
            last = f"{which}_c"
        nodes.append(helper.make_node("Shape", [last], [f"{which}_s"]))
        graphs.append(helper.make_graph(nodes, which, [], [value(last), value(f"{which}_s")]))
    d.node("If", [d.input(condition)], 2, then_branch=graphs[0], else_branch=graphs[1])


def loop(d):
    kind, dims = d.one(["float32", "int64", "float64"]), d.dims(0, 2)
    trips = d.one([None, 0, 1, 3, 5])
    states, collected = d.int(0, 2), d.int(0, 2)
    if states + collected == 0:
        collected = 1
    outer = d.input(d.array(kind, dims, -2, 2), kind)
    # Ends after some iterations, or never.
    last = d.int(0, 4) if trips is None or d.chance() else None
    nodes, inputs = [], [value("i", "int64", []), value("go", "bool", [])]
    names = [f"s{k}" for k in range(states)]
    inputs += [value(name, kind, dims) for name in names]
    outputs = []
    if last is None:
        nodes.append(helper.make_node("Identity", ["go"], ["go_on"]))
    else:
        stop = d.input(np.array(last, "int64"))
        nodes.append(helper.make_node("Cast", ["i"], ["i_float"], to=T.FLOAT))
        nodes.append(helper.make_node("Cast", [stop], ["stop_float"], to=T.FLOAT))
        nodes.append(helper.make_node("Less", ["i_float", "stop_float"], ["go_on"]))
    nodes.append(helper.make_node("Cast", ["i"], ["n"], to=elem_of(kind)))
    for k, name in enumerate(names):
        nodes.append(step(d, name, d.one([outer, "n", *names]), f"next{k}"))
        outputs.append(value(f"next{k}", kind, dims))
    for k in range(collected):
        of = d.one([*names, outer, "n"])
        nodes.append(step(d, of, "n", f"kept{k}"))
        outputs.append(value(f"kept{k}", kind, [] if of == "n" else dims))
    body = helper.make_graph(nodes, "body", inputs, [value("go_on", "bool", []), *outputs])
    most = "" if trips is None else d.input(np.array(trips, "int64").reshape(d.one([[], [1]])))
    condition = d.input(np.array(not d.chance(5))) if d.chance() or trips is None else ""
    given = [d.input(d.array(kind, dims, -2, 2), kind) for _ in names]
    d.node("Loop", [most, condition, *given], states + collected, body=body)


def growing(d):
    """A state whose extent is another in each iteration, or a sequence."""
    d.since(13)
    kind = d.one(["float32", "int64"])
    x = d.input(d.array(kind, [2]), kind)
    is_list = d.chance()
    if is_list:
        listing = helper.make_sequence_type_proto(helper.make_tensor_type_proto(elem_of(kind), None))
        state = helper.make_value_info("s", listing)
        nodes = [helper.make_node("SequenceInsert", ["s", x], ["t"])]
        out = helper.make_value_info("t", listing)
        first = d.node("SequenceEmpty", [], dtype=elem_of(kind), keep=False)
    else:
        state, out = value("s", kind, ["N"]), value("t", kind, ["M"])
        nodes = [helper.make_node("Concat", ["s", x], ["t"], axis=0)]
        first = d.input(d.array(kind, [d.int(0, 2)]), kind)
    nodes.append(helper.make_node("Identity", ["go"], ["go_on"]))
    body = helper.make_graph(
        nodes, "body", [value("i", "int64", []), value("go", "bool", []), state], [value("go_on", "bool", []), out]
    )
    d.node("Loop", [d.input(np.array(d.int(0, 4), "int64")), "", first], body=body)


def scan(d):
    old = d.opset == 8
    kind = d.one(["float32", "int64"])
    dims = d.dims(0, 2, (1, 2, 3))
    length, states, scanned, collected = d.int(1, 4), d.int(0, 2), d.int(1, 2), d.int(1, 2)
    batch = d.int(1, 2)
    names, parts = [f"s{k}" for k in range(states)], [f"p{k}" for k in range(scanned)]
    nodes, outputs = [], []
    for k, name in enumerate(names):
        nodes.append(step(d, name, d.one([*names, *parts]), f"next{k}"))
        outputs.append(value(f"next{k}", kind, dims))
    for k in range(collected):
        nodes.append(step(d, d.one([*names, *parts]), d.one([*names, *parts]), f"kept{k}"))
        outputs.append(value(f"kept{k}", kind, dims))
    body = helper.make_graph(nodes, "body", [value(n, kind, dims) for n in [*names, *parts]], outputs)
    given = {"body": body, "num_scan_inputs": scanned}
    rank = len(dims) + 1
    axes = [0] * scanned
    if old:
        given["directions"] = d.maybe([d.int(0, 1) for _ in parts])
        front = [""]
    else:
        low = -rank if d.opset >= 11 else 0
        axes = [d.int(low, rank - 1) for _ in parts] if d.chance() else axes
        given["scan_input_axes"] = axes if any(axes) else d.maybe(axes)
        given["scan_input_directions"] = d.maybe([d.int(0, 1) for _ in parts])
        given["scan_output_axes"] = d.maybe([d.int(low, rank - 1) for _ in range(collected)])
        given["scan_output_directions"] = d.maybe([d.int(0, 1) for _ in range(collected)])
        front = []
    before = [batch] if old else []
    inputs = [d.input(d.array(kind, before + dims, -2, 2), kind) for _ in names]
    for axis in axes:
        shape = list(dims)
        shape.insert(axis % rank, length)
        inputs.append(d.input(d.array(kind, before + shape, -2, 2), kind))
    if old and d.chance():
        front = [d.ints([d.int(1, length) for _ in range(batch)])]
    d.node("Scan", [*front, *inputs], states + collected, **given)


def any_scan(d):
    d.since(8, 8) if d.chance(4) else d.since(8)
    scan(d)


def each(d):
    d.since(17)
    kind = d.one(["float32", "int64"])
    count = d.int(1, 3)
    lists = [
        d.node("SequenceConstruct", [d.input(d.array(kind, [2]), kind) for _ in range(count)], keep=False)
        for _ in range(d.int(1, 2))
    ]
    same = d.input(d.array(kind, [2]), kind) if d.chance() else None
    inputs = [f"e{i}" for i in range(len(lists))] + (["same"] if same else [])
    nodes = [step(d, d.one(inputs), d.one(inputs), f"r{k}") for k in range(d.int(1, 2))]
    ports = [value(name, kind, [2]) for name in inputs]
    body = helper.make_graph(nodes, "body", ports, [value(n.output[0], kind, [2]) for n in nodes])
    d.node("SequenceMap", [*lists, *([same] if same else [])], len(nodes), body=body)


DRAWS = [
    ("branches", branches),
    ("loop", loop),
    ("loop_more", loop),
    ("growing", growing),
    ("scan", any_scan),
    ("scan_more", any_scan),
    ("each", each),
]
