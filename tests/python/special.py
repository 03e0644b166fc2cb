#!/usr/bin/env python3
"""Special values: what operators give for zeros, infinities, NaN, the smallest and the largest numbers and halves of them.

Prints a JSON list of cases: {"op", "node": text of the node, "version", "inputs": [{"elem", "dims", "bits"}], "elem": of the
result, "expected": a list of alternatives for each element, or null where the specification says nothing, "tolerance"}.

Definitions are those of the operators' documentation, written out in mpmath with more precision and a larger range than any type.
Infinities follow IEEE 754: inf - inf and 0 * inf are NaN. A definition that gives two numbers is one whose text and whose function
body differ there, or whose intermediate results, in the type of the elements, overflow (see conformance/differences.md).
"""

from __future__ import annotations

import itertools
import json
import math
import struct
import sys

import mpmath
from mpmath import mpf

mpmath.mp.prec = 250

INF, NAN = mpf("inf"), mpf("nan")

# Bits of the exponent and of the fraction.
TYPES = {"float": (8, 23), "double": (11, 52), "float16": (5, 10), "bfloat16": (8, 7)}
# Relative errors of results: one rounding, and what functions of a few steps add to it.
ROUNDING = {"float": 2.0**-22, "double": 2.0**-51, "float16": 2.0**-10, "bfloat16": 2.0**-7}
STEPS = {"float": 2.0**-18, "double": 2.0**-40, "float16": 2.0**-8, "bfloat16": 2.0**-5}


class Format:
    """A float type, whose numbers are Python floats."""

    def __init__(self, name):
        self.name = name
        self.exponent, self.fraction = TYPES[name]
        bias = 2 ** (self.exponent - 1) - 1
        self.largest = math.ldexp(2 - 2.0**-self.fraction, bias)
        self.normal = math.ldexp(1.0, 1 - bias)
        self.smallest = math.ldexp(1.0, 1 - bias - self.fraction)

    def bits(self, x):
        (b,) = struct.unpack("<Q", struct.pack("<d", x))
        if self.name == "double":
            return b
        if self.name == "float16":
            return struct.unpack("<H", struct.pack("<e", x))[0]
        (b,) = struct.unpack("<I", struct.pack("<f", x))
        return b >> 16 if self.name == "bfloat16" else b

    def rounded(self, x):
        """The number that the type has for it."""
        x = float(number(x))
        if self.name == "double" or not math.isfinite(x) or x == 0:
            return mpf(x)
        # The distance of numbers there.
        unit = math.ldexp(1.0, max(math.frexp(x)[1], math.frexp(self.normal)[1]) - 1 - self.fraction)
        y = round(x / unit) * unit
        return mpf(y) if abs(y) <= self.largest else (INF if x > 0 else -INF)

    def values(self):
        positive = [0.0, self.smallest, self.normal / 2, self.normal, 0.5, 1.0, 1.5, 2.0, 3.0, 11.0, 100.0]
        positive += [self.largest / 2, self.largest, math.inf]
        return [s * x for x in positive for s in (1.0, -1.0)] + [math.nan]

    def few(self):
        return [-math.inf, -self.largest, -1.0, 0.0, self.normal, 1.0, self.largest / 2, self.largest, math.inf, math.nan]

    # Half precision is added up and multiplied in single precision.
    def wide(self):
        return self if self.name in ("float", "double") else Format("float")


def real(x):
    """Roots and logarithms that are complex are none."""
    return NAN if isinstance(x, mpmath.mpc) else x


def is_nan(x):
    return x != x


def power(x, y):
    fx, fy = x, y
    x, y = mpf(x), mpf(y)
    if fx in (0.0, 1.0, -1.0) or not math.isfinite(fx) or fy == 0.0 or not math.isfinite(fy):
        try:
            return mpf(math.pow(fx, fy))
        except ValueError:  # a negative base, or 0 to a negative power
            if fx != 0.0:
                return NAN
            return -INF if math.copysign(1.0, fx) < 0 and math.fmod(fy, 2) in (1.0, -1.0) else INF
    if fx > 0:
        return mpmath.power(x, y)
    if fy != math.floor(fy):
        return NAN
    return mpmath.power(-x, y) * (-1 if math.fmod(fy, 2) else 1)


def divide(x, y):
    if y == 0:
        sign = math.copysign(1.0, float(y)) if Z[0] is None else Z[0]
        return NAN if x == 0 or is_nan(x) else mpmath.sign(x) * sign * INF
    return x / y


# The sign of a divisor that is zero: mpmath has only one zero.
Z = [None]


def maximum(*all):
    return NAN if any(is_nan(x) for x in all) else max(all)


