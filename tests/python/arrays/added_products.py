"""Products that ONNX Runtime adds: with what comes before or behind them, and of quantized matrices."""

import numpy as np

from arrays.draw import FLOATS

ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid", "Clip"]


def extent(d):
    return d.int(1, 5)


def fused_mat_mul(d):
    d.since(11)
    kind = d.one(["float32", "float32", "float64"])
    outer = d.dims(0, 2, (1, 2, 3))
    m, k, n = extent(d), extent(d), extent(d)
    turns = {key: d.maybe(1, 3) for key in ("transA", "transB")}
    if outer and d.chance(4):
        turns |= {key: d.maybe(1) for key in ("transBatchA", "transBatchB")}

    def operand(rows, columns, key, rest):
        if turns[f"trans{key}"]:
            rows, columns = columns, rows
        if turns.get(f"transBatch{key}"):
            return d.array(kind, [rows, *rest, columns], -2, 2)
        return d.array(kind, [*rest, rows, columns], -2, 2)

    is_batch = "transBatchA" in turns
    a = operand(m, k, "A", outer)
    b = operand(k, n, "B", outer if is_batch or d.chance() else d.fit(outer) if d.chance() else [])
    if not is_batch and d.chance(8):
        # ONNX Runtime does not transpose what is multiplied with a list.
        b, turns = d.array(kind, [k], -2, 2), {}
        a = d.array(kind, [*outer, m, k], -2, 2)
    alpha = d.maybe(d.one([0.5, 2.0, -1.0, 0.0]))
    d.behind(d.added("FusedMatMul", [a, b], alpha=alpha, **turns))


def matrices(d):
    """Two matrices, each at times transposed; the attributes that say so; rows and columns of the product."""
    m, k, n = extent(d), extent(d), extent(d)
    turns = {key: d.maybe(1) for key in ("transA", "transB")}
    a, b = d.array("float32", [m, k], -2, 2), d.array("float32", [k, n], -2, 2)
    a, b = a.T if turns["transA"] else a, b.T if turns["transB"] else b
    return a, b, turns, [m, n]


def transpose_mat_mul(d):
    d.since(11)
    a, b, turns, _ = matrices(d)
    d.behind(d.added("TransposeMatMul", [a, b], alpha=d.maybe(0.5), **turns))


def activation(d, prefix):
    """An activation with its parameters, as attributes."""
    of = d.one(ACTIVATIONS)
    parameters = {
        "LeakyRelu": [("alpha", 0.25)],
        "HardSigmoid": [("alpha", 0.25), ("beta", 0.5)],
        "Clip": [("min", -0.5), ("max", 1.5)],
    }.get(of, [])
    if prefix is None:
        return {"activation": of, "activation_params": [x for _, x in parameters] or None}
    return {"activation": of} | {f"{prefix}{key}": x for key, x in parameters}


