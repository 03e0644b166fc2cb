//! `Einsum` as sums of products.

use super::infer::{Equation, Term};
use crate::definition::{Binary, Combine, Cx, Definition, Expr, Index};
use onnx_formula::wide;

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