def minimum(*all):
    return NAN if any(is_nan(x) for x in all) else min(all)


def half_even(x):
    if not mpmath.isfinite(x):
        return x
    low = mpmath.floor(x)
    if x - low == mpf("0.5"):
        return low if low % 2 == 0 else low + 1
    return mpmath.floor(x + mpf("0.5"))


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def gelu(x):
    if x < -1000:
        return x * 0
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def gelu_tanh(x):
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpf(0.044715) * x**3)))


def single(x):
    """An attribute is a single float."""
    return mpf(struct.unpack("<f", struct.pack("<f", x))[0])


ALPHA, LEAK = single(1.67326319217681884765625), single(0.01)
GAMMA = single(1.05070102214813232421875)

# Name, attributes, version, definition, and whether it has one rounding.
UNARY = [
    ("Abs", "", 13, abs, True),
    ("Neg", "", 13, lambda x: -x, True),
    ("Identity", "", 19, lambda x: x, True),
    ("Ceil", "", 13, lambda x: mpmath.ceil(x) if mpmath.isfinite(x) else x, True),
    ("Floor", "", 13, lambda x: mpmath.floor(x) if mpmath.isfinite(x) else x, True),
    ("Round", "", 22, half_even, True),
    ("Sign", "", 13, lambda x: None if is_nan(x) else mpmath.sign(x), True),
    ("Sqrt", "", 13, lambda x: real(mpmath.sqrt(x)), True),
    ("Reciprocal", "", 13, lambda x: divide(mpf(1), x), True),
    ("Exp", "", 13, mpmath.exp, False),
    ("Log", "", 13, lambda x: real(mpmath.log(x)), False),
    ("Sin", "", 22, lambda x: mpmath.sin(x) if mpmath.isfinite(x) else NAN, False),
    ("Cos", "", 22, lambda x: mpmath.cos(x) if mpmath.isfinite(x) else NAN, False),
    ("Tan", "", 22, lambda x: mpmath.tan(x) if mpmath.isfinite(x) else NAN, False),
    ("Asin", "", 22, lambda x: real(mpmath.asin(x)) if mpmath.isfinite(x) else NAN, False),
    ("Acos", "", 22, lambda x: real(mpmath.acos(x)) if mpmath.isfinite(x) else NAN, False),
    ("Atan", "", 22, mpmath.atan, False),
    ("Sinh", "", 22, mpmath.sinh, False),
    ("Cosh", "", 22, mpmath.cosh, False),
    ("Tanh", "", 13, mpmath.tanh, False),
    ("Asinh", "", 22, lambda x: mpmath.asinh(x) if mpmath.isfinite(x) else x, False),
    ("Acosh", "", 22, lambda x: NAN if is_nan(x) or x < 1 else (INF if x == INF else mpmath.acosh(x)), False),
    ("Atanh", "", 22, lambda x: NAN if not abs(x) <= 1 else (x * INF if abs(x) == 1 else mpmath.atanh(x)), False),
    ("Erf", "", 13, mpmath.erf, False),
    ("Sigmoid", "", 13, sigmoid, False),
    ("Softplus", "", 22, lambda x: mpmath.log(mpmath.exp(x) + 1) if not x < -30 else mpmath.log1p(mpmath.exp(x)), False),
    ("Softsign", "", 22, lambda x: x / (1 + abs(x)), False),
    ("Relu", "", 14, lambda x: maximum(x, mpf(0)), True),
    ("LeakyRelu", "", 16, lambda x: LEAK * x if x < 0 else x, True),
    ("LeakyRelu", "<alpha = inf>", 16, lambda x: INF * x if x < 0 else x, True),
    ("ThresholdedRelu", "", 22, lambda x: x if x > 1 else mpf(0), True),
    ("Elu", "", 22, lambda x: mpmath.expm1(x) if x < 0 else x, False),
    ("Elu", "<alpha = -2.0>", 22, lambda x: -2 * mpmath.expm1(x) if x < 0 else x, False),
    ("Selu", "", 22, lambda x: GAMMA * ALPHA * mpmath.expm1(x) if x <= 0 else GAMMA * x, False),
    ("Celu", "<alpha = 2.0>", 12, lambda x: maximum(mpf(0), x) + minimum(mpf(0), 2 * mpmath.expm1(x / 2)), False),
    ("HardSigmoid", "", 22, lambda x: maximum(mpf(0), minimum(mpf(1), single(0.2) * x + single(0.5))), False),
    ("HardSwish", "", 22, lambda x: x * maximum(mpf(0), minimum(mpf(1), x / 6 + mpf("0.5"))), False),
    ("Mish", "", 22, lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))), False),
    ("Gelu", "", 20, gelu, False),
    ("Gelu", '<approximate = "tanh">', 20, gelu_tanh, False),
    ("Swish", "<alpha = 2.0>", 24, lambda x: x * sigmoid(2 * x), False),
    ("Shrink", "<lambd = 1.0, bias = 0.5>", 9, lambda x: x + 0.5 if x < -1 else (x - 0.5 if x > 1 else mpf(0)), True),
    ("IsNaN", "", 20, lambda x: mpf(is_nan(x)), True),
    ("IsInf", "", 20, lambda x: mpf(abs(x) == INF), True),
    ("IsInf", "<detect_negative = 0>", 20, lambda x: mpf(x == INF), True),
]

