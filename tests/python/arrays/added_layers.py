"""Activations, normalizations and embeddings that ONNX Runtime adds."""

import numpy as np

from arrays.draw import ADDED


def wide(d):
    return d.one(["float32", "float32", "float16"])


def gelu(d):
    op = d.one(["Gelu", "QuickGelu", "FastGelu", "BiasGelu"])
    d.since(13)
    dims = d.dims(1, 3, (1, 2, 3, 4), empty=40)
    x = d.array("float32", dims, -4, 4)
    bias = d.array("float32", dims[-1:], -2, 2) if op == "BiasGelu" or op == "FastGelu" and d.chance() else None
    given = {"alpha": d.one([None, 1.0, 0.5])} if op == "QuickGelu" else {}
    d.behind(d.added(op, [x, bias], **given))


def skip_normalization(d):
    d.since(13)
    op, kind = d.one(["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"]), wide(d)
    outer, width = [d.int(1, 3) for _ in range(d.int(1, 2))], d.int(1, 6)
    x = d.array(kind, [*outer, width], -3, 3)
    skips = [x.shape, x.shape] + ([x.shape[1:], (1, *x.shape[1:])] if len(outer) == 2 else [])
    inputs = [x, d.array(kind, d.one(skips), -3, 3), d.array(kind, [width], -2, 2)]
    if op == "SkipLayerNormalization":
        inputs.append(d.array(kind, [width], -2, 2) if d.chance() else None)
    inputs.append(d.array(kind, [width], -2, 2) if d.chance() else None)
    outputs = d.one([1, 4])
    d.added(op, inputs, outputs, epsilon=d.one([None, 1e-5, 0.25]))
    if outputs == 4:
        d.leave_out(1, 2)


def simplified_normalization(d):
    d.since(13)
    d.domains[ADDED] = 1
    kind = d.one(["float32", "float64", "float16"])
    dims = d.dims(1, 4, (1, 2, 3, 4), empty=99)
    axis = d.one([None, -1, d.int(0, len(dims) - 1), -d.int(1, len(dims))])
    behind = dims[axis if axis is not None else -1 :]
    x, scale = d.given(d.array(kind, dims, -3, 3)), d.given(d.array(kind, behind, -2, 2))
    results = d.node("SimplifiedLayerNormalization", [x, scale], 1, axis=axis, epsilon=d.one([None, 0.25]), stash_type=1)
    d.behind(results)


def embed_layer_normalization(d):
    d.since(11)
    batch, length, width = d.int(1, 3), d.int(1, 4), d.int(1, 6)
    words, places, segments = d.int(2, 6), length + d.int(0, 2), d.int(1, 3)
    floats = lambda *dims: d.array("float32", dims, -2, 2)
    has_segments = d.chance()
    inputs = [
        d.array("int32", [batch, length], 0, words - 1),
        d.array("int32", [batch, length], 0, segments - 1) if has_segments else None,
        floats(words, width),
        floats(places, width),
        floats(segments, width) if has_segments else None,
        d.input(floats(width), fed=False),
        d.input(floats(width), fed=False),
        d.array("int32", [batch, length], 0, 1) if d.chance() else None,
        d.array("int32", [d.one([1, batch]), length], 0, places - 1) if d.chance(3) else None,
    ]
    outputs = d.one([1, 2, 3])
    given = {"epsilon": d.one([None, 1e-5, 0.25]), "mask_index_type": d.one([None, None, 0, 1])}
    d.added("EmbedLayerNormalization", inputs, outputs, **given)
    if outputs == 3 and d.chance():
        d.leave_out(1)


def quantized_embed_layer_normalization(d):
    d.since(11)
    batch, length, width = d.int(1, 3), d.int(1, 4), d.int(1, 6)
    words, places, segments = d.int(2, 6), length + d.int(0, 2), d.int(1, 3)
    kind = d.one(["uint8", "int8"])
    codes = lambda *dims: d.array(kind, dims, 0, 255) if kind == "uint8" else d.array(kind, dims, -128, 127)
    has_segments = d.chance()
    tables = [(words, width), (places, width), (segments, width) if has_segments else None, (width,), (width,)]
    scale = lambda: np.array(d.int(1, 20) / 100, "float32")
    inputs = [
        d.array("int32", [batch, length], 0, words - 1),
        d.array("int32", [batch, length], 0, segments - 1) if has_segments else None,
        *(d.input(codes(*table), fed=False) if table else None for table in tables),
        d.array("int32", [batch, length], 0, 1) if d.chance() else None,
        *(scale() if table else None for table in tables),
        *(codes() if table else None for table in tables),
    ]
    inputs = [d.input(x, fed=False) if isinstance(x, np.ndarray) and not x.shape else x for x in inputs]
    d.added("QEmbedLayerNormalization", inputs, 2, epsilon=d.one([None, 1e-5, 0.25]))


