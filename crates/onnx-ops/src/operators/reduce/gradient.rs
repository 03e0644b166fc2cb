//! Derivatives of reductions and cumulative operators.

use crate::derivative::{Cell, Done};

/// The gradient and the result with reduced axes of size 1.
struct Kept {
    gradient: String,
    result: String,
    /// The axes of the reduction, if they are known.
    axes: Option<Vec<i64>>,
}

/// The gradient and the result as with `keepdims = 1`.
fn kept(cell: &mut Cell<'_>) -> Result<Kept, String> {
    let keeps = cell.site.int("keepdims").unwrap_or(1) != 0;
    let axes = cell.axes_of(1);
    let rank = cell.rank(0).ok();
    let all = |axes: Vec<i64>| match (axes.is_empty(), rank) {
        (false, _) => Some(axes),
        (true, Some(rank)) => Some((0..rank).collect()),
        (true, None) => None,
    };
    let axes = axes.and_then(all);
    if keeps {
        return Ok(Kept { gradient: "dy0".to_owned(), result: "y0".to_owned(), axes });
    }
    if let Some(axes) = axes {
        let gradient = cell.unsqueeze("dy0", &axes);
        let result = cell.unsqueeze("y0", &axes);
        return Ok(Kept { gradient, result, axes: Some(axes) });
    }
    // The shape that the sum would have.
    let operands: &[&str] = if cell.has(1) { &["x0", "x1"] } else { &["x0"] };
    let sum = cell.op_with("ReduceSum", "keepdims = 1", operands);
    let shape = cell.op("Shape", &[&sum]);
    let (gradient, result) = (cell.op("Reshape", &["dy0", &shape]), cell.op("Reshape", &["y0", &shape]));
    Ok(Kept { gradient, result, axes: None })
}

/// A sum over the axes of the node that keeps them.
fn sum_alike(cell: &mut Cell<'_>, of: &str, kept: &Kept) -> String {
    match &kept.axes {
        Some(axes) => cell.sum(of, axes, true),
        None if cell.has(1) => cell.op_with("ReduceSum", "keepdims = 1", &[of, "x1"]),
        None => cell.op_with("ReduceSum", "keepdims = 1", &[of]),
    }
}

/// Whether the node is the identity, as it may be without axes.
fn is_identity(cell: &Cell<'_>) -> bool {
    let no_ops = cell.site.int("noop_with_empty_axes").unwrap_or(0) != 0;
    no_ops && cell.axes_of(1).is_some_and(|axes| axes.is_empty())
}

fn refuse_no_op(cell: &Cell<'_>) -> Done {
    match is_identity(cell) {
        true => Err("it reduces no axes".to_owned()),
        false => Ok(()),
    }
}

/// The gradient in the shape of the operand.
pub(in crate::operators) fn spread(cell: &mut Cell<'_>, gradient: &str) {
    let shape = cell.shape_of(0);
    let spread = cell.op("Expand", &[gradient, &shape]);
    cell.give(0, spread);
}

pub(super) fn sum(cell: &mut Cell<'_>) -> Done {
    if is_identity(cell) {
        cell.give(0, "dy0");
        return Ok(());
    }
    let kept = kept(cell)?;
    spread(cell, &kept.gradient);
    Ok(())
}

pub(super) fn mean(cell: &mut Cell<'_>) -> Done {
    if is_identity(cell) {
        cell.give(0, "dy0");
        return Ok(());
    }
    let kept = kept(cell)?;
    let known = kept.axes.as_ref().and_then(|axes| {
        let (extents, rank) = (cell.extents(0)?, cell.rank(0).ok()?);
        let extent =
            |axis: &i64| extents.get(usize::try_from(if *axis < 0 { axis + rank } else { *axis }).ok()?);
        axes.iter().try_fold(1i64, |all, axis| all.checked_mul(*extent(axis)?))
    });
    let count = match known {
        Some(count) => cell.number(count as f64, 0),
        None => {
            let (whole, rows) = (cell.op("Size", &["x0"]), cell.op("Size", &["y0"]));
            let count = cell.op("Div", &[&whole, &rows]);
            cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&count])
        }
    };
    let share = cell.op("Div", &[&kept.gradient, &count]);
    spread(cell, &share);
    Ok(())
}

/// Elements that are equal to the extreme value share the gradient.
pub(super) fn extreme(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    extreme_of(cell, &kept)
}

/// The maximum over all axes from `first` on, which are kept.
pub(in crate::operators) fn extreme_from(cell: &mut Cell<'_>, first: i64) -> Done {
    let axes: Vec<i64> = (first..cell.rank(0)?).collect();
    extreme_of(cell, &Kept { gradient: "dy0".to_owned(), result: "y0".to_owned(), axes: Some(axes) })
}

fn extreme_of(cell: &mut Cell<'_>, kept: &Kept) -> Done {
    let is_it = cell.op("Equal", &["x0", &kept.result]);
    let mask = cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&is_it]);
    let count = sum_alike(cell, &mask, kept);
    let share = cell.op("Div", &[&kept.gradient, &count]);
    let part = cell.op("Mul", &[&mask, &share]);
    cell.give(0, part);
    Ok(())
}

