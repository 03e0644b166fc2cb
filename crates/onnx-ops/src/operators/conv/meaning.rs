//! Convolutions: sums over the channels of a group and the kernel.

use crate::definition::cx::long;
use crate::definition::window::{Window, longs};
use crate::definition::{Combine, Cx, Definition, Expr, Formula, Index};
use crate::operators::quantize::meaning::{Scale, requantize};
use onnx_formula::wide;
use onnx_ir::ElemType;

/// A convolution of an input `N, C, …` with weights `M, C/group, …`.
pub(super) struct Convolution {
    x: usize,
    w: usize,
    window: Window,
    /// The reduction sizes: channels of a group, kernel.
    over: Vec<usize>,
    x_at: Vec<Index>,
    w_at: Vec<Index>,
}

impl Convolution {
    fn of(cx: &Cx<'_>, x: usize, w: usize) -> Option<Convolution> {
        let (input, weight, rank) = (cx.input(x)?.dims, cx.input(w)?.dims, cx.out()?.dims.len());
        if input.len() != rank || weight.len() != rank || rank < 2 {
            return None;
        }
        let window = Window::of(cx, x, longs(&weight[2..])?)?;
        let groups = groups(cx)?;
        let outputs = weight[0] / groups;
        if weight[0] != outputs * groups || input[1] != weight[1].checked_mul(groups)? {
            return None;
        }
        Convolution::grouped([x, w], window, [groups, weight[1], outputs])
    }

    /// A grouped convolution with these numbers of channels per group.
    pub(super) fn grouped(
        [x, w]: [usize; 2],
        window: Window,
        [groups, inputs, outputs]: [usize; 3],
    ) -> Option<Convolution> {
        let rank = window.kernel.len() + 2;
        let inner = Index::of(rank);
        let channel = match (groups, outputs) {
            (1, _) => inner.clone(),
            (_, 1) => Index::Affine(0, vec![(1, long(inputs)?), (rank, 1)]),
            _ => Index::Sum(vec![(Index::of(1).div(long(outputs)?), long(inputs)?), (inner.clone(), 1)]),
        };
        let mut x_at = vec![Index::of(0), channel];
        x_at.extend(window.positions(rank + 1));
        let mut w_at = vec![Index::of(1), inner];
        w_at.extend((0..window.kernel.len()).map(|axis| Index::of(rank + 1 + axis)));
        let mut over = vec![inputs];
        over.extend(window.kernel_sizes()?);
        Some(Convolution { x, w, window, over, x_at, w_at })
    }

    /// The formula of the sums in a float type, for a result of this shape.
    pub(super) fn sums(self, elem: ElemType, dims: Vec<usize>) -> Option<Formula> {
        let x = self.padded(Expr::Load(self.x, self.x_at.clone()), elem)?;
        let expr = x * Expr::Load(self.w, self.w_at);
        let formula = Formula { elem, dims, over: None, expr, then: None };
        Some(formula.over(self.over, Combine::Sum, wide(elem)))
    }

    /// An element of the input, 0 outside.
    fn padded(&self, element: Expr, elem: ElemType) -> Option<Expr> {
        let inside = self.window.is_inside(&self.x_at[2..])?;
        Some(element.guarded(inside, Expr::number(elem, 0)))
    }

    /// The sum of products of integers minus their zero points. That of the weights may be per channel.
    fn integers(self, cx: &Cx<'_>, x_zero: usize, w_zero: usize) -> Option<Formula> {
        let int = ElemType::INT32;
        let mut x = Expr::Load(self.x, self.x_at.clone()).cast(int);
        if cx.has_input(x_zero) {
            x = x - cx.scalar(x_zero)?.cast(int);
        }
        let mut w = Expr::Load(self.w, self.w_at.clone()).cast(int);
        if cx.has_input(w_zero) {
            w = w - Scale::of(cx, w_zero, Some(1))?.expr.cast(int);
        }
        let expr = self.padded(x, int)? * w;
        Some(cx.formula(expr)?.over(self.over, Combine::Sum, int))
    }
}

pub(super) fn groups(cx: &Cx<'_>) -> Option<usize> {
    usize::try_from(cx.attributes.int("group").unwrap_or(1)).ok().filter(|n| *n > 0)
}

pub(super) fn conv(cx: &Cx<'_>) -> Option<Definition> {
    let out = cx.out()?;
    let formula = Convolution::of(cx, 0, 1)?.sums(out.elem, out.dims.to_vec())?;
    let Some(bias) = cx.input(2) else { return cx.one(formula) };
    let channel = if bias.dims == [1] { Index::at(0) } else { Index::of(1) };
    cx.one(with_bias(formula, 2, channel))
}

/// Adds a bias in the type of the result.
pub(super) fn with_bias(formula: Formula, bias: usize, channel: Index) -> Formula {
    let elem = formula.elem;
    let sum = Expr::Total + Expr::Load(bias, vec![channel]).into_type(elem, wide(elem));
    formula.then(sum.into_type(wide(elem), elem))
}

pub(super) fn conv_integer(cx: &Cx<'_>) -> Option<Definition> {
    cx.one(Convolution::of(cx, 0, 1)?.integers(cx, 2, 3)?)
}

pub(super) fn qlinear_conv(cx: &Cx<'_>) -> Option<Definition> {
    let formula = Convolution::of(cx, 0, 3)?.integers(cx, 2, 5)?;
    let scale = |input: usize| Scale::of(cx, input, Some(1));
    let total = match cx.has_input(8) {
        true => Expr::Total + Expr::Load(8, vec![Index::of(1)]),
        false => Expr::Total,
    };
    cx.one(formula.then(requantize(cx, total, [scale(1)?, scale(4)?, scale(6)?], scale(7)?)?))
}
