//! Sums of products: matrix products, Einsum.

use super::super::build::wide;
use super::super::number::is_float;
use super::super::{Binary, Combine, Cx, Definition, Expr, Formula, Index};
use super::quantize::{Scale, requantize};
use crate::rules::einsum::{Equation, Term};
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

/// The axes of an equation with their indices: those of the result first.
struct Labels {
    letters: Vec<(char, usize)>,
    /// The first index and the number of the axes of the ellipsis.
    ellipsis: (usize, usize),
    over: Vec<usize>,
}

impl Labels {
    fn of(cx: &Cx<'_>, equation: &Equation) -> Option<Labels> {
        let rank = cx.out()?.dims.len();
        let more =
            |(input, term): (usize, &Term)| cx.input(input)?.dims.len().checked_sub(term.letters.len());
        let more: Option<Vec<usize>> = equation.inputs.iter().enumerate().map(more).collect();
        let more = more?.into_iter().max()?;
        let mut labels = Labels { letters: Vec::new(), ellipsis: (0, more), over: Vec::new() };
        let output = &equation.output;
        let shift = |i: usize| if output.ellipsis.is_some_and(|at| i >= at) { i + more } else { i };
        labels.letters = output.letters.iter().enumerate().map(|(i, l)| (*l, shift(i))).collect();
        match output.ellipsis {
            Some(at) => labels.ellipsis.0 = at,
            None => {
                labels.ellipsis.0 = rank;
                labels.over = vec![1; more];
            }
        }
        for (input, term) in equation.inputs.iter().enumerate() {
            labels.add(rank, term, cx.input(input)?.dims)?;
        }
        Some(labels)
    }

    /// Records reduction axes.
    fn add(&mut self, rank: usize, term: &Term, dims: &[usize]) -> Option<()> {
        let more = dims.len() - term.letters.len();
        let at = term.ellipsis.unwrap_or(0);
        for i in 0..more {
            self.note(rank, self.ellipsis.0 + (self.ellipsis.1 - more) + i, *dims.get(at + i)?);
        }
        for (i, letter) in term.letters.iter().enumerate() {
            let d = *dims.get(if i < at { i } else { i + more })?;
            match self.letters.iter().find(|(l, _)| l == letter).copied() {
                Some((_, index)) => self.note(rank, index, d),
                None => {
                    self.letters.push((*letter, rank + self.over.len()));
                    self.over.push(d);
                }
            }
        }
        Some(())
    }

    /// Records the size of a reduction axis; 1 is broadcast.
    fn note(&mut self, rank: usize, index: usize, d: usize) {
        if let Some(extent) = index.checked_sub(rank).and_then(|at| self.over.get_mut(at))
            && d != 1
        {
            *extent = d;
        }
    }

    /// The element of an input.
    fn load(&self, input: usize, term: &Term, dims: &[usize]) -> Option<Expr> {
        let more = dims.len() - term.letters.len();
        let at = term.ellipsis.unwrap_or(0);
        let mut load = Vec::with_capacity(dims.len());
        for (i, d) in dims.iter().enumerate() {
            let index = if (at..at + more).contains(&i) {
                self.ellipsis.0 + (self.ellipsis.1 - more) + (i - at)
            } else {
                let letter = term.letters.get(if i < at { i } else { i - more })?;
                self.letters.iter().find(|(l, _)| l == letter)?.1
            };
            load.push(if *d == 1 { Index::at(0) } else { Index::of(index) });
        }
        Some(Expr::Load(input, load))
    }
}

pub(super) fn einsum(cx: &Cx<'_>) -> Option<Definition> {
    let equation = Equation::parse(&cx.attributes.string("equation")?).ok()?;
    if equation.inputs.len() != cx.inputs.len() {
        return None;
    }
    let labels = Labels::of(cx, &equation)?;
    let term = |(i, term): (usize, &Term)| labels.load(i, term, cx.input(i)?.dims);
    let factors: Option<Vec<Expr>> = equation.inputs.iter().enumerate().map(term).collect();
    let formula = cx.formula(Expr::fold(factors?, Binary::Mul)?)?;
    if labels.over.is_empty() {
        return cx.one(formula);
    }
    cx.one(formula.over(labels.over, Combine::Sum, wide(cx.out()?.elem)))
}
