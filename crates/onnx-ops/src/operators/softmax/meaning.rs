//! Softmax and similar operators.

use crate::definition::cx::axis;
use crate::definition::{Combine, Cx, Definition, Expr, Formula, Index, Keep, Unary};
use onnx_formula::wide;
use onnx_ir::ElemType;

/// The axes of the softmax: one, or before version 13 all from `axis` on.
struct Group {
    is_in: Vec<bool>,
    dims: Vec<usize>,
}

impl Group {
    fn of(cx: &Cx<'_>) -> Option<Group> {
        let dims = cx.input(0)?.dims;
        let first = cx.attributes.int("axis")?;
        let is_coerced = cx.since() < 13;
        // In the flattening versions, `axis` may equal the rank.
        let first = match usize::try_from(first) {
            Ok(first) if is_coerced && first == dims.len() => first,
            _ => axis(first, dims.len())?,
        };
        let is_in = (0..dims.len()).map(|i| i == first || is_coerced && i > first).collect();
        Some(Group { is_in, dims: dims.to_vec() })
    }

    /// A reduction of an operand over each group.
    fn reduce(
        &self,
        operand: usize,
        expr: impl FnOnce(Expr) -> Expr,
        combine: Combine,
        elem: ElemType,
    ) -> Formula {
        let rank = self.dims.len();
        let mut next = rank;
        let load = self.is_in.iter().enumerate().map(|(i, is_in)| {
            next += usize::from(*is_in);
            Index::of(if *is_in { next - 1 } else { i })
        });
        let load = Expr::Load(operand, load.collect());
        let kept = self.is_in.iter().zip(&self.dims).map(|(is_in, d)| if *is_in { 1 } else { *d });
        let over = self.is_in.iter().zip(&self.dims).filter(|(is_in, _)| **is_in).map(|(_, d)| *d);
        let formula = Formula { elem, dims: kept.collect(), over: None, expr: expr(load), then: None };
        formula.over(over.collect(), combine, elem)
    }

    /// Loads the result of a group.
    fn load(&self, cx: &Cx<'_>, formula: usize) -> Expr {
        let index = |(i, is_in): (usize, &bool)| if *is_in { Index::at(0) } else { Index::of(i) };
        Expr::Load(cx.result(formula), self.is_in.iter().enumerate().map(index).collect())
    }
}

/// The maximum of each group.
fn greatest(group: &Group, elem: ElemType) -> Formula {
    group.reduce(0, |x| x, Combine::Max, elem)
}

/// The exponential, rounded to the type: in narrow types the sum must use the same rounded values.
fn power(rest: Expr, elem: ElemType) -> Expr {
    let power = rest.unary(Unary::Exp);
    if wide(elem) == elem { power } else { power.cast(elem) }
}

pub(super) fn softmax(cx: &Cx<'_>) -> Option<Definition> {
    let group = Group::of(cx)?;
    let elem = cx.out()?.elem;
    // A formula of its own, because exponentials are expensive and used twice.
    let powers = cx.formula(power(cx.broadcast(0)? - group.load(cx, 0), elem))?;
    let sum = Formula { elem, ..group.reduce(cx.result(1), |x| x, Combine::Sum, wide(elem)) };
    let power = Expr::Load(cx.result(1), (0..group.dims.len()).map(Index::of).collect());
    let sum_of = group.load(cx, 2).into_type(elem, wide(elem));
    let part = cx.formula((power.into_type(elem, wide(elem)) / sum_of).into_type(wide(elem), elem))?;
    cx.define(vec![greatest(&group, elem), powers, sum, part], &[3])
}

pub(super) fn log_softmax(cx: &Cx<'_>) -> Option<Definition> {
    let group = Group::of(cx)?;
    let elem = cx.out()?.elem;
    let power = |x: Expr| power(x - group.load(cx, 0), elem);
    let sum = Formula { elem: wide(elem), ..group.reduce(0, power, Combine::Sum, wide(elem)) };
    // Of the sum, rather than of each element.
    let logarithm = sum.then(Expr::Total.unary(Unary::Log));
    let rest = (cx.broadcast(0)? - group.load(cx, 0)).into_type(elem, wide(elem));
    let part = cx.formula((rest - group.load(cx, 1)).into_type(wide(elem), elem))?;
    cx.define(vec![greatest(&group, elem), logarithm, part], &[2])
}

/// 1 at the first maximum.
pub(super) fn hardmax(cx: &Cx<'_>) -> Option<Definition> {
    let group = Group::of(cx)?;
    if cx.out()?.dims.contains(&0) {
        // An empty tensor has no maximum, and no elements that need one.
        return cx.one(cx.formula(Expr::number(cx.out()?.elem, 0))?);
    }
    let mut first = group.reduce(0, |x| x, Combine::ArgMax(Keep::First), ElemType::INT64);
    first.elem = ElemType::INT64;
    let mut at = Index::at(0);
    for (i, d) in group.dims.iter().enumerate().filter(|(i, _)| group.is_in[*i]) {
        at = at.times(crate::definition::cx::long(*d)?).plus(Index::of(i));
    }
    let is_first = Expr::Index(at).equal(group.load(cx, 0));
    let elem = cx.out()?.elem;
    let last = cx.formula(Expr::number(elem, 1).if_else(is_first, Expr::number(elem, 0)))?;
    cx.define(vec![first, last], &[1])
}
