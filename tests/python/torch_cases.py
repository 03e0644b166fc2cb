"""The cases of torch_gradients.py: operators and networks as ONNX text, and the same in torch.

An operator is a line of text from inputs to `y`, and a function of tensors. An input is a shape, with numbers between -1.6 and 1.6; a pair of
a shape and a range; or a numpy array of integers, which is not differentiated.
"""

import numpy as np
import torch
import torch.nn.functional as F

POSITIVE = (0.3, 1.8)
SMALL = (-0.9, 0.9)

M = (3, 4)
IMAGE = (2, 4, 6, 7)


def ints(*values):
    return np.array(values, np.int64)


def constant(name, values):
    values = np.asarray(values, np.int64)
    dims = "" if values.ndim == 0 else f"[{','.join(map(str, values.shape))}]"
    return f"{name} = Constant <value = int64{dims} {{{', '.join(map(str, values.ravel()))}}}> ()"


def unary():
    tanh_gelu = lambda x: F.gelu(x, approximate="tanh")
    table = [
        ("Abs(x)", torch.abs, None),
        ("Acos(x)", torch.acos, SMALL),
        ("Acosh(x)", torch.acosh, (1.2, 2.5)),
        ("Asin(x)", torch.asin, SMALL),
        ("Asinh(x)", torch.asinh, None),
        ("Atan(x)", torch.atan, None),
        ("Atanh(x)", torch.atanh, SMALL),
        ("Celu <alpha = 0.7> (x)", lambda x: F.celu(x, 0.7), None),
        ("Cos(x)", torch.cos, None),
        ("Cosh(x)", torch.cosh, None),
        ("Elu <alpha = 0.7> (x)", lambda x: F.elu(x, 0.7), None),
        ("Erf(x)", torch.erf, None),
        ("Exp(x)", torch.exp, None),
        ("Gelu(x)", F.gelu, None),
        ('Gelu <approximate = "tanh"> (x)', tanh_gelu, None),
        ("HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)", F.hardsigmoid, None),
        ("HardSwish(x)", F.hardswish, None),
        ("LeakyRelu <alpha = 0.1> (x)", lambda x: F.leaky_relu(x, 0.1), None),
        ("Log(x)", torch.log, POSITIVE),
        ("LogSoftmax <axis = -1> (x)", lambda x: F.log_softmax(x, -1), None),
        ("Mish(x)", F.mish, None),
        ("Neg(x)", torch.neg, None),
        ("Reciprocal(x)", torch.reciprocal, POSITIVE),
        ("Relu(x)", torch.relu, None),
        ("Selu(x)", F.selu, None),
        ("Shrink <bias = 0.5, lambd = 0.5> (x)", lambda x: F.softshrink(x, 0.5), None),
        ("Sigmoid(x)", torch.sigmoid, None),
        ("Sin(x)", torch.sin, None),
        ("Sinh(x)", torch.sinh, None),
        ("Softmax <axis = 0> (x)", lambda x: F.softmax(x, 0), None),
        ("Softplus(x)", F.softplus, None),
        ("Softsign(x)", F.softsign, None),
        ("Sqrt(x)", torch.sqrt, POSITIVE),
        ("Swish(x)", F.silu, None),
        ("Tan(x)", torch.tan, SMALL),
        ("Tanh(x)", torch.tanh, None),
        ("ThresholdedRelu <alpha = 0.6> (x)", lambda x: F.threshold(x, 0.6, 0.0), None),
        ("LpNormalization <axis = 1> (x)", lambda x: F.normalize(x, dim=1), None),
    ]
    for text, function, bounds in table:
        yield text.split()[0].split("(")[0], {"x": (M, bounds) if bounds else M}, f"y = {text}", function