/// The product of the other elements: without zeros it is the product divided by the element; with one zero, only that element
/// has a nonzero gradient.
pub(super) fn product(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let (zero, one, elem) = (cell.number(0.0, 0), cell.number(1.0, 0), cell.elem(0)?);
    let is_zero = cell.op("Equal", &["x0", &zero]);
    let mask = cell.op_with("Cast", &format!("to = {}", elem.0), &[&is_zero]);
    let zeros = sum_alike(cell, &mask, &kept);
    let others = cell.op("Where", &[&is_zero, &one, "x0"]);
    let product = match &kept.axes {
        Some(axes) => cell.reduce("ReduceProd", &others, axes, true),
        None if cell.has(1) => cell.op_with("ReduceProd", "keepdims = 1", &[&others, "x1"]),
        None => cell.op_with("ReduceProd", "keepdims = 1", &[&others]),
    };
    let has_none = cell.op("Equal", &[&zeros, &zero]);
    let has_one = cell.op("Equal", &[&zeros, &one]);
    let quotient = cell.op("Div", &[&product, &others]);
    let of_zero = cell.op("And", &[&is_zero, &has_one]);
    let alone = cell.op("Where", &[&of_zero, &product, &zero]);
    let slope = cell.op("Where", &[&has_none, &quotient, &alone]);
    let part = cell.op("Mul", &[&kept.gradient, &slope]);
    cell.give(0, part);
    Ok(())
}

pub(super) fn l1(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let sign = cell.op("Sign", &["x0"]);
    let part = cell.op("Mul", &[&kept.gradient, &sign]);
    cell.give(0, part);
    Ok(())
}

/// The slope at zero is defined as zero.
pub(super) fn l2(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let is_zero = cell.op("Equal", &[&kept.result, &zero]);
    let length = cell.op("Where", &[&is_zero, &one, &kept.result]);
    let share = cell.op("Div", &[&kept.gradient, &length]);
    let part = cell.op("Mul", &[&share, "x0"]);
    cell.give(0, part);
    Ok(())
}

pub(super) fn sum_square(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let two = cell.number(2.0, 0);
    let double = cell.op("Mul", &["x0", &two]);
    let part = cell.op("Mul", &[&kept.gradient, &double]);
    cell.give(0, part);
    Ok(())
}

pub(super) fn log_sum(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let sum = cell.op("Exp", &[&kept.result]);
    let share = cell.op("Div", &[&kept.gradient, &sum]);
    spread(cell, &share);
    Ok(())
}

pub(super) fn log_sum_exp(cell: &mut Cell<'_>) -> Done {
    refuse_no_op(cell)?;
    let kept = kept(cell)?;
    let less = cell.op("Sub", &["x0", &kept.result]);
    let part = cell.op("Exp", &[&less]);
    let part = cell.op("Mul", &[&kept.gradient, &part]);
    cell.give(0, part);
    Ok(())
}

/// A cumulative sum; its gradient is the sum in the other direction.
pub(super) fn cumulative_sum(cell: &mut Cell<'_>) -> Done {
    let exclusive = cell.site.int("exclusive").unwrap_or(0);
    let reverse = 1 - cell.site.int("reverse").unwrap_or(0);
    let attrs = format!("exclusive = {exclusive}, reverse = {reverse}");
    let sum = cell.op_with("CumSum", &attrs, &["dy0", "x1"]);
    cell.give(0, sum);
    Ok(())
}

/// An element is a factor of all later products: the sum of their gradients, times the products of the other factors. With zeros among the
/// factors, a product has a nonzero derivative only by its sole zero, or by other factors if it has none.
pub(super) fn cumulative_product(cell: &mut Cell<'_>) -> Done {
    let exclusive = cell.site.int("exclusive").unwrap_or(0);
    let reverse = cell.site.int("reverse").unwrap_or(0);
    let along = format!("exclusive = {exclusive}, reverse = {reverse}");
    let back = format!("exclusive = {exclusive}, reverse = {}", 1 - reverse);
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let is_zero = cell.op("Equal", &["x0", &zero]);
    let others = cell.op("Where", &[&is_zero, &one, "x0"]);
    let products = cell.op_with("CumProd", &along, &[&others, "x1"]);
    let scaled = cell.op("Mul", &["dy0", &products]);
    let mask = cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&is_zero]);
    let zeros = cell.op_with("CumSum", &along, &[&mask, "x1"]);
    let sum_where = |cell: &mut Cell<'_>, count: &str| {
        let has_so_many = cell.op("Equal", &[&zeros, count]);
        let part = cell.op("Where", &[&has_so_many, &scaled, &zero]);
        cell.op_with("CumSum", &back, &[&part, "x1"])
    };
    let (without, with_one) = (sum_where(cell, &zero), sum_where(cell, &one));
    let quotient = cell.op("Div", &[&without, &others]);
    let gradient = cell.op("Where", &[&is_zero, &with_one, &quotient]);
    cell.give(0, gradient);
    Ok(())
}
