//! Prepacked constant factors, shared by all runs and by all plans that use the same factor.

use super::kind::Kind;
use super::winograd::Winograd;
use super::{Contraction, Packer, Side, block, blocks, pack_columns, pack_rows, place, zeros};
use crate::failure::Failure;
use crate::list::{List, filled};
use crate::loops::Nest;
use crate::loops::micro::Micro;
use crate::loops::program::Program;
use crate::loops::scratch::words_of;
use crate::loops::view::{Operands, View};
use crate::tensor::Tensor;
use std::sync::Arc;

/// A prepacked factor.
#[derive(Debug)]
pub(in crate::loops) struct Known {
    /// The packed numbers, bytes too, stored as `f32` for alignment.
    words: List<f32>,
    /// For bytes, the sums over all steps.
    sums: Vec<i32>,
    /// The number of rows or columns, and of those in a block.
    pub(in crate::loops) count: usize,
    pub(in crate::loops) block: usize,
    /// The number of matrices: one for each position of the batch axes, or one for all.
    matrices: usize,
}

/// Whether Winograd's algorithm may be used, whose rounding differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Precision {
    Fast,
    Exact,
}

/// The most factors that are kept per node, because constants can differ between plans.
const MOST: usize = 8;

/// The prepacked factors of a node.
#[derive(Debug, Default)]
pub(crate) struct Packed(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    side: Side,
    known: Arc<Known>,
    /// Whether these are transformed Winograd weights.
    is_winograd: bool,
    /// Extents of its batch axes, of its own axes, and of the reduction axes.
    extents: Vec<usize>,
    /// The constants that it is computed from.
    of: Vec<Tensor>,
}

impl Entry {
    /// Whether this entry is the given factor.
    fn is(&self, side: &Side, is_winograd: bool, extents: &[usize], of: &[Tensor]) -> bool {
        let form = |side: &Side| (side.axes.clone(), side.is_along_steps);
        form(&self.side) == form(side)
            && self.is_winograd == is_winograd
            && self.extents == extents
            && self.side.program == side.program
            && self.side.bytes == side.bytes
            && self.of.len() == of.len()
            && self.of.iter().zip(of).all(|(a, b)| a.is_identical(b))
    }
}

impl Known {
    /// Allocates matrices with this many rows or columns of tiles and this many steps.
    pub(super) fn room<T: Kind>(
        matrices: usize,
        count: usize,
        block: usize,
        tile: usize,
        depth: usize,
    ) -> Result<Known, Failure> {
        let each = words_of::<T>(count.next_multiple_of(tile).saturating_mul(depth));
        let words = filled(each.saturating_mul(matrices), 0.0)?;
        Ok(Known { words, sums: Vec::new(), count, block, matrices })
    }

    /// The matrix for a position of the batch axes.
    pub(super) fn numbers<T: Kind>(&self, batch: usize) -> &[T] {
        let each = self.words.len() / self.matrices;
        bytemuck::cast_slice(&self.words[batch.min(self.matrices - 1) * each..][..each])
    }

    fn numbers_mut<T: Kind>(&mut self, batch: usize) -> &mut [T] {
        let each = self.words.len() / self.matrices;
        bytemuck::cast_slice_mut(&mut self.words[batch * each..][..each])
    }

    /// All matrices.
    pub(super) fn all_mut(&mut self) -> &mut [f32] {
        &mut self.words
    }

    pub(super) fn len<T: Kind>(&self) -> usize {
        self.numbers::<T>(0).len()
    }

    pub(super) fn sums(&self, batch: usize) -> &[i32] {
        let each = self.sums.len() / self.matrices;
        &self.sums[batch.min(self.matrices - 1) * each..][..each]
    }

    /// Whether `count` positions from `first` on start and end at block boundaries.
    pub(super) fn has_blocks_of(&self, first: usize, count: usize) -> bool {
        let is_end = |at: usize| at.is_multiple_of(self.block) || at == self.count;
        first.is_multiple_of(self.block) && is_end(first + count)
    }
}

impl Contraction {
    /// Packs the constant factors.
    fn pack<T: Kind>(&mut self, constants: &[Option<&Tensor>], packed: &mut Packed) -> Result<(), Failure> {
        let (extents, step_axes) = self.axes();
        for is_rows in [true, false] {
            let side = if is_rows { &self.a } else { &self.b };
            let Some(of) = self.constants(side, constants) else { continue };
            let both = if self.is_of(side, &self.both) { &self.both[..] } else { &[] };
            let axes = both.iter().chain(&side.axes).chain(&step_axes);
            let extents: Vec<usize> = axes.map(|&axis| extents[axis]).collect();
            if !is_rows && self.winograd.is_some() {
                // Otherwise it is a plain product.
                let weights = self.pack_winograd(constants, packed, &extents, &of);
                self.winograd = weights.map(|weights| Winograd { weights: Some(weights) });
                if self.winograd.is_some() {
                    continue;
                }
            }
            let side = if is_rows { &self.a } else { &self.b };
            let known = match packed.0.iter().find(|entry| entry.is(side, false, &extents, &of)) {
                Some(entry) => Arc::clone(&entry.known),
                None if packed.0.len() >= MOST => continue,
                None => {
                    let views: Vec<Option<View<'_>>> = constants.iter().map(|t| t.map(View::of)).collect();
                    let known = if is_rows { self.rows::<T>(&views) } else { self.columns::<T>(&views) };
                    let known = Arc::new(known?);
                    let (side, known) = (side.clone(), Arc::clone(&known));
                    packed.0.push(Entry { side, known: Arc::clone(&known), is_winograd: false, extents, of });
                    known
                }
            };
            let side = if is_rows { &mut self.a } else { &mut self.b };
            side.known = Some(known);
        }
        Ok(())
    }