def mixture(d):
    """Experts, of which each token has some."""
    d.since(17)
    rows, width, inner, experts = d.int(1, 4), d.int(1, 5), d.int(1, 5), d.int(2, 4)
    of = d.one(["relu", "gelu", "silu", "identity", "swiglu"])
    is_gated = of == "swiglu"
    first = 2 * inner if is_gated else inner
    floats = lambda *dims: d.array("float32", dims, -2, 2)
    outer = d.one([[rows], [1, rows]])
    router = np.random.RandomState(d.int(0, 9999)).uniform(-2, 2, [rows, experts]).astype("float32")
    inputs = [
        floats(*outer, width),
        router,
        floats(experts, first, width),
        floats(experts, first) if d.chance() else None,
        floats(experts, width, inner),
        floats(experts, width) if d.chance() else None,
    ]
    given = {"k": d.one([None, 1, 2]), "normalize_routing_weights": d.maybe(1)}
    if is_gated:
        given |= {"swiglu_fusion": 1, "activation_alpha": d.maybe(1.5), "activation_beta": d.maybe(0.5)}
        given |= {"swiglu_limit": d.maybe(2.0)}
    d.added("MoE", inputs, activation_type=of, **given)


def quantized_mixture(d):
    """The same with codes of 4 bits, along the inputs of each output. With those of 8, ONNX Runtime rounds rows to bytes."""
    d.since(17)
    bits, rows, experts = 4, d.int(1, 4), d.int(2, 3)
    width, inner, block = 32 * d.int(1, 2), 32 * d.int(1, 2), d.one([None, 16, 32])
    of = d.one(["relu", "gelu", "silu", "identity", "swiglu"])
    kind, each = d.one(["float32", "float16"]), 8 // bits
    has_zeros = d.chance()

    def layer(outputs, inputs):
        blocks = inputs // block if block else 1
        scales = np.random.RandomState(d.int(0, 9999)).uniform(0.01, 0.05, [experts, outputs, blocks][: 3 if block else 2])
        zeros = None
        if has_zeros:
            dims = [experts, outputs, -(-blocks // each)] if block else [experts, -(-outputs // each)]
            zeros = d.input(d.array("uint8", dims, 0, 255), fed=False)
        codes = d.array("uint8", [experts, outputs, inputs // each], 0, 255)
        bias = d.array(kind, [experts, outputs], -2, 2) if d.chance() else None
        return [d.input(codes, fed=False), d.input(scales.astype(kind), fed=False), bias], zeros

    first, zeros_1 = layer(2 * inner if of == "swiglu" else inner, width)
    second, zeros_2 = layer(width, inner)
    router = np.random.RandomState(d.int(0, 9999)).uniform(-2, 2, [rows, experts]).astype(kind)
    inputs = [d.array(kind, [rows, width], -1, 1), router, *first, *second, None, None, None, zeros_1, zeros_2]
    # ONNX Runtime normalizes what it says in any case.
    given = {"k": d.one([None, 1, 2]), "normalize_routing_weights": 1, "block_size": block}
    given |= {"swiglu_fusion": 1, "swiglu_limit": d.maybe(2.0)} if of == "swiglu" else {}
    d.added("QMoE", inputs, activation_type=of, expert_weight_bits=d.maybe(bits), **given)


DRAWS = [
    ("AddedGelu", gelu),
    ("SkipNormalization", skip_normalization),
    ("SimplifiedLayerNormalization", simplified_normalization),
    ("EmbedLayerNormalization", embed_layer_normalization),
    ("QEmbedLayerNormalization", quantized_embed_layer_normalization),
    ("MoE", mixture),
    ("QMoE", quantized_mixture),
]