def elementwise():
    a, b, c = (2, 3, 4), (4,), (3, 1)
    yield "Add", {"a": a, "b": b}, "y = Add(a, b)", torch.add
    yield "Sub", {"a": b, "b": a}, "y = Sub(a, b)", torch.sub
    yield "Mul", {"a": a, "b": c}, "y = Mul(a, b)", torch.mul
    yield "Div", {"a": a, "b": (b, POSITIVE)}, "y = Div(a, b)", torch.div
    yield "Pow", {"a": (a, POSITIVE), "b": b}, "y = Pow(a, b)", torch.pow
    yield "Mod", {"a": a, "b": (b, (1.7, 2.5))}, "y = Mod <fmod = 1> (a, b)", torch.fmod
    yield "Max", {"a": a, "b": b, "c": c}, "y = Max(a, b, c)", lambda a, b, c: torch.max(torch.max(a, b), c)
    yield "Min", {"a": a, "b": b, "c": c}, "y = Min(a, b, c)", lambda a, b, c: torch.min(torch.min(a, b), c)
    yield "Sum", {"a": a, "b": b, "c": c}, "y = Sum(a, b, c)", lambda a, b, c: a + b + c
    yield "Mean", {"a": a, "b": b, "c": c}, "y = Mean(a, b, c)", lambda a, b, c: (a + b + c) / 3
    yield "PRelu", {"x": (2, 3, 4), "s": (3, 1)}, "y = PRelu(x, s)", lambda x, s: F.prelu(x, s.reshape(3))
    where = "zero = Constant <value = float {0.0}> ()\nk = Greater(a, zero)\ny = Where(k, a, b)"
    yield "Where", {"a": a, "b": b}, where, lambda a, b: torch.where(a > 0, a, b)
    clip = "low = Constant <value = float {-0.5}> ()\nhigh = Constant <value = float {0.7}> ()\ny = Clip(x, low, high)"
    yield "Clip", {"x": a}, clip, lambda x: x.clamp(-0.5, 0.7)


def products():
    yield "MatMul", {"a": (2, 3, 4), "b": (4, 5)}, "y = MatMul(a, b)", torch.matmul
    yield "MatMul of batches", {"a": (2, 1, 3, 4), "b": (3, 4, 5)}, "y = MatMul(a, b)", torch.matmul
    gemm = lambda a, b, c: 0.5 * a.T @ b.T + 2 * c
    yield "Gemm", {"a": (4, 3), "b": (5, 4), "c": (5,)}, "y = Gemm <transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (a, b, c)", gemm
    yield (
        "Einsum",
        {"a": (2, 3, 4), "b": (2, 5, 4)},
        'y = Einsum <equation = "bij,bkj->bik"> (a, b)',
        lambda a, b: torch.einsum("bij,bkj->bik", a, b),
    )


