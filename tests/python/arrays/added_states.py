"""Operators that ONNX Runtime adds for networks with a state, with parallel streams, or with hashed n-grams; and searches."""

import numpy as np


def floats(d, dims, kind="float32", high=1.0):
    return np.random.RandomState(d.int(0, 9999)).uniform(-high, high, dims).astype(kind)


def wide(d):
    return d.one(["float32", "float32", "float16"])


def causal_convolution(d):
    d.since(13)
    kind, batch, channels, length, taps = wide(d), d.int(1, 2), d.int(1, 3), d.int(1, 5), d.int(1, 4)
    dilation = d.one([1, 1, 2, 3])
    behind = [channels]
    if is_last := d.chance(3):
        behind = d.one([[channels], [channels, 1], [1, channels]])
    dims = lambda n: [batch, n, *behind] if is_last else [batch, channels, n]
    x, past = floats(d, dims(length), kind), floats(d, dims((taps - 1) * dilation), kind)
    inputs = [x, floats(d, [channels, 1, taps], kind), floats(d, [channels], kind) if d.chance() else None]
    inputs.append(past if d.chance() else None)
    given = {"dilation": dilation if dilation > 1 else None, "channels_last": 1 if is_last else None}
    d.behind(d.added("CausalConvWithState", inputs, 2, activation=d.maybe(d.one(["silu", "swish", "none"])), **given))


def linear_attention(d):
    d.since(13)
    kind = wide(d)
    n_q, n_k = d.one([(1, 1), (2, 1), (4, 2), (1, 2), (2, 4), (2, 2)])
    batch, length, size, of_values = d.int(1, 2), d.int(1, 4), d.int(1, 3), d.int(1, 3)
    rule = d.one(["linear", "gated", "delta", "gated_delta"])
    inputs = [floats(d, [batch, length, n], kind) for n in (n_q * size, n_k * size, n_k * of_values)]
    inputs.append(floats(d, [batch, n_k, size, of_values], kind) if d.chance() else None)
    inputs.append(floats(d, [batch, length, d.one([n_k * size, n_k])], kind) if "gated" in rule else None)
    inputs.append(np.abs(floats(d, [batch, length, d.one([n_k, 1])], kind)) if "delta" in rule else None)
    given = {"scale": d.maybe(0.5), "update_rule": None if rule == "gated_delta" and d.chance() else rule}
    d.behind(d.added("LinearAttention", inputs, 2, q_num_heads=n_q, kv_num_heads=n_k, **given))


def linear_attention_gate(d):
    d.since(13)
    kind, dims = wide(d), [d.int(1, 2), d.int(1, 3), d.int(1, 4)]
    outputs = d.int(1, 2)
    inputs = [floats(d, dims, kind, 3.0), floats(d, dims[-1:]), floats(d, dims[-1:])]
    inputs.append(floats(d, dims, kind, 3.0) if outputs == 2 else None)
    d.behind(d.added("LinearAttentionGate", inputs, outputs))


def gated_normalization(d):
    d.since(13)
    kind, width, heads = wide(d), d.int(1, 4), d.int(1, 3)
    dims = [*d.dims(1, 2, (1, 2, 3), empty=99), heads * width]
    inputs = [floats(d, dims, kind, 3.0), floats(d, [width], kind, 2.0), floats(d, dims, kind, 3.0)]
    given = {"activation": d.one([None, "silu", "swish", "sigmoid"]), "epsilon": d.maybe(0.25)}
    d.behind(d.added("GatedRMSNorm", inputs, **given))


def scaled_silu(d):
    d.since(13)
    kind = wide(d)
    x = d.array(kind, d.dims(0, 3, (1, 2, 3), empty=99), -4, 4)
    scale = floats(d, [], d.one([kind, "float32"]), 2.0) if d.chance() else None
    d.behind(d.added("ScaledSiLU", [x, scale], alpha=d.maybe(0.5)))


def streams(d, kind):
    """Outer extents, branches and size, and streams, which may be flat."""
    outer, count, size = d.dims(1, 2, (1, 2, 3), empty=99), d.int(1, 4), d.int(1, 4)
    is_flat = d.chance()
    x = floats(d, [*outer, count * size] if is_flat else [*outer, count, size], kind, 2.0)
    return outer, count, size, x, count if is_flat else None


def branchwise_normalization(d):
    d.since(13)
    kind = wide(d)
    outer, count, size, x, branches = streams(d, kind)
    scale = floats(d, d.one([[count * size], [count, size], [size]]), d.one([kind, "float32"])) if d.chance() else None
    d.behind(d.added("BranchwiseRMSNorm", [x, scale], num_branches=branches, epsilon=d.maybe(0.25)))


