"""Writes which values of attributes the installed `onnxruntime` package refuses, as lines of a table of `crates/onnx-ops/targets`.

    python dump_attributes.py > attributes.txt

The models are the examples of operators in `crates/onnx-ops/docs`, and for operators that onnxruntime adds, `added` and what
`tests/python/arrays` draws. Each attribute of each node gets every value that its schema documents; if it documents none, and the
reference can tell whether the model is valid, numbers up to 4096. A value is refused if the reference accepts models with it, and
onnxruntime loads none of them, whatever one other attribute is. A line

    refuses ai.onnx LRN 1-13 size even

holds for the versions of the operator (`since`) that have been tried. `even` stands for all even numbers, `*` for all values.
"""

import copy
import importlib
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "crates/onnx-ops/docs"
ADDED = "com.microsoft"
# The modules of `tests/python/arrays` that draw nodes of operators that onnxruntime adds, and how often each draws one.
DRAWN = "products attention layers bytes others old states".split()
DRAWS = 40
# What onnxruntime says when a kernel refuses a node.
KERNEL = "Exception during initialization"
# So many different models of an operator are tried.
MODELS = 12
NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
FLOATS = [0.0, 0.5, 1.0, 2.0]
# The strings that attributes document; in others, words in capitals.
WORDS = {
    "mode": "nearest linear circular cubic bilinear bicubic constant reflect edge wrap avg max DCR CRD TF IDF TFIDF",
    "direction": "forward reverse bidirectional LEFT RIGHT",
    "padding_mode": "zeros border reflection",
    "reduction": "none add mul max min mean sum",
    "approximate": "none tanh",
    "coordinate_transformation_mode": """half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric
        tf_half_pixel_for_nn tf_crop_and_resize output_half_pixel""",
    "nearest_mode": "round_prefer_floor round_prefer_ceil floor ceil",
    "keep_aspect_ratio_policy": "stretch not_larger not_smaller",
    "round_mode": "up down nearest",
    "pixel_format": "RGB BGR Grayscale",
    "activations": """Relu Tanh Sigmoid Affine LeakyRelu ThresholdedRelu ScaledTanh HardSigmoid Elu Softsign Softplus""",
}
# Element types that computations may be in.
PRECISIONS = {"stash_type", "softmax_precision", "precision"}
# Element types of results are in the table of kernels, and what belongs to the sizes of inputs or other attributes says nothing about
# support.
LEFT_OUT = {
    "to", "dtype", "output_dtype", "output_datatype", "hidden_size", "axis", "num_groups", "targets", "n_targets", "n_supports",
    "min_gram_length", "max_gram_length", "max_skip_count", "num_scan_inputs", "batch_dims", "num_outputs",
}
LISTS = {"dilations", "strides"}
# The number of activations in each direction.
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1, "AttnLSTM": 3, "DynamicQuantizeLSTM": 3}
# Attributes with a word for each node of a tree, of which one is replaced.
OF_NODES = {"nodes_modes"}
NEWEST = 26