# Functions whose result at a zero is the same zero.
ODD = {
    "Neg", "Identity", "Ceil", "Floor", "Round", "Sqrt", "Sin", "Tan", "Asin", "Atan", "Sinh", "Tanh", "Asinh", "Atanh", "Erf",
    "LeakyRelu", "Elu", "Softsign",
}  # fmt: skip

BINARY = [
    ("Add", "", 14, lambda x, y: x + y),
    ("Sub", "", 14, lambda x, y: x - y),
    ("Mul", "", 14, lambda x, y: x * y),
    ("Div", "", 14, divide),
    ("Pow", "", 15, power),
    ("Mod", "<fmod = 1>", 13, lambda x, y: mpf(math.fmod(x, y)) if mpmath.isfinite(x) and y != 0 else (NAN if not is_nan(y) else y)),
    ("PRelu", "", 16, lambda x, y: y * x if x < 0 else x),
    ("Max", "", 13, maximum),
    ("Min", "", 13, minimum),
    ("Sum", "", 13, lambda x, y: x + y),
    ("Mean", "", 13, lambda x, y: (x + y) / 2),
    ("Equal", "", 19, lambda x, y: mpf(x == y)),
    ("Less", "", 13, lambda x, y: mpf(x < y)),
    ("LessOrEqual", "", 16, lambda x, y: mpf(x <= y)),
    ("Greater", "", 13, lambda x, y: mpf(x > y)),
    ("GreaterOrEqual", "", 16, lambda x, y: mpf(x >= y)),
]
BOOLS = {"IsNaN", "IsInf", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}


def product(row):
    total = mpf(1)
    for x in row:
        total *= x
    return total


def log_sum_exp(row):
    return real(mpmath.log(sum(mpmath.exp(x) for x in row)))


def softmax(row):
    powers = [mpmath.exp(x) for x in row]
    total = sum(powers)
    return [divide(x, total) for x in powers]


def stable(function):
    """Of a row without its maximum, as the function body computes it."""

    def of(row):
        most = maximum(*row)
        return function([x - most for x in row])

    return of


def log_softmax(row):
    total = log_sum_exp(row)
    return [x - total for x in row]


def normalized(norm):
    def of(row):
        size = norm(row)
        return [mpf(0) if size == 0 else x / size for x in row]

    return of


def sums(row):
    return list(itertools.accumulate(row))


def l1(row):
    return sum(abs(x) for x in row)


def l2(row):
    return mpmath.sqrt(sum(x * x for x in row))


# Name, attributes, version, whether axes are an input, definition of a row.
REDUCTIONS = [
    ("ReduceSum", "", 13, True, sum),
    ("ReduceMean", "", 18, True, lambda row: sum(row) / len(row)),
    ("ReduceProd", "", 18, True, product),
    ("ReduceMax", "", 20, True, lambda row: maximum(*row)),
    ("ReduceMin", "", 20, True, lambda row: minimum(*row)),
    ("ReduceL1", "", 18, True, l1),
    ("ReduceL2", "", 18, True, l2),
    ("ReduceSumSquare", "", 18, True, lambda row: sum(x * x for x in row)),
    ("ReduceLogSum", "", 18, True, lambda row: real(mpmath.log(sum(row)))),
    ("ReduceLogSumExp", "", 18, True, log_sum_exp),
    ("ArgMax", "<axis = 1>", 13, False, lambda row: None if any(map(is_nan, row)) else mpf(row.index(max(row)))),
    ("ArgMin", "<axis = 1>", 13, False, lambda row: None if any(map(is_nan, row)) else mpf(row.index(min(row)))),
    ("Softmax", "", 13, False, softmax),
    ("LogSoftmax", "", 13, False, log_softmax),
    ("LpNormalization", "<p = 1>", 22, False, normalized(l1)),
    ("LpNormalization", "<p = 2>", 22, False, normalized(l2)),
    ("CumSum", "", 14, None, sums),
    ("CumProd", "", 26, None, lambda row: list(itertools.accumulate(row, lambda a, b: a * b))),
    ("Hardmax", "", 13, False, lambda row: [None] * 3 if any(map(is_nan, row)) else [mpf(i == row.index(max(row))) for i in range(3)]),
    ("GlobalAveragePool", "", 22, False, lambda row: sum(row) / len(row)),
    ("GlobalMaxPool", "", 22, False, lambda row: maximum(*row)),
    ("AveragePool", "<kernel_shape = [3]>", 22, False, lambda row: sum(row) / len(row)),
    ("MaxPool", "<kernel_shape = [3]>", 22, False, lambda row: maximum(*row)),
    ("GlobalLpPool", "<p = 2>", 22, False, l2),
    ("LpPool", "<p = 1, kernel_shape = [3]>", 22, False, l1),
]
OF_IMAGES = ("Pool",)


