//! Formulas whose results are equal bit for bit in every implementation.

use crate::{Combine, Definition, Exactness, Expr, Formula, Index, Number, is_float};
use onnx_ir::ElemType;

impl Definition {
    /// Whether every runtime must yield the same bits, except for the edge cases that [`Mode::Portable`](crate::Mode) refuses.
    /// `inputs` are the element types.
    pub fn is_exact(&self, inputs: &[Option<ElemType>]) -> bool {
        let mut loads = inputs.to_vec();
        loads.resize(self.inputs, None);
        self.formulas.iter().all(|formula| {
            let is_exact = formula.is_exact(&loads);
            loads.push(Some(formula.elem));
            is_exact
        })
    }
}

impl Formula {
    /// Whether only integer operations occur, or float operations with at most one rounding, and no sum whose order matters.
    pub fn is_exact(&self, loads: &[Option<ElemType>]) -> bool {
        let is_ordered = self.over.as_ref().is_some_and(|over| {
            matches!(over.combine, Combine::Sum | Combine::Product) && is_float(over.elem)
        });
        let total = self.over.as_ref().map(|over| over.elem);
        let parts = [Some(&self.expr), self.then.as_ref()];
        let roundings: Option<usize> = parts.into_iter().flatten().map(|e| e.roundings(loads, total)).sum();
        !is_ordered && roundings.is_some_and(|n| n <= 1)
    }
}

impl Expr {
    /// The element type, for these types of operands and accumulator; `None` for numbers, which adopt the type of the other
    /// operand.
    pub fn elem(&self, loads: &[Option<ElemType>], total: Option<ElemType>) -> Option<ElemType> {
        match self {
            Expr::Load(input, _) => *loads.get(*input)?,
            Expr::Number(_) => None,
            Expr::Index(_) => Some(ElemType::INT64),
            Expr::Total => total,
            Expr::Unary(op, _) if op.is_test() => Some(ElemType::BOOL),
            Expr::Unary(_, x) => x.elem(loads, total),
            Expr::Binary(op, ..) if op.is_test() => Some(ElemType::BOOL),
            Expr::Binary(_, a, b) => a.elem(loads, total).or_else(|| b.elem(loads, total)),
            Expr::Select(parts) => parts[1].elem(loads, total).or_else(|| parts[2].elem(loads, total)),
            Expr::Cast(cast, _) => Some(cast.to),
            Expr::Bits(_, to, _) => Some(*to),
        }
    }

    /// The number of roundings of floats; `None` if implementations may differ.
    fn roundings(&self, loads: &[Option<ElemType>], total: Option<ElemType>) -> Option<usize> {
        let of = |e: &Expr| e.roundings(loads, total);
        let elem = |e: &Expr| e.elem(loads, total);
        match self {
            Expr::Load(_, position) => {
                position.iter().try_fold(0, |n, index| Some(n + index.roundings(loads, total)?))
            }
            Expr::Number(_) | Expr::Total => Some(0),
            Expr::Index(index) => index.roundings(loads, total),
            Expr::Unary(op, x) => Some(of(x)? + op.exactness().roundings(elem(x).is_none_or(is_float))?),
            Expr::Binary(op, a, b) => {
                let elem = elem(a).or_else(|| elem(b));
                // Implementations may round a number to the type first.
                let has_number = |e: &Expr| match (e, elem) {
                    (Expr::Number(Number::Float(x)), Some(elem)) => {
                        Number::Float(*x).wrap(elem) == Number::Float(*x) || x.is_nan()
                    }
                    _ => true,
                };
                if !has_number(a) || !has_number(b) {
                    return None;
                }
                Some(of(a)? + of(b)? + op.exactness().roundings(elem.is_none_or(is_float))?)
            }
            Expr::Select(parts) => parts.iter().try_fold(0, |n, part| Some(n + of(part)?)),
            // Runtimes differ in zeros of floats below 16 bits.
            Expr::Cast(cast, x) if !is_common(cast.to) || !elem(x).is_none_or(is_common) => None,
            Expr::Cast(cast, x) => Some(of(x)? + usize::from(is_float(cast.to))),
            Expr::Bits(.., x) => of(x),
        }
    }
}

/// Whether it is an integer, a boolean, or a float type with hardware support.
fn is_common(elem: ElemType) -> bool {
    let is_machine =
        [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16].contains(&elem);
    is_machine || !is_float(elem)
}

impl Index {
    fn roundings(&self, loads: &[Option<ElemType>], total: Option<ElemType>) -> Option<usize> {
        match self {
            Index::Affine(..) => Some(0),
            Index::Sum(parts) => {
                parts.iter().try_fold(0, |n, (part, _)| Some(n + part.roundings(loads, total)?))
            }
            Index::Div(index, _) | Index::Rem(index, _) => index.roundings(loads, total),
            Index::Element(expr) => expr.roundings(loads, total),
        }
    }
}

impl Exactness {
    /// The number of roundings; `None` if implementations may differ.
    fn roundings(self, is_float: bool) -> Option<usize> {
        match self {
            Exactness::Exact => Some(0),
            Exactness::Rounded => Some(usize::from(is_float)),
            Exactness::ExactForIntegers => (!is_float).then_some(0),
            Exactness::Approximate => None,
        }
    }
}