    /// The Winograd weights, unless they lose precision or memory is missing.
    fn pack_winograd(
        &self,
        constants: &[Option<&Tensor>],
        packed: &mut Packed,
        extents: &[usize],
        of: &[Tensor],
    ) -> Option<Arc<Known>> {
        let side = &self.b;
        if let Some(entry) = packed.0.iter().find(|entry| entry.is(side, true, extents, of)) {
            return Some(Arc::clone(&entry.known));
        }
        let taps = self.winograd_taps().filter(|_| packed.0.len() < MOST)?;
        let views: Vec<Option<View<'_>>> = constants.iter().map(|t| t.map(View::of)).collect();
        let plain = self.columns::<f32>(&views).ok()?;
        let known = Arc::new(self.winograd_weights(&plain, taps).ok()??);
        let (side, extents, of) = (side.clone(), extents.to_vec(), of.to_vec());
        packed.0.push(Entry { side, known: Arc::clone(&known), is_winograd: true, extents, of });
        Some(known)
    }

    /// The number of matrices of a factor.
    fn matrices(&self, side: &Side) -> usize {
        if self.is_of(side, &self.both) {
            self.both.iter().map(|&axis| self.dims[axis].max(1)).product()
        } else {
            1
        }
    }

    /// Packs all rows.
    fn rows<T: Kind>(&self, constants: &Operands<'_>) -> Result<Known, Failure> {
        let micro = Micro::<T>::best();
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let (rows, matrices) = (self.a.count(&extents), self.matrices(&self.a));
        let depth = count.next_multiple_of(T::GROUP);
        let mut known = Known::room::<T>(matrices, rows, micro.rows, micro.rows, depth)?;
        let mut packer = Packer::<T>::new(&self.a, &extents, &step_axes, micro.rows);
        let mut at = vec![0; extents.len()];
        for batch in 0..matrices {
            place(&mut at, &self.both, &extents, batch);
            pack_rows(&mut packer, constants, &mut at, rows, count, known.numbers_mut(batch))?;
            if self.a.bytes.is_some() {
                known.sums.extend(zeros::sums_of_rows(micro, known.numbers(batch), rows, count));
            }
        }
        Ok(known)
    }

    /// Packs all columns.
    fn columns<T: Kind>(&self, constants: &Operands<'_>) -> Result<Known, Failure> {
        let micro = Micro::<T>::best();
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let depth = count.next_multiple_of(T::GROUP);
        let (columns, matrices) = (self.b.count(&extents), self.matrices(&self.b));
        let width = block(columns, depth, micro);
        let mut known = Known::room::<T>(matrices, columns, width, micro.columns, depth)?;
        let mut packer = Packer::<T>::new(&self.b, &extents, &step_axes, micro.columns);
        let mut at = vec![0; extents.len()];
        let mut sums = Vec::new();
        for batch in 0..matrices {
            place(&mut at, &self.both, &extents, batch);
            for columns in blocks(columns, known.block) {
                let wide = columns.len().next_multiple_of(micro.columns);
                let packed = &mut known.numbers_mut(batch)[columns.start * depth..][..wide * depth];
                pack_columns(&mut packer, constants, &mut at, columns.clone(), count, packed)?;
                if self.b.bytes.is_some() {
                    sums.extend(&zeros::sums_of_columns(micro, packed, count)[..columns.len()]);
                }
            }
        }
        known.sums = sums;
        Ok(known)
    }

    /// The index of the matrix for a position of the batch axes; `first` is the start of this part on the first axis.
    pub(super) fn batch(&self, at: &[usize], first: usize) -> usize {
        let position = |axis: usize| if axis == 0 { first + at[axis] } else { at[axis] };
        self.both.iter().fold(0, |batch, &axis| batch * self.dims[axis] + position(axis))
    }

    /// The operands of a factor, if all are constant.
    fn constants(&self, side: &Side, constants: &[Option<&Tensor>]) -> Option<Vec<Tensor>> {
        let known = |operand: usize| constants.get(operand).copied().flatten().cloned();
        let padding =
            side.bytes.as_ref().filter(|bytes| bytes.is_padded).and_then(|bytes| bytes.zero.as_ref());
        let operands = side.program.operands().chain(padding.into_iter().flat_map(Program::operands));
        operands.map(known).collect()
    }
}

impl Nest {
    /// Packs the constant factors of a matrix product, unless they are packed already. A convolution with non-constant weights
    /// becomes a plain product.
    pub(crate) fn pack_constants(
        &mut self,
        constants: &[Option<&Tensor>],
        packed: &mut Packed,
        precision: Precision,
    ) -> Result<(), Failure> {
        if let (Some(contraction), Precision::Exact) = (&mut self.contraction, precision) {
            contraction.winograd = None;
        }
        match &mut self.contraction {
            None => Ok(()),
            Some(contraction) if contraction.a.bytes.is_some() => contraction.pack::<u8>(constants, packed),
            Some(contraction) => {
                let done = contraction.pack::<f32>(constants, packed);
                contraction.winograd.take_if(|it| it.weights.is_none());
                done
            }
        }
    }
}