def interpolated(rows):
    """Sums of weighted elements; those without weight do not count."""

    def weighted(weights, x):
        # Each element outside is the nearest one, with a weight of its own.
        weights = weights if isinstance(weights, list) else [weights]
        return sum(w * x for w in weights if w != 0)

    return lambda row: [sum((weighted(w, x) for w, x in zip(weights, row)), mpf(0)) for weights in rows]


def keys(x):
    x = abs(x)
    return (1.5 * x - 2.5) * x * x + 1 if x <= 1 else ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else mpf(0)


Q = mpf("0.25")
# Four elements around each place; those outside of the two are the nearest.
CUBIC = [[[keys(at - k) for k in range(-2, 1)], [keys(at - k) for k in range(1, 4)]] for at in (-Q, Q, 1 - Q, 1 + Q)]
INTERPOLATIONS = [
    ("Resize", '<mode = "linear">', 19, "scale", interpolated([(1, 0), (3 * Q, Q), (Q, 3 * Q), (0, 1)])),
    ("Resize", '<mode = "linear", coordinate_transformation_mode = "align_corners">', 19, "three", interpolated([(1, 0), (2 * Q, 2 * Q), (0, 1)])),
    ("Resize", '<mode = "linear", antialias = 1>', 19, "half", interpolated([(2 * Q, 2 * Q)])),
    ("Resize", '<mode = "cubic", cubic_coeff_a = -0.5>', 19, "scale", interpolated(CUBIC)),
    ("Resize", '<mode = "nearest">', 19, "scale", interpolated([(1, 0), (1, 0), (0, 1), (0, 1)])),
    ("GridSample", "<align_corners = 1>", 20, "grid", interpolated([(1, 0), (2 * Q, 2 * Q), (0, 1)])),
]

ML = [
    ("Scaler", "<offset = [1.0], scale = [2.0]>", lambda row: [(x - 1) * 2 for x in row]),
    ("Binarizer", "<threshold = 1.0>", lambda row: [mpf(x > 1) for x in row]),
    ("Normalizer", '<norm = "L1">', normalized(l1)),
    ("Normalizer", '<norm = "L2">', normalized(l2)),
    ("Imputer", "<imputed_value_floats = [7.0], replaced_value_float = nan>", lambda row: [mpf(7) if is_nan(x) else x for x in row]),
    ("Imputer", "<imputed_value_floats = [7.0], replaced_value_float = inf>", lambda row: [mpf(7) if x == INF else x for x in row]),
    ("LinearRegressor", "<coefficients = [1.0, 0.5, -2.0], intercepts = [0.25], targets = 1>", lambda row: [row[0] + row[1] / 2 - 2 * row[2] + Q]),
]


def number(x):
    if x is None:
        return None
    x = real(x)
    x = float(mpmath.nstr(x, 40, strip_zeros=False)) if abs(x) > 1e300 and mpmath.isfinite(x) else float(x)
    return repr(x)


def tensor(format, dims, values):
    return {"elem": format.name, "dims": dims, "bits": [format.bits(x) for x in values]}


def case(op, node, version, inputs, elem, expected, tolerance, **more):
    return {"op": op, "node": node, "version": version, "inputs": inputs, "elem": elem, "expected": expected, "tolerance": tolerance, **more}