def pre_mix(d):
    d.since(13)
    kind = wide(d)
    outer, count, size, x, branches = streams(d, kind)
    forms = [[*outer, count], [*outer, count, 1], [*outer, count, size]]
    forms += [[*outer, count * size]] if branches else []
    gates = floats(d, d.one(forms), d.one([kind, "float32"]))
    d.behind(d.added("HyperConnectionPreMix", [x, gates], num_branches=branches, reduction_scale=d.maybe(0.5)))


def post_mix(d):
    d.since(13)
    kind = wide(d)
    outer, count, size, x, branches = streams(d, kind)
    of_gates = d.one([kind, "float32"])
    gates = floats(d, d.one([[*outer, count], [*outer, count, 1], [*outer, count, size]]), of_gates)
    mix = floats(d, [*outer, count, count], of_gates) if d.chance() else None
    d.behind(d.added("HyperConnectionPostMix", [x, floats(d, [*outer, size], kind), gates, mix], num_branches=branches))


def engram_gate(d):
    d.since(13)
    kind, batch, length, count, size = wide(d), d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 4)
    outputs = d.int(1, 2)
    dims, of_scale = [batch, length, count, size], [count, size]
    inputs = [floats(d, dims, kind), floats(d, dims, kind), floats(d, [batch, length, size], kind)]
    inputs += [floats(d, of_scale, kind, 2.0), floats(d, of_scale, kind, 2.0)]
    inputs.append(floats(d, of_scale, kind) if outputs == 2 else None)
    d.behind(d.added("EngramGate", inputs, outputs, epsilon=d.maybe(0.25)))


def rotary(d):
    d.since(13)
    kind, batch, length, heads = wide(d), d.int(1, 2), d.int(1, 4), d.int(1, 3)
    sections = [d.int(1, 2), d.int(0, 2), d.int(0, 2)]
    half = sum(sections)
    rest = d.one([0, 0, 2])
    size = 2 * half + rest
    is_split = d.chance()
    x = floats(d, [batch, heads, length, size] if is_split else [batch, length, heads * size], kind)
    positions = length + d.int(0, 3)
    angles = np.random.RandomState(d.int(0, 9999)).uniform(0, 6.3, [positions, half])
    ids = d.array("int64", [3, batch, length], 0, positions - 1)
    given = {"rotary_embedding_dim": 2 * half if rest else None, "num_heads": heads}
    given |= {"interleaved": d.maybe(1), "mrope_layout": d.maybe(1)}
    inputs = [x, ids, np.cos(angles).astype(kind), np.sin(angles).astype(kind)]
    d.behind(d.added("MRotaryEmbedding", inputs, mrope_section=sections, **given))


def decoding(d):
    d.since(13)
    batch, heads, size, room = d.int(1, 3), d.int(1, 3), d.int(1, 4), d.int(2, 5)
    width = heads * size
    query = floats(d, [batch, 1, width])
    scale = d.maybe(0.5, 4)
    if d.chance(3):
        key, value = (floats(d, [batch, heads, room, size]) for _ in range(2))
        mask = d.array("int32", [batch, room], 0, 1) if d.chance() else None
        if mask is not None:
            mask[:, 0] = 1
        return d.behind(d.added("DecoderMaskedMultiHeadAttention", [query, key, value, mask], num_heads=heads, scale=scale))
    past = d.int(0, room - 1)
    key, value = (floats(d, [batch, 1, width]) for _ in range(2))
    mask = d.array("int32", [batch, past + 1], 0, 1) if d.chance() else None
    if mask is not None:
        mask[:, 0] = 1
    added = floats(d, [d.one([1, batch]), d.one([1, heads]), 1, past + 1]) if d.chance() else None
    kept = [floats(d, [batch, heads, room, size]) for _ in range(2)]
    inputs = [query, key, value, mask, added, *kept, np.array([past], "int32"), None, None]
    inputs.append(floats(d, [3 * width]) if d.chance() else None)
    given = {"past_present_share_buffer": 1, "scale": scale}
    d.behind(d.added("DecoderMaskedMultiHeadAttention", inputs, 3, num_heads=heads, **given))


