//! Formulas, element by element.

use super::number::{Binary, Number};
use super::tensor::Dense;
use super::{Combine, Expr, Formula, Index};

impl Formula {
    /// The result for these inputs; `None` if it is not defined, or takes more than so many steps.
    pub(crate) fn evaluate(&self, inputs: &[Option<&Dense>], most: usize) -> Option<Dense> {
        let none = (Vec::new(), Combine::Sum);
        let (over, combine) = self.over.as_ref().unwrap_or(&none);
        let count = |dims: &[usize]| dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        let (total, each) = (count(&self.dims)?, count(over)?);
        total.checked_mul(each.max(1)).filter(|n| *n <= most)?;
        let mut at = vec![0; self.dims.len() + over.len()];
        let mut numbers = Vec::with_capacity(total);
        for _ in 0..total {
            at[self.dims.len()..].fill(0);
            let mut result: Option<Number> = None;
            for _ in 0..each {
                let number = self.expr.at(&at, inputs)?;
                result = Some(match result {
                    None => number,
                    Some(before) => combine.apply(before, number)?.wrap(self.elem),
                });
                advance(&mut at[self.dims.len()..], over);
            }
            let neutral = || match combine {
                Combine::Sum => Some(Number::Int(0)),
                Combine::Product => Some(Number::Int(1)),
                Combine::Max | Combine::Min => None,
            };
            numbers.push(result.or_else(neutral)?.wrap(self.elem));
            advance(&mut at[..self.dims.len()], &self.dims);
        }
        Some(Dense { elem: self.elem, dims: self.dims.clone(), numbers })
    }
}

/// The next position in row-major order.
fn advance(at: &mut [usize], dims: &[usize]) {
    for (i, d) in at.iter_mut().zip(dims).rev() {
        *i += 1;
        if *i < *d {
            return;
        }
        *i = 0;
    }
}

impl Combine {
    fn apply(self, a: Number, b: Number) -> Option<Number> {
        match self {
            Combine::Sum => Binary::Add.apply(a, b),
            Combine::Product => Binary::Mul.apply(a, b),
            Combine::Max => Binary::Max.apply(a, b),
            Combine::Min => Binary::Min.apply(a, b),
        }
    }
}

impl Expr {
    fn at(&self, at: &[usize], inputs: &[Option<&Dense>]) -> Option<Number> {
        match self {
            Expr::Load(input, position) => {
                let from = (*inputs.get(*input)?)?;
                let mut offset = 0;
                for (index, d) in position.iter().zip(&from.dims) {
                    let i = usize::try_from(index.resolve(at, inputs)?).ok().filter(|i| i < d)?;
                    offset = offset * d + i;
                }
                from.numbers.get(offset).copied()
            }
            Expr::Number(number) => Some(*number),
            Expr::Index(index) => Some(Number::Int(index.resolve(at, inputs)?.into())),
            Expr::Unary(op, x) => op.apply(x.at(at, inputs)?),
            Expr::Binary(op, a, b) => op.apply(a.at(at, inputs)?, b.at(at, inputs)?),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let is_true = condition.at(at, inputs)? != Number::Int(0);
                if is_true { yes.at(at, inputs) } else { no.at(at, inputs) }
            }
            Expr::Cast(to, x) => x.at(at, inputs)?.cast(*to),
        }
    }
}

impl Index {
    fn resolve(&self, at: &[usize], inputs: &[Option<&Dense>]) -> Option<i64> {
        match self {
            Index::Affine(offset, terms) => terms.iter().try_fold(*offset, |sum, (index, by)| {
                let index = i64::try_from(*at.get(*index)?).ok()?;
                sum.checked_add(index.checked_mul(*by)?)
            }),
            Index::Div(index, by) => index.resolve(at, inputs)?.checked_div_euclid(*by),
            Index::Rem(index, by) => index.resolve(at, inputs)?.checked_rem_euclid(*by),
            Index::Element(expr) => match expr.at(at, inputs)? {
                Number::Int(n) => i64::try_from(n).ok(),
                Number::Float(_) => None,
            },
        }
    }
}