def elementwise(format):
    values = format.values()
    for op, attributes, version, function, is_exact in UNARY:
        expected, slack = [], []
        for x in values:
            Z[0] = math.copysign(1.0, x)
            y = function(mpf(x))
            if op in ODD and x == 0:
                expected.append([repr(-x if op == "Neg" else x)])
            else:
                expected.append([number(y)] + (["-0.0"] if y == 0 else []))
            # A sum of 1 and nearly -1 has few bits.
            slack.append(abs(x) * ROUNDING[format.name] if op == "Gelu" and -100 < x < 0 else 0.0)
        Z[0] = None
        elem = "bool" if op in BOOLS else format.name
        node = f"y = {op} {attributes} (x)"
        tolerance = (ROUNDING if is_exact else STEPS)[format.name]
        inputs = [tensor(format, [len(values)], values)]
        yield case(op, node, version, inputs, elem, expected, tolerance, signs=op in ODD, exact=is_exact, slack=slack)
    pairs = list(itertools.product(values, values))
    xs, ys = zip(*pairs)
    for op, attributes, version, function in BINARY:
        expected = []
        for x, y in pairs:
            Z[0] = math.copysign(1.0, y)
            exact = function(x, y) if op == "Pow" else function(mpf(x), mpf(y))
            alternatives = [number(exact)]
            if op == "Mean":
                alternatives.append(number(format.wide().rounded(mpf(x) + mpf(y)) / 2))
            expected.append(alternatives)
        Z[0] = None
        elem = "bool" if op in BOOLS else format.name
        inputs = [tensor(format, [len(pairs)], xs), tensor(format, [len(pairs)], ys)]
        tolerance = STEPS[format.name] if op == "Pow" else ROUNDING[format.name]
        yield case(op, f"y = {op} {attributes} (x, z)", version, inputs, elem, expected, tolerance, exact=op != "Pow")


SCALARS = [
    # Name, attributes, version, other operands, definition.
    ("Clip", "", 13, ["-1.0", "2.0"], lambda x: minimum(maximum(x, mpf(-1)), mpf(2))),
    ("Clip", "", 13, ["-1.0", None], lambda x: maximum(x, mpf(-1))),
    ("Clip", "", 13, ["nan", "2.0"], lambda x: NAN),
    ("BatchNormalization", "<epsilon = 0.0>", 15, ["[2.0]", "[1.0]", "[0.5]", "[4.0]"], lambda x: (x - mpf("0.5")) + 1),
    ("InstanceNormalization", "<epsilon = 1.0>", 22, ["[2.0]", "[1.0]"], lambda x: mpf(1) if mpmath.isfinite(x) else NAN),
]


def with_scalars(format):
    """Elementwise operators with operands of one element."""
    values = format.values()
    for op, attributes, version, others, function in SCALARS:
        inputs = [tensor(format, [len(values), 1, 1] if "Norm" in op else [len(values)], values)]
        names = ["x"]
        for i, text in enumerate(others):
            names.append(f"p{i}" if text else "")
            if text:
                dims = [1] if text.startswith("[") else []
                inputs.append({**tensor(format, dims, [float(text.strip("[]"))]), "name": f"p{i}"})
        expected = [[number(function(mpf(x)))] for x in values]
        node = f"y = {op} {attributes} ({', '.join(names).rstrip(', ')})"
        yield case(op, node, version, inputs, format.name, expected, STEPS[format.name])
    for elem, least, most in (("uint8", 0, 255), ("int8", -128, 127), ("int16", -32768, 32767)):
        for scale in (1.0, 0.5, 2.0):
            quantized = [None if math.isnan(x) else max(least, min(most, half_even(mpf(x) / scale))) for x in values]
            inputs = [
                tensor(format, [len(values)], values),
                {**tensor(format, [], [scale]), "name": "s"},
                {"elem": elem, "dims": [], "bits": [0], "name": "n"},
            ]
            expected = [[number(y)] for y in quantized]
            yield case("QuantizeLinear", "y = QuantizeLinear(x, s, n)", 23, inputs, elem, expected, 0.0)
    # The scale is special: 0 is 0 times it.
    for scale in [x for x in values if x > 0]:
        inputs = [
            {"elem": "int8", "dims": [3], "bits": [0, 1, 254]},
            {**tensor(format, [], [scale]), "name": "s"},
        ]
        expected = [[number(n * mpf(scale))] for n in (0, 1, -2)]
        yield case("DequantizeLinear", "y = DequantizeLinear(x, s)", 23, inputs, format.name, expected, ROUNDING[format.name])


