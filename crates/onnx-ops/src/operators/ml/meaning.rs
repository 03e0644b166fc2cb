//! Operators of ai.onnx.ml on features: the last axis of the input.

use crate::definition::{Combine, Cx, Definition, Expr, Formula, Index, Number, Unary};
use onnx_ir::ElemType;

/// One number per feature, or the same for all.
fn of_feature(cx: &Cx<'_>, numbers: Vec<f64>) -> Option<Expr> {
    let dims = cx.out()?.dims;
    let last = dims.len().checked_sub(1)?;
    let numbers: Vec<Number> = numbers.into_iter().map(Number::Float).collect();
    let is_sound = numbers.len() == 1 || numbers.len() == dims[last];
    is_sound.then(|| Expr::table(&Index::of(last), &numbers))?
}

pub(super) fn binarizer(cx: &Cx<'_>) -> Option<Definition> {
    let elem = cx.out()?.elem;
    let float = onnx_formula::wide_float(elem);
    let threshold = Expr::float(cx.attributes.float("threshold")?);
    let is_above = cx.broadcast(0)?.into_type(elem, float).greater(threshold);
    cx.element(Expr::number(elem, 1).if_else(is_above, Expr::number(elem, 0)))
}

/// `(x - offset) * scale`.
pub(super) fn scaler(cx: &Cx<'_>) -> Option<Definition> {
    let float = onnx_formula::wide_float(cx.input(0)?.elem);
    let numbers = |name: &str, default: f64| match cx.attributes.floats(name) {
        Some(list) if !list.is_empty() => of_feature(cx, list),
        Some(_) | None => Some(Expr::float(default)),
    };
    let x = cx.broadcast(0)?.into_type(cx.input(0)?.elem, float);
    let scaled = (x - numbers("offset", 0.0)?) * numbers("scale", 1.0)?;
    cx.element(scaled.into_type(float, cx.out()?.elem))
}

/// Replaces a placeholder number.
pub(super) fn imputer(cx: &Cx<'_>) -> Option<Definition> {
    let floats = cx.attributes.floats("imputed_value_floats").filter(|list| !list.is_empty());
    let x = cx.broadcast(0)?;
    if let Some(list) = floats {
        let replaced = cx.attributes.float("replaced_value_float")?;
        let is_replaced = match replaced.is_nan() {
            true => x.clone().unary(Unary::IsNaN),
            false => x.clone().equal(Expr::float(replaced)),
        };
        return cx.element(of_feature(cx, list)?.if_else(is_replaced, x));
    }
    let list = cx.attributes.ints("imputed_value_int64s")?;
    let last = cx.out()?.dims.len().checked_sub(1)?;
    let numbers: Vec<Number> = list.into_iter().map(|n| Number::Int(n.into())).collect();
    if numbers.len() != 1 && numbers.len() != cx.out()?.dims[last] {
        return None;
    }
    let is_replaced = x.clone().equal(Expr::int(cx.attributes.int("replaced_value_int64")?));
    cx.element(Expr::table(&Index::of(last), &numbers)?.if_else(is_replaced, x))
}

/// Divides each row by its maximum, sum of magnitudes, or Euclidean norm; a norm of 0 leaves it unchanged.
pub(super) fn normalizer(cx: &Cx<'_>) -> Option<Definition> {
    let (input, out) = (cx.input(0)?, cx.out()?.elem);
    let rank = input.dims.len();
    let last = rank.checked_sub(1)?;
    let float = ElemType::DOUBLE;
    let x = |at: Vec<Index>| Expr::Load(0, at).into_type(input.elem, float);
    let mut at: Vec<Index> = (0..rank).map(Index::of).collect();
    at[last] = Index::of(rank);
    let (each, combine, then) = match &*cx.attributes.string("norm")? {
        "MAX" => (x(at), Combine::Max, Expr::Total),
        "L1" => (x(at).unary(Unary::Abs), Combine::Sum, Expr::Total),
        "L2" => (x(at.clone()) * x(at), Combine::Sum, Expr::Total.unary(Unary::Sqrt)),
        _ => return None,
    };
    let mut dims = input.dims.to_vec();
    dims[last] = 1;
    let norm = Formula { elem: float, dims, over: None, expr: each, then: None };
    let norm = norm.over(vec![input.dims[last]], combine, float).then(then);
    let mut of_row: Vec<Index> = (0..rank).map(Index::of).collect();
    of_row[last] = Index::at(0);
    let (x, norm_of_row) = (x((0..rank).map(Index::of).collect()), Expr::Load(cx.result(0), of_row));
    let is_nothing = norm_of_row.clone().equal(Expr::float(0.0));
    let quotient = (x.clone() / norm_of_row).if_else(is_nothing.unary(Unary::Not), x);
    cx.define(vec![norm, cx.formula(quotient.into_type(float, out))?], &[1])
}
