//! Elementwise derivatives: activations with attributes, operators of several operands, casts.

use crate::gradient::cell::{Cell, Done};
use onnx_ir::ElemType;

/// Whether a type is differentiable.
pub(crate) fn is_float(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16)
}

fn float(cell: &Cell<'_>, name: &str) -> Result<f64, String> {
    cell.site.float(name).map(f64::from).ok_or_else(|| format!("attribute `{name}` is unknown"))
}

/// The gradient where a condition is true, otherwise multiplied by a factor.
fn choose(cell: &mut Cell<'_>, condition: &str, otherwise: &str) {
    let chosen = cell.op("Where", &[condition, "dy0", otherwise]);
    cell.give(0, chosen);
}

pub(crate) fn leaky_relu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha) = (cell.number(0.0, 0), float(cell, "alpha")?);
    let alpha = cell.number(alpha, 0);
    let is_less = cell.op("Less", &["x0", &zero]);
    let scaled = cell.op("Mul", &["dy0", &alpha]);
    let chosen = cell.op("Where", &[&is_less, &scaled, "dy0"]);
    cell.give(0, chosen);
    Ok(())
}

/// For negative numbers, the result is `alpha * (exp(x) - 1)`, whose slope is the result plus alpha.
pub(crate) fn elu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha) = (cell.number(0.0, 0), float(cell, "alpha")?);
    let alpha = cell.number(alpha, 0);
    let is_greater = cell.op("Greater", &["x0", &zero]);
    let slope = cell.op("Add", &["y0", &alpha]);
    let scaled = cell.op("Mul", &["dy0", &slope]);
    choose(cell, &is_greater, &scaled);
    Ok(())
}

pub(crate) fn selu(cell: &mut Cell<'_>) -> Done {
    let (zero, alpha, gamma) = (cell.number(0.0, 0), float(cell, "alpha")?, float(cell, "gamma")?);
    let (product, gamma) = (cell.number(alpha * gamma, 0), cell.number(gamma, 0));
    let is_greater = cell.op("Greater", &["x0", &zero]);
    let below = cell.op("Add", &["y0", &product]);
    let slope = cell.op("Where", &[&is_greater, &gamma, &below]);
    let scaled = cell.op("Mul", &["dy0", &slope]);
    cell.give(0, scaled);
    Ok(())
}

pub(crate) fn celu(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn hard_sigmoid(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn thresholded_relu(cell: &mut Cell<'_>) -> Done {
    let alpha = float(cell, "alpha")?;
    let (zero, alpha) = (cell.number(0.0, 0), cell.number(alpha, 0));
    let is_greater = cell.op("Greater", &["x0", &alpha]);
    choose(cell, &is_greater, &zero);
    Ok(())
}

pub(crate) fn shrink(cell: &mut Cell<'_>) -> Done {
    let limit = float(cell, "lambd")?;
    let (zero, limit, least) = (cell.number(0.0, 0), cell.number(limit, 0), cell.number(-limit, 0));
    let is_above = cell.op("Greater", &["x0", &limit]);
    let is_below = cell.op("Less", &["x0", &least]);
    let is_outside = cell.op("Or", &[&is_above, &is_below]);
    choose(cell, &is_outside, &zero);
    Ok(())
}

/// Inside the limits, the gradient belongs to the operand; outside, to the limit. An operand equal to a limit gives the limit
/// none.
pub(crate) fn clip(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn identity(cell: &mut Cell<'_>) -> Done {
    cell.give(0, "dy0");
    Ok(())
}

/// The gradient of a cast between floats is cast back.
pub(crate) fn cast(cell: &mut Cell<'_>) -> Done {
    let elem = cell.elem(0)?;
    if !is_float(elem) {
        return Ok(());
    }
    let back = cell.op_with("Cast", &format!("to = {}", elem.0), &["dy0"]);
    cell.give(0, back);
    Ok(())
}

pub(crate) fn power(cell: &mut Cell<'_>) -> Done {
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
pub(crate) fn remainder(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn sum(cell: &mut Cell<'_>) -> Done {
    for i in 0..cell.arity() {
        let sum = cell.unbroadcast(i, "dy0");
        cell.give(i, sum);
    }
    Ok(())
}

pub(crate) fn mean(cell: &mut Cell<'_>) -> Done {
    let count = cell.number(cell.arity() as f64, 0);
    let share = cell.op("Div", &["dy0", &count]);
    for i in 0..cell.arity() {
        let sum = cell.unbroadcast(i, &share);
        cell.give(i, sum);
    }
    Ok(())
}

/// Operands that are equal to the extreme value share the gradient.
pub(crate) fn extreme(cell: &mut Cell<'_>) -> Done {
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

pub(crate) fn choice(cell: &mut Cell<'_>) -> Done {
    let zero = cell.number(0.0, 1);
    let yes = cell.op("Where", &["x0", "dy0", &zero]);
    let no = cell.op("Where", &["x0", &zero, "dy0"]);
    let (yes, no) = (cell.unbroadcast(1, &yes), cell.unbroadcast(2, &no));
    cell.give(1, yes);
    cell.give(2, no);
    Ok(())
}

/// In inference it is the identity; in training the gradient passes the mask with the same scale.
pub(crate) fn dropout(cell: &mut Cell<'_>) -> Done {
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
