//! The parts of formulas: which operands they load, how large they are, and other numbers for operands.

use crate::{Expr, Formula, Index};
use foldhash::HashSet;

/// Up to this many operands, a linear search is faster than a set.
const MAX_LINEAR_SEARCH: usize = 16;

impl Formula {
    /// The extents of all indices: of the result, then of the reduction.
    pub fn extents(&self) -> Vec<usize> {
        let over = self.over.iter().flat_map(|over| &over.dims);
        self.dims.iter().chain(over).copied().collect()
    }

    /// Calls `each` for every part of the expressions, including those in indices; the flag is true for parts of the epilogue.
    pub fn parts<'e>(&'e self, each: &mut dyn FnMut(&'e Expr, bool)) {
        self.expr.walk(&mut |part| each(part, false));
        if let Some(then) = &self.then {
            then.walk(&mut |part| each(part, true));
        }
    }

    /// The operands that are loaded, without repetitions, in order.
    pub fn operands(&self) -> Vec<usize> {
        let (mut found, mut more) = (Vec::new(), HashSet::default());
        self.parts(&mut |part, _| {
            let Expr::Load(operand, _) = part else { return };
            let few = found.len().min(MAX_LINEAR_SEARCH);
            if !found[..few].contains(operand) && (found.len() < MAX_LINEAR_SEARCH || more.insert(*operand)) {
                found.push(*operand);
            }
        });
        found
    }

    /// The number of parts of the expressions.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.parts(&mut |_, _| count += 1);
        count
    }

    /// Renumbers operands; those without a number get `usize::MAX`.
    pub fn renumber(&mut self, number: &dyn Fn(usize) -> Option<usize>) {
        self.expr.renumber(number);
        if let Some(then) = &mut self.then {
            then.renumber(number);
        }
    }

    /// Renumbers operands by their positions in a sorted list of them. Formulas read few of many slots, so tables of all are not made.
    pub fn renumber_by(&mut self, sorted: &[usize]) {
        self.renumber(&|slot| sorted.binary_search(&slot).ok());
    }
}

impl Expr {
    /// Calls `each` for every part, this one first, including those in indices.
    pub fn walk<'e>(&'e self, each: &mut dyn FnMut(&'e Expr)) {
        each(self);
        match self {
            Expr::Load(_, position) => position.iter().for_each(|index| index.walk(each)),
            Expr::Number(_) | Expr::Total => {}
            Expr::Index(index) => index.walk(each),
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => x.walk(each),
            Expr::Binary(_, a, b) => {
                a.walk(each);
                b.walk(each);
            }
            Expr::Select(parts) => parts.iter().for_each(|part| part.walk(each)),
        }
    }

    fn renumber(&mut self, number: &dyn Fn(usize) -> Option<usize>) {
        match self {
            Expr::Load(operand, position) => {
                *operand = number(*operand).unwrap_or(usize::MAX);
                position.iter_mut().for_each(|index| index.renumber(number));
            }
            Expr::Number(_) | Expr::Total => {}
            Expr::Index(index) => index.renumber(number),
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => x.renumber(number),
            Expr::Binary(_, a, b) => {
                a.renumber(number);
                b.renumber(number);
            }
            Expr::Select(parts) => parts.iter_mut().for_each(|part| part.renumber(number)),
        }
    }
}

impl Index {
    fn walk<'e>(&'e self, each: &mut dyn FnMut(&'e Expr)) {
        match self {
            Index::Affine(..) => {}
            Index::Sum(parts) => parts.iter().for_each(|(part, _)| part.walk(each)),
            Index::Div(x, _) | Index::Rem(x, _) => x.walk(each),
            Index::Element(x) => x.walk(each),
        }
    }

    fn renumber(&mut self, number: &dyn Fn(usize) -> Option<usize>) {
        match self {
            Index::Affine(..) => {}
            Index::Sum(parts) => parts.iter_mut().for_each(|(part, _)| part.renumber(number)),
            Index::Div(x, _) | Index::Rem(x, _) => x.renumber(number),
            Index::Element(x) => x.renumber(number),
        }
    }
}
