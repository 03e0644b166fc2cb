"""Element by element: arithmetic, comparisons, logic, bits, and activations without parameters."""

import numpy as np
import onnx

from .draw import FLOATS, INTEGERS

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sinh"
    " Softplus Softsign Sqrt Tan Tanh Identity IsNaN Not BitwiseNot Mish HardSwish Elu Selu Celu LeakyRelu ThresholdedRelu"
    " HardSigmoid Shrink Gelu Swish"
).split()
PARAMETERS = {
    "Elu": ["alpha"],
    "Selu": ["alpha", "gamma"],
    "Celu": ["alpha"],
    "LeakyRelu": ["alpha"],
    "ThresholdedRelu": ["alpha"],
    "HardSigmoid": ["alpha", "beta"],
    "Shrink": ["lambd", "bias"],
    "Swish": ["alpha"],
}
POSITIVE = ["Log", "Sqrt", "Acosh"]
WITHIN_ONE = ["Acos", "Asin", "Atanh"]


def first_parameter(d, op):
    return d.schema(op).inputs[0].type_str


def opset_of(d, op):
    """An operator set that has the operator."""
    versions = [
        s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""
    ]
    d.since(min(versions))


def parameter_kind(d, op, of=None):
    name = first_parameter(d, op)
    if name.startswith("tensor("):
        return {"float": "float32"}.get(name[7:-1], name[7:-1])
    return d.kind(op, name, of)


def unary(d):
    op = d.one(UNARY)
    opset_of(d, op)
    kind = parameter_kind(d, op)
    low, high = (1, 5) if op in POSITIVE else (-1, 1) if op in WITHIN_ONE else (-5, 5)
    # ONNX Runtime has no NaN in these of single floats; what their specification says of NaN is nothing.
    special = op not in ("Erf", "Relu", "Gelu")
    x = d.input(d.array(kind, d.dims(0, 5), low, high, special), kind)
    given = {name: d.maybe(d.int(-4, 8) / 4) for name in PARAMETERS.get(op, [])}
    if op == "Gelu":
        given["approximate"] = d.maybe(d.one(["tanh", "none"]))
    d.node(op, [x], **given)


def pair(d, kind, other=None, **of):
    """Two arrays that are broadcast to one shape."""
    dims = d.dims(0, 4)
    a, b = d.fit(dims), d.fit(dims)
    return d.input(d.array(kind, a, **of), kind), d.input(d.array(other or kind, b, **of), other or kind)


def arithmetic(d):
    op = d.one(["Add", "Sub", "Mul", "Div", "PRelu"])
    opset_of(d, op)
    kind = d.kind(op)
    low = 1 if op == "Div" and kind in INTEGERS else -5
    dims = d.dims(0, 4)
    a, b = (dims, d.fit(dims)) if op == "PRelu" else (d.fit(dims), d.fit(dims))
    x = d.array(kind, a, special=op != "PRelu")
    y = d.array(kind, b, low, special=op != "PRelu")
    if op == "Div" and kind.startswith("int"):
        y = (y * np.array(d.one([1, -1]), kind)).astype(kind)
    d.node(op, [d.input(x, kind), d.input(y, kind)])


def modulo(d):
    d.since(10)
    kind = d.kind("Mod")
    fmod = 1 if kind in [*FLOATS, "bfloat16"] else d.maybe(d.int(0, 1))
    dims = d.dims(0, 4)
    y = d.array(kind, d.fit(dims), 1, 5)
    if not kind.startswith("u"):
        y = (y * np.array([d.one([1, -1]) for _ in range(y.size)]).reshape(y.shape)).astype(y.dtype)
    d.node("Mod", [d.input(d.array(kind, d.fit(dims), -9, 9), kind), d.input(y, kind)], fmod=fmod)


def power(d):
    kind = d.kind("Pow", of=["int32", "int64", "float16", "float32", "float64", "bfloat16"])
    mixed = d.version("Pow") >= 12 and d.chance()
    other = d.kind("Pow", "T1") if mixed or kind == "bfloat16" else kind
    dims = d.dims(0, 3)
    x = d.array(kind, d.fit(dims), -3, 3)
    y = d.array(other, d.fit(dims), 0, 3)
    if other not in INTEGERS and d.chance():
        y = np.round(y.astype("float32")).astype(y.dtype)
    d.node("Pow", [d.input(x, kind), d.input(y, other)])


def compare(d):
    op = d.one(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
    opset_of(d, op)
    a, b = pair(d, d.kind(op), low=-1, high=1, special=True)
    d.node(op, [a, b])


def logic(d):
    a, b = pair(d, "bool")
    d.node(d.one(["And", "Or", "Xor"]), [a, b])


def bits(d):
    op = d.one(["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
    opset_of(d, op)
    a, b = pair(d, d.kind(op), low=-100, high=100)
    d.node(op, [a, b])


def shift(d):
    d.since(11)
    kind, dims = d.kind("BitShift"), d.dims(0, 4)
    most = 8 * np.dtype(kind).itemsize - 1
    a, b = d.array(kind, d.fit(dims), 0, 200), d.array(kind, d.fit(dims), 0, min(most, 12))
    d.node("BitShift", [d.input(a), d.input(b)], direction=d.one(["LEFT", "RIGHT"]))


def variadic(d):
    op = d.one(["Min", "Max", "Mean", "Sum"])
    opset_of(d, op)
    kind, dims = d.kind(op), d.dims(0, 4)
    d.node(op, [d.input(d.array(kind, d.fit(dims), special=True), kind) for _ in range(d.int(1, 4))])


def clip(d):
    kind = d.kind("Clip")
    x = d.input(d.array(kind, d.dims(0, 4), special=True), kind)
    low, high = sorted([d.int(-4, 4), d.int(-4, 4)])
    if d.version("Clip") < 11:
        d.node("Clip", [x], min=d.maybe(float(low)), max=d.maybe(float(high)))
        return
    if kind.startswith("u"):
        low, high = abs(low), abs(low) + 2
    scalars = [d.input(d.array(kind, [], v, v), kind) if d.chance() else "" for v in (low, high)]
    d.node("Clip", [x, *scalars])


def infinite(d):
    d.since(10)
    kind = d.kind("IsInf", "T1")
    x = d.input(d.array(kind, d.dims(), special=True), kind)
    d.node("IsInf", [x], detect_negative=d.maybe(d.int(0, 1)), detect_positive=d.maybe(d.int(0, 1)))


def where(d):
    d.since(9)
    kind, dims = d.kind("Where"), d.dims(0, 4)
    condition = d.input(d.array("bool", d.fit(dims)))
    d.node("Where", [condition, *(d.input(d.array(kind, d.fit(dims)), kind) for _ in range(2))])


DRAWS = [
    ("unary", unary),
    ("unary_more", unary),
    ("arithmetic", arithmetic),
    ("modulo", modulo),
    ("power", power),
    ("compare", compare),
    ("logic", logic),
    ("bits", bits),
    ("shift", shift),
    ("variadic", variadic),
    ("clip", clip),
    ("infinite", infinite),
    ("where", where),
]
