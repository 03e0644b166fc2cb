//! The register class of accumulators.

use crate::lanes::Class;
use onnx_formula::{Combine, Expr};
use onnx_ir::ElemType;

/// Whether an expression only converts accumulators to single floats.
pub(crate) fn are_totals_floats(expr: &Expr) -> bool {
    match expr {
        Expr::Total => false,
        Expr::Cast(cast, x) if **x == Expr::Total => cast.to == ElemType::FLOAT,
        Expr::Cast(_, x) | Expr::Unary(_, x) | Expr::Bits(_, _, x) => are_totals_floats(x),
        Expr::Binary(_, a, b) => are_totals_floats(a) && are_totals_floats(b),
        Expr::Select(parts) => parts.iter().all(are_totals_floats),
        // Positions do not depend on accumulators.
        Expr::Load(..) | Expr::Number(_) | Expr::Index(_) => true,
    }
}

/// The class of the accumulator of a reduction.
pub(crate) fn total_class(combine: Combine, class: Class) -> Class {
    match combine {
        Combine::ArgMax(_) | Combine::ArgMin(_) => Class::Int,
        Combine::Max | Combine::Min => class,
        Combine::Sum | Combine::Product if class == Class::Int => Class::Int,
        // Single floats are summed in doubles.
        Combine::Sum | Combine::Product => Class::Double,
    }
}
