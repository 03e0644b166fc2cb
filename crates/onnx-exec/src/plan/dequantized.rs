//! Products of dequantized bytes as integer products.
//!
//! The scales do not depend on the reduction axes, so they are applied after the sum, which is then exact:
//!
//! ```text
//! sum over k of (float(a[i, k]) - float(x)) * s * ((float(b[k, j]) - float(z)) * t[j])
//!
//! float(int32 sum over k of (int32(a[i, k]) - int32(x)) * (int32(b[k, j]) - int32(z))) * (s * t[j])
//! ```
//! Dequantization has no kernel of its own: consumers of its result read the bytes.

use super::Slot;
use crate::loops::MAX_EXACT_PRODUCTS;
use onnx_formula::{Binary, Combine, Expr, Formula, Index, Number, Position, Rewrite};
use onnx_ir::ElemType;

/// Whether a formula only dequantizes bytes that it loads.
pub(super) fn is_dequantized(formula: &Formula, slots: &[Slot]) -> bool {
    let is_plain = formula.over.is_none() && formula.elem == ElemType::FLOAT;
    is_plain
        && Dequantized::recognize(&formula.expr, slots).is_some_and(|it| matches!(it.byte, Expr::Load(..)))
}

/// `(float(byte) - float(zero)) * scale`
struct Dequantized<'e> {
    byte: &'e Expr,
    zero: Option<&'e Expr>,
    scale: Option<&'e Expr>,
}

impl<'e> Dequantized<'e> {
    fn recognize(expr: &'e Expr, slots: &[Slot]) -> Option<Self> {
        let (expr, scale) = match expr {
            Expr::Binary(Binary::Mul, x, scale) => (&**x, Some(&**scale)),
            _ => (expr, None),
        };
        let (byte, zero) = match expr {
            Expr::Binary(Binary::Sub, byte, zero) => (byte_of(byte, slots)?, Some(byte_of(zero, slots)?)),
            _ => (byte_of(expr, slots)?, None),
        };
        Some(Dequantized { byte, zero, scale })
    }

    /// The integer value without the scale.
    fn whole(&self) -> Expr {
        let int = |x: &Expr| x.clone().cast(ElemType::INT32);
        match self.zero {
            Some(zero) => int(self.byte) - int(zero),
            None => int(self.byte),
        }
    }
}

/// The 8-bit element that is converted to float.
fn byte_of<'e>(expr: &'e Expr, slots: &[Slot]) -> Option<&'e Expr> {
    let Expr::Cast(cast, x) = expr else { return None };
    let elem = match &**x {
        Expr::Load(operand, _) => slots[*operand].elem,
        Expr::Cast(cast, _) => cast.to,
        _ => return None,
    };
    let is_byte = matches!(elem, ElemType::UINT8 | ElemType::INT8);
    (cast.to == ElemType::FLOAT && is_byte).then_some(x)
}

/// Converts a sum of products of dequantized bytes to an integer sum; `None` for other formulas.
pub(super) fn whole(formula: &Formula, slots: &[Slot]) -> Option<Formula> {
    let over = formula.over.as_ref()?;
    let count = over.dims.iter().fold(1, |n: usize, d| n.saturating_mul(*d));
    let is_sum = over.combine == Combine::Sum && over.elem == ElemType::FLOAT && count <= MAX_EXACT_PRODUCTS;
    let Expr::Binary(Binary::Mul, a, b) = &formula.expr else { return None };
    if !is_sum {
        return None;
    }
    let rank = formula.dims.len();
    let (a, of_a) = factor(a, rank, slots)?;
    let (b, of_b) = factor(b, rank, slots)?;
    let scale = match (of_a, of_b) {
        (Some(a), Some(b)) => Some(a * b),
        (Some(scale), None) | (None, Some(scale)) => Some(scale),
        (None, None) => None,
    };
    let total = Expr::Total.cast(ElemType::FLOAT);
    let total = match scale {
        Some(scale) => total * scale,
        None => total,
    };
    let all = formula.extents();
    let indices: Vec<Position> = (0..all.len()).map(Position::index).collect();
    let load = |operand, position| Some(Expr::load(operand, position));
    let epilogue = Rewrite { indices: &indices, extents: &all, total: Some(&total), load: &load };
    let then = match &formula.then {
        Some(then) => epilogue.expr(then)?,
        None => total.clone(),
    };
    let mut over = over.clone();
    over.elem = ElemType::INT32;
    Some(Formula { over: Some(over), expr: a * b, then: Some(then), ..formula.clone() })
}

/// A factor as an integer, 0 where it is padded, and its scale.
fn factor(expr: &Expr, rank: usize, slots: &[Slot]) -> Option<(Expr, Option<Expr>)> {
    let (condition, expr) = match expr {
        Expr::Select(parts) if parts[2] == Expr::Number(Number::Float(0.0)) => (Some(&parts[0]), &parts[1]),
        _ => (None, expr),
    };
    let it = Dequantized::recognize(expr, slots)?;
    let mut is_even = true;
    for part in [it.scale, it.zero].into_iter().flatten() {
        part.walk(&mut |part| match part {
            Expr::Load(_, position) => is_even &= position.iter().all(|index| is_below(index, rank)),
            Expr::Index(index) => is_even &= is_below(index, rank),
            _ => {}
        });
    }
    let whole = match condition {
        Some(condition) => it.whole().if_else(condition.clone(), Expr::int(0)),
        None => it.whole(),
    };
    is_even.then(|| (whole, it.scale.cloned()))
}

/// Whether an index depends only on axes of the result.
fn is_below(index: &Index, rank: usize) -> bool {
    match index {
        Index::Affine(_, terms) => terms.iter().all(|(axis, _)| *axis < rank),
        Index::Sum(parts) => parts.iter().all(|(part, _)| is_below(part, rank)),
        Index::Div(x, _) | Index::Rem(x, _) => is_below(x, rank),
        Index::Element(_) => false,
    }
}