def windows():
    conv = "y = Conv <strides = [2, 1], pads = [1, 0, 1, 0], dilations = [1, 2], group = 2> (x, w, b)"
    yield (
        "Conv",
        {"x": IMAGE, "w": (6, 2, 3, 2), "b": (6,)},
        conv,
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
    )
    yield "Conv in one dimension", {"x": (2, 3, 9), "w": (4, 3, 3)}, "y = Conv(x, w)", F.conv1d
    yield (
        "ConvTranspose",
        {"x": IMAGE, "w": (4, 3, 3, 2), "b": (3,)},
        "y = ConvTranspose <strides = [2, 1], pads = [1, 0, 1, 0], output_padding = [1, 0]> (x, w, b)",
        lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 1), (1, 0), (1, 0)),
    )
    # With more channels, gradients of weights are products of matrices.
    wide = {"x": (2, 9, 6, 7), "w": (4, 9, 3, 2), "b": (4,)}
    text = "y = Conv <strides = [2, 1], pads = [1, 0, 2, 1], dilations = [1, 2]> (x, w, b)"
    pad = lambda x: F.pad(x, (0, 1, 1, 2))
    yield "Conv of many channels", wide, text, lambda x, w, b: F.conv2d(pad(x), w, b, (2, 1), 0, (1, 2))
    yield "Conv of pixels", {"x": (2, 9, 3, 4), "w": (5, 9, 1, 1)}, "y = Conv <strides = [2, 1]> (x, w)", lambda x, w: F.conv2d(x, w, None, (2, 1))
    yield "Conv of a long row", {"x": (3, 8, 11), "w": (2, 8, 4)}, "y = Conv <pads = [1, 2]> (x, w)", lambda x, w: F.conv1d(F.pad(x, (1, 2)), w)
    yield (
        "ConvTranspose to many channels",
        {"x": (2, 3, 4, 5), "w": (3, 9, 3, 2)},
        "y = ConvTranspose <strides = [2, 1], pads = [1, 0, 1, 0], output_padding = [1, 0]> (x, w)",
        lambda x, w: F.conv_transpose2d(x, w, None, (2, 1), (1, 0), (1, 0)),
    )
    pool = "<kernel_shape = [3, 2], strides = [2, 2], pads = [1, 0, 1, 0]"
    yield "MaxPool", {"x": IMAGE}, f"y = MaxPool {pool}> (x)", lambda x: F.max_pool2d(x, (3, 2), (2, 2), (1, 0))
    yield (
        "AveragePool",
        {"x": IMAGE},
        f"y = AveragePool {pool}> (x)",
        lambda x: F.avg_pool2d(x, (3, 2), (2, 2), (1, 0), count_include_pad=False),
    )
    yield (
        "LpPool",
        {"x": (IMAGE, POSITIVE)},
        "y = LpPool <kernel_shape = [3, 2], strides = [2, 2], p = 3> (x)",
        lambda x: F.lp_pool2d(x, 3.0, (3, 2), (2, 2)),
    )
    yield "GlobalAveragePool", {"x": IMAGE}, "y = GlobalAveragePool(x)", lambda x: x.mean((2, 3), keepdim=True)
    yield "GlobalMaxPool", {"x": IMAGE}, "y = GlobalMaxPool(x)", lambda x: x.amax((2, 3), keepdim=True)
    yield (
        "Resize",
        {"x": (1, 2, 3, 4)},
        'none = Constant <value = float[4] {1, 1, 2, 1.5}> ()\ny = Resize <mode = "linear"> (x, , none)',
        lambda x: F.interpolate(x, scale_factor=(2, 1.5), mode="bilinear", align_corners=False),
    )


def reductions():
    axes = constant("axes", [0, 2])
    table = [
        ("ReduceSum", lambda x: x.sum((0, 2))),
        ("ReduceMean", lambda x: x.mean((0, 2))),
        ("ReduceMax", lambda x: x.amax((0, 2))),
        ("ReduceMin", lambda x: x.amin((0, 2))),
        ("ReduceProd", lambda x: x.prod(2).prod(0)),
        ("ReduceL1", lambda x: x.abs().sum((0, 2))),
        ("ReduceL2", lambda x: x.norm(dim=(0, 2))),
        ("ReduceSumSquare", lambda x: (x * x).sum((0, 2))),
        ("ReduceLogSumExp", lambda x: x.logsumexp((0, 2))),
    ]
    for op, function in table:
        yield op, {"x": (2, 3, 4)}, f"{axes}\ny = {op} <keepdims = 0> (x, axes)", function
    yield "ReduceLogSum", {"x": ((2, 3, 4), POSITIVE)}, f"{axes}\ny = ReduceLogSum <keepdims = 0> (x, axes)", lambda x: x.sum((0, 2)).log()
    axis = constant("axis", 1)
    yield "CumSum", {"x": (3, 5)}, f"{axis}\ny = CumSum(x, axis)", lambda x: x.cumsum(1)


def normalizations():
    channels = {"x": IMAGE, "s": (4,), "b": (4,)}
    norm = (
        "m = Constant <value = float[4] {0, 0, 0, 0}> ()\nv = Constant <value = float[4] {1, 1, 1, 1}> ()\n"
        "y, rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v)"
    )
    yield "BatchNormalization", channels, norm, lambda x, s, b: F.batch_norm(x, None, None, s, b, True)
    yield "InstanceNormalization", channels, "y = InstanceNormalization(x, s, b)", lambda x, s, b: F.instance_norm(x, weight=s, bias=b)
    yield "GroupNormalization", channels, "y = GroupNormalization <num_groups = 2> (x, s, b)", lambda x, s, b: F.group_norm(x, 2, s, b)
    rows = {"x": (2, 3, 8), "s": (8,), "b": (8,)}
    yield "LayerNormalization", rows, "y = LayerNormalization(x, s, b)", lambda x, s, b: F.layer_norm(x, (8,), s, b, 1e-5)
    yield "RMSNormalization", {"x": (2, 3, 8), "s": (8,)}, "y = RMSNormalization(x, s)", lambda x, s: F.rms_norm(x, (8,), s, 1e-5)
    yield (
        "LRN",
        {"x": (2, 6, 3)},
        "y = LRN <size = 3, alpha = 0.5, beta = 0.75, bias = 1.0> (x)",
        lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.0),
    )


