"""Attention, rotated positions, caches, and what computes as recurrent layers do."""

import numpy as np
from onnx import TensorProto as T
from onnx import helper

from .draw import FLOATS, elem_of

INNER = [T.FLOAT, T.FLOAT16, T.DOUBLE]
WINDOW = ["left_window_size", "right_window_size"]


def heads(d):
    """How many heads queries have, and how many keys and values."""
    shared, of_keys = d.one([1, 1, 2, 3]), d.int(1, 3)
    return shared * of_keys, of_keys


def packed(x):
    """Heads as parts of the last axis."""
    n, count, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(n, length, count * size)


def attention(d):
    d.since(23)
    kind = d.one(["float32", "float32", "float16", "float64"])
    of_values = d.one(["float32", "float16"]) if kind in ("float32", "float16") and d.chance(6) else kind
    (n_q, n_k), batch = heads(d), d.int(1, 3)
    queries, keys, past = d.int(1, 5), d.int(1, 6), d.int(0, 3)
    size, value_size = d.int(1, 5), d.int(1, 5)
    if d.chance(8):
        # Longer than what is computed at a time.
        n_q, n_k, batch = n_q // n_k, 1, 1
        queries, keys, size = d.int(1, 40), d.int(1, 150), d.int(1, 40)
    is_packed, has_past = d.chance(), d.chance(3)
    has_lengths = d.opset >= 24 and not has_past and d.chance(3)
    total = keys + (past if has_past else 0)
    arrays = [
        d.array(kind, [batch, n_q, queries, size], -2, 2),
        d.array(kind, [batch, n_k, keys, size], -2, 2),
        d.array(of_values, [batch, n_k, keys, value_size], -2, 2),
    ]
    lead = d.led if kind in FLOATS else d.input
    inputs = [lead(packed(x) if is_packed else x, kind) for x in arrays]
    lengths = [d.int(0 if d.chance(4) else 1, total) for _ in range(batch)]
    is_causal = d.maybe(d.int(0, 1))
    of_scores = [batch, n_q, queries, total]
    inputs.append(mask(d, kind, of_scores, max(lengths) if has_lengths else total, is_causal))
    if has_past:
        inputs += [d.input(d.array(kind, [batch, n_k, past, s], -2, 2), kind) for s in (size, value_size)]
    elif has_lengths:
        inputs += ["", "", d.ints(lengths)]
    given = {}
    if is_packed:
        given = {"q_num_heads": n_q, "kv_num_heads": n_k}
    if d.opset >= 25:
        given |= {name: d.maybe(d.int(-1, 3), 3) for name in WINDOW}
    # The cache is kept by who keeps lengths.
    outputs = 1 if has_lengths or not has_past and d.chance() else d.one([3, 3, 4])
    precision = d.maybe(d.one(INNER), 4)
    is_odd = kind == "float64" or precision == T.FLOAT16 or is_causal and (has_past or has_lengths)
    mode = d.maybe(d.int(0, 3)) if outputs == 4 else None
    if is_odd or mode == 2 or any(given.get(name) is not None for name in WINDOW):
        # ONNX Runtime gives NaN for what sees nothing, computes in another precision, counts the past otherwise, gives hidden
        # scores that are finite, and knows no windows.
        d.judged["reference"] = "yes"
        d.judged["tolerance"] = "1e-2" if "float16" in (kind, of_values) or precision == T.FLOAT16 else "1e-5"
    d.node(
        "Attention",
        inputs,
        outputs,
        is_causal=is_causal,
        scale=d.maybe(d.one([0.5, 1.0, 0.25]), 3),
        # The reference evaluator gives raw scores that are capped.
        softcap=None if outputs == 4 and d.judged else d.maybe(d.one([0.0, 1.0, 2.5]), 3),
        softmax_precision=precision,
        qk_matmul_output_mode=mode,
        **given,
    )
    if kind in FLOATS:
        d.followed()


def mask(d, kind, dims, least, is_causal):
    """A mask of one kind or another, or none."""
    if d.chance():
        return ""
    total = dims[-1]
    # The reference evaluator takes a mask of one row for what the first query sees.
    has_rows = is_causal or not d.chance(6)
    dims = dims[-d.int(2 if has_rows else 1, 4) :]
    dims[:-2] = [1 if d.chance(3) else n for n in dims[:-2]]
    if not has_rows:
        dims[-2:-1] = [1] * (len(dims) > 1)
    if d.opset >= 24 and d.chance(4):
        dims[-1] = d.int(least, total)
    if d.chance():
        return d.input(d.array("bool", dims) | d.array("bool", dims), "bool")
    values = d.array(kind, dims, -2, 2)
    if d.chance(3):
        values[d.array("bool", dims) & d.array("bool", dims)] = -np.inf
    return d.input(values, kind)