def fused_gemm(d):
    d.since(11)
    a, b, turns, shape = matrices(d)
    c = d.array("float32", d.fit(shape), -2, 2) if d.chance() else None
    of = d.one(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Softplus", "Softsign", "HardSigmoid", "Selu", "ThresholdedRelu"])
    given = {"activation_alpha": 0.25} if of in ("LeakyRelu", "Elu", "HardSigmoid", "Selu", "ThresholdedRelu") else {}
    given |= {"activation_beta": 0.5} if of == "HardSigmoid" else {}
    given |= {"activation_gamma": 1.5} if of == "Selu" else {}
    d.behind(d.added("FusedGemm", [a, b, c], alpha=d.maybe(0.5), beta=d.maybe(2.0), activation=of, **turns, **given))


def fused_conv(d):
    d.since(11)
    axes, group = d.int(1, 3), d.int(1, 2)
    batch, channels, filters = d.int(1, 2), group * d.int(1, 2), group * d.int(1, 3)
    kernel = [d.int(1, 3) for _ in range(axes)]
    strides, dilations = d.maybe([d.int(1, 2) for _ in kernel]), d.maybe([d.int(1, 2) for _ in kernel])
    pads = d.maybe([d.int(0, 1) for _ in range(2 * axes)])
    spatial = [2 * k + d.int(0, 3) for k in kernel]
    x = d.array("float32", [batch, channels, *spatial], -2, 2)
    w = d.array("float32", [filters, channels // group, *kernel], -2, 2)
    b = d.array("float32", [filters], -2, 2) if d.chance() else None
    z = None
    if d.chance(3):
        size = lambda i: (
            spatial[i] + (pads[i] + pads[i + axes] if pads else 0) - (kernel[i] - 1) * (dilations[i] if dilations else 1) - 1
        ) // (strides[i] if strides else 1) + 1
        z = d.array("float32", [batch, filters, *map(size, range(axes))], -2, 2)
    given = {"group": group if group > 1 else None, "strides": strides, "dilations": dilations, "pads": pads}
    d.behind(d.added("FusedConv", [x, w, b, z], **given, **(activation(d, None) if not d.chance(6) else {})))


def bytes_of(d, dims, kind=None, high=255):
    kind = kind or d.one(["uint8", "int8"])
    return d.array(kind, dims, 0, high) if kind == "uint8" else d.array(kind, dims, -128, high - 128)


def scale(d, dims=()):
    return np.array(np.random.RandomState(d.int(0, 999)).uniform(0.01, 0.1, dims), "float32")


def columns(d, n):
    """One for all, or one for each of so many."""
    return d.one([(), (1,), (n,)])


def dynamic_quantize_mat_mul(d):
    d.since(11)
    m, k, n = extent(d), d.int(1, 9), extent(d)
    outer = d.dims(0, 2, (1, 2))
    kind, each = d.one(["uint8", "int8"]), columns(d, n)
    # Of several matrices, ONNX Runtime looks for scales of columns elsewhere.
    b = bytes_of(d, [*(outer if each != (n,) and d.chance(3) else []), k, n], kind)
    zero = bytes_of(d, each, kind) if d.chance() else None
    bias = d.array("float32", [n], -2, 2) if d.chance() else None
    a = d.array("float32", [*outer, m, k], -3, 3)
    d.behind(d.added("DynamicQuantizeMatMul", [a, b, scale(d, each), zero, bias]))


def mat_mul_integer_to_float(d):
    d.since(11)
    m, k, n = extent(d), d.int(1, 9), extent(d)
    outer = d.dims(0, 2, (1, 2))
    of_a, of_b, each = d.one([("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]) + (columns(d, n),)
    a, b = bytes_of(d, [*outer, m, k], of_a), bytes_of(d, [*(outer if each != (n,) and d.chance(3) else []), k, n], of_b)
    zeros = [bytes_of(d, d.one([(), (1,)]), of_a) if d.chance() else None, bytes_of(d, each, of_b) if d.chance() else None]
    bias = d.array("float32", [n], -2, 2) if d.chance() else None
    d.behind(d.added("MatMulIntegerToFloat", [a, b, scale(d, d.one([(), (1,)])), scale(d, each), *zeros, bias]))


def q_gemm(d):
    d.since(11)
    m, k, n = extent(d), d.int(1, 9), extent(d)
    turns = {key: d.maybe(1) for key in ("transA", "transB")}
    of_a, of_b, each = d.one(["uint8", "int8"]), d.one(["uint8", "int8"]), columns(d, n)
    a, b = bytes_of(d, [m, k], of_a), bytes_of(d, [k, n], of_b)
    a, b = a.T if turns["transA"] else a, b.T if turns["transB"] else b
    c = d.array("int32", d.fit([m, n]), -9999, 9999) if d.chance() else None
    inputs = [a, scale(d), bytes_of(d, (), of_a), b, scale(d, each), bytes_of(d, each, of_b), c]
    if d.chance():
        inputs += [10 * scale(d), bytes_of(d, (), of_a)]
    d.added("QGemm", inputs, alpha=d.maybe(0.5), **turns)


def mat_mul_n_bits(d):
    d.since(17)
    bits, block = d.one([2, 4, 4, 4, 8]), d.one([16, 32, 64])
    kind = d.one(["float32", "float32", "float16"])
    k, n = d.one([block, 2 * block, block + 8, 3 * block - 16]), d.int(1, 6)
    blocks = -(-k // block)
    weights = d.array("uint8", [n, blocks, block * bits // 8], 0, 255)
    each = d.one([(n, blocks), (n * blocks,)])
    scales = np.array(scale(d, each), kind)
    zeros = None
    if d.chance():
        size = -(-blocks * bits // 8)
        zeros = d.array("uint8", [n, size] if len(each) == 2 else [n * size], 0, 255)
    elif d.chance(3):
        zeros = d.array(kind, each, 0, 2**bits - 1)
    # ONNX Runtime forgets packed zero points where there are groups.
    may_group = bits == 4 and (zeros is None or zeros.dtype != np.uint8)
    groups = d.array("int32", [k], 0, blocks - 1) if may_group and d.chance(6) else None
    bias = d.array(kind, [n], -2, 2) if d.chance(3) else None
    a = d.array(kind, [*d.dims(0, 2, (1, 2, 3)), d.int(1, 4), k], -2, 2)
    inputs = [a, d.input(weights, fed=d.chance(4)), d.input(scales, fed=d.chance(4))]
    given = {"bits": bits if bits != 4 or d.chance() else None, "K": k, "N": n, "block_size": block}
    d.behind(d.added("MatMulNBits", [*inputs, zeros, groups, bias], accuracy_level=d.maybe(1, 3), **given))


def mat_mul_bnb4(d):
    d.since(17)
    k, n, block = d.one([16, 32, 24, 64]), d.int(1, 6), d.one([16, 32, 64])
    count = k * n
    weights = d.array("uint8", [-(-count // 2)], 0, 255)
    largest = scale(d, [-(-count // block)])
    a = d.array("float32", [*d.dims(0, 1, (1, 2, 3)), d.int(1, 4), k], -2, 2)
    d.behind(d.added("MatMulBnb4", [a, weights, largest], K=k, N=n, block_size=block, quant_type=d.int(0, 1)))


def mat_mul_integer_16(d):
    m, k, n = extent(d), extent(d), extent(d)
    outer = d.dims(0, 1, (1, 2))
    operands = [d.array("int16", [*outer, m, k], -99, 99), d.array("int16", [k, n], -99, 99)]
    d.added("MatMulInteger16", operands)


def distances(d):
    kind, width = d.one(["float32", "float64"]), extent(d)
    operands = [d.array(kind, [extent(d), width], -3, 3) for _ in range(2)]
    d.behind(d.added("CDist", operands, metric=d.maybe(d.one(["sqeuclidean", "euclidean"]))))


def inverse(d):
    kind, n = d.one(FLOATS), d.int(1, 4)
    x = d.array(kind, [*d.dims(0, 2, (1, 2, 3)), n, n], -2, 2) + np.eye(n, dtype=kind) * diagonal(n)
    d.behind(d.added("Inverse", [x.astype(kind)]))


def diagonal(n):
    """So much that a matrix of numbers up to 2 has an inverse."""
    return 2 * n + 1


DRAWS = [
    ("FusedMatMul", fused_mat_mul),
    ("TransposeMatMul", transpose_mat_mul),
    ("FusedGemm", fused_gemm),
    ("FusedConv", fused_conv),
    ("DynamicQuantizeMatMul", dynamic_quantize_mat_mul),
    ("MatMulIntegerToFloat", mat_mul_integer_to_float),
    ("QGemm", q_gemm),
    ("MatMulNBits", mat_mul_n_bits),
    ("MatMulBnb4", mat_mul_bnb4),
    ("MatMulInteger16", mat_mul_integer_16),
    ("CDist", distances),
    ("Inverse", inverse),
]