def movement():
    yield "Concat", {"a": (2, 3), "b": (2, 4)}, "y = Concat <axis = 1> (a, b)", lambda a, b: torch.cat((a, b), 1)
    split = f"{constant('s', [2, 3])}\ny, z = Split <axis = 1> (x, s)"
    yield "Split", {"x": (3, 5)}, split, lambda x: x[:, :2]
    slices = "\n".join([constant("s", [1, 0]), constant("e", [6, 5]), constant("a", [0, 1]), constant("t", [2, 3])])
    yield "Slice", {"x": (7, 5)}, f"{slices}\ny = Slice(x, s, e, a, t)", lambda x: x[1:6:2, 0:5:3]
    pads = constant("p", [0, 0, 2, 1, 0, 0, 1, 2])
    yield "Pad", {"x": IMAGE}, f'{pads}\ny = Pad <mode = "reflect"> (x, p)', lambda x: F.pad(x, (1, 2, 2, 1), "reflect")
    yield "Pad with zeros", {"x": IMAGE}, f"{pads}\ny = Pad(x, p)", lambda x: F.pad(x, (1, 2, 2, 1))
    at = np.array([[0, 2], [1, 2]], np.int64)
    yield "Gather", {"x": (4, 3), "i": at}, "y = Gather(x, i)", lambda x, i: F.embedding(i, x)
    yield "GatherElements", {"x": (2, 3), "i": at}, "y = GatherElements <axis = 1> (x, i)", lambda x, i: x.gather(1, i)
    yield "GatherND", {"x": (2, 3, 4), "i": np.array([[0, 2], [1, 2]], np.int64)}, "y = GatherND(x, i)", lambda x, i: x[i[:, 0], i[:, 1]]
    yield (
        "ScatterElements",
        {"x": (2, 4), "i": at, "u": (2, 2)},
        'y = ScatterElements <axis = 1, reduction = "add"> (x, i, u)',
        lambda x, i, u: x.scatter_add(1, i, u),
    )
    yield "Reshape", {"x": M}, f"{constant('s', [2, -1])}\ny = Reshape(x, s)", lambda x: x.reshape(2, -1)
    yield "Flatten", {"x": (2, 3, 4)}, "y = Flatten(x)", lambda x: x.flatten(1)
    yield "Transpose", {"x": (2, 3, 4)}, "y = Transpose <perm = [2, 0, 1]> (x)", lambda x: x.permute(2, 0, 1)
    yield "Squeeze", {"x": (3, 1, 4)}, f"{constant('a', [1])}\ny = Squeeze(x, a)", lambda x: x.squeeze(1)
    yield "Unsqueeze", {"x": M}, f"{constant('a', [1])}\ny = Unsqueeze(x, a)", lambda x: x.unsqueeze(1)
    yield "Expand", {"x": (3, 1)}, f"{constant('s', [2, 3, 4])}\ny = Expand(x, s)", lambda x: x.expand(2, 3, 4)
    yield "Tile", {"x": M}, f"{constant('r', [2, 3])}\ny = Tile(x, r)", lambda x: x.repeat(2, 3)
    yield "TopK", {"x": (3, 7)}, f"{constant('k', [3])}\ny, at = TopK(x, k)", lambda x: x.topk(3).values
    yield "Trilu", {"x": (4, 4)}, "y = Trilu <upper = 0> (x)", torch.tril
    yield "DepthToSpace", {"x": (2, 8, 2, 3)}, 'y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)', lambda x: F.pixel_shuffle(x, 2)


