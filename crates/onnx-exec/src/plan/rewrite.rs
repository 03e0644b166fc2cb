//! Substitution of indices and loads in formulas.

use super::index::{Atom, Position};
use crate::loops::settled;
use foldhash::HashSet;
use onnx_formula::{Binary, Expr, Formula, Index, Mode, Number};
use onnx_ir::ElemType;

/// A substitution.
pub(super) struct Rewrite<'r> {
    /// The replacement of each index.
    pub(super) indices: &'r [Position],
    /// The extents of the new indices.
    pub(super) extents: &'r [usize],
    /// The replacement of the accumulator; `None` keeps it.
    pub(super) total: Option<&'r Expr>,
    /// The replacement of a load, for an already rewritten position; returns `None` to give up.
    pub(super) load: &'r dyn Fn(usize, Vec<Position>) -> Option<Expr>,
}

/// A load expression.
pub(super) fn load(operand: usize, position: Vec<Position>) -> Expr {
    Expr::Load(operand, position.into_iter().map(Position::into_index).collect())
}

impl Rewrite<'_> {
    /// Rewrites the expressions of `from` into `to`, which provides the extents.
    pub(super) fn formula(&self, from: &Formula, to: Formula) -> Option<Formula> {
        let then = match &from.then {
            Some(then) => Some(self.expr(then)?),
            None => None,
        };
        Some(Formula { expr: self.expr(&from.expr)?, then, ..to })
    }

    pub(super) fn expr(&self, expr: &Expr) -> Option<Expr> {
        let boxed = |x: &Expr| self.expr(x).map(Box::new);
        Some(match expr {
            Expr::Load(operand, position) => {
                let position = position.iter().map(|index| self.index(index)).collect::<Option<_>>()?;
                (self.load)(*operand, position)?
            }
            Expr::Number(_) => expr.clone(),
            Expr::Index(index) => Expr::Index(self.index(index)?.into_index()),
            Expr::Total => self.total.unwrap_or(expr).clone(),
            Expr::Unary(op, x) => Expr::Unary(*op, boxed(x)?),
            Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a)?, boxed(b)?),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let condition = self.expr(condition)?;
                match holds(&condition, self.extents) {
                    Some(true) => self.expr(yes)?,
                    Some(false) => self.expr(no)?,
                    None => padded(condition, self.expr(yes)?, self.expr(no)?),
                }
            }
            Expr::Cast(cast, x) => Expr::Cast(*cast, boxed(x)?),
            Expr::Bits(from, to, x) => Expr::Bits(*from, *to, boxed(x)?),
        })
    }

    pub(super) fn index(&self, index: &Index) -> Option<Position> {
        match index {
            Index::Affine(offset, terms) => {
                terms.iter().try_fold(Position::number(*offset), |sum, (index, by)| {
                    sum.plus(self.indices.get(*index)?, *by)
                })
            }
            Index::Sum(parts) => parts
                .iter()
                .try_fold(Position::default(), |sum, (part, by)| sum.plus(&self.index(part)?, *by)),
            Index::Div(x, by) if *by > 0 => self.index(x)?.divided(*by, self.extents),
            Index::Rem(x, by) if *by > 0 => self.index(x)?.remainder(*by, self.extents),
            Index::Div(..) | Index::Rem(..) => None,
            Index::Element(x) => match self.expr(x)? {
                Expr::Index(index) => Position::of(&index),
                x => match closed(&x) {
                    Some(number) => Some(Position::number(number)),
                    None => Some(Position { offset: 0, terms: vec![(Atom::Element(Box::new(x)), 1)] }),
                },
            },
        }
    }
}

/// The integer value of an expression of numbers.
fn closed(expr: &Expr) -> Option<i64> {
    let mut is_closed = true;
    walk(expr, &mut |part| is_closed &= !matches!(part, Expr::Load(..) | Expr::Index(_) | Expr::Total));
    let formula =
        || Formula { elem: ElemType::INT64, dims: Vec::new(), over: None, expr: expr.clone(), then: None };
    let dense = is_closed.then(|| formula().evaluate(&[], Mode::Reference, usize::MAX))??;
    match dense.numbers[..] {
        [Number::Int(n)] => i64::try_from(n).ok(),
        _ => None,
    }
}

/// Whether a comparison of a position with a number is always true or always false.
fn holds(condition: &Expr, extents: &[usize]) -> Option<bool> {
    let Expr::Binary(op, a, b) = condition else { return None };
    let (Expr::Index(index), Expr::Number(Number::Int(n))) = (&**a, &**b) else { return None };
    settled(*op, *n, Position::of(index)?.range(extents)?)
}

/// Whether an expression loads anything.
fn loads(expr: &Expr) -> bool {
    let mut is = false;
    walk(expr, &mut |part| is |= matches!(part, Expr::Load(..)));
    is
}

/// A select; nested paddings with the same number are merged.
fn padded(condition: Expr, yes: Expr, no: Expr) -> Expr {
    match yes {
        // A condition that loads must be evaluated only where the outer condition holds.
        Expr::Select(inner) if matches!(no, Expr::Number(_)) && inner[2] == no && !loads(&inner[0]) => {
            let [also, yes, no] = *inner;
            Expr::Select(Box::new([condition.binary(Binary::And, also), yes, no]))
        }
        yes => Expr::Select(Box::new([condition, yes, no])),
    }
}

