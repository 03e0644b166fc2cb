"""Attention as ONNX Runtime adds it, and what rotates positions before it."""

import numpy as np


def floats(d, dims, kind="float32", high=1.0):
    values = np.random.RandomState(d.int(0, 9999)).uniform(-high, high, dims)
    return values.astype(kind)


def attention(d):
    d.since(11)
    batch, length, heads, size = d.int(1, 3), d.int(1, 4), d.int(1, 3), d.int(1, 4)
    width, of_values = d.int(1, 6), size
    past = d.int(0, 3) if d.chance(3) else None
    if past is None and d.chance(3):
        of_values = d.int(1, 4)
    total = length + (past or 0)
    hidden = [heads * size, heads * size, heads * of_values]
    x, w = floats(d, [batch, length, width]), floats(d, [width, sum(hidden)])
    # ONNX Runtime crashes without a bias.
    bias = floats(d, [sum(hidden)])
    masks = [None, None, [batch], [2 * batch], [batch, total], [batch, length, total]]
    form = d.one(masks if past is None else [None, [batch, total], [batch, length, total]])
    mask = None
    if form is not None:
        mask = d.array("int32", form, 0, 1)
        # Of rows without any position, the large number rounds what is left.
        mask[..., 0] = 1
        if len(form) == 1:
            mask = np.array([d.int(1, total) for _ in range(batch)], "int32")
            if form[0] == 2 * batch and batch > 0:
                mask = np.concatenate([mask, np.array([d.int(0, int(end) - 1) for end in mask], "int32")])
    before = floats(d, [2, batch, heads, past, size]) if past is not None else None
    added = floats(d, [d.one([1, batch]), d.one([1, heads]), length, total]) if past is None and d.chance(4) else None
    given = {
        "qkv_hidden_sizes": hidden if of_values != size or d.chance(4) else None,
        "unidirectional": d.maybe(1, 3),
        "scale": d.maybe(0.5, 4),
        "mask_filter_value": d.maybe(-50.0, 4),
    }
    outputs = 2 if past is not None or d.chance(4) and of_values == size else 1
    d.behind(d.added("Attention", [x, w, bias, mask, before, added], outputs, num_heads=heads, **given))


def multi_head_attention(d):
    d.since(13)
    batch, length, heads, size = d.int(1, 3), d.int(1, 4), d.int(1, 3), d.int(1, 4)
    keys, of_values = d.one([length, d.int(1, 5)]), d.one([size, d.int(1, 4)])
    width = heads * size
    query = floats(d, [batch, length, width])
    is_cross = d.chance(4)
    if is_cross:
        key, value = floats(d, [batch, heads, keys, size]), floats(d, [batch, heads, keys, of_values])
    else:
        key, value = floats(d, [batch, keys, width]), floats(d, [batch, keys, heads * of_values])
    bias = floats(d, [2 * width + heads * of_values]) if d.chance(3) else None
    past = d.int(0, 3) if d.chance(3) and not is_cross else None
    total = keys + (past or 0)
    before = [None, None]
    if past is not None:
        before = [floats(d, [batch, heads, past, size]), floats(d, [batch, heads, past, of_values])]
    mask = None
    if d.chance(3):
        form = d.one([[batch], [batch, total], [batch, length, total]])
        mask = d.array("int32", form, 0, 1)
        mask[..., 0] = 1
        if len(form) == 1:
            mask = np.array([d.int(1, total) for _ in range(batch)], "int32")
    added = floats(d, [d.one([1, batch]), d.one([1, heads]), length, total]) if d.chance(3) else None
    given = {"scale": d.maybe(0.5, 4), "mask_filter_value": d.maybe(-50.0, 4)}
    # The last query of ONNX Runtime sees all keys, and that is right for as many keys as queries.
    given |= {"unidirectional": d.maybe(1, 3) if keys == length else None}
    outputs = 3 if past is not None else d.one([1, 1, 3])
    inputs = [query, key, value, bias, mask, added, *before]
    d.behind(d.added("MultiHeadAttention", inputs, outputs, num_heads=heads, **given))


def caches(d, positions, half, kind):
    angles = np.random.RandomState(d.int(0, 9999)).uniform(0, 6.3, [positions, half])
    return [np.cos(angles).astype(kind), np.sin(angles).astype(kind)]


