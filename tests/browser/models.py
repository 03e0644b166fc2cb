"""Models to be drawn, as text: a small one, one like ResNet-50, and two of 5,000 nodes, with and without names that say something.

usage: models.py FOLDER
"""

import pathlib
import sys

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'


def numbers(count, seed):
    """Numbers around zero, as text."""
    return ", ".join(f"{((seed * 31 + i * 7) % 41 - 20) / 20:g}" for i in range(count))


class Model:
    """Lines of a graph and its initializers."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs, self.weights, self.nodes = inputs, outputs, [], []

    def weight(self, name, dims):
        """An initializer."""
        count = 1
        for dim in dims:
            count *= dim
        shape = ",".join(map(str, dims))
        self.weights.append(f'float[{shape}] "{name}" = {{{numbers(count, len(self.weights))}}}')
        return name

    def node(self, result, op, *operands, name=None, attributes=""):
        """A node with one result, whose name it is."""
        label = f'["{name}"] ' if name else ""
        self.nodes.append(f'    {label}"{result}" = {op} {attributes} ({", ".join(chr(34) + o + chr(34) for o in operands)})')
        return result

    def text(self):
        weights = ",\n  ".join(self.weights)
        weights = f"<\n  {weights}\n>\n" if weights else ""
        return f"{HEAD}g ({self.inputs}) => ({self.outputs})\n{weights}{{\n" + "\n".join(self.nodes) + "\n}\n"


def small():
    """A block with a branch and a nested graph."""
    m = Model("float[N,8] x, bool flag", "float[N,4] y")
    w, b = m.weight("w", [8, 4]), m.weight("b", [4])
    m.node("t", "MatMul", "x", w)
    m.node("u", "Add", "t", b)
    m.node("a", "Relu", "u")
    m.node("s", "Sigmoid", "u")
    m.node("p", "Mul", "a", "s", name="gate")
    m.nodes.append(
        "    z = If (flag) <then_branch = yes () => (r) { q = Neg(p) r = Exp(q) }, else_branch = no () => (v) { v = Sqrt(p) }>"
    )
    m.node("n", "Softmax", "z", attributes="<axis = -1>")
    m.node("y", "Clip", "n")
    return m.text()


def resnet():
    """Blocks of convolutions, as exporters name them."""
    m = Model("float[N,3,224,224] image", "float[N,10] logits")
    width = 4

    def conv(x, path, inner, outer, kernel, stride):
        name = path.strip("/").replace("/", ".")
        w = m.weight(f"{name}.weight", [outer, inner, kernel, kernel])
        b = m.weight(f"{name}.bias", [outer])
        pads = ", ".join([str(kernel // 2)] * 4)
        attributes = f"<kernel_shape = [{kernel}, {kernel}], pads = [{pads}], strides = [{stride}, {stride}]>"
        return m.node(f"{path}/Conv_output_0", "Conv", x, w, b, name=f"{path}/Conv", attributes=attributes)

    def relu(x, path):
        return m.node(f"{path}/Relu_output_0", "Relu", x, name=f"{path}/Relu")

    x = relu(conv("image", "/conv1", 3, width, 7, 2), "/relu")
    x = m.node("/maxpool/MaxPool_output_0", "MaxPool", x, name="/maxpool/MaxPool",
               attributes="<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>")
    channels = width
    for layer, blocks in enumerate([3, 4, 6, 3], 1):
        out = width * 2 ** (layer - 1)
        for block in range(blocks):
            path = f"/layer{layer}/layer{layer}.{block}"
            stride = 2 if layer > 1 and block == 0 else 1
            y = relu(conv(x, f"{path}/conv1", channels, out, 1, 1), f"{path}/relu")
            y = relu(conv(y, f"{path}/conv2", out, out, 3, stride), f"{path}/relu_1")
            y = conv(y, f"{path}/conv3", out, out * 4, 1, 1)
            if block == 0:
                x = conv(x, f"{path}/downsample/downsample.0", channels, out * 4, 1, stride)
            y = m.node(f"{path}/Add_output_0", "Add", y, x, name=f"{path}/Add")
            x = relu(y, f"{path}/relu_2")
            channels = out * 4
    x = m.node("/avgpool/GlobalAveragePool_output_0", "GlobalAveragePool", x, name="/avgpool/GlobalAveragePool")
    x = m.node("/Flatten_output_0", "Flatten", x, name="/Flatten")
    m.node("logits", "Gemm", x, m.weight("fc.weight", [10, channels]), m.weight("fc.bias", [10]), name="/fc/Gemm",
           attributes="<transB = 1>")
    return m.text()


def layers(count, is_named):
    """A transformer of `count` nodes."""
    m = Model("float[1,16,8] tokens, float[1,1,16,16] mask", "float[1,16,8] out")
    w, g = m.weight("w", [8, 8]), m.weight("g", [8])
    x, layer = "tokens", 0
    while len(m.nodes) < count - 30:
        path = f"/encoder/layer.{layer}"

        def node(op, *operands, part="", attributes=""):
            index = len(m.nodes)
            name = f"{path}/{part}{op}_{index}" if is_named else None
            return m.node(f"{name}_output_0" if name else f"t{index}", op, *operands, name=name, attributes=attributes)

        h = node("LayerNormalization", x, g, part="norm1/")
        heads = [node("MatMul", h, w, part=f"attention/{part}/") for part in ["query", "key", "value"]]
        turned = node("Transpose", heads[1], part="attention/", attributes="<perm = [0, 2, 1]>")
        scores = node("MatMul", heads[0], turned, part="attention/")
        scores = node("Add", scores, "mask", part="attention/")
        scores = node("Squeeze", scores, part="attention/")
        scores = node("Softmax", scores, part="attention/")
        y = node("MatMul", scores, heads[2], part="attention/")
        y = node("MatMul", y, w, part="attention/output/")
        x = node("Add", x, y)
        h = node("LayerNormalization", x, g, part="norm2/")
        h = node("MatMul", h, w, part="mlp/")
        h = node("Gelu", h, part="mlp/")
        h = node("MatMul", h, w, part="mlp/")
        x = node("Add", x, h)
        layer += 1
    while len(m.nodes) < count - 1:
        x = m.node(f"e{len(m.nodes)}", "Relu", x)
    m.node("out", "Identity", x)
    return m.text()


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in [("small", small()), ("middle", resnet()), ("large", layers(5000, True)), ("flat", layers(5000, False))]:
        (folder / f"{name}.onnxtxt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
