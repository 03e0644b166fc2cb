//! Derivatives, as lines of ONNX text: see [`Derivative`].

use crate::gradient::Derivative::{self, Text};

pub(super) const PRELU: Derivative = Text(
    "is_less = Less (x0, 0)
        scaled = Mul (dy0, x1)
        dx0 = Where (is_less, scaled, dy0)
        below = Mul (dy0, x0)
        dx1 = Where (is_less, below, 0)",
);

pub(super) const RELU: Derivative = Text(
    "is_greater = Greater (x0, 0)
        dx0 = Where (is_greater, dy0, 0)",
);

pub(super) const SIGMOID: Derivative = Text(
    "rest = Sub (1, y0)
        slope = Mul (y0, rest)
        dx0 = Mul (dy0, slope)",
);

pub(super) const SOFTPLUS: Derivative = Text(
    "slope = Sigmoid (x0)
        dx0 = Mul (dy0, slope)",
);

pub(super) const SOFTSIGN: Derivative = Text(
    "magnitude = Abs (x0)
        more = Add (magnitude, 1)
        square = Mul (more, more)
        dx0 = Div (dy0, square)",
);

pub(super) const TANH: Derivative = Text(
    "square = Mul (y0, y0)
        slope = Sub (1, square)
        dx0 = Mul (dy0, slope)",
);
