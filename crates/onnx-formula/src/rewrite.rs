//! Substitution of indices and loads in formulas.

use crate::position::{Atom, Position};
use crate::{Binary, Expr, Formula, Index, Mode, Number};
use onnx_ir::ElemType;

/// A substitution.
pub struct Rewrite<'r> {
    /// The replacement of each index.
    pub indices: &'r [Position],
    /// The extents of the new indices.
    pub extents: &'r [usize],
    /// The replacement of the accumulator; `None` keeps it.
    pub total: Option<&'r Expr>,
    /// The replacement of a load, for an already rewritten position; returns `None` to give up.
    pub load: &'r dyn Fn(usize, Vec<Position>) -> Option<Expr>,
}

impl Expr {
    /// A load at a position.
    pub fn load(operand: usize, position: Vec<Position>) -> Expr {
        Expr::Load(operand, position.into_iter().map(Position::into_index).collect())
    }
}

impl Rewrite<'_> {
    /// Rewrites the expressions of `from` into `to`, which provides the extents.
    pub fn formula(&self, from: &Formula, to: Formula) -> Option<Formula> {
        let then = match &from.then {
            Some(then) => Some(self.expr(then)?),
            None => None,
        };
        Some(Formula { expr: self.expr(&from.expr)?, then, ..to })
    }

    /// Rewrites an expression; `None` if a load or a position has no replacement.
    pub fn expr(&self, expr: &Expr) -> Option<Expr> {
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

    /// Rewrites a position.
    pub fn index(&self, index: &Index) -> Option<Position> {
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
    expr.walk(&mut |part| is_closed &= !matches!(part, Expr::Load(..) | Expr::Index(_) | Expr::Total));
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
    op.settled(*n, Position::of(index)?.range(extents)?)
}

/// Whether an expression loads anything.
fn loads(expr: &Expr) -> bool {
    let mut is = false;
    expr.walk(&mut |part| is |= matches!(part, Expr::Load(..)));
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