def stepwise(op, row, format):
    """What a reduction gives if each sum, product and square is rounded, in all orders."""
    rounded = format.wide().rounded

    def all(step, values):
        for order in itertools.permutations(values):
            total = order[0]
            for x in order[1:]:
                total = rounded(step(total, x))
            yield total

    def totals(values):
        return all(lambda a, b: a + b, values)

    if op in ("ReduceMean", "GlobalAveragePool", "AveragePool"):
        return [y / len(row) for y in totals(row)]
    if op == "ReduceSum":
        return totals(row)
    if op in ("ReduceL1", "LpPool"):
        return totals([abs(x) for x in row])
    if op == "ReduceSumSquare":
        return totals([rounded(x * x) for x in row])
    if op in ("ReduceL2", "GlobalLpPool"):
        return [mpmath.sqrt(y) for y in totals([rounded(x * x) for x in row])]
    if op == "ReduceProd":
        return all(lambda a, b: a * b, row)
    if op == "ReduceLogSum":
        return [mpmath.log(y) for y in totals(row)]
    return []


def reductions(format):
    rows = list(itertools.product(format.few(), repeat=3))
    flat = [x for row in rows for x in row]
    for op, attributes, version, axes, function in REDUCTIONS:
        is_image = op.endswith(OF_IMAGES)
        dims = [len(rows), 1, 3] if is_image else [len(rows), 3]
        is_row = isinstance(function([mpf(1)] * 3), list)
        expected = []
        for row in rows:
            row = [mpf(x) for x in row]
            exact = function(row)
            if not is_row:
                others = stepwise(op, row, format)
                expected.append(list(dict.fromkeys(number(x) for x in [exact, *others])))
                continue
            alternatives = [exact]
            if op in ("Softmax", "LogSoftmax"):
                alternatives.append(stable(softmax if op == "Softmax" else log_softmax)(row))
            rounded = format.wide().rounded
            if op == "LpNormalization":
                of_squares = "2" in attributes
                norm = mpf(0)
                for x in row:
                    norm = rounded(norm + (rounded(x * x) if of_squares else abs(x)))
                if norm == 0 or norm == INF:
                    alternatives.append([mpf(0) if norm == 0 else x / norm for x in row])
                elif of_squares and norm < mpf(format.wide().normal) * 2:
                    # The square is subnormal and has few bits.
                    alternatives = [[None] * 3]
            if op == "CumSum":
                for cut in (rounded, format.rounded):
                    alternatives.append(list(itertools.accumulate(row, lambda a, b: cut(a + b))))
            if op == "CumProd":
                for cut in (rounded, format.rounded):
                    alternatives.append(list(itertools.accumulate(row, lambda a, b: cut(a * b))))
            for i in range(3):
                expected.append(list(dict.fromkeys(number(a[i]) for a in alternatives)))
        elem = "int64" if op.startswith("Arg") else format.name
        inputs = [tensor(format, dims, flat)]
        operands = "x"
        if axes is True or axes is None:
            operands = "x, axes"
            inputs.append({"elem": "int64", "dims": [1] if axes else [], "bits": [1], "name": "axes"})
        yield case(op, f"y = {op} {attributes} ({operands})", version, inputs, elem, expected, STEPS[format.name])