def losses():
    label = ints(1, 0, 3)
    inputs = {"x": (3, 4), "t": label}
    yield "SoftmaxCrossEntropyLoss", inputs, "y = SoftmaxCrossEntropyLoss(x, t)", F.cross_entropy
    yield (
        "NegativeLogLikelihoodLoss",
        inputs,
        'y = NegativeLogLikelihoodLoss <reduction = "sum"> (x, t)',
        lambda x, t: F.nll_loss(x, t, reduction="sum"),
    )


def weights_of_torch(w, gates):
    """Gates of ONNX in the order of torch."""
    parts = w.chunk(len(gates), 0)
    return torch.cat([parts[i] for i in gates])


def recurrent(kind, gates, order):
    def function(x, w, r, b, h, *c):
        given, recurrent = b[0].chunk(2)
        parts = [w[0], r[0], given, recurrent]
        parts = [weights_of_torch(part, order) for part in parts]
        first = (h, c[0]) if c else h
        options = (True, 1, 0.0, False, False, False)
        return getattr(torch._VF, kind)(x, first, parts, *options)[0].unsqueeze(1)

    inputs = {"x": (5, 2, 3), "w": (1, 4 * gates, 3), "r": (1, 4 * gates, 4), "b": (1, 8 * gates), "h": (1, 2, 4)}
    return inputs, function


def sequences():
    inputs, function = recurrent("lstm", 4, [0, 2, 3, 1])
    inputs["c"] = (1, 2, 4)
    yield "LSTM", inputs, "y = LSTM <hidden_size = 4> (x, w, r, b, , h, c)", function
    inputs, function = recurrent("gru", 3, [1, 0, 2])
    yield "GRU", inputs, "y = GRU <hidden_size = 4, linear_before_reset = 1> (x, w, r, b, , h)", function
    inputs, function = recurrent("rnn_tanh", 1, [0])
    yield "RNN", inputs, "y = RNN <hidden_size = 4> (x, w, r, b, , h)", function
    heads = {"q": (2, 2, 5, 4), "k": (2, 2, 5, 4), "v": (2, 2, 5, 4)}
    yield "Attention", heads, "y = Attention <is_causal = 1> (q, k, v)", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def sampling():
    places = {"x": (2, 3, 5, 4), "g": (2, 3, 2, 2)}
    for mode, theirs in (("linear", "bilinear"), ("cubic", "bicubic")):
        for padding in ("zeros", "border", "reflection"):
            if mode == "cubic" and padding == "border":
                # ONNX moves a place to the border before it looks for neighbors, torch each neighbor.
                continue
            yield (
                f"GridSample {mode} {padding}",
                places,
                f'y = GridSample <mode = "{mode}", padding_mode = "{padding}"> (x, g)',
                lambda x, g, mode=theirs, padding=padding: F.grid_sample(x, g, mode, padding, False),
            )
    at = np.array([5, 7, 13, 15], np.int64).reshape(1, 1, 2, 2)
    yield (
        "MaxUnpool",
        {"x": (1, 1, 2, 2), "i": at},
        "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)",
        lambda x, i: F.max_unpool2d(x, i, 2),
    )
    image = f"{constant('s', [5, 6])}\n{constant('k', [2, 3])}\ny = Col2Im <pads = [1, 0, 1, 0], strides = [1, 3]> (x, s, k)"
    yield "Col2Im", {"x": (2, 12, 12)}, image, lambda x: F.fold(x, (5, 6), (2, 3), 1, (1, 0), (1, 3))