def rotary(d):
    d.since(23)
    kind = d.one(["float32", "float16", "bfloat16"])
    batch, count, length, size = d.int(1, 3), d.int(1, 3), d.int(1, 4), 2 * d.int(1, 4)
    is_packed, part = d.chance(), d.maybe(2 * d.int(0, size // 2), 3)
    dims = [batch, length, count * size] if is_packed else [batch, count, length, size]
    half = (part or size) // 2
    x = d.led(d.array(kind, dims), kind) if kind in FLOATS else d.input(d.array(kind, dims), kind)
    has_ids = d.chance()
    positions = d.int(1, 6)
    caches = [d.array(kind, [positions, half] if has_ids else [batch, length, half], -1, 1) for _ in range(2)]
    inputs = [x, *(d.input(c, kind) for c in caches)]
    if has_ids:
        inputs.append(d.input(d.array("int64", [batch, length], 0, positions - 1)))
    d.node(
        "RotaryEmbedding",
        inputs,
        interleaved=d.maybe(d.int(0, 1)),
        rotary_embedding_dim=part,
        num_heads=count if is_packed else None,
    )
    if kind in FLOATS:
        d.followed()


def cache(d):
    d.since(24)
    kind = d.one(["float32", "int64", "float16", "uint8", "bool", "string"])
    rank = d.int(2, 4)
    axis = d.int(1, rank - 1)
    before = [d.int(1, 3) for _ in range(rank)]
    new = list(before)
    before[axis] = d.int(1, 6)
    new[axis] = d.int(0 if d.chance(6) else 1, before[axis])
    is_circular = d.chance()
    last = before[axis] - 1 if is_circular else before[axis] - new[axis]
    inputs = [d.input(d.array(kind, before), kind), d.input(d.array(kind, new), kind)]
    if d.chance(3):
        inputs.append("")
    else:
        inputs.append(d.ints([d.int(0, last) for _ in range(before[0])]))
    at = axis - rank if d.chance() else axis
    mode = "circular" if is_circular else d.maybe("linear")
    d.node("TensorScatter", inputs, mode=mode, axis=None if at == -2 and d.chance() else at)


def linear(d):
    d.opset = d.one([27, 28])
    kind, state = d.one(["float32", "float16"]), d.one(["float32", "float32", "float16"])
    (n_q, n_k), batch, length, size, value_size = heads(d), d.int(1, 2), d.int(1, 4), d.int(1, 3), d.int(1, 3)
    rule = d.one(["linear", "gated", "delta", "gated_delta"])
    sizes = [n_q * size, n_k * size, n_k * value_size]
    inputs = [d.led(d.array(kind, [batch, length, s], -1, 1), kind) for s in sizes]
    inputs.append(d.input(d.array(state, [batch, n_k, size, value_size], -1, 1), state) if d.chance() else "")
    decays, rates = [n_k * size, n_k], [n_k, 1]
    inputs.append(d.input(d.array(kind, [batch, length, d.one(decays)], -2, 0), kind) if "gated" in rule else "")
    inputs.append(d.input(d.array(kind, [batch, length, d.one(rates)], 0, 1), kind) if "delta" in rule else "")
    d.node(
        "LinearAttention",
        inputs,
        2,
        q_num_heads=n_q,
        kv_num_heads=n_k,
        update_rule=d.maybe(rule) if rule == "gated_delta" else rule,
        scale=d.maybe(d.one([0.0, 0.5])),
        chunk_size=d.maybe(d.one([1, 2, 64]), 4),
    )
    d.followed()


def causal(d):
    d.opset = d.one([27, 28])
    kind = d.one(["float32", "float16"])
    batch, channels, length, taps = d.int(1, 2), d.int(1, 3), d.int(1, 5), d.int(1, 4)
    inputs = [d.led(d.array(kind, [batch, channels, length], -2, 2), kind)]
    inputs.append(d.input(d.array(kind, [channels, 1, taps], -2, 2), kind))
    inputs.append(d.input(d.array(kind, [channels], -2, 2), kind) if d.chance() else "")
    inputs.append(d.input(d.array(kind, [batch, channels, taps - 1], -2, 2), kind) if d.chance() else "")
    d.node("CausalConvWithState", inputs, 2, activation=d.maybe(d.one(["silu", "swish", "none"])))
    d.followed()


def gated(d):
    d.opset = 28
    kind, dims = d.one(FLOATS), d.dims(0, 3)
    inputs = [d.led(d.array(kind, dims), kind) for _ in range(2)]
    d.node("SwiGLU", inputs, alpha=d.maybe(d.one([0.5, 1.75])))
    d.followed()


def flexible(d):
    d.since(23)
    d.domains["ai.onnx.preview"] = 1
    kind = d.one(FLOATS)
    (n_q, n_k), batch, queries, keys = heads(d), d.int(1, 2), d.int(1, 4), d.int(1, 4)
    size, value_size = d.int(1, 4), d.int(1, 4)
    sizes = [[n_q, queries, size], [n_k, keys, size], [n_k, keys, value_size]]
    inputs = [d.led(d.array(kind, [batch, *s], -2, 2), kind) for s in sizes]
    inner = d.maybe(d.one(INNER), 3)
    if kind == "float16" and inner is None:
        inner = T.FLOAT
    d.judged["tolerance"] = "1e-2" if T.FLOAT16 in (inner, elem_of(kind)) else "1e-5"
    of = inner or elem_of(kind)
    given = {}
    for name in ("score_mod", "prob_mod"):
        if d.chance():
            port = lambda port: helper.make_tensor_value_info(port, of, [None] * 4)
            op = helper.make_node(d.one(["Neg", "Tanh", "Abs"]), ["s"], ["t"])
            given[name] = helper.make_graph([op], name, [port("s")], [port("t")])
    d.node("FlexAttention", inputs, domain="ai.onnx.preview", softmax_precision=inner, scale=d.maybe(0.5), **given)
    d.followed()


DRAWS = [
    ("attention", attention),
    ("attention_more", attention),
    ("attention_most", attention),
    ("rotary", rotary),
    ("cache", cache),
    ("linear_attention", linear),
    ("causal", causal),
    ("gated", gated),
    ("flexible", flexible),
]
