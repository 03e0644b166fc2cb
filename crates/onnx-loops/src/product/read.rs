//! The operands of micro-kernels: packed factors, and factors read in place.
//!
//! A factor that loads an operand at an offset linear in its own axes and the reduction axes is read in place
//! if its rows have a constant stride, or its columns are contiguous:
//!
//! ```text
//! sum over k of a[m, k] * b[k, n]        rows `a.dims[1]` apart, contiguous columns
//! sum over k of a[m, k] * b[n, k]        rows likewise, columns packed
//! ```

use super::kind::Kind;
use super::micro::{Columns, Steps};
use super::order::Ordered;
use super::{Flip, Side};
use crate::lanes::view::Operands;
use crate::program::{Instr, Program};

/// Columns for a block of steps.
#[derive(Clone, Copy)]
pub(super) struct Read<'r, T> {
    pub(super) numbers: &'r [T],
    /// The distance between tiles.
    pub(super) tile: usize,
    pub(super) steps: Steps<'r>,
    /// The order of the groups, if they were put in one.
    pub(super) order: Option<Ordered<'r>>,
    /// How far ahead numbers are fetched, if steps are contiguous.
    pub(super) ahead: usize,
}

impl<'r, T: Kind> Read<'r, T> {
    /// Those that are packed, in tiles of so many columns; of a tile, the steps begin there.
    pub(super) fn packed(numbers: &'r [T], tile: usize, steps: &'r [usize]) -> Self {
        Read { numbers, tile: steps.len() * T::GROUP * tile, steps: Steps::of(steps), order: None, ahead: 0 }
    }

    pub(super) fn columns(&self, tile: usize) -> Columns<'r, T> {
        let narrow = self.order.map_or(0, |order| order.narrow(tile));
        let (numbers, ahead) = (&self.numbers[tile * self.tile..], self.ahead);
        Columns { numbers, steps: self.steps, narrow, panel: self.tile, ahead }
    }
}

/// The offsets of the groups of steps in a packed tile, with so many contiguous steps for each row or column.
pub(super) fn packed_steps<T: Kind>([tile, interleave]: [usize; 2]) -> Vec<usize> {
    let at = |step: usize| step / interleave * interleave * tile + step % interleave;
    (0..T::STEPS).step_by(T::GROUP).map(at).collect()
}

/// The most steps of a factor read in place, because all step offsets are listed.
const MAX_LISTED_STEPS: usize = 1 << 20;

/// Whether the offsets of all steps may be listed.
pub(super) fn are_listed(extents: &[usize], steps: &[usize]) -> bool {
    steps.iter().fold(1, |n: usize, axis| n.saturating_mul(extents[*axis])) <= MAX_LISTED_STEPS
}

/// A factor that is read in place.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    operand: usize,
    /// The stride of its own positions, along its own inner axes.
    pub(super) apart: usize,
    pub(super) outer: usize,
}

impl Strided {
    /// The factor in place, if its layout allows it.
    pub(super) fn of<T: Kind>(side: &Side, extents: &[usize]) -> Option<Strided> {
        let [Instr::Load { to, operand, elem, place }] = &side.program.instrs[..] else {
            return None;
        };
        let is_flipped = side.bytes.as_ref().is_some_and(|bytes| bytes.flip != Flip::None);
        let is_it = T::is_element(*elem) && side.program.result == Some(*to) && !is_flipped;
        if !is_it || place.by.iter().any(|by| *by < 0) {
            return None;
        }
        let mut own = side.axes.iter().rev().filter(|axis| extents[**axis] > 1).peekable();
        let apart = own.peek().map_or(1, |axis| place.by[**axis]);
        let mut next = apart;
        let is_next = |axis: &&usize| {
            let is = extents[**axis] == 1 || place.by[**axis] == next;
            next = next.saturating_mul(i64::try_from(extents[**axis]).unwrap_or(i64::MAX));
            is
        };
        let inner = side.axes.iter().rev().take_while(is_next).count();
        let outer = side.axes.len() - inner;
        Some(Strided { operand: *operand, apart: usize::try_from(apart).ok()?, outer })
    }

    /// The numbers from the first of its inner positions on, at a position of all other axes.
    pub(super) fn numbers<'v, T: Kind>(
        &self,
        side: &Side,
        operands: &Operands<'v>,
        at: &mut [usize],
        steps: &[usize],
    ) -> Option<&'v [T]> {
        side.axes[self.outer..].iter().chain(steps).for_each(|&axis| at[axis] = 0);
        let [Instr::Load { place, .. }] = &side.program.instrs[..] else { return None };
        let view = operands.get(self.operand).copied().flatten()?;
        let first = usize::try_from(place.at(at) - view.first).ok()?;
        T::is_element(view.elem).then_some(())?;
        view.words().get(first..)
    }
}

/// The bytes from one step to the next along the last of these axes, for a program with one load; 0 for another.
pub(super) fn step_bytes<T>(side: &Side, steps: &[usize]) -> usize {
    match (&side.program.instrs[..], steps.last()) {
        ([Instr::Load { place, .. }], Some(&last)) => {
            (place.by[last].unsigned_abs() as usize).saturating_mul(size_of::<T>())
        }
        _ => 0,
    }
}

/// The offset of each step from the first one, for a program with one load.
pub(super) fn steps_of(program: &Program, extents: &[usize], axes: &[usize]) -> Vec<usize> {
    let [Instr::Load { place, .. }] = &program.instrs[..] else { return Vec::new() };
    // No offset is negative, so every step is inside the operand.
    sums(extents, axes, |axis| place.by[axis]).into_iter().map(|step| step as usize).collect()
}

/// The offset at each position of some axes.
pub(super) fn sums(extents: &[usize], axes: &[usize], by: impl Fn(usize) -> i64) -> Vec<i64> {
    let mut all = vec![0];
    for &axis in axes {
        let by = by(axis);
        let each = |sum: i64| (0..extents[axis] as i64).map(move |at| sum + by * at);
        all = all.into_iter().flat_map(each).collect();
    }
    all
}