def algebra():
    yield "CumProd", {"x": (3, 5)}, f"{constant('axis', 1)}\ny = CumProd(x, axis)", lambda x: x.cumprod(1)
    yield "Det", {"x": (2, 4, 4)}, "y = Det(x)", torch.linalg.det
    yield "Einsum of a diagonal", {"x": (3, 2, 3)}, 'y = Einsum <equation = "iji->ji"> (x)', lambda x: torch.einsum("iji->ji", x)
    dots = lambda a, b: torch.einsum("...ij,jk->...ik", a, b)
    yield "Einsum with an ellipsis", {"a": (2, 2, 3, 4), "b": (4, 5)}, 'y = Einsum <equation = "...ij,jk->...ik"> (a, b)', dots
    wide = lambda a, b: torch.einsum("...j,...j->...", a, b)
    equation = 'y = Einsum <equation = "...j,...j->..."> (a, b)'
    yield "Einsum that broadcasts", {"a": (2, 1, 3), "b": (1, 4, 3)}, equation, wide
    transform = lambda x: torch.view_as_real(torch.fft.fft(x[..., 0], dim=1))
    yield "DFT", {"x": (2, 5, 1)}, f"{constant('axis', 1)}\ny = DFT(x, , axis)", transform
    back = lambda x: torch.fft.irfft(torch.view_as_complex(x), n=7, dim=1)[..., None]
    inverse = f"{constant('axis', 1)}\n{constant('n', 7)}\ny = DFT <inverse = 1, onesided = 1> (x, n, axis)"
    yield "DFT from a half", {"x": (2, 5, 2)}, inverse, back
    half = lambda x: torch.view_as_real(torch.fft.rfft(x[..., 0], n=8, dim=1))
    yield "DFT of a half", {"x": (2, 6, 1)}, f"{constant('axis', 1)}\n{constant('n', 8)}\ny = DFT <onesided = 1> (x, n, axis)", half

    def frames(x, w):
        spectrum = torch.stft(x[..., 0], 4, 2, window=w, center=False, onesided=True, return_complex=True)
        return torch.view_as_real(spectrum.transpose(1, 2))

    yield "STFT", {"x": (2, 10, 1), "w": ((4,), POSITIVE)}, f"{constant('step', 2)}\ny = STFT(x, step, w)", frames


def lists():
    """Sequences, which are lists of tensors in Python."""
    split = f"{constant('n', 2)}\ns = SplitToSequence <axis = 1> (x, n)\ny = ConcatFromSequence <axis = 0> (s)"
    yield "SplitToSequence", {"x": (3, 6)}, split, lambda x: torch.cat(x.split(2, 1), 0)
    stack = "s = SequenceConstruct(a, b)\nt = SequenceInsert(s, a)\ny = ConcatFromSequence <axis = 1, new_axis = 1> (t)"
    yield "SequenceInsert", {"a": M, "b": M}, stack, lambda a, b: torch.stack([a, b, a], 1)
    erase = f"{constant('p', -1)}\n{constant('q', 0)}\ns = SequenceConstruct(a, b, c)\nt = SequenceErase(s, q)\nu = SequenceAt(t, p)\n"
    erase += "v = ConcatFromSequence <axis = 0> (t)\nw = Mul(u, u)\ny = Concat <axis = 0> (v, w)"
    yield "SequenceErase", {"a": M, "b": M, "c": M}, erase, lambda a, b, c: torch.cat([b, c, c * c], 0) + 0 * a.sum()
    body = "body = f (e, s) => (r) { m = Mul(e, w)\nn = Tanh(m)\nr = Mul(n, s) }"
    each = f"s = SequenceConstruct(a, b)\nt = SequenceMap <{body}> (s, v)\ny = ConcatFromSequence <axis = 0> (t)"
    mapped = lambda a, b, v, w: torch.cat([torch.tanh(e * w) * v for e in (a, b)], 0)
    yield "SequenceMap", {"a": (2, 4), "b": (3, 4), "v": (4,), "w": (4,)}, each, mapped
    body = "body = f (i, go, h, l) => (on, n, k) { on = Identity(go)\na = Mul(h, w)\nn = Sin(a)\nk = SequenceInsert(l, n) }"
    loop = f"{constant('m', 3)}\nq = SequenceEmpty()\nz, t = Loop <{body}> (m, , x, q)\ny = ConcatFromSequence <axis = 0, new_axis = 1> (t)"

    def states(x, w):
        all = []
        for _ in range(3):
            x = torch.sin(x * w)
            all.append(x)
        return torch.stack(all)

    yield "Loop that collects a sequence", {"x": M, "w": M}, loop, states


def operators():
    families = (unary, elementwise, products, windows, reductions, normalizations, movement, losses, sequences, sampling, algebra, lists)
    for family in families:
        yield from family()
