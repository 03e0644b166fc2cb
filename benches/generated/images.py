"""Networks over images: each is a small one of a well-known kind."""

from __future__ import annotations

import numpy

from .graph import Graph


def relu(g, x):
    return g.op("Relu", x)


def relu6(g, x):
    return g.op("Clip", x, g.scalar(0), g.scalar(6))


def hard_swish(g, x):
    return g.op("HardSwish", x)


def silu(g, x):
    return g.op("Mul", x, g.op("Sigmoid", x))


def gelu(g, x):
    half = g.op("Mul", x, g.scalar(0.5))
    return g.op("Mul", half, g.op("Add", g.op("Erf", g.op("Div", x, g.scalar(2**0.5))), g.scalar(1)))


def norm(g, x, cin, cout, k=1, stride=1, groups=1, act=None):
    """Convolution, batch normalization, activation."""
    x = g.batch_norm(g.conv(x, cin, cout, k, stride, groups, bias=False), cout)
    return x if act is None else act(g, x)


def resnet(g):
    """Residual blocks of two 3x3 convolutions, as in ResNet-18."""
    x = g.pool("MaxPool", norm(g, g.image(3, 224), 3, 64, 7, 2, act=relu), 3, 2, 1)
    cin = 64
    for cout, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
        short = x if (cin, stride) == (cout, 1) else norm(g, x, cin, cout, 1, stride)
        x = norm(g, norm(g, x, cin, cout, 3, stride, act=relu), cout, cout, 3)
        x, cin = relu(g, g.op("Add", x, short)), cout
    return g.classify(x, cin)


def bottleneck(g):
    """Residual blocks of 1x1, 3x3 and 1x1 convolutions, as in ResNet-50."""
    x = g.pool("MaxPool", norm(g, g.image(3, 224), 3, 64, 7, 2, act=relu), 3, 2, 1)
    cin = 64
    for width, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]:
        cout = width * 4
        short = x if (cin, stride) == (cout, 1) else norm(g, x, cin, cout, 1, stride)
        x = norm(g, norm(g, x, cin, width, 1, act=relu), width, width, 3, stride, act=relu)
        x, cin = relu(g, g.op("Add", norm(g, x, width, cout), short)), cout
    return g.classify(x, cin)


def vgg(g):
    """3x3 convolutions with biases, and layers that connect all with all."""
    x, cin = g.image(3, 128), 3
    for cout, count in [(64, 1), (128, 1), (256, 2), (512, 2)]:
        for _ in range(count):
            x, cin = relu(g, g.conv(x, cin, cout, 3)), cout
        x = g.pool("MaxPool", x, 2, 2)
    x, cin = g.op("Flatten", x, axis=1), 512 * 8 * 8
    for cout in (1024, 1000):
        x = g.op("Gemm", x, g.normal(cout, cin), g.near(0, (cout,)), transB=1)
        x, cin = (relu(g, x) if cout == 1024 else x), cout
    return g.op("Softmax", x, axis=-1)


