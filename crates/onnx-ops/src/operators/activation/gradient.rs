//! Derivatives as lines of ONNX text (see [`Derivative`]), and functions for those that depend on attributes.

use crate::derivative::{
    Cell,
    Derivative::{self, Text},
    Done,
};

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

fn float(cell: &Cell<'_>, name: &str) -> Result<f64, String> {
    cell.site.float(name).map(f64::from).ok_or_else(|| format!("attribute `{name}` is unknown"))
}

/// The gradient where a condition is true, otherwise multiplied by a factor.
fn choose(cell: &mut Cell<'_>, condition: &str, otherwise: &str) {
    let chosen = cell.op("Where", &[condition, "dy0", otherwise]);
    cell.give(0, chosen);
}

pub(super) fn leaky_relu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha) = (cell.number(0.0, 0), float(cell, "alpha")?);
    let alpha = cell.number(alpha, 0);
    let is_less = cell.op("Less", &["x0", &zero]);
    let scaled = cell.op("Mul", &["dy0", &alpha]);
    let chosen = cell.op("Where", &[&is_less, &scaled, "dy0"]);
    cell.give(0, chosen);
    Ok(())
}

/// For negative numbers, the result is `alpha * (exp(x) - 1)`, whose slope is the result plus alpha.
pub(super) fn elu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha) = (cell.number(0.0, 0), float(cell, "alpha")?);
    let alpha = cell.number(alpha, 0);
    let is_greater = cell.op("Greater", &["x0", &zero]);
    let slope = cell.op("Add", &["y0", &alpha]);
    let scaled = cell.op("Mul", &["dy0", &slope]);
    choose(cell, &is_greater, &scaled);
    Ok(())
}

pub(super) fn selu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha, gamma) = (cell.number(0.0, 0), float(cell, "alpha")?, float(cell, "gamma")?);
    let (product, gamma) = (cell.number(alpha * gamma, 0), cell.number(gamma, 0));
    let is_greater = cell.op("Greater", &["x0", &zero]);
    let below = cell.op("Add", &["y0", &product]);
    let slope = cell.op("Where", &[&is_greater, &gamma, &below]);
    let scaled = cell.op("Mul", &["dy0", &slope]);
    cell.give(0, scaled);
    Ok(())
}

pub(super) fn celu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha) = (cell.number(0.0, 0), float(cell, "alpha")?);
    let alpha = cell.number(alpha, 0);
    let is_greater = cell.op("Greater", &["x0", &zero]);
    let least = cell.op("Min", &["x0", &zero]);
    let scaled = cell.op("Div", &[&least, &alpha]);
    let power = cell.op("Exp", &[&scaled]);
    let below = cell.op("Mul", &["dy0", &power]);
    choose(cell, &is_greater, &below);
    Ok(())
}

pub(super) fn hard_sigmoid(cell: &mut Cell<'_>) -> Done {
    let alpha = float(cell, "alpha")?;
    let (zero, one, alpha) = (cell.number(0.0, 0), cell.number(1.0, 0), cell.number(alpha, 0));
    let is_above = cell.op("Greater", &["y0", &zero]);
    let is_below = cell.op("Less", &["y0", &one]);
    let is_between = cell.op("And", &[&is_above, &is_below]);
    let scaled = cell.op("Mul", &["dy0", &alpha]);
    let chosen = cell.op("Where", &[&is_between, &scaled, &zero]);
    cell.give(0, chosen);
    Ok(())
}

pub(super) fn thresholded_relu(cell: &mut Cell<'_>) -> Done {
    let alpha = float(cell, "alpha")?;
    let (zero, alpha) = (cell.number(0.0, 0), cell.number(alpha, 0));
    let is_greater = cell.op("Greater", &["x0", &alpha]);
    choose(cell, &is_greater, &zero);
    Ok(())
}

pub(super) fn shrink(cell: &mut Cell<'_>) -> Done {
    let limit = float(cell, "lambd")?;
    let (zero, limit, least) = (cell.number(0.0, 0), cell.number(limit, 0), cell.number(-limit, 0));
    let is_above = cell.op("Greater", &["x0", &limit]);
    let is_below = cell.op("Less", &["x0", &least]);
    let is_outside = cell.op("Or", &[&is_above, &is_below]);
    choose(cell, &is_outside, &zero);
    Ok(())
}
