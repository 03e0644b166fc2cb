//! Index-set splitting: formulas that select by position (concatenation, insertion) are computed piece by piece.
//!
//! In a piece the condition is constant, so only the selected branch is computed, with loops of its own:
//!
//! ```text
//! y[i0, i1] = a[i0, i1] if i1 < 64 else max(b[i0, i1 - 64], 0)
//! y[i0, i1] = a[i0, i1]               64 elements of each row
//! y[i0, i1] = max(b[i0, i1], 0)       the others
//! ```
//! Padding is not split: loads have bounds.

use super::run::Worker;
use super::{Form, Nest};
use crate::failure::{Failure, fail};
use crate::lanes::LANES;
use crate::lanes::view::Operands;
use crate::list::filled;
use crate::program::{Bound, Program, Types};
use crate::tensor::count;
use onnx_formula::{Binary, Expr, Formula, Index, Number, Unary};
use std::ops::Range;

/// The most pieces.
pub const MAX_PIECES: usize = 128;
/// The least average number of elements of a piece.
const MIN_PIECE_ELEMENTS: usize = 16;
/// Pieces with shorter rows are computed for many rows at a time and then copied to their places.
const SHORT_ROW: usize = LANES / 2;
/// The number of elements per batch of whole rows: all pieces of a batch are computed before the next batch.
const BATCH: usize = 4 * LANES;

/// The pieces of a result, split along one axis.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// The elements of all pieces per position of the axes before the split one.
    pub(crate) row: usize,
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Its elements in each row.
    pub(crate) of_row: Range<usize>,
    pub(crate) nest: Nest,
}

impl Pieces {
    /// The pieces of a formula without a reduction that selects by position, if all pieces have loops.
    pub(crate) fn of(formula: &Formula, operands: &Types<'_>) -> Option<Pieces> {
        let dims = &formula.dims;
        let elements = count(dims).filter(|_| formula.over.is_none() && formula.then.is_none())?;
        let mut cuts = vec![Vec::new(); dims.len()];
        find(&formula.expr, dims, &mut cuts);
        for cuts in &mut cuts {
            cuts.sort_unstable();
            cuts.dedup();
        }
        let pieces = cuts.iter().fold(1usize, |pieces, cuts| pieces.saturating_mul(cuts.len() + 1));
        let axis = cuts.iter().position(|cuts| !cuts.is_empty())?;
        if pieces > MAX_PIECES || elements / pieces < MIN_PIECE_ELEMENTS {
            return None;
        }
        let inner = count(&dims[axis + 1..])?;
        let starts = [0].into_iter().chain(cuts[axis].iter().copied());
        let ends = cuts[axis].iter().copied().chain([dims[axis]]);
        let piece = |(from, to): (usize, usize)| {
            let mut part = formula.clone();
            part.dims[axis] = to - from;
            part.expr =
                Settle { axis, from: i64::try_from(from).ok()?, dims: &part.dims }.expr(&formula.expr)?;
            Some(Piece { of_row: from * inner..to * inner, nest: Nest::of(&part, operands)? })
        };
        let pieces = starts.zip(ends).map(piece).collect::<Option<_>>()?;
        Some(Pieces { row: dims[axis] * inner, pieces })
    }

    /// The average number of elements of a piece that are computed at a time.
    pub(super) fn strip(&self) -> usize {
        let (mut elements, mut strips) = (0usize, 0usize);
        for Piece { of_row, nest } in &self.pieces {
            let strip = nest.strip().map_or(of_row.len(), |strip| strip.min(of_row.len()));
            elements = elements.saturating_add(nest.count());
            strips = strips.saturating_add(nest.count().div_ceil(strip.max(1)));
        }
        elements / strips.max(1)
    }