def group_query_attention(d):
    d.since(16)
    kind = d.one(["float32", "float32", "float16"])
    batch, shared, each, size = d.int(1, 3), d.int(1, 2), d.int(1, 3), 8 * d.int(1, 2)
    heads = shared * each
    is_first = d.chance()
    length = d.int(1, 4) if is_first or d.chance(3) else 1
    if length > 1 and not is_first:
        batch = 1
    past = 0 if is_first else d.int(1, 5)
    # How many positions each sequence has in the end; the past may be shorter than its buffer. What is computed for positions
    # after the end of a sequence does not matter.
    if is_first:
        lasts = [length] * batch
    else:
        lasts = [d.int(length, past + length) for _ in range(batch)]
        lasts[0] = past + length
    total = max(lasts)
    buffer = past + d.one([0, 0, 1, 2])
    query = floats(d, [batch, length, heads * size], kind)
    key, value = (floats(d, [batch, length, shared * size], kind) for _ in range(2))
    if d.chance(3):
        query, key, value = np.concatenate([query, key, value], -1), None, None
    before = [None, None]
    if not is_first:
        before = [floats(d, [batch, shared, buffer, size], kind) for _ in range(2)]
    given = {"local_window_size": d.maybe(d.int(1, 4), 3), "softcap": d.maybe(2.0, 4), "scale": d.maybe(0.5, 4)}
    given |= {"smooth_softmax": d.maybe(1, 6)}
    rotary = [None, None]
    positions = None
    if d.chance():
        rotary = caches(d, total + buffer + length + 2, size // 2, kind)
        given |= {"do_rotary": 1, "rotary_interleaved": d.maybe(1, 3)}
        if d.chance(4):
            # Without a past, ONNX Runtime counts from the first position of the first sequence.
            positions = np.tile(np.arange(length) + d.int(0, 2), (batch, 1)) if is_first else d.array("int64", [batch, length], 0, total)
    added = floats(d, [d.one([1, batch]), d.one([1, heads]), length, total], kind) if d.chance(4) else None
    sink = floats(d, [heads], kind) if d.chance(4) and not given["smooth_softmax"] else None
    inputs = [query, key, value, *before, np.array([last - 1 for last in lasts], "int32"), np.array([total], "int32")[0]]
    inputs += [*rotary, positions, added, sink]
    d.added("GroupQueryAttention", inputs, 3, num_heads=heads, kv_num_heads=shared, **given)


def rotary_embedding(d):
    d.since(16)
    kind = d.one(["float32", "float32", "float16"])
    batch, length, heads, size = d.int(1, 3), d.int(1, 4), d.int(1, 3), 2 * d.int(1, 4)
    turning = size if d.chance() else 2 * d.int(1, size // 2)
    most = length + d.int(0, 3)
    is_split = d.chance()
    x = floats(d, [batch, heads, length, size] if is_split else [batch, length, heads * size], kind)
    given = {"interleaved": d.maybe(1)}
    if turning != size:
        given |= {"rotary_embedding_dim": turning, "num_heads": heads}
    elif d.chance(4):
        given |= {"num_heads": heads}
    if turning == size and not is_split and "num_heads" not in given:
        heads = 1
    if d.chance():
        positions = np.array([d.int(0, most - length)], "int64")
    else:
        positions = d.array("int64", [batch, length], 0, most - 1)
    d.behind(d.added("RotaryEmbedding", [x, positions, *caches(d, most, turning // 2, kind)], **given))


def quantized_attention(d):
    d.since(11)
    batch, length, heads, size = d.int(1, 2), d.int(1, 4), d.int(1, 3), d.int(1, 4)
    width = d.int(1, 6)
    all_of = 3 * heads * size
    of_w = d.one(["uint8", "int8"])
    x = d.array("uint8", [batch, length, width], 0, 255)
    w = d.array(of_w, [width, all_of], 0, 255) if of_w == "uint8" else d.array(of_w, [width, all_of], -128, 127)
    each = d.one([(), (1,), (all_of,)])
    past = d.int(1, 3) if d.chance(4) else None
    total = length + (past or 0)
    form = d.one([None, [batch], [batch, total]] if past is None else [None, [batch, total]])
    mask = None if form is None else d.array("int32", form, 0, 1) if len(form) == 2 else d.array("int32", form, 1, total)
    before = floats(d, [2, batch, heads, past, size]) if past is not None else None
    small = lambda dims: (np.abs(floats(d, dims)) * 0.02 + 0.005).astype("float32")
    zeros = [d.array("uint8", d.one([(), (1,)]), 0, 255), d.array(of_w, each, 0, 9)]
    if before is None and d.chance(4):
        zeros = []
    inputs = [x, w, floats(d, [all_of]), small(d.one([(), (1,)])), small(each), mask, *zeros, *([before] if before is not None else [])]
    given = {"unidirectional": d.maybe(1, 3), "scale": d.maybe(0.5, 4), "mask_filter_value": d.maybe(-50.0, 4)}
    d.behind(d.added("QAttention", inputs, 2 if past is not None else 1, num_heads=heads, **given))


DRAWS = [
    ("AddedAttention", attention),
    ("MultiHeadAttention", multi_head_attention),
    ("GroupQueryAttention", group_query_attention),
    ("AddedRotaryEmbedding", rotary_embedding),
    ("QAttention", quantized_attention),
]
