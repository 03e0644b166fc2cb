//! The derivative of cumulative products.

use crate::gradient::cell::{Cell, Done};

/// An element is a factor of all later products: the sum of their gradients, times the products of the other factors. With zeros among the
/// factors, a product has a nonzero derivative only by its sole zero, or by other factors if it has none.
pub(crate) fn product(cell: &mut Cell<'_>) -> Done {
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