    /// Computes some elements of the result, in row-major order.
    pub(crate) fn run(
        &self,
        workers: &mut [Worker],
        operands: &Operands<'_>,
        width: usize,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let mut rest = out;
        let mut at = elements.start;
        while at < elements.end {
            let (first, within) = (at / self.row, at % self.row);
            let whole = if within == 0 { (elements.end - at) / self.row } else { 0 };
            let batch = whole.min((BATCH / self.row).max(1));
            let n = if batch > 0 { batch * self.row } else { (self.row - within).min(elements.end - at) };
            let Some((now, later)) = std::mem::take(&mut rest).split_at_mut_checked(n * width) else {
                fail!("the result has fewer elements than are computed")
            };
            for (piece, worker) in self.pieces.iter().zip(&mut *workers) {
                if batch > 1 && piece.of_row.len() < SHORT_ROW {
                    self.put(piece, (worker, operands), first..first + batch, width, now)?;
                } else if batch > 0 {
                    for (row, now) in now.chunks_exact_mut(self.row * width).enumerate() {
                        piece.part((worker, operands), first + row, 0..self.row, width, now)?;
                    }
                } else {
                    piece.part((worker, operands), first, within..within + n, width, now)?;
                }
            }
            (rest, at) = (later, at + n);
        }
        Ok(())
    }

    /// Computes a piece of several rows together.
    fn put(
        &self,
        piece: &Piece,
        (worker, operands): (&mut Worker, &Operands<'_>),
        rows: Range<usize>,
        width: usize,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let each = piece.of_row.len();
        // In words, which are aligned for all types.
        let mut together = filled((rows.len() * each * width).div_ceil(size_of::<u64>()), 0u64)?;
        let together = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut together)[..rows.len() * each * width];
        worker.run(&piece.nest, operands, rows.start * each..rows.end * each, together)?;
        let places = out.chunks_exact_mut(self.row * width);
        for (to, from) in places.zip(together.chunks_exact(each * width)) {
            to[piece.of_row.start * width..piece.of_row.end * width].copy_from_slice(from);
        }
        Ok(())
    }
}

impl Nest {
    /// The nest of a formula that is computed piece by piece.
    pub(crate) fn of_pieces(formula: &Formula, pieces: Pieces) -> Option<Nest> {
        let outer = count(&formula.dims)? / pieces.row.max(1);
        Some(Nest {
            elem: formula.elem,
            dims: vec![outer, pieces.row],
            over: Vec::new(),
            reduction: None,
            body: Program::default(),
            then: None,
            form: Form::Pieces(pieces),
        })
    }
}

impl Piece {
    /// Computes a part of one row.
    fn part(
        &self,
        (worker, operands): (&mut Worker, &Operands<'_>),
        row: usize,
        stretch: Range<usize>,
        width: usize,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let Range { start, end } = self.of_row;
        let mine = start.max(stretch.start)..end.min(stretch.end);
        if mine.is_empty() {
            return Ok(());
        }
        let out = &mut out[(mine.start - stretch.start) * width..(mine.end - stretch.start) * width];
        let first = row * self.of_row.len();
        worker.run(&self.nest, operands, first + mine.start - start..first + mine.end - start, out)
    }
}

/// Collects for each axis the positions at which a condition changes.
fn find(expr: &Expr, dims: &[usize], cuts: &mut [Vec<usize>]) {
    match expr {
        Expr::Load(..) | Expr::Number(_) | Expr::Index(_) | Expr::Total => {}
        Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => find(x, dims, cuts),
        Expr::Binary(_, a, b) => {
            find(a, dims, cuts);
            find(b, dims, cuts);
        }
        Expr::Select(parts) => {
            let [condition, yes, no] = &**parts;
            if !is_padding(parts) {
                of_condition(condition, dims, cuts);
            }
            find(yes, dims, cuts);
            find(no, dims, cuts);
        }
    }
}

fn of_condition(condition: &Expr, dims: &[usize], cuts: &mut [Vec<usize>]) {
    match condition {
        Expr::Binary(Binary::And | Binary::Or, a, b) => {
            of_condition(a, dims, cuts);
            of_condition(b, dims, cuts);
        }
        Expr::Unary(Unary::Not, x) => of_condition(x, dims, cuts),
        other => {
            let Some((offset, terms, (op, n))) = compared(other) else { return };
            let Some((from, to)) = Bound::asked(op, n) else { return };
            let mut walked = terms.iter().filter(|(axis, by)| *by != 0 && dims.get(*axis) != Some(&1));
            let (Some((axis, by)), None) = (walked.next(), walked.next()) else { return };
            let Some(extent) = dims.get(*axis) else { return };
            if [offset, *by].iter().any(|n| n.unsigned_abs() > 1 << 60) {
                return;
            }
            let holds = Bound::lanes_of(from..to, offset, *by, *extent);
            let inside = |at: &usize| (1..*extent).contains(at);
            cuts[*axis].extend([holds.start, holds.end].into_iter().filter(inside));
        }
    }
}

/// An affine index, and its comparison with a number.
#[expect(clippy::type_complexity, reason = "it is taken apart at once")]
fn compared(condition: &Expr) -> Option<(i64, &[(usize, i64)], (Binary, i128))> {
    let Expr::Binary(op, a, b) = condition else { return None };
    let (Expr::Index(Index::Affine(offset, terms)), Expr::Number(Number::Int(n))) = (&**a, &**b) else {
        return None;
    };
    Some((*offset, terms, (*op, *n)))
}

/// Whether a select is between an element and a number: padding.
pub fn is_padding(parts: &[Expr; 3]) -> bool {
    matches!(parts, [_, Expr::Load(..), Expr::Number(_)])
}

/// Specializes a formula to a range of positions of an axis.
struct Settle<'s> {
    axis: usize,
    /// The first position.
    from: i64,
    /// The sizes of the piece.
    dims: &'s [usize],
}

