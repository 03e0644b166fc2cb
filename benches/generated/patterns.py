"""Patterns of a few operators as exporters write them, small enough that what surrounds products counts.

Each is a graph in ONNX's text. Inputs whose names begin with a capital letter are weights: random numbers, for variances and scales from 0.5
on.
"""

from __future__ import annotations

import numpy
import onnx
from onnx import numpy_helper

# What each is, its inputs and weights, and its nodes, the last of which makes `y`.
PATTERNS = {
    "embeddings": (
        "Words and positions, normalized, as in BERT",
        "int64[1,128] words, float[1000,128] Table, float[128,128] Positions, float[128] S, float[128] B",
        "a = Gather(Table, words) b = Add(a, Positions) y = LayerNormalization(b, S, B)",
    ),
    "class-token": (
        "One row of a sequence, as classifiers read it",
        "float[1,65,128] x, float[128,10] W, float[10] B",
        "i = Constant<value_int = 0>() a = Gather<axis = 1>(x, i) b = Tanh(a) y = Gemm(b, W, B)",
    ),
    "rotary": (
        "Rotary positions of queries",
        "float[1,8,64,64] x, float[1,1,64,64] C, float[1,1,64,64] S",
        """a, b = Split<axis = 3, num_outputs = 2>(x) n = Neg(b) r = Concat<axis = 3>(n, a) c = Mul(x, C) s = Mul(r, S) y = Add(c, s)""",
    ),
    "root-mean-square": (
        "A normalization by the root of the mean square",
        "float[1,128,256] x, float[256] S",
        """two = Constant<value_float = 2.0>() e = Constant<value_float = 0.000001>() axes = Constant<value_ints = [-1]>() q = Pow(x, two)
        m = ReduceMean(q, axes) v = Add(m, e) r = Sqrt(v) d = Div(x, r) y = Mul(d, S)""",
    ),
    "swiglu": (
        "A gated perceptron of a language model",
        "float[1,64,128] x, float[128,344] U, float[128,344] V, float[344,128] W",
        "a = MatMul(x, U) b = MatMul(x, V) s = Sigmoid(a) t = Mul(a, s) u = Mul(t, b) y = MatMul(u, W)",
    ),
    "shared-heads": (
        "Keys of few heads for many queries",
        "float[1,2,64,32] x",
        """one = Constant<value_ints = [2]>() wide = Constant<value_ints = [1,2,4,64,32]>() flat = Constant<value_ints = [1,8,64,32]>()
        a = Unsqueeze(x, one) b = Expand(a, wide) c = Reshape(b, flat) y = Mul(c, c)""",
    ),
    "attention": (
        "One product for queries, keys and values, six heads of 16",
        "float[1,64,96] x, float[96,288] W, float[288] B, float[1,1,1,64] mask",
        """parts = Constant<value_ints = [1,64,3,6,16]>() flat = Constant<value_ints = [1,64,96]>() scale = Constant<value_float = 0.25>()
        zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>()
        p = MatMul(x, W) b = Add(p, B) r = Reshape(b, parts) t = Transpose<perm = [2,0,3,1,4]>(r)
        q = Gather<axis = 0>(t, zero) k = Gather<axis = 0>(t, one) v = Gather<axis = 0>(t, two) kt = Transpose<perm = [0,1,3,2]>(k)
        s = MatMul(q, kt) m = Mul(s, scale) n = Add(m, mask) a = Softmax(n) o = MatMul(a, v)
        u = Transpose<perm = [0,2,1,3]>(o) y = Reshape(u, flat)""",
    ),
    "windows": (
        "Windows of eight by eight pixels, as in Swin",
        "float[1,32,32,64] x, float[64,64] W",
        """split = Constant<value_ints = [1,4,8,4,8,64]>() flat = Constant<value_ints = [16,64,64]>() a = Reshape(x, split)
        b = Transpose<perm = [0,1,3,2,4,5]>(a) c = Reshape(b, flat) y = MatMul(c, W)""",
    ),
    "window-softmax": (
        "A softmax of windows in another order",
        "float[1,32,32,64] x",
        """split = Constant<value_ints = [1,4,8,4,8,64]>() a = Reshape(x, split) b = Transpose<perm = [0,1,3,2,4,5]>(a)
        y = Softmax(b)""",
    ),
    "heads-softmax": (
        "A softmax of transposed heads",
        "float[1,128,8,64] x",
        "a = Transpose<perm = [0,2,1,3]>(x) y = Softmax(a)",
    ),
    "gelu-tanh": (
        "GELU by tanh and a third power, as in GPT-2",
        "float[1,64,512] x",
        """three = Constant<value_float = 3.0>() k = Constant<value_float = 0.044715>() r = Constant<value_float = 0.797885>()
        one = Constant<value_float = 1.0>() half = Constant<value_float = 0.5>() p = Pow(x, three) q = Mul(p, k) s = Add(x, q)
        t = Mul(s, r) u = Tanh(t) v = Add(u, one) w = Mul(x, v) y = Mul(w, half)""",
    ),
    "gelu-erf": (
        "GELU by the error function",
        "float[1,64,512] x",
        """root = Constant<value_float = 1.4142135>() one = Constant<value_float = 1.0>() half = Constant<value_float = 0.5>()
        d = Div(x, root) e = Erf(d) a = Add(e, one) m = Mul(x, a) y = Mul(m, half)""",
    ),
    "leaky": ("LeakyRelu of an image", "float[1,64,64,32] x", "y = LeakyRelu<alpha = 0.2>(x)"),
    "prelu": ("PRelu of an image", "float[1,64,32,32] x, float[64,1,1] S", "y = PRelu(x, S)"),
    "mish": ("Mish by its parts", "float[1,32,32,32] x", "a = Softplus(x) b = Tanh(a) y = Mul(x, b)"),
    "layer-norm-rows": (
        "LayerNormalization of short rows",
        "float[3136,96] x, float[96] S, float[96] B",
        "y = LayerNormalization(x, S, B)",
    ),
    "group-norm": (
        "A group normalization by reshaping",
        "float[1,32,32,32] x, float[8] S, float[8] B, float[32,1,1] T, float[32,1,1] C",
        """groups = Constant<value_ints = [1,8,-1]>() image = Constant<value_ints = [1,32,32,32]>() a = Reshape(x, groups)
        b = InstanceNormalization(a, S, B) c = Reshape(b, image) d = Mul(c, T) y = Add(d, C)""",
    ),
    "up-and-add": (
        "An enlarged image plus another, as in feature pyramids",
        "float[1,32,24,24] x, float[1,32,48,48] z",
        """scales = Constant<value_floats = [1.0,1.0,2.0,2.0]>()
        a = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , scales) y = Add(a, z)""",
    ),
    "up-and-concat": (
        "An enlarged image beside another, as in U-Nets",
        "float[1,32,24,24] x, float[1,16,48,48] z, float[32,48,3,3] W, float[32] B",
        """scales = Constant<value_floats = [1.0,1.0,2.0,2.0]>()
        a = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , scales)
        b = Concat<axis = 1>(a, z) c = Conv<pads = [1,1,1,1]>(b, W, B) y = Relu(c)""",
    ),
    "depth-to-space": ("DepthToSpace and Relu", "float[1,128,32,32] x", "a = DepthToSpace<blocksize = 2>(x) y = Relu(a)"),
    "space-to-depth": ("SpaceToDepth", "float[1,32,64,64] x", "y = SpaceToDepth<blocksize = 2>(x)"),
    "pixel-shuffle": (
        "A convolution and DepthToSpace, as for super-resolution",
        "float[1,32,32,32] x, float[64,32,3,3] W, float[64] B",
        """a = Conv<pads = [1,1,1,1]>(x, W, B) y = DepthToSpace<blocksize = 2, mode = "CRD">(a)""",
    ),
    "reflect": (
        "Padding by reflection and Relu",
        "float[1,32,32,32] x",
        'p = Constant<value_ints = [0,0,1,1,0,0,1,1]>() a = Pad<mode = "reflect">(x, p) y = Relu(a)',
    ),
    "transposed-convolution": (
        "ConvTranspose of 2x2 with stride 2, as in U-Nets",
        "float[1,64,16,16] x, float[64,32,2,2] W, float[32] B",
        "a = ConvTranspose<strides = [2,2]>(x, W, B) y = Relu(a)",
    ),
    "pyramid-pooling": (
        "Maxima of growing windows, as in YOLO",
        "float[1,64,16,16] x",
        """a = MaxPool<kernel_shape = [5,5], pads = [2,2,2,2]>(x) b = MaxPool<kernel_shape = [9,9], pads = [4,4,4,4]>(x)
        c = MaxPool<kernel_shape = [13,13], pads = [6,6,6,6]>(x) y = Concat<axis = 1>(x, a, b, c)""",
    ),
    "boxes": (
        "Positions from a softmax of distances, as in YOLOv8",
        "float[1,64,400] x, float[1,16,1,1] W",
        """sides = Constant<value_ints = [1,4,16,400]>() flat = Constant<value_ints = [1,4,400]>() a = Reshape(x, sides)
        b = Transpose<perm = [0,2,1,3]>(a) c = Softmax<axis = 1>(b) d = Conv(c, W) y = Reshape(d, flat)""",
    ),
    "spatial-attention": (
        "A gate from mean and maximum of channels",
        "float[1,32,32,32] x, float[1,2,7,7] W",
        """axes = Constant<value_ints = [1]>() a = ReduceMean(x, axes) b = ReduceMax(x, axes) c = Concat<axis = 1>(a, b)
        d = Conv<pads = [3,3,3,3]>(c, W) e = Sigmoid(d) y = Mul(x, e)""",
    ),
    "squeeze": (
        "Squeeze and excitation",
        "float[1,64,28,28] x, float[8,64,1,1] W, float[8] B, float[64,8,1,1] V, float[64] C",
        "a = GlobalAveragePool(x) b = Conv(a, W, B) c = Relu(b) d = Conv(c, V, C) e = Sigmoid(d) y = Mul(x, e)",
    ),
    "inverted-bottleneck": (
        "1x1, depthwise 3x3 and 1x1 with a residual connection, as in MobileNetV2",
        "float[1,24,28,28] x, float[96,24,1,1] U, float[96] B, float[96,1,3,3] V, float[24,96,1,1] W, float[24] C",
        """lo = Constant<value_float = 0.0>() hi = Constant<value_float = 6.0>() a = Conv(x, U, B) b = Clip(a, lo, hi)
        c = Conv<pads = [1,1,1,1], group = 96>(b, V, B) d = Clip(c, lo, hi) e = Conv(d, W, C) y = Add(x, e)""",
    ),
    "conv-norm-gelu": (
        "A 1-D convolution, InstanceNormalization and GELU, as in wav2vec 2.0",
        "float[1,1,8000] x, float[64,1,10] W, float[64] S, float[64] B, float[64,64,3] V",
        """root = Constant<value_float = 1.4142135>() one = Constant<value_float = 1.0>() a = Conv<strides = [5]>(x, W)
        b = InstanceNormalization(a, S, B) c = Div(b, root) d = Erf(c) e = Add(d, one) f = Mul(b, e) y = Conv<strides = [2]>(f, V)""",
    ),
    "spectrum": (
        "Magnitudes of a short-time Fourier transform by a convolution",
        "float[1,1,4000] x, float[258,1,256] W",
        "a = Conv<strides = [64]>(x, W) b, c = Split<axis = 1, num_outputs = 2>(a) d = Mul(b, b) e = Mul(c, c) f = Add(d, e) y = Sqrt(f)",
    ),
    "reverse": (
        "ReverseSequence and a sum, as in two-way recurrent networks",
        "float[16,32,64] x, int64[16] lengths",
        "a = ReverseSequence<batch_axis = 0, time_axis = 1>(x, lengths) y = Add(a, x)",
    ),
    "lengths": (
        "Elements after a length become 0",
        "float[4,128,64] x, int64[4,1] lengths, float[128] R",
        """last = Constant<value_ints = [2]>() zero = Constant<value_float = 0.0>() at = Cast<to = 7>(R) a = Less(at, lengths)
        b = Unsqueeze(a, last) y = Where(b, x, zero)""",
    ),
    "mixer": (
        "A perceptron over positions, as in MLP-Mixer",
        "float[1,64,96] x, float[64,128] V, float[128,64] W",
        """a = Transpose<perm = [0,2,1]>(x) b = MatMul(a, V) c = Relu(b) d = MatMul(c, W) e = Transpose<perm = [0,2,1]>(d)
        y = Add(x, e)""",
    ),
}


def made(name):
    _, inputs, nodes = PATTERNS[name]
    text = f'<ir_version: 8, opset_import: ["": 18]> pattern ({inputs}) => (y) {{ {nodes} }}'
    model, rng, feeds, kept = onnx.parser.parse_model(text), numpy.random.default_rng(3), {}, []
    for value in model.graph.input:
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            numbers = rng.integers(1, 16, dims)
        elif value.name[0].isupper():
            scale = numpy.prod(dims[1:]) ** -0.5 if len(dims) > 1 else 1.0
            numbers = (numpy.abs(rng.standard_normal(dims)) * scale + (0.5 if len(dims) == 1 else 0)).astype(numpy.float32)
        else:
            numbers = rng.standard_normal(dims).astype(numpy.float32)
        if value.name[0].isupper():
            model.graph.initializer.append(numpy_helper.from_array(numbers, value.name))
        else:
            kept.append(value)
            feeds[value.name] = numbers
    del model.graph.input[:]
    model.graph.input.extend(kept)
    # The graph does not say the type of its result.
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return onnx.shape_inference.infer_shapes(model), feeds