def nbits(k, n, bits, block):
    """A `MatMulNBits` of a [2, k] by a [k, n] matrix."""
    blocks = -(-k // block)
    return (
        "MatMulNBits",
        [("a", 1, [2, k]), ("b", 2, [n, blocks, max(1, block * bits // 8)]), ("s", 1, [n * blocks])],
        {"K": k, "N": n, "bits": bits, "block_size": block},
    )


def gather(bits, block, axis):
    """A `GatherBlockQuantized` of a matrix with 4096 columns."""
    width = 4096 * bits // 8
    return (
        "GatherBlockQuantized",
        [("d", 2, [4, width]), ("i", 7, [3]), ("s", 1, [4, -(-4096 // block)])],
        {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": axis},
    )


def lstm(direction):
    """A `DynamicQuantizeLSTM` of three steps."""
    count = 2 if direction == "bidirectional" else 1
    return (
        "DynamicQuantizeLSTM",
        [
            ("x", 1, [3, 2, 4]), ("w", 2, [count, 4, 8]), ("r", 2, [count, 2, 8]), ("b", 1, [count, 16]), ("l", 6, [2]),
            ("h", 1, [count, 2, 2]), ("c", 1, [count, 2, 2]), ("p", 1, [count, 6]),
            ("ws", 1, [count]), ("wz", 2, [count]), ("rs", 1, [count]), ("rz", 2, [count]),
        ],
        {"hidden_size": 2, "direction": direction},
    )  # fmt: skip


def added():
    """Models of operators that onnxruntime adds, whose shapes follow from an attribute, with the attribute and its value."""
    for block in (4, 8, 16, 24, 32, 48, 64, 128, 256, 512, 1024):
        yield *nbits(4096, 2, 4, block), "block_size", block
        yield *gather(4, block, 1), "block_size", block
    for bits in range(1, 9):
        yield *nbits(4096, 2, bits, 32), "bits", bits
        if bits in (1, 2, 4, 8):
            yield *gather(bits, 32, 1), "bits", bits
    for direction in ("forward", "reverse", "bidirectional"):
        yield *lstm(direction), "direction", direction


def numbers_of(text):
    """The numbers that a text lists: `0, 1 or 2`, `0: none, 1: some`, `0 for FP4`, `0(unset)`, `range is [0, 8]`, `a power of two and
    not smaller than 16`."""
    item = r"(?<![\w.])-?\d+(?:\s*\([^)]*\))?"
    numbers = set()
    for found in re.findall(rf"{item}(?:(?:,\s*(?:or|and)|,|\s+or|\s+and)\s+{item})+(?![\w.]*\w)", text):
        numbers.update(int(n) for n in re.findall(r"(?<![\w.])-?\d+", re.sub(r"\([^)]*\)", "", found)))
    for pattern in (r"(?<![\w.])(-?\d+)(?:\s*:|\s+for)\s", r"(?<![\w.])(\d+)\s*\(", r"\((\d+)\)"):
        numbers.update(int(n) for n in re.findall(pattern, text))
    for first, last in re.findall(r"range is \[(-?\d+), (\d+)\]", text):
        numbers.update(range(int(first), min(int(last), 16) + 1))
    least = re.search(r"power of (?:2|two) and (?:not smaller than|≥|at least) (\d+)", text)
    if least:
        numbers.update(n for n in (2**i for i in range(1, 13)) if n >= int(least[1]))
    if re.match(r"(Whether|If set)\b", text):
        numbers.update((0, 1))
    return sorted(n for n in numbers if -1 <= n <= 4096)


def listed(attribute):
    """The values that the schema of an added operator lists for an attribute."""
    kind, text = str(attribute.type).rpartition(".")[2], attribute.description
    if kind == "INT":
        return numbers_of(text)
    if kind != "STRING":
        return []
    known = WORDS.get(attribute.name, "").split()
    words = set(re.findall(r"['\"`](\w+)['\"`]", text)) | {word for word in known if re.search(rf"\b{word}\b", text)}
    for choices in re.findall(r"(?:one of|[Cc]hoose from|either) ((?:\w+, )*\w+,? (?:or|and) \w+)", text):
        words.update(re.findall(r"\w+", choices))
    return sorted(words - {"or", "and", attribute.name})


def candidates(attribute, value, node, onnx):
    """Values to try for an attribute of a node."""
    kinds = onnx.defs.OpSchema.AttrType
    words = set(re.findall(r"\w+", attribute.description))
    known = WORDS.get(attribute.name, "").split()
    quoted = set(re.findall(r"['‘]([A-Z][A-Z0-9_]*)['’]", attribute.description))
    words = sorted(words & set(known) if known else quoted | {word for word in words if word.isupper() and len(word) > 2})
    if "linear" in words:
        words = [word for word in words if word not in ("bilinear", "bicubic", "wrap")]  # explain others
    if attribute.type == kinds.INT and attribute.name in PRECISIONS:
        return [1, 10, 11, 16]
    if attribute.type == kinds.INT:
        numbers = sorted({int(n) for n in re.findall(r"(?<![\w.])-?\d+(?![\w.]*\w)", attribute.description)})
        return [n for n in numbers if n <= 4096] or NUMBERS
    if attribute.type == kinds.FLOAT:
        return FLOATS
    if attribute.type == kinds.STRING:
        return words
    if attribute.type == kinds.INTS and value and attribute.name in LISTS:
        return [[n] * len(value) for n in (1, 2)]
    if attribute.type == kinds.STRINGS and node.op_type in ACTIVATIONS:
        return [[word] * ACTIVATIONS[node.op_type] for word in words]
    if attribute.type == kinds.STRINGS and value and attribute.name in OF_NODES:
        inner = [i for i, mode in enumerate(value) if mode != b"LEAF"]
        return [[*value[: inner[0]], word, *value[inner[0] + 1 :]] for word in words if inner and word != "LEAF"]
    return []


def changed(model, at, values, onnx):
    """The model with other values of attributes of a node, and results of any shape; `None` leaves an attribute out."""
    model = copy.deepcopy(model)
    node = model.graph.node[at]
    kept = [a for a in node.attribute if a.name not in values]
    del node.attribute[:]
    given = {name: value for name, value in values.items() if value is not None}
    node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in given.items())])
    for output in model.graph.output:
        if output.type.WhichOneof("value") == "tensor_type":
            output.type.tensor_type.ClearField("shape")
    return model


class Tries:
    """What was loaded and what was refused, by operator, version, attribute and value."""

    def __init__(self, onnx, runtime):
        self.onnx, self.runtime = onnx, runtime
        self.options = runtime.SessionOptions()
        self.options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.log_severity_level = 4
        self.loaded, self.refused = set(), set()

    def why_refused(self, model):
        try:
            self.runtime.InferenceSession(
                model.SerializeToString(), self.options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            return str(error)
        return None

    def loads(self, model):
        return self.why_refused(model) is None

    def is_valid(self, model):
        try:
            self.onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
        except Exception:
            return False
        return True

    def note(self, key, loads):
        (self.loaded if loads else self.refused).add(key)

    def example(self, model):
        """Tries each value of each attribute of each node, in each version that the runtime knows of."""
        ops = {(node.domain, node.op_type) for node in model.graph.node}
        for domain, op in sorted(ops):
            every = [s for s in self.onnx.defs.get_all_schemas_with_history() if (s.domain, s.name) == (domain, op)]
            for schema in every:
                if schema.deprecated or domain == "" and schema.since_version > NEWEST:
                    continue
                of_version = copy.deepcopy(model)
                for entry in of_version.opset_import:
                    if entry.domain in (domain, "ai.onnx" if domain == "" else domain):
                        entry.version = schema.since_version
                if self.is_valid(of_version) and self.loads(of_version):
                    self.versions(of_version, domain, op, schema)

    def versions(self, model, domain, op, schema):
        for at, node in enumerate(model.graph.node):
            if (node.domain, node.op_type) != (domain, op):
                continue
            every = self.values(node, schema)
            for name, values in every.items():
                for value in values:
                    text = value_text(name, value)
                    self.value(changed(model, at, {name: value}, self.onnx), (domain, op, schema.since_version, name, text))
                    others = ((other, v) for other, of in every.items() if other != name for v in [None, *of])
                    while (key := (domain, op, schema.since_version, name, text)) in self.refused - self.loaded:
                        if not (other := next(others, None)):
                            break
                        self.value(changed(model, at, {name: value, other[0]: other[1]}, self.onnx), key)

    def value(self, model, key):
        if self.is_valid(model):
            self.note(key, self.loads(model))

    def values(self, node, schema):
        """What to try for each attribute."""
        read = self.onnx.helper.get_attribute_value
        given = {a.name: read(a) for a in node.attribute}
        defaults = {name: read(a.default_value) for name, a in schema.attributes.items() if a.default_value.name}
        given = defaults | given
        attributes = sorted(schema.attributes.items())
        return {name: candidates(a, given.get(name), node, self.onnx) for name, a in attributes if name not in LEFT_OUT}

    def drawn(self):
        """Models of added operators, by operator, as `tests/python/arrays` draws them."""
        sys.path.append(str(ROOT / "tests/python"))
        draw, models = importlib.import_module("arrays.draw").Draw, {}
        for module in DRAWN:
            for name, of in importlib.import_module(f"arrays.added_{module}").DRAWS:
                for i in range(DRAWS):
                    d = draw(random.Random(f"{name} {i}"))
                    of(d)
                    model = d.model()
                    for entry in model.opset_import:
                        if entry.domain == "":
                            entry.version = min(entry.version, NEWEST)
                    for op in {node.op_type for node in model.graph.node if node.domain == ADDED}:
                        few = models.setdefault(op, [])
                        if len(few) < MODELS and self.loads(model):
                            few.append(model)
        return models

    def contributed(self, schemas):
        """Tries each value that the schema of an added operator lists, in some models that are loaded."""
        for op, models in sorted(self.drawn().items()):
            every = {name: listed(attribute) for name, attribute in sorted(schemas[op].attributes.items())} if op in schemas else {}
            for name, value in ((name, value) for name, values in every.items() if name not in LEFT_OUT for value in values):
                key = (ADDED, op, 1, name, value)
                for model in models:
                    at = next(i for i, node in enumerate(model.graph.node) if (node.domain, node.op_type) == (ADDED, op))
                    others = [{}, *({other: v} for other, of in every.items() if other != name for v in [None, *of])]
                    for other in others:
                        if key not in self.loaded:
                            why = self.why_refused(changed(model, at, {name: value, **other}, self.onnx))
                            # Otherwise the value does not fit the shapes of this model.
                            if why is None or KERNEL in why:
                                self.note(key, why is None)

    def added(self):
        helper = self.onnx.helper
        for op, inputs, attributes, name, value in added():
            ports = [helper.make_tensor_value_info(*port) for port in inputs]
            node = helper.make_node(op, [p[0] for p in inputs], ["y"], domain=ADDED, **attributes)
            graph = helper.make_graph([node], "g", ports, [self.onnx.ValueInfoProto(name="y")])
            imports = [helper.make_opsetid("", 21), helper.make_opsetid(ADDED, 1)]
            model = helper.make_model(graph, opset_imports=imports, ir_version=10)
            self.note((ADDED, op, 1, name, value), self.loads(model))

    def lines(self):
        """The refused values, versions with the same ones in one line."""
        values, tried = {}, {}
        for domain, op, since, name, value in self.refused | self.loaded:
            tried.setdefault((domain, op, name), {}).setdefault(since, set()).add(value)
        for key in self.refused - self.loaded:
            domain, op, since, name, value = key
            values.setdefault((domain, op, name), {}).setdefault(since, set()).add(value)
        for (domain, op, name), of in sorted(values.items()):
            every = sorted(tried[domain, op, name])
            while every:
                first, last = every[0], every[0]
                refused = of.get(first, set())
                while len(every) > 1 and of.get(every[1], set()) == refused:
                    every.pop(0)
                    last = every[0]
                every.pop(0)
                if refused:
                    text = shown(refused, tried[domain, op, name][first])
                    yield f"refuses {domain or 'ai.onnx'} {op} {first}-{last} {name} {text}"


def value_text(name, value):
    """A value as the table has it; of lists, the element that has been tried."""
    if name in OF_NODES:
        return next(word for word in value if isinstance(word, str))
    return value[0] if isinstance(value, list) else value


def shown(refused, tried):
    numbers = {n for n in tried if isinstance(n, int) and n > 0}
    if len(tried) > 1 and refused == tried:
        return "*"
    if len(numbers) > 4 and refused == {n for n in numbers if n % 2 == 0}:
        return "even"
    return ",".join(str(value) for value in sorted(refused))


def lines():
    import onnx
    import onnx.parser
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    tries = Tries(onnx, onnxruntime)
    for path in sorted(DOCS.glob("*/*.onnxtxt")):
        try:
            model = onnx.parser.parse_model(path.read_text())
        except onnx.parser.ParseError:
            continue  # the extended syntax
        tries.example(model)
    tries.added()
    schemas = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state").get_all_operator_schema()
    tries.contributed({schema.name: schema for schema in schemas if schema.domain == ADDED})
    return list(tries.lines())


if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in lines()))