impl Settle<'_> {
    /// The expression with shifted indices and resolved conditions; `None` on overflow.
    fn expr(&self, expr: &Expr) -> Option<Expr> {
        let boxed = |x: &Expr| self.expr(x).map(Box::new);
        Some(match expr {
            Expr::Load(operand, position) => {
                Expr::Load(*operand, position.iter().map(|index| self.index(index)).collect::<Option<_>>()?)
            }
            Expr::Number(_) | Expr::Total => expr.clone(),
            Expr::Index(index) => Expr::Index(self.index(index)?),
            Expr::Unary(op, x) => Expr::Unary(*op, boxed(x)?),
            Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a)?, boxed(b)?),
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let condition = self.expr(condition)?;
                match self.holds(&condition) {
                    Some(true) => self.expr(yes)?,
                    Some(false) => self.expr(no)?,
                    None => Expr::Select(Box::new([condition, self.expr(yes)?, self.expr(no)?])),
                }
            }
            Expr::Cast(cast, x) => Expr::Cast(*cast, boxed(x)?),
            Expr::Bits(from, to, x) => Expr::Bits(*from, *to, boxed(x)?),
        })
    }

    fn index(&self, index: &Index) -> Option<Index> {
        let boxed = |x: &Index| self.index(x).map(Box::new);
        Some(match index {
            Index::Affine(offset, terms) => {
                let shift = |sum: i64, (axis, by): &(usize, i64)| match *axis == self.axis {
                    true => sum.checked_add(by.checked_mul(self.from)?),
                    false => Some(sum),
                };
                Index::Affine(terms.iter().try_fold(*offset, shift)?, terms.clone())
            }
            Index::Sum(parts) => {
                let part = |(part, by): &(Index, i64)| Some((self.index(part)?, *by));
                Index::Sum(parts.iter().map(part).collect::<Option<_>>()?)
            }
            Index::Div(x, by) => Index::Div(boxed(x)?, *by),
            Index::Rem(x, by) => Index::Rem(boxed(x)?, *by),
            Index::Element(x) => Index::Element(Box::new(self.expr(x)?)),
        })
    }

    /// Whether a condition is true at all positions of the piece, or false at all.
    fn holds(&self, condition: &Expr) -> Option<bool> {
        match condition {
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let decides = *op == Binary::Or;
                match (self.holds(a), self.holds(b)) {
                    (Some(a), Some(b)) => Some(if decides { a || b } else { a && b }),
                    (Some(one), None) | (None, Some(one)) => (one == decides).then_some(decides),
                    (None, None) => None,
                }
            }
            Expr::Unary(Unary::Not, x) => self.holds(x).map(|holds| !holds),
            other => {
                let (offset, terms, (op, n)) = compared(other)?;
                let (mut least, mut most) = (i128::from(offset), i128::from(offset));
                for (axis, by) in terms {
                    let reach = i128::from(*by) * (*self.dims.get(*axis)? as i128 - 1);
                    if reach < 0 { least += reach } else { most += reach }
                }
                op.settled(n, (least, most))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::view::View;
    use crate::program::Operand;
    use crate::tensor::Tensor;
    use crate::{Workers, agree};
    use onnx_formula::{Elements, Mode};
    use onnx_ir::ElemType;

    fn tensor(dims: &[usize], first: f32) -> Tensor {
        let numbers: Vec<f32> = (0..dims.iter().product()).map(|i: usize| first + i as f32).collect();
        Tensor::of(dims, &numbers).expect("small")
    }

    /// Concatenates `a` and `b` along an axis.
    fn joined(axis: usize, a: &Tensor, b: &Tensor) -> Formula {
        let split = a.dims()[axis] as i64;
        let mut dims = a.dims().to_vec();
        dims[axis] += b.dims()[axis];
        let rank = dims.len();
        let load = |operand, shift: i64| {
            let index = |at| Index::Affine(if at == axis { shift } else { 0 }, vec![(at, 1)]);
            Expr::Load(operand, (0..rank).map(index).collect())
        };
        let is_first = Expr::Index(Index::of(axis)).binary(Binary::Less, Expr::int(split));
        let second = load(1, -split).binary(Binary::Mul, Expr::float(2.0));
        Formula {
            elem: ElemType::FLOAT,
            dims,
            over: None,
            expr: load(0, 0).if_else(is_first, second),
            then: None,
        }
    }

    #[test]
    fn pieces_are_what_their_formula_is() {
        for (axis, a, b) in [
            (0, [3, 4, 50], [1, 4, 50]),
            (1, [3, 4, 50], [3, 7, 50]),
            (2, [30, 4, 5], [30, 4, 3]),
            (2, [2, 2, 3000], [2, 2, 700]),
        ] {
            let (a, b) = (tensor(&a, 0.0), tensor(&b, -4000.0));
            let formula = joined(axis, &a, &b);
            let operands = [Some(View::of(&a)), Some(View::of(&b))];
            let types = |at: usize| {
                Some(Operand { elem: ElemType::FLOAT, dims: [&a, &b].get(at)?.dims(), is_constant: false })
            };
            let nest = Nest::of(&formula, &types).expect("loops");
            let Form::Pieces(pieces) = &nest.form else { panic!("{nest:?}") };
            assert!(pieces.pieces.len() == 2, "{nest:?}");
            assert!(matches!(pieces.pieces[0].nest.form, Form::Copy(_)), "{nest:?}");
            let mut result = Tensor::zeros(ElemType::FLOAT, &formula.dims).expect("small");
            nest.run_all(&operands, result.bytes_mut().expect("memory"), &Workers::default())
                .expect("it runs");
            let loads: [Option<&dyn Elements>; 2] = [Some(&a), Some(&b)];
            let dense = formula.evaluate(&loads, Mode::Reference, usize::MAX).expect("numbers");
            let numbers: Vec<f32> = dense.numbers.iter().map(|n| n.as_float() as f32).collect();
            let expected = Tensor::of(&formula.dims, &numbers).expect("small");
            agree(&result, &expected).expect("the same");
            // Any part of it equals the same part of the whole.
            for stretch in [1..17, 3..formula.dims[2] * 3 + 2, result.len() - 9..result.len()] {
                let mut out = vec![0f32; stretch.len()];
                let bytes = bytemuck::cast_slice_mut(&mut out);
                nest.run(&operands, stretch.clone(), bytes, &Workers::default()).expect("it runs");
                assert_eq!(out, numbers[stretch], "{nest:?}");
            }
        }
    }

    #[test]
    fn padding_is_no_choice() {
        let a = tensor(&[40], 0.0);
        let inside = Expr::Index(Index::of(0)).binary(Binary::Less, Expr::int(40));
        let expr = Expr::Load(0, vec![Index::of(0)]).if_else(inside, Expr::float(0.0));
        let formula = Formula { elem: ElemType::FLOAT, dims: vec![64], over: None, expr, then: None };
        let types = |_| Some(Operand { elem: ElemType::FLOAT, dims: a.dims(), is_constant: false });
        assert!(!Nest::of(&formula, &types).expect("loops").is_piecewise());
    }
}