def interpolations(format):
    rows = list(itertools.product(format.values(), repeat=2))
    flat = [x for row in rows for x in row]
    for op, attributes, version, how, function in INTERPOLATIONS:
        expected = [[number(y)] for row in rows for y in function([mpf(x) for x in row])]
        if format.name == "double":
            # Without a wider type: a part of the sum may overflow.
            vast = [math.inf in map(abs, row) and format.largest in map(abs, row) for row in rows]
            each = len(expected) // len(rows)
            expected = [None if vast[i // each] else y for i, y in enumerate(expected)]
        per_row = len(expected) // len(rows)
        # Weights are rounded.
        largest = [max([abs(x) for x in row if math.isfinite(x)], default=0.0) for row in rows]
        slack = [x * ROUNDING[format.name] for x in largest for _ in range(per_row)]
        x = tensor(format, [len(rows), 1, 1, 2], flat)
        single = Format("float")
        if how == "grid":
            grid = [c for at in (-1.0, 0.0, 1.0) for c in (at, 0.0)]
            inputs = [x, {**tensor(single, [len(rows), 1, 3, 2], grid * len(rows)), "name": "g"}]
            node = f"y = {op} {attributes} (x, g)"
        elif how == "three":
            inputs = [x, {"elem": "int64", "dims": [4], "bits": [len(rows), 1, 1, 3], "name": "n"}]
            node = f"y = {op} {attributes} (x, , , n)"
        else:
            scale = 2.0 if how == "scale" else 0.5
            inputs = [x, {**tensor(single, [4], [1.0, 1.0, 1.0, scale]), "name": "n"}]
            node = f"y = {op} {attributes} (x, , n)"
        yield case(op, node, version, inputs, format.name, expected, STEPS[format.name], slack=slack)


def learned(format):
    """Operators of ai.onnx.ml, whose results are single floats."""
    rows = list(itertools.product(format.few(), repeat=3))
    flat = [x for row in rows for x in row]
    single = Format("float")
    for op, attributes, function in ML:
        if op == "Imputer" and format.name != "float":
            continue
        if op == "Binarizer" or format.name == "float":
            elem = format.name
        else:
            elem = "float"
        expected = []
        for row in rows:
            exact = function([mpf(x) for x in row])
            alternatives = [exact]
            if op in ("Scaler", "LinearRegressor", "Normalizer"):
                # Doubles are computed as single floats, or as doubles.
                parts = [single.rounded(mpf(x)) for x in row]
                alternatives.append(function(parts))
            if op == "LinearRegressor":
                for cut in (single.rounded, Format("double").rounded):
                    for order in itertools.permutations([parts[0], cut(parts[1] / 2), cut(-2 * parts[2]), Q]):
                        alternatives.append(list(itertools.accumulate(order, lambda a, b: cut(a + b)))[-1:])
            if op == "Normalizer":
                for cut, xs in ((single.rounded, parts), (Format("double").rounded, [mpf(x) for x in row])):
                    norm = mpf(0)
                    for x in xs:
                        norm = cut(norm + (abs(x) if "L1" in attributes else cut(x * x)))
                    norm = norm if "L1" in attributes else mpmath.sqrt(norm)
                    alternatives.append([mpf(0) if norm == 0 else x / norm for x in xs])
                if "L2" in attributes and norm < mpf(single.normal) * 2:
                    alternatives = [[None] * 3]
            for i in range(len(exact)):
                expected.append(list(dict.fromkeys(number(a[i]) for a in alternatives)))
        node = f"y = ai.onnx.ml.{op} {attributes} (x)"
        yield case(op, node, 21, [tensor(format, [len(rows), 3], flat)], elem, expected, STEPS["float"])


MODES = {
    "BRANCH_LEQ": lambda x, t: x <= t,
    "BRANCH_LT": lambda x, t: x < t,
    "BRANCH_GTE": lambda x, t: x >= t,
    "BRANCH_GT": lambda x, t: x > t,
    "BRANCH_EQ": lambda x, t: x == t,
    "BRANCH_NEQ": lambda x, t: x != t,
}


def ensembles(format):
    """Trees of one node, machines of one vector, and linear models of one feature."""
    values = format.values()
    x = tensor(format, [len(values), 1], values)
    single = Format("float")
    for (mode, is_true), tracks in itertools.product(MODES.items(), (None, 0, 1)):
        for threshold in (-math.inf, -single.largest, -0.0, single.smallest, 1.0, single.largest, math.inf):
            # NaN goes where the attribute says, whatever the comparison; the default is the false branch.
            goes = [bool(tracks) if math.isnan(v) else is_true(v, threshold) for v in values]
            text = {math.inf: "inf", -math.inf: "-inf"}.get(threshold) or repr(threshold)
            missing = "" if tracks is None else f"nodes_missing_value_tracks_true = [{tracks}, 0, 0], "
            node = (
                f"y = ai.onnx.ml.TreeEnsembleRegressor <{missing}n_targets = 1, nodes_treeids = [0, 0, 0], "
                f"nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0], nodes_values = [{text}, 0.0, 0.0], "
                f'nodes_modes = ["{mode}", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], '
                "target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [1.0, 2.0]> (x)"
            )
            expected = [["1.0" if way else "2.0"] for way in goes]
            yield case("TreeEnsembleRegressor", node, 21, [x], "float", expected, 0.0)
    elem = format.name
    for (mode, (name, is_true)), tracks in itertools.product(enumerate(MODES.items()), (None, 0, 1)):
        missing = "" if tracks is None else f"nodes_missing_value_tracks_true = [{tracks}], "
        node = (
            f"y = ai.onnx.ml.TreeEnsemble <{missing}n_targets = 1, tree_roots = [0], nodes_featureids = [0], "
            f"nodes_splits = {elem}[1] {{1.0}}, nodes_modes = uint8[1] {{{mode}}}, nodes_truenodeids = [0], nodes_trueleafs = [1], "
            "nodes_falsenodeids = [1], nodes_falseleafs = [1], leaf_targetids = [0, 0], "
            f"leaf_weights = {elem}[2] {{1.0, 2.0}}> (x)"
        )
        goes = [bool(tracks) if math.isnan(v) else is_true(v, 1.0) for v in values]
        expected = [["1.0" if way else "2.0"] for way in goes]
        yield case("TreeEnsemble", node, 21, [x], elem, expected, 0.0, ml=5)
    aggregates = {"SUM": sum, "AVERAGE": lambda all: sum(all) / len(all), "MIN": min, "MAX": max}
    transforms = {
        "NONE": lambda s: s,
        "LOGISTIC": lambda s: [sigmoid(y) for y in s],
        "SOFTMAX": softmax,
        "SOFTMAX_ZERO": lambda s: [mpf(0) if y == 0 else p for y, p in zip(s, softmax(s))],
        "PROBIT": lambda s: [mpmath.sqrt(2) * mpmath.erfinv(2 * y - 1) for y in s],
    }
    # Two trees, each with a weight for each target; numbers are such that all are probabilities.
    for (aggregate, joined), (transform, function) in itertools.product(aggregates.items(), transforms.items()):
        base = [0.0625, 0.125]
        node = (
            f'y = ai.onnx.ml.TreeEnsembleRegressor <aggregate_function = "{aggregate}", post_transform = "{transform}", '
            f"base_values = [{base[0]}, {base[1]}], n_targets = 2, nodes_treeids = [0, 0, 0, 1], nodes_nodeids = [0, 1, 2, 0], "
            "nodes_featureids = [0, 0, 0, 0], nodes_values = [1.0, 0.0, 0.0, 0.0], "
            'nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0, 0], '
            "nodes_falsenodeids = [2, 0, 0, 0], nodes_hitrates = [1.0, 1.0, 1.0, 1.0], "
            "target_treeids = [0, 0, 0, 0, 1, 1], target_nodeids = [1, 1, 2, 2, 0, 0], target_ids = [0, 1, 0, 1, 0, 1], "
            "target_weights = [0.25, 0.375, 0.5, 0.3125, 0.125, 0.0625]> (x)"
        )
        expected = []
        for v in values:
            first = [0.25, 0.375] if v <= 1 else [0.5, 0.3125]
            scores = [mpf(joined(pair)) + mpf(b) for pair, b in zip(zip(first, [0.125, 0.0625]), base)]
            expected += [[number(y)] for y in function(scores)]
        # ONNX Runtime approximates the quantiles of the normal distribution.
        tolerance = 2e-2 if transform == "PROBIT" else STEPS["float"]
        yield case("TreeEnsembleRegressor", node, 21, [x], "float", expected, tolerance)
    kernels = {
        "LINEAR": lambda v: v * 2,
        "POLY": lambda v: (v + 1) ** 3,
        "RBF": lambda v: mpmath.exp(-(v - 2) ** 2 / 2),
        "SIGMOID": lambda v: mpmath.tanh(v + 1),
    }
    for kernel, function in kernels.items():
        node = (
            f'y = ai.onnx.ml.SVMRegressor <kernel_type = "{kernel}", kernel_params = [0.5, 1.0, 3.0], coefficients = [3.0], '
            "support_vectors = [2.0], n_supports = 1, rho = [0.25]> (x)"
        )
        expected = []
        for v in values:
            exact, rounded = (3 * function(at) + Q for at in (mpf(v), single.rounded(mpf(v))))
            expected.append(list(dict.fromkeys([number(exact), number(rounded)])))
        yield case("SVMRegressor", node, 21, [x], "float", expected, STEPS["float"])
    transforms = {
        "NONE": lambda s: s,
        "LOGISTIC": lambda s: [sigmoid(y) for y in s],
        "SOFTMAX": softmax,
    }
    for transform, function in transforms.items():
        node = (
            f'l, y = ai.onnx.ml.LinearClassifier <post_transform = "{transform}", coefficients = [1.0, 0.5, -2.0], '
            "intercepts = [0.25, 0.0, 1.0], classlabels_ints = [0, 1, 2]> (x)"
        )
        expected = []
        for v in values:
            all = []
            for at in (mpf(v), single.rounded(mpf(v))):
                scores = [at + Q, at / 2, 1 - 2 * at]
                all += [function(scores), function([single.rounded(y) for y in scores])]
                if transform == "SOFTMAX":
                    all.append(stable(softmax)([single.rounded(y) for y in scores]))
            for i in range(3):
                expected.append(list(dict.fromkeys(number(a[i]) for a in all)))
        yield case("LinearClassifier", node, 21, [x], "float", expected, STEPS["float"])


def main():
    import special_layers

    cases = []
    for name in TYPES:
        format = Format(name)
        cases.extend(elementwise(format))
        cases.extend(reductions(format))
        cases.extend(interpolations(format))
        cases.extend(with_scalars(format))
        cases.extend(special_layers.layers(format))
        if name in ("float", "double"):
            cases.extend(learned(format))
            cases.extend(ensembles(format))
            cases.extend(special_layers.classifiers(format))
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main()
