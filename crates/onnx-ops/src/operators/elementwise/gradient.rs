//! Derivatives as lines of ONNX text (see [`Derivative`]), and functions for those that depend on attributes or types.

use crate::derivative::{
    Cell,
    Derivative::{self, Text},
    Done, is_float,
};
use crate::operators::shape::gradient::identity;

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

/// Inside the limits, the gradient belongs to the operand; outside, to the limit. An operand equal to a limit gives the limit
/// none.
pub(super) fn clip(cell: &mut Cell<'_>) -> Done {
    if cell.version() < 12 {
        return clip_by_attributes(cell);
    }
    let zero = cell.number(0.0, 0);
    let mut inner = "dy0".to_owned();
    for (i, op) in [(1, "Less"), (2, "Greater")] {
        if !cell.has(i) {
            continue;
        }
        let is_beyond = cell.op(op, &["x0", &format!("x{i}")]);
        let outer = cell.op("Where", &[&is_beyond, "dy0", &zero]);
        let sum = cell.op_with("ReduceSum", "keepdims = 0", &[&outer]);
        cell.give(i, sum);
        inner = cell.op("Where", &[&is_beyond, &zero, &inner]);
    }
    cell.give(0, inner);
    Ok(())
}

fn clip_by_attributes(cell: &mut Cell<'_>) -> Done {
    let zero = cell.number(0.0, 0);
    let mut inner = "dy0".to_owned();
    for (name, op) in [("min", "Less"), ("max", "Greater")] {
        let Some(limit) = cell.site.float(name) else { continue };
        if limit.abs() >= f32::MAX {
            continue;
        }
        let limit = cell.number(limit.into(), 0);
        let is_beyond = cell.op(op, &["x0", &limit]);
        inner = cell.op("Where", &[&is_beyond, &zero, &inner]);
    }
    cell.give(0, inner);
    Ok(())
}

pub(super) fn power(cell: &mut Cell<'_>) -> Done {
    let one = cell.number(1.0, 1);
    let (less, zero) = (cell.op("Sub", &["x1", &one]), cell.number(0.0, 0));
    let below = cell.op("Pow", &["x0", &less]);
    let slope = match cell.elem(1).ok() == cell.elem(0).ok() {
        true => cell.op("Mul", &["x1", &below]),
        false => {
            let exponent = cell.op("CastLike", &["x1", "x0"]);
            cell.op("Mul", &[&exponent, &below])
        }
    };
    let scaled = cell.op("Mul", &["dy0", &slope]);
    let base = cell.unbroadcast(0, &scaled);
    cell.give(0, base);
    if cell.elem(1).is_ok_and(is_float) {
        // The logarithm of numbers that are not positive is replaced by zero, because the power does not grow there.
        let is_positive = cell.op("Greater", &["x0", &zero]);
        let one = cell.number(1.0, 0);
        let positive = cell.op("Where", &[&is_positive, "x0", &one]);
        let log = cell.op("Log", &[&positive]);
        let slope = cell.op("Mul", &["y0", &log]);
        let mut scaled = cell.op("Mul", &["dy0", &slope]);
        if cell.elem(1).ok() != cell.elem(0).ok() {
            scaled = cell.op("CastLike", &[&scaled, "x1"]);
        }
        let exponent = cell.unbroadcast(1, &scaled);
        cell.give(1, exponent);
    }
    Ok(())
}

/// The remainder of a division rounded towards zero (`fmod`) or down.
pub(super) fn remainder(cell: &mut Cell<'_>) -> Done {
    let base = cell.unbroadcast(0, "dy0");
    cell.give(0, base);
    let rest = cell.op("Sub", &["x0", "y0"]);
    let quotient = cell.op("Div", &[&rest, "x1"]);
    let negative = cell.op("Neg", &[&quotient]);
    let scaled = cell.op("Mul", &["dy0", &negative]);
    let divisor = cell.unbroadcast(1, &scaled);
    cell.give(1, divisor);
    Ok(())
}

pub(super) fn sum(cell: &mut Cell<'_>) -> Done {
    for i in 0..cell.arity() {
        let sum = cell.unbroadcast(i, "dy0");
        cell.give(i, sum);
    }
    Ok(())
}

pub(super) fn mean(cell: &mut Cell<'_>) -> Done {
    let count = cell.number(cell.arity() as f64, 0);
    let share = cell.op("Div", &["dy0", &count]);
    for i in 0..cell.arity() {
        let sum = cell.unbroadcast(i, &share);
        cell.give(i, sum);
    }
    Ok(())
}

/// Operands that are equal to the extreme value share the gradient.
pub(super) fn extreme(cell: &mut Cell<'_>) -> Done {
    if cell.arity() == 1 {
        return identity(cell);
    }
    let elem = cell.elem(0)?;
    let mut masks = Vec::new();
    for i in 0..cell.arity() {
        let is_it = cell.op("Equal", &[&format!("x{i}"), "y0"]);
        masks.push(cell.op_with("Cast", &format!("to = {}", elem.0), &[&is_it]));
    }
    let mut count = masks[0].clone();
    for mask in &masks[1..] {
        count = cell.op("Add", &[&count, mask]);
    }
    let share = cell.op("Div", &["dy0", &count]);
    for (i, mask) in masks.iter().enumerate() {
        let part = cell.op("Mul", &[&share, mask]);
        let sum = cell.unbroadcast(i, &part);
        cell.give(i, sum);
    }
    Ok(())
}

pub(super) fn choice(cell: &mut Cell<'_>) -> Done {
    let zero = cell.number(0.0, 1);
    let yes = cell.op("Where", &["x0", "dy0", &zero]);
    let no = cell.op("Where", &["x0", &zero, "dy0"]);
    let (yes, no) = (cell.unbroadcast(1, &yes), cell.unbroadcast(2, &no));
    cell.give(1, yes);
    cell.give(2, no);
    Ok(())
}

/// In inference it is the identity; in training the gradient passes the mask with the same scale.
pub(super) fn dropout(cell: &mut Cell<'_>) -> Done {
    let trains = match (cell.version() >= 12, cell.has(2)) {
        (true, true) => match cell.known(2).as_deref() {
            Some([0]) => false,
            Some(_) | None => true,
        },
        _ => false,
    };
    if !trains {
        return identity(cell);
    }
    if cell.outputs.get(1).is_none_or(Option::is_none) {
        return Err("what it dropped is unknown: let it have its second output, the mask".to_owned());
    }
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let ratio = match cell.has(1) {
        true => cell.op("CastLike", &["x1", "x0"]),
        false => cell.number(0.5, 0),
    };
    let kept = cell.op("Sub", &[&one, &ratio]);
    let scaled = cell.op("Div", &["dy0", &kept]);
    let scaled = match cell.known(2) {
        Some(_) => scaled,
        None => cell.op("Where", &["x2", &scaled, "dy0"]),
    };
    let passed = cell.op("Where", &["y1", &scaled, &zero]);
    cell.give(0, passed);
    Ok(())
}