def sparse_attention(d):
    d.since(13)
    shared, each, size, block = d.int(1, 2), d.int(1, 2), 16, 16
    batch, heads, rows = d.int(1, 2), shared * each, d.int(1, 3)
    length = d.one([1, d.int(2, 9), d.int(17, block * rows)]) if rows > 1 else d.int(1, block)
    total = length if length > 1 else d.int(1, block * rows)
    query, key, value = (floats(d, [batch, length, n * size]) for n in (heads, shared, shared))
    if d.chance(3):
        query, key, value = np.concatenate([query, key, value], -1), None, None
    past = [d.input(floats(d, [batch, shared, block * rows, size]), fed=True) for _ in range(2)]
    layouts = [d.one([1, heads])]
    patterns = [[[c for c in range(r + 1) if c == r or d.chance()] for r in range(rows)] for _ in range(layouts[0])]
    starts = [np.cumsum([0, *map(len, pattern)]) for pattern in patterns]
    columns = [sum(pattern, []) for pattern in patterns]
    longest = max(map(len, columns))
    columns = np.array([c + [-1] * (longest - len(c)) for c in columns], "int32")
    # ONNX Runtime mixes up sequences of different lengths.
    inputs = [query, key, value, *past, np.array(starts, "int32"), columns]
    inputs += [np.array([total], "int32"), np.array([total] * batch, "int32")]
    given = {"num_heads": heads, "kv_num_heads": shared, "sparse_block_size": block, "scale": d.maybe(0.5, 3)}
    if d.chance():
        angles = np.random.RandomState(d.int(0, 9999)).uniform(0, 6.3, [block * rows, size // 2])
        inputs += [np.cos(angles).astype("float32"), np.sin(angles).astype("float32")]
        given |= {"do_rotary": 1, "rotary_interleaved": d.maybe(1)}
    _, *present = d.added("SparseAttention", inputs, 3, **given)
    d.judged["in_place"] = " ".join(f"{before}={behind}" for before, behind in zip(past, present))


def hashing(d, kind):
    longest, heads = d.int(2, 4), d.int(1, 3)
    multipliers = d.array(kind, [longest + d.int(0, 1)], 1, 99999)
    sizes = d.array(kind, [(longest - 1) * heads], 2, 97)
    offsets = d.array(kind, sizes.shape, 0, 9) if d.chance() else None
    end = np.array(d.int(0, 3), kind) if d.chance() else None
    given = {"max_ngram_size": longest, "n_head_per_ngram": heads, "pad_id": d.int(0, 9), "reset_on_eos": d.maybe(1)}
    return longest - 1, multipliers, sizes, offsets, end, given


def n_gram_hashes(d):
    d.since(13)
    kind = d.one(["int32", "int64"])
    before, multipliers, sizes, offsets, end, given = hashing(d, kind)
    batch, length = d.int(1, 2), d.int(1, 6)
    past = d.array(kind, [batch, before], 0, 5) if d.chance() else None
    segments = d.array("int32", [batch, length], 0, 1) if d.chance() else None
    inputs = [d.array(kind, [batch, length], 0, 5), multipliers, sizes, past, offsets, end, segments]
    d.added("NGramHashMapping", inputs, d.int(1, 2), **given)


def packed_n_gram_hashes(d):
    d.since(13)
    kind = d.one(["int32", "int64"])
    before, multipliers, sizes, offsets, end, given = hashing(d, kind)
    lengths = [d.int(1, 4) for _ in range(d.int(1, 3))]
    batch, total = len(lengths), sum(lengths)
    bounds = np.array([0, *np.cumsum(lengths)], "int32")
    past = d.array(kind, [batch, before], 0, 5) if d.chance() else None
    segments = d.array("int32", [total], 0, 1) if d.chance() else None
    past_segments = None
    if segments is not None and past is not None and d.chance():
        past_segments = d.array("int32", [batch, before], 0, 1)
    capacity = d.int(1, 3) if d.chance(3) else None
    count = d.array("int32", [batch], 0, 3) if capacity else None
    inputs = [d.array(kind, [total], 0, 5), multipliers, sizes, bounds, past, offsets, end, segments, past_segments, count]
    outputs = 4 if capacity else d.int(1, 2) if segments is None else 3
    d.added("VarlenNGramHashMapping", inputs, outputs, state_update_capacity=capacity, **given)
    if capacity and segments is None:
        d.leave_out(2)


def warping(d):
    d.since(13)
    dims = [d.int(1, 6), d.int(1, 6)]
    d.added("DynamicTimeWarping", [d.array("float32", dims if d.chance() else [1, *dims], -3, 3)])


def bifurcation(d):
    d.since(13)
    source = d.array("int64", [d.int(1, 8)], 0, 3)
    start = d.int(0, len(source))
    predicted = None
    if d.chance():
        predicted = np.concatenate([source[start:], d.array("int64", [1], 0, 3)])
        if d.chance():
            predicted[d.int(0, len(predicted) - 1)] = 3
    inputs = [source, d.array("int64", [d.int(1, 5)], 0, 3), np.array([start], "int64"), predicted]
    shortest = d.int(1, 2)
    d.added("BifurcationDetector", inputs, 2, min_ngram_size=shortest, max_ngram_size=d.int(shortest, 3))


def product_of_blobs(d):
    d.since(13)
    kind, k, n = d.int(0, 1), d.int(1, 70), d.int(1, 5)
    blob = b""
    rows = np.random.RandomState(d.int(0, 9999))
    for _ in range(n * -(-k // 32)):
        blob += np.float32(rows.uniform(-1, 1)).tobytes() + (bytes([rows.randint(0, 16)]) if kind else b"")
        blob += rows.randint(0, 256, 16, "uint8").tobytes()
    inputs = [floats(d, [d.int(1, 3), k]), d.input(np.frombuffer(blob, "uint8"), fed=False)]
    inputs.append(d.input(np.array([k, n], "int64"), fed=False))
    d.behind(d.added("MatMulFpQ4", inputs, blk_quant_type=d.one([None, 1]) if kind else 0))


def masked_pool(d):
    d.since(13)
    # Of masks with several planes, ONNX Runtime reads others.
    rank = d.int(1, 3)
    spatial = [d.int(2, 5) for _ in range(rank)]
    kernel = [d.int(1, size) for size in spatial]
    x = d.array("float32", [d.int(1, 2), d.int(1, 2), *spatial], -5, 5)
    mask = np.minimum(d.array("int32", [1, 1, *spatial], 0, 3), 1)
    given = {"strides": d.maybe([d.int(1, 2) for _ in kernel])}
    given |= {"pads": d.maybe([d.int(0, k - 1) for _ in range(2) for k in kernel], 3)}
    d.behind(d.added("MaxpoolWithMask", [x, mask], kernel_shape=kernel, **given))


def word_embedding(d):
    d.since(13)
    length, codes, width, filters = d.int(2, 6), d.int(2, 6), d.int(1, 3), d.int(1, 4)
    taps = d.int(1, length)
    words = d.array("int32", [d.int(1, 4), length], 0, codes - 1)
    # The vector of a word without characters is not defined.
    words[:, 0] = np.maximum(words[:, 0], 1)
    inputs = [words, floats(d, [filters, 1, taps, width]), floats(d, [filters]), floats(d, [codes, width])]
    d.behind(d.added("WordConvEmbedding", inputs, conv_window_size=d.maybe(taps)))


def attentive_lstm(d):
    d.since(13)
    directions, direction = d.one([(1, None), (1, "reverse"), (2, "bidirectional")])
    steps, batch, width, hidden = d.int(1, 4), d.int(1, 3), d.int(1, 3), d.int(1, 4)
    places, depth, of_key = d.int(1, 4), d.int(1, 3), d.int(1, 4)
    size = d.int(1, 3) if d.chance() else None
    attention = size or depth
    lengths = np.array([d.int(1, steps) for _ in range(batch)], "int32") if d.chance() else None
    if lengths is not None:
        lengths[0] = steps
    inputs = [
        floats(d, [steps, batch, width]),
        floats(d, [directions, 4 * hidden, width + attention]),
        floats(d, [directions, 4 * hidden, hidden]),
        floats(d, [directions, 8 * hidden]) if d.chance() else None,
        lengths,
        floats(d, [directions, batch, hidden]) if d.chance() else None,
        floats(d, [directions, batch, hidden]) if d.chance() else None,
        floats(d, [directions, 3 * hidden]) if d.chance(3) else None,
        floats(d, [directions, hidden, of_key]),
        floats(d, [directions, depth, of_key]),
        floats(d, [directions, of_key], high=3.0),
        floats(d, [batch, places, depth]),
        np.array([d.int(1, places) for _ in range(batch)], "int32") if d.chance() else None,
        floats(d, [directions, depth + hidden, size]) if size else None,
    ]
    d.added("AttnLSTM", inputs, 3, hidden_size=hidden, direction=direction)


def gated_sum(d):
    d.since(13)
    kind = wide(d)
    dims = d.dims(1, 3, (1, 2, 3), empty=99)
    of_gate = [*dims[:-1], 1]
    d.behind(d.added("GatedAdd", [floats(d, dims, kind), floats(d, dims, kind), floats(d, of_gate, kind)]))


DRAWS = [
    ("AddedCausalConvolution", causal_convolution),
    ("AddedLinearAttention", linear_attention),
    ("LinearAttentionGate", linear_attention_gate),
    ("GatedRMSNorm", gated_normalization),
    ("ScaledSiLU", scaled_silu),
    ("BranchwiseRMSNorm", branchwise_normalization),
    ("HyperConnectionPreMix", pre_mix),
    ("HyperConnectionPostMix", post_mix),
    ("EngramGate", engram_gate),
    ("MRotaryEmbedding", rotary),
    ("DecoderMaskedMultiHeadAttention", decoding),
    ("SparseAttention", sparse_attention),
    ("NGramHashMapping", n_gram_hashes),
    ("VarlenNGramHashMapping", packed_n_gram_hashes),
    ("DynamicTimeWarping", warping),
    ("BifurcationDetector", bifurcation),
    ("MatMulFpQ4", product_of_blobs),
    ("MaxpoolWithMask", masked_pool),
    ("WordConvEmbedding", word_embedding),
    ("AttnLSTM", attentive_lstm),
    ("GatedAdd", gated_sum),
]
