//! Merges adjacent axes of a formula that every load and every index used as a number traverses like a single axis.

use super::Bound;
use crate::lanes::Linear;
use onnx_formula::{Expr, Formula, Index};
use smallvec::SmallVec;

/// The axes of a formula and their merged axes.
pub(crate) struct Axes {
    /// The original extents.
    old: Vec<usize>,
    /// For each original axis, its merged axis and whether it is the innermost one there; `None` if its extent is 1.
    place: Vec<Option<(usize, bool)>>,
    /// The extents of the merged axes of the result, and of those of the reduction.
    pub(crate) dims: Vec<usize>,
    pub(crate) over: Vec<usize>,
}

/// The shapes of operands, by number.
pub(crate) type Extents<'a> = dyn Fn(usize) -> Option<&'a [usize]> + 'a;

impl Axes {
    pub(crate) fn of<'a>(formula: &Formula, operands: &Extents<'a>) -> Option<Axes> {
        let over: &[usize] = formula.over.as_ref().map_or(&[], |over| &over.dims);
        let old: Vec<usize> = formula.dims.iter().chain(over).copied().collect();
        let mut axes = Axes { place: vec![None; old.len()], old, dims: Vec::new(), over: Vec::new() };
        let mut functions = Vec::new();
        axes.collect(&formula.expr, operands, &mut functions)?;
        if let Some(then) = &formula.then {
            axes.collect(then, operands, &mut functions)?;
        }
        let split = formula.dims.len();
        axes.dims = axes.merge(0..split, 0, &functions);
        if axes.dims.is_empty() {
            axes.dims.push(1);
        }
        let first = axes.dims.len();
        axes.over = axes.merge(split..axes.old.len(), first, &functions);
        if axes.over.is_empty() && formula.over.is_some() {
            axes.over.push(over.iter().product());
        }
        Some(axes)
    }

    fn merge(&mut self, range: std::ops::Range<usize>, first: usize, functions: &[Linear]) -> Vec<usize> {
        let mut merged: Vec<usize> = Vec::new();
        let mut last: Option<usize> = None;
        for axis in range {
            let extent = self.old[axis];
            if extent == 1 {
                continue;
            }
            let joins = last.is_some_and(|last| {
                functions.iter().all(|f| f.by[last] == f.by[axis].saturating_mul(extent as i64))
            });
            match (last, merged.last_mut()) {
                (Some(last), Some(all)) if joins => {
                    *all *= extent;
                    if let Some(place) = &mut self.place[last] {
                        place.1 = false;
                    }
                }
                (Some(_) | None, _) => merged.push(extent),
            }
            self.place[axis] = Some((first + merged.len() - 1, true));
            last = Some(axis);
        }
        merged
    }

    /// The number of merged axes.
    fn count(&self) -> usize {
        self.dims.len() + self.over.len()
    }

    /// The extents of all merged axes.
    pub(crate) fn extents(&self) -> Vec<usize> {
        self.dims.iter().chain(&self.over).copied().collect()
    }

    /// Converts a function of the original axes to the merged axes.
    pub(crate) fn moved(&self, function: &Linear) -> Linear {
        let mut by: SmallVec<[i64; 6]> = SmallVec::from_elem(0, self.count());
        for (place, factor) in self.place.iter().zip(&function.by) {
            if let Some((axis, true)) = place {
                by[*axis] = *factor;
            }
        }
        Linear { base: function.base, by }
    }

    /// An affine index as a function of the original axes.
    pub(crate) fn affine(&self, offset: i64, terms: &[(usize, i64)]) -> Option<Linear> {
        let mut by: SmallVec<[i64; 6]> = SmallVec::from_elem(0, self.old.len());
        for (axis, factor) in terms {
            let slot = by.get_mut(*axis)?;
            *slot = slot.checked_add(*factor)?;
        }
        Some(Linear { base: offset, by })
    }

    /// Whether a function is in `0..extent` at all positions.
    pub(crate) fn is_in(&self, function: &Linear, extent: usize) -> bool {
        let (least, most) = self.range(function);
        least >= 0 && most < extent as i128
    }

    /// The least and the greatest value of a function.
    fn range(&self, function: &Linear) -> (i128, i128) {
        let (mut least, mut most) = (i128::from(function.base), i128::from(function.base));
        for (by, d) in function.by.iter().zip(&self.old) {
            let reach = i128::from(*by) * (*d as i128 - 1);
            if reach < 0 { least += reach } else { most += reach }
        }
        (least, most)
    }

    /// The offset in an operand as a function of the original axes, if every index of a load is affine and in bounds.
    pub(crate) fn place(&self, position: &[Index], dims: &[usize]) -> Option<Linear> {
        self.place_where(position, dims, &[])
    }

    /// [`place`](Self::place) for a load under conditions that keep some functions in bounds.
    pub(crate) fn place_where(&self, position: &[Index], dims: &[usize], bounds: &[Bound]) -> Option<Linear> {
        let mut sum = Linear { base: 0, by: SmallVec::from_elem(0, self.old.len()) };
        let mut stride = 1i64;
        for (index, &d) in position.iter().zip(dims).rev() {
            let Index::Affine(offset, terms) = index else { return None };
            let function = self.affine(*offset, terms)?;
            let bound = bounds.iter().find(|bound| bound.function == function);
            let (from, to) = bound.map_or((i64::MIN, i64::MAX), |bound| (bound.from, bound.to));
            let (least, most) = self.range(&function);
            if least.max(from.into()) < 0 || most.min(i128::from(to) - 1) >= d as i128 {
                return None;
            }
            sum.base = sum.base.checked_add(function.base.checked_mul(stride)?)?;
            for (all, by) in sum.by.iter_mut().zip(&function.by) {
                *all = all.checked_add(by.checked_mul(stride)?)?;
            }
            stride = stride.checked_mul(i64::try_from(d).ok()?)?;
        }
        Some(sum)
    }

    /// Collects every function of the axes in an expression.
    fn collect(&self, expr: &Expr, operands: &Extents<'_>, found: &mut Vec<Linear>) -> Option<()> {
        match expr {
            Expr::Load(operand, position) => {
                let dims = operands(*operand)?;
                if position.len() != dims.len() {
                    return None;
                }
                match self.place(position, dims) {
                    Some(place) => found.push(place),
                    None => {
                        position.iter().try_for_each(|index| self.collect_index(index, operands, found))?
                    }
                }
            }
            Expr::Number(_) | Expr::Total => {}
            Expr::Index(index) => self.collect_index(index, operands, found)?,
            Expr::Unary(_, x) | Expr::Cast(_, x) | Expr::Bits(_, _, x) => self.collect(x, operands, found)?,
            Expr::Binary(_, a, b) => {
                self.collect(a, operands, found)?;
                self.collect(b, operands, found)?;
            }
            Expr::Select(parts) => parts.iter().try_for_each(|part| self.collect(part, operands, found))?,
        }
        Some(())
    }

    fn collect_index(&self, index: &Index, operands: &Extents<'_>, found: &mut Vec<Linear>) -> Option<()> {
        match index {
            Index::Affine(offset, terms) => found.push(self.affine(*offset, terms)?),
            Index::Sum(parts) => {
                parts.iter().try_for_each(|(part, _)| self.collect_index(part, operands, found))?;
            }
            Index::Div(index, _) | Index::Rem(index, _) => self.collect_index(index, operands, found)?,
            Index::Element(expr) => self.collect(expr, operands, found)?,
        }
        Some(())
    }
}
