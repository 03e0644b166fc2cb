//! Derivatives, as lines of ONNX text: see [`Derivative`].

use crate::gradient::Derivative::{self, Text};

pub(super) const ABS: Derivative = Text(
    "sign = Sign (x0)
        dx0 = Mul (dy0, sign)",
);

pub(super) const ACOS: Derivative = Text(
    "square = Mul (x0, x0)
        rest = Sub (1, square)
        root = Sqrt (rest)
        slope = Div (dy0, root)
        dx0 = Neg (slope)",
);

pub(super) const ACOSH: Derivative = Text(
    "square = Mul (x0, x0)
        rest = Sub (square, 1)
        root = Sqrt (rest)
        dx0 = Div (dy0, root)",
);

pub(super) const ASIN: Derivative = Text(
    "square = Mul (x0, x0)
        rest = Sub (1, square)
        root = Sqrt (rest)
        dx0 = Div (dy0, root)",
);

pub(super) const ASINH: Derivative = Text(
    "square = Mul (x0, x0)
        more = Add (square, 1)
        root = Sqrt (more)
        dx0 = Div (dy0, root)",
);

pub(super) const ATAN: Derivative = Text(
    "square = Mul (x0, x0)
        more = Add (square, 1)
        dx0 = Div (dy0, more)",
);

pub(super) const ATANH: Derivative = Text(
    "square = Mul (x0, x0)
        rest = Sub (1, square)
        dx0 = Div (dy0, rest)",
);

pub(super) const COS: Derivative = Text(
    "sine = Sin (x0)
        slope = Neg (sine)
        dx0 = Mul (dy0, slope)",
);

pub(super) const COSH: Derivative = Text(
    "slope = Sinh (x0)
        dx0 = Mul (dy0, slope)",
);

pub(super) const DIV: Derivative = Text(
    "dx0 = Div (dy0, x1)
        scaled = Mul (dx0, y0)
        dx1 = Neg (scaled)",
);

pub(super) const ERF: Derivative = Text(
    "square = Mul (x0, x0)
        negative = Neg (square)
        power = Exp (negative)
        slope = Mul (power, 1.1283791670955126)
        dx0 = Mul (dy0, slope)",
);

pub(super) const EXP: Derivative = Text("dx0 = Mul (dy0, y0)");

pub(super) const LOG: Derivative = Text("dx0 = Div (dy0, x0)");

pub(super) const MUL: Derivative = Text(
    "dx0 = Mul (dy0, x1)
        dx1 = Mul (dy0, x0)",
);

pub(super) const NEG: Derivative = Text("dx0 = Neg (dy0)");

pub(super) const RECIPROCAL: Derivative = Text(
    "square = Mul (y0, y0)
        scaled = Mul (dy0, square)
        dx0 = Neg (scaled)",
);

pub(super) const SIN: Derivative = Text(
    "slope = Cos (x0)
        dx0 = Mul (dy0, slope)",
);

pub(super) const SINH: Derivative = Text(
    "slope = Cosh (x0)
        dx0 = Mul (dy0, slope)",
);

pub(super) const SQRT: Derivative = Text(
    "half = Mul (dy0, 0.5)
        dx0 = Div (half, y0)",
);

pub(super) const SUB: Derivative = Text(
    "dx0 = Identity (dy0)
        dx1 = Neg (dy0)",
);

pub(super) const TAN: Derivative = Text(
    "square = Mul (y0, y0)
        slope = Add (square, 1)
        dx0 = Mul (dy0, slope)",
);