impl Position {
    /// The position of an index.
    pub(super) fn of(index: &Index) -> Option<Position> {
        match index {
            Index::Affine(offset, terms) => {
                terms.iter().try_fold(Position::number(*offset), |sum, (index, by)| {
                    sum.plus(&Position::index(*index), *by)
                })
            }
            Index::Sum(parts) => parts
                .iter()
                .try_fold(Position::default(), |sum, (part, by)| sum.plus(&Position::of(part)?, *by)),
            Index::Div(x, by) => Some(Position {
                offset: 0,
                terms: vec![(Atom::Quotient(Box::new(Position::of(x)?), *by), 1)],
            }),
            Index::Rem(x, by) => Some(Position {
                offset: 0,
                terms: vec![(Atom::Remainder(Box::new(Position::of(x)?), *by), 1)],
            }),
            Index::Element(x) => Some(Position { offset: 0, terms: vec![(Atom::Element(x.clone()), 1)] }),
        }
    }
}

/// Extents of all indices of a formula: of the result, then of the reduction.
pub(super) fn extents(formula: &Formula) -> Vec<usize> {
    let over = formula.over.iter().flat_map(|over| &over.dims);
    formula.dims.iter().chain(over).copied().collect()
}

/// Calls `each` for every part of the expressions of a formula, including those in indices; the flag is true for parts of the
/// epilogue.
pub(super) fn parts<'e>(formula: &'e Formula, each: &mut dyn FnMut(&'e Expr, bool)) {
    walk(&formula.expr, &mut |part| each(part, false));
    if let Some(then) = &formula.then {
        walk(then, &mut |part| each(part, true));
    }
}

/// Calls `each` for every part of an expression.
pub(super) fn walk<'e>(expr: &'e Expr, each: &mut dyn FnMut(&'e Expr)) {
    each(expr);
    match expr {
        Expr::Load(_, position) => position.iter().for_each(|index| walk_index(index, each)),
        Expr::Number(_) | Expr::Total => {}
        Expr::Index(index) => walk_index(index, each),
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => walk(x, each),
        Expr::Binary(_, a, b) => {
            walk(a, each);
            walk(b, each);
        }
        Expr::Select(parts) => parts.iter().for_each(|part| walk(part, each)),
    }
}

fn walk_index<'e>(index: &'e Index, each: &mut dyn FnMut(&'e Expr)) {
    match index {
        Index::Affine(..) => {}
        Index::Sum(parts) => parts.iter().for_each(|(part, _)| walk_index(part, each)),
        Index::Div(x, _) | Index::Rem(x, _) => walk_index(x, each),
        Index::Element(x) => walk(x, each),
    }
}

/// The operands that a formula loads, without repetitions, in order.
pub(super) fn operands(formula: &Formula) -> Vec<usize> {
    let (mut found, mut more) = (Vec::new(), HashSet::default());
    parts(formula, &mut |part, _| {
        let Expr::Load(operand, _) = part else { return };
        let few = found.len().min(MAX_LINEAR_SEARCH);
        if !found[..few].contains(operand) && (found.len() < MAX_LINEAR_SEARCH || more.insert(*operand)) {
            found.push(*operand);
        }
    });
    found
}

/// Up to this many operands, a linear search is faster than a set.
const MAX_LINEAR_SEARCH: usize = 16;

/// The number of parts in the expressions of a formula.
pub(super) fn size(formula: &Formula) -> usize {
    let mut count = 0;
    parts(formula, &mut |_, _| count += 1);
    count
}

/// Renumbers operands; those without a number get `usize::MAX`.
pub(crate) fn renumber(formula: &mut Formula, number: &dyn Fn(usize) -> Option<usize>) {
    expr_numbers(&mut formula.expr, number);
    if let Some(then) = &mut formula.then {
        expr_numbers(then, number);
    }
}

/// Renumbers operands by their positions in a sorted list of them. Formulas read few of many slots, so tables of all are not made.
pub(super) fn renumber_by(formula: &mut Formula, sorted: &[usize]) {
    renumber(formula, &|slot| sorted.binary_search(&slot).ok());
}

fn expr_numbers(expr: &mut Expr, number: &dyn Fn(usize) -> Option<usize>) {
    match expr {
        Expr::Load(operand, position) => {
            *operand = number(*operand).unwrap_or(usize::MAX);
            position.iter_mut().for_each(|index| index_numbers(index, number));
        }
        Expr::Number(_) | Expr::Total => {}
        Expr::Index(index) => index_numbers(index, number),
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => expr_numbers(x, number),
        Expr::Binary(_, a, b) => {
            expr_numbers(a, number);
            expr_numbers(b, number);
        }
        Expr::Select(parts) => parts.iter_mut().for_each(|part| expr_numbers(part, number)),
    }
}

fn index_numbers(index: &mut Index, number: &dyn Fn(usize) -> Option<usize>) {
    match index {
        Index::Affine(..) => {}
        Index::Sum(parts) => parts.iter_mut().for_each(|(part, _)| index_numbers(part, number)),
        Index::Div(x, _) | Index::Rem(x, _) => index_numbers(x, number),
        Index::Element(x) => expr_numbers(x, number),
    }
}
