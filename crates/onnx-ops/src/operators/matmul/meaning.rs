//! Sums of products: matrix products, Einsum.

use crate::definition::{Combine, Cx, Definition, Expr, Formula, Index};
use crate::operators::quantize::meaning::{Scale, requantize};
use onnx_formula::is_float;
use onnx_formula::wide;
use onnx_ir::ElemType;

/// The positions of elements of two factors.
struct Product {
    a: Vec<Index>,
    b: Vec<Index>,
    /// The number of products per sum.
    depth: usize,
}

impl Product {
    /// Matrices in the last two axes, with broadcast batch axes. A vector is contracted along its only axis.
    fn of_matrices(a: &[usize], b: &[usize], rank: usize) -> Option<Product> {
        let depth = *a.last()?;
        let inner = Index::of(rank);
        // The result has rows unless the first factor is a vector, and columns unless the second one is.
        let columns = usize::from(b.len() > 1);
        let rows = usize::from(a.len() > 1);
        let batches = rank.checked_sub(rows + columns)?;
        let batch = |dims: &[usize]| -> Option<Vec<Index>> {
            let own = dims.len().saturating_sub(2);
            let shift = batches.checked_sub(own)?;
            let index = |(i, d): (usize, &usize)| if *d == 1 { Index::at(0) } else { Index::of(shift + i) };
            Some(dims[..own].iter().enumerate().map(index).collect())
        };
        let (mut left, mut right) = (batch(a)?, batch(b)?);
        if a.len() > 1 {
            left.push(Index::of(batches));
        }
        left.push(inner.clone());
        right.push(inner);
        if b.len() > 1 {
            right.push(Index::of(batches + rows));
        }
        Some(Product { a: left, b: right, depth })
    }
}

pub(super) fn matmul(cx: &Cx<'_>) -> Option<Definition> {
    let out = cx.out()?;
    let product = Product::of_matrices(cx.input(0)?.dims, cx.input(1)?.dims, out.dims.len())?;
    let expr = Expr::Load(0, product.a) * Expr::Load(1, product.b);
    cx.one(cx.formula(expr)?.over(vec![product.depth], Combine::Sum, wide(out.elem)))
}

/// `alpha * a b + beta * c`.
pub(super) fn gemm(cx: &Cx<'_>) -> Option<Definition> {
    let (elem, a) = (cx.out()?.elem, cx.input(0)?.dims);
    let turned = |is: bool, first: usize, second: usize| {
        let (first, second) = if is { (second, first) } else { (first, second) };
        vec![Index::of(first), Index::of(second)]
    };
    let (turns_a, turns_b) = (cx.attributes.is("transA"), cx.attributes.is("transB"));
    let depth = *a.get(usize::from(!turns_a))?;
    let expr = Expr::Load(0, turned(turns_a, 0, 2)) * Expr::Load(1, turned(turns_b, 2, 1));
    let total = wide(elem);
    let formula = cx.formula(expr)?.over(vec![depth], Combine::Sum, total);
    let (alpha, beta) = (cx.attributes.float("alpha")?, cx.attributes.float("beta")?);
    let is_plain = alpha == 1.0 && (beta == 1.0 || beta == 0.0 || !cx.has_input(2));
    // Integers are scaled in floats.
    let common = if is_float(elem) || is_plain { total } else { ElemType::DOUBLE };
    let scaled = |x: Expr, by: f64| if by == 1.0 { x } else { x * Expr::float(by) };
    let mut then = scaled(Expr::Total.into_type(total, common), alpha);
    if cx.has_input(2) && beta != 0.0 {
        then = then + scaled(cx.broadcast(2)?.into_type(elem, common), beta);
    }
    cx.one(if then == Expr::Total { formula } else { formula.then(then.into_type(common, elem)) })
}

/// An element of a quantized matrix minus its zero point: one for all, or one per row of the first or column of the second
/// factor.
fn without_zero(cx: &Cx<'_>, input: usize, at: Vec<Index>, zero: usize, along: usize) -> Option<Expr> {
    let load = Expr::Load(input, at.clone()).cast(ElemType::INT32);
    let Some(zero_point) = cx.input(zero) else { return Some(load) };
    let offset = match zero_point.dims {
        [n] if *n > 1 => Expr::Load(zero, vec![at.get(along)?.clone()]),
        dims if dims.iter().all(|d| *d == 1) => cx.scalar(zero)?,
        dims => {
            let shift = at.len().checked_sub(dims.len())?;
            let index = |(i, d): (usize, &usize)| if *d == 1 { Index::at(0) } else { at[shift + i].clone() };
            Expr::Load(zero, dims.iter().enumerate().map(index).collect())
        }
    };
    Some(load - offset.cast(ElemType::INT32))
}

/// The sum of products of integers minus their zero points.
fn integers(cx: &Cx<'_>, [a, a_zero, b, b_zero]: [usize; 4]) -> Option<Formula> {
    let product = Product::of_matrices(cx.input(a)?.dims, cx.input(b)?.dims, cx.out()?.dims.len())?;
    let row = product.a.len().saturating_sub(2);
    let column = product.b.len().saturating_sub(1);
    let left = without_zero(cx, a, product.a, a_zero, row)?;
    let right = without_zero(cx, b, product.b, b_zero, column)?;
    Some(cx.formula(left * right)?.over(vec![product.depth], Combine::Sum, ElemType::INT32))
}

pub(super) fn matmul_integer(cx: &Cx<'_>) -> Option<Definition> {
    cx.one(integers(cx, [0, 2, 1, 3])?)
}

pub(super) fn qlinear_matmul(cx: &Cx<'_>) -> Option<Definition> {
    let formula = integers(cx, [0, 2, 3, 5])?;
    let rank = cx.out()?.dims.len();
    let (row, column) = (rank.checked_sub(2), rank.checked_sub(1));
    let scale = |input: usize, along: Option<usize>| Scale::of(cx, input, along);
    let scales = [scale(1, row)?, scale(4, column)?, scale(6, row)?];
    let zero = scale(7, row)?;
    cx.one(formula.then(requantize(cx, Expr::Total, scales, zero)?))
}
