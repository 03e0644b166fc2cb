"""A model in the making."""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

from processor import exact

LAST_OPSET = 28
ADDED = "com.microsoft"
# The newest operator set that ONNX Runtime knows.
LAST_OF_RUNTIME = 26
IR_VERSION = 11

FLOATS = ["float16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTEGERS

# What numpy has no name for.
SMALL = {
    "bfloat16": T.BFLOAT16,
    "float8_e4m3fn": T.FLOAT8E4M3FN,
    "float8_e4m3fnuz": T.FLOAT8E4M3FNUZ,
    "float8_e5m2": T.FLOAT8E5M2,
    "float8_e5m2fnuz": T.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": T.FLOAT8E8M0,
    "float6_e2m3fn": T.FLOAT6E2M3,
    "float6_e3m2fn": T.FLOAT6E3M2,
    "float4_e2m1fn": T.FLOAT4E2M1,
    "int4": T.INT4,
    "uint4": T.UINT4,
    "int2": T.INT2,
    "uint2": T.UINT2,
}

# As types of operators are named.
NAMES = {T.DataType.Name(elem).lower(): kind for kind, elem in SMALL.items()} | {"float": "float32", "double": "float64"}


def dtype_of(kind):
    return np.dtype(getattr(ml_dtypes, kind)) if kind in SMALL else np.dtype(object if kind == "string" else kind)


def elem_of(kind):
    """The element type by its name in numpy."""
    if kind in SMALL:
        return SMALL[kind]
    return T.STRING if kind == "string" else helper.np_dtype_to_tensor_dtype(np.dtype(kind))


KINDS = {elem_of(kind): kind for kind in [*NUMBERS, *SMALL, "bool", "string", "complex64", "complex128"]}


class Draw:
    """Draws arrays and choices, and collects the nodes that take them."""

    def __init__(self, random, opset=None):
        self.random = random
        self.opset = opset or random.choice([random.randint(7, LAST_OPSET), random.randint(13, LAST_OPSET)])
        self.nodes, self.stored, self.ports, self.results, self.domains = [], [], [], [], {}
        # How the results are to be judged, where that is not as for others: a "tolerance", the "reference" as the judge, or
        # inputs whose memory ONNX Runtime changes ("in_place": "input=output ...").
        self.judged = {}

    # Choices.

    def one(self, of):
        return self.random.choice(list(of))

    def chance(self, one_in=2):
        return self.random.randrange(one_in) == 0

    def int(self, least, most):
        return self.random.randint(least, most)

    def since(self, *opsets):
        """An operator set from this one on, up to another."""
        least, most = opsets if len(opsets) == 2 else (*opsets, LAST_OPSET)
        self.opset = self.int(max(7, least), most)
        return self.opset

    def schema(self, op, domain=""):
        return onnx.defs.get_schema(op, self.opset if domain == "" else self.domains[domain], domain)

    def version(self, op, domain=""):
        return self.schema(op, domain).since_version

    def kind(self, op, parameter="T", of=None, domain=""):
        """An element type that the operator takes, of this operator set."""
        constraints = {c.type_param_str: c.allowed_type_strs for c in self.schema(op, domain).type_constraints}
        allowed = set()
        for text in constraints[parameter]:
            name = text.removeprefix("tensor(").removesuffix(")")
            allowed.add(NAMES.get(name, name))
        fit = [k for k in of or [*NUMBERS, "bfloat16", "bool", "string"] if k in allowed]
        # Single floats are what most models have.
        return "float32" if "float32" in fit and self.chance(3) else self.one(fit)

    def dims(self, least=0, most=4, extents=(0, 1, 2, 3, 4), empty=12):
        """Extents; an empty one is rare."""
        some = [e for e in extents if e > 0]
        return [0 if 0 in extents and self.chance(empty) else self.one(some) for _ in range(self.int(least, most))]

    # Arrays.

    def array(self, kind, dims, low=-5, high=5, special=False):
        """Random elements; floats are multiples of a quarter."""
        size = int(np.prod(dims, dtype=int))
        if kind == "string":
            words = ["", "a", "b", "ab", "A", "café", "0", "1.5", "x y"]
            return np.array([self.one(words) for _ in range(size)], object).reshape(dims)
        if kind == "bool":
            return np.array([self.chance() for _ in range(size)], bool).reshape(dims)
        if kind.startswith("u") and low < 0:
            low, high = 0, max(high, 1)
        if "int" in kind:
            numbers = np.array([self.int(low, high) for _ in range(size)], "int64")
            return exact(kind, numbers).astype(dtype_of(kind)).reshape(dims)
        values = np.array([self.int(4 * low, 4 * high) / 4 for _ in range(size)], "float64")
        if special and self.chance(3):
            for i in range(size):
                if self.chance(3):
                    values[i] = self.one([np.nan, np.inf, -np.inf, -0.0, 0.0])
        return values.astype(dtype_of(kind)).reshape(dims)

    def fit(self, dims):
        """Extents that are broadcast to these."""
        dims = list(dims)[self.int(0, len(dims)) if self.chance(3) else 0 :]
        return [1 if self.chance(4) else d for d in dims]

    # Nodes.

    def input(self, array, kind=None, fed=None):
        """An input of a node with this value: an initializer, that an input of the model may stand for."""
        array = np.asarray(array)
        kind = kind or ("string" if array.dtype.kind in "OUS" else array.dtype.name)
        name = f"i{len(self.stored)}"
        elements = array.astype(object).ravel().tolist() if kind == "string" else array.ravel()
        if kind == "string":
            tensor = helper.make_tensor(name, T.STRING, array.shape, [e.encode() for e in elements])
        elif kind in SMALL:
            tensor = helper.make_tensor(name, SMALL[kind], array.shape, elements.astype("float32"))
        else:
            tensor = onnx.numpy_helper.from_array(array.astype(kind, copy=False), name)
        self.stored.append(tensor)
        if self.chance() if fed is None else fed:
            shape = [d if self.chance() else f"{name}_{i}" for i, d in enumerate(array.shape)]
            self.ports.append(helper.make_tensor_value_info(name, elem_of(kind), shape))
        return name

    def ints(self, values, kind="int64", fed=None):
        return self.input(np.array(values, kind), fed=fed)

    def node(self, op, inputs, outputs=1, domain="", keep=True, **attributes):
        """Adds a node, and gives the names of its outputs; attributes that are None are left out. What the last node that
        is to be kept gives, the model gives."""
        names = [f"o{len(self.nodes)}_{i}" for i in range(outputs)]
        # A Loop has two inputs at least.
        while len(inputs) > (2 if op == "Loop" else 0) and inputs[-1] == "":
            inputs = inputs[:-1]
        given = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **given))
        if keep:
            self.results = names
        return names[0] if outputs == 1 else names

    def led(self, array, kind=None):
        """An input of a node, which may be what an elementwise node makes of this value."""
        name = self.input(array, kind)
        if (kind or array.dtype.name) in FLOATS and self.chance(4):
            name = self.node(self.one(["Neg", "Abs", "Sigmoid"]), [name], keep=False)
        return name

    def followed(self, at=0):
        """Lets an elementwise node follow a result of the last node, which may be a result of the model still."""
        if self.chance(3):
            results = list(self.results)
            after = self.node(self.one(["Neg", "Abs", "Sigmoid"]), [results[at]], keep=False)
            self.results = results + [after] if self.chance() else results[:at] + [after] + results[at + 1 :]

    def added(self, op, inputs, outputs=1, **attributes):
        """A node of an operator that ONNX Runtime adds. Inputs are names, or arrays, which other nodes may give; `None` is one
        that is left out."""
        self.domains[ADDED], self.opset = 1, min(self.opset, LAST_OF_RUNTIME)
        names = [self.given(x) for x in inputs]
        return self.node(op, names, outputs, domain=ADDED, **attributes)

    def given(self, x):
        """The name of an operand."""
        if x is None or isinstance(x, str):
            return x or ""
        x = np.asarray(x)
        if x.dtype.kind == "f" and x.dtype.name not in SMALL and x.ndim > 1 and self.chance(6):
            return self.node("Neg", [self.input(-x)], keep=False)
        return self.input(x)

    def behind(self, results):
        """At times a node behind floats, so that it may be computed together with what is before it."""
        if self.chance(4):
            self.node("Neg", [results if isinstance(results, str) else results[0]])

    def leave_out(self, *outputs):
        """Leaves out outputs of the last node."""
        for i in outputs:
            self.results.remove(self.nodes[-1].output[i])
            self.nodes[-1].output[i] = ""

    def maybe(self, value, one_in=2):
        """The value of an attribute, or none."""
        return value if self.chance(one_in) else None

    def model(self):
        """What has been drawn; results that ONNX Runtime's arrays cannot hold are cast to single floats."""
        results = [onnx.ValueInfoProto(name=name) for name in self.results]
        graph = helper.make_graph(self.nodes, "g", self.ports, results, self.stored)
        sets = [helper.make_opsetid("", self.opset)]
        sets += [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(graph, opset_imports=sets, ir_version=IR_VERSION)
        helper.set_model_props(model, self.judged)
        try:
            known = onnx.shape_inference.infer_shapes(model)
        except Exception:
            return model
        for port, result in zip(known.graph.output, model.graph.output):
            if port.type.tensor_type.elem_type in SMALL.values():
                name = port.name + "_wide"
                model.graph.node.append(helper.make_node("Cast", [port.name], [name], to=T.FLOAT))
                result.name = name
        return model