def densenet(g):
    """Blocks that append what each layer finds, batch normalization before convolutions."""
    x, cin = g.pool("MaxPool", norm(g, g.image(3, 224), 3, 64, 7, 2, act=relu), 3, 2, 1), 64
    for at, count in enumerate([4, 6, 8]):
        for _ in range(count):
            y = g.conv(relu(g, g.batch_norm(x, cin)), cin, 128, 1, bias=False)
            y = g.conv(relu(g, g.batch_norm(y, 128)), 128, 32, 3, bias=False)
            x, cin = g.op("Concat", x, y, axis=1), cin + 32
        x = relu(g, g.batch_norm(x, cin))
        if at < 2:
            x, cin = g.pool("AveragePool", g.conv(x, cin, cin // 2, 1, bias=False), 2, 2), cin // 2
    return g.classify(x, cin)


def shuffle(g, x, channels, size):
    x = g.op("Reshape", x, g.ints(1, 2, channels // 2, size, size))
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3, 4]), g.ints(1, channels, size, size))


def shufflenet(g):
    """Half of the channels goes through depthwise blocks, then channels are shuffled."""
    x, cin, size = g.pool("MaxPool", norm(g, g.image(3, 224), 3, 24, 3, 2, act=relu), 3, 2, 1), 24, 56

    def branch(x, cin, cout, stride):
        x = norm(g, norm(g, x, cin, cout, act=relu), cout, cout, 3, stride, cout)
        return norm(g, x, cout, cout, act=relu)

    for cout, count in [(116, 3), (232, 4), (464, 2)]:
        half, size = cout // 2, size // 2
        left = norm(g, norm(g, x, cin, cin, 3, 2, cin), cin, half, act=relu)
        x = shuffle(g, g.op("Concat", left, branch(x, cin, half, 2), axis=1), cout, size)
        for _ in range(count - 1):
            left, right = g.op("Split", x, g.ints(half, half), axis=1, outputs=2)
            x = shuffle(g, g.op("Concat", left, branch(right, half, half, 1), axis=1), cout, size)
        cin = cout
    return g.classify(norm(g, x, cin, 1024, act=relu), 1024)


def excite(g, x, channels, gate):
    """Squeeze and excitation: channels are scaled by what all of the image says."""
    y = relu(g, g.conv(g.op("GlobalAveragePool", x), channels, max(channels // 4, 8)))
    return g.op("Mul", x, gate(g.conv(y, max(channels // 4, 8), channels)))


INVERTED = [(16, 1, 1, 3), (24, 6, 2, 3), (24, 6, 1, 3), (40, 6, 2, 5), (40, 6, 1, 5), (80, 6, 2, 3), (80, 6, 1, 3)]
INVERTED += [(112, 6, 1, 5), (112, 6, 1, 5), (192, 6, 2, 5), (192, 6, 1, 5)]


def inverted(g, act, gate=None, kernels=True):
    """Inverted residual blocks: 1x1 to more channels, depthwise, 1x1 to fewer."""
    x, cin = norm(g, g.image(3, 224), 3, 32, 3, 2, act=act), 32
    for cout, expand, stride, k in INVERTED:
        wide = cin * expand
        y = x if expand == 1 else norm(g, x, cin, wide, act=act)
        y = norm(g, y, wide, wide, k if kernels else 3, stride, wide, act=act)
        y = y if gate is None else excite(g, y, wide, gate)
        y = norm(g, y, wide, cout)
        x, cin = (g.op("Add", x, y) if (cin, stride) == (cout, 1) else y), cout
    return g.classify(norm(g, x, cin, 960, act=act), 960)


def mobilenet(g):
    """Depthwise 3x3 convolutions and Clip, as in MobileNetV2."""
    return inverted(g, relu6, kernels=False)


def mobilenet_hard(g):
    """Squeeze and excitation with HardSigmoid, HardSwish, as in MobileNetV3."""
    return inverted(g, hard_swish, lambda y: g.op("HardSigmoid", y, alpha=1 / 6, beta=0.5))


def efficientnet(g):
    """Squeeze and excitation with Sigmoid, SiLU, as in EfficientNet."""
    return inverted(g, silu, lambda y: g.op("Sigmoid", y))


def inception(g):
    """Branches of 1x1, 3x3, 5x5 and pooling side by side, local response normalization."""
    x = g.pool("MaxPool", relu(g, g.conv(g.image(3, 224), 3, 64, 7, 2)), 3, 2, 1)
    x = relu(g, g.conv(relu(g, g.conv(g.op("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0), 64, 64)), 64, 192, 3))
    x, cin = g.pool("MaxPool", g.op("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0), 3, 2, 1), 192
    for at, (a, b0, b1, c0, c1, d) in enumerate([(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), (192, 96, 208, 16, 48, 64)]):
        parts = [
            relu(g, g.conv(x, cin, a)),
            relu(g, g.conv(relu(g, g.conv(x, cin, b0)), b0, b1, 3)),
            relu(g, g.conv(relu(g, g.conv(x, cin, c0)), c0, c1, 5)),
            relu(g, g.conv(g.pool("MaxPool", x, 3, 1, 1), cin, d)),
        ]
        x, cin = g.op("Concat", *parts, axis=1), a + b1 + c1 + d
        x = g.pool("MaxPool", x, 3, 2, 1) if at == 1 else x
    return g.op("Softmax", g.classify(x, cin), axis=-1)


def convnext(g):
    """7x7 depthwise convolutions, normalization over channels that lie last, Gelu."""
    x, cin = g.image(3, 224), 3
    for at, cout in enumerate([48, 96, 192, 384]):
        k = 4 if at == 0 else 2
        w, b = g.normal(cout, cin, k, k), g.near(0, (cout,))
        x = g.op("Conv", x, w, b, kernel_shape=[k, k], strides=[k, k], pads=[0] * 4, dilations=[1, 1], group=1)
        cin = cout
        for _ in range(2):
            y = g.op("Transpose", g.conv(x, cin, cin, 7, 1, cin), perm=[0, 2, 3, 1])
            y = g.linear(gelu(g, g.linear(g.layer_norm(y, cin), cin, 4 * cin)), 4 * cin, cin)
            y = g.op("Mul", y, g.near(0.1, (cin,)))
            x = g.op("Add", x, g.op("Transpose", y, perm=[0, 3, 1, 2]))
    return g.classify(x, cin)


def unet(g):
    """Down and up again, with what was before beside it: transposed convolutions and Resize."""
    x, cin, kept = g.image(3, 128), 3, []
    for cout in (32, 64, 128):
        x = relu(g, g.conv(relu(g, g.conv(x, cin, cout, 3)), cout, cout, 3))
        kept.append((x, cout))
        x, cin = g.pool("MaxPool", x, 2, 2), cout
    x, cin = relu(g, g.conv(x, cin, 256, 3)), 256
    for at, (skip, cout) in enumerate(reversed(kept)):
        if at < 2:
            w = g.normal(cin, cout, 2, 2)
            x = g.op("ConvTranspose", x, w, kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4, dilations=[1, 1], group=1)
        else:
            scales = g.constant(numpy.array([1, 1, 2, 2], numpy.float32))
            x = g.op("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
            x = g.conv(x, cin, cout, 3)
        x = g.op("Concat", skip, x, axis=1)
        x, cin = relu(g, g.conv(relu(g, g.conv(x, 2 * cout, cout, 3)), cout, cout, 3)), cout
    return g.op("Sigmoid", g.conv(x, cin, 1))


def made(build):
    g = Graph(seed=1)
    g.output(build(g))
    return g.model(build.__name__), g.feeds


NETWORKS = [resnet, bottleneck, vgg, densenet, shufflenet, mobilenet, mobilenet_hard, efficientnet, inception, convnext, unet]
