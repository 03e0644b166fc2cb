//! Prepacked constant factors, shared by all runs and by all plans that use the same factor.

use super::kind::Kind;
use super::order::{Order, Ordered};
use super::winograd::Winograd;
use super::{Contraction, Packer, Side, Start, blocks, pack_columns, pack_rows, place, zeros};
use crate::budget::Charge;
use crate::failure::Failure;
use crate::lanes::view::{Operands, View};
use crate::program::Program;
use crate::recycle::Block;
use crate::scratch::words_of;
use crate::tensor::Tensor;
use std::sync::{Arc, OnceLock};

/// A prepacked factor.
#[derive(Debug)]
pub(crate) struct Prepacked {
    /// Words of 32 bits, whatever numbers they are: at a multiple of a cache line, in huge pages where they are many. A product with
    /// few rows takes as long as it takes to read them.
    words: Block,
    _charge: Charge,
    /// Of bytes, the sums over all steps.
    sums: Vec<i32>,
    /// How the groups of columns lie, if that is not as they were packed.
    order: Order,
    /// Rows or columns that there are, and how many of these are a tile. A tile of columns has all its steps one after the other, so
    /// that any tiles can be multiplied at once, by one thread.
    count: usize,
    pub(crate) tile: usize,
    /// The number of matrices: one for each position of the batch axes, or one for all.
    matrices: usize,
    /// Whether all are finite floats, once that was asked.
    is_finite: OnceLock<bool>,
}

/// Whether Winograd's algorithm may be used, whose rounding differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// It may be used where it is faster.
    Fast,
    /// It is not used.
    Exact,
}

/// The most factors that are kept per node, because constants can differ between plans.
const MAX_KEPT_FACTORS: usize = 8;

/// The prepacked factors of a node.
#[derive(Debug, Default)]
pub struct Packed(Vec<PrepackedEntry>);

#[derive(Debug)]
struct PrepackedEntry {
    side: Side,
    known: Arc<Prepacked>,
    /// Whether these are transformed Winograd weights.
    is_winograd: bool,
    /// Extents of its batch axes, of its own axes, and of the reduction axes.
    extents: Vec<usize>,
    /// The constants that it is computed from.
    of: Vec<Tensor>,
}

impl PrepackedEntry {
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

impl Prepacked {
    /// Allocates matrices with this many rows or columns of tiles and this many steps.
    pub(super) fn room<T: Kind>(
        matrices: usize,
        count: usize,
        tile: usize,
        depth: usize,
    ) -> Result<Prepacked, Failure> {
        let each = words_of::<T>(count.next_multiple_of(tile).saturating_mul(depth));
        let bytes = each.saturating_mul(matrices).saturating_mul(size_of::<f32>());
        let charge = Charge::of(bytes)?;
        let words = Block::zeroed(bytes)?;
        let (sums, order) = (Vec::new(), Order::default());
        let is_finite = OnceLock::new();
        Ok(Prepacked { words, _charge: charge, sums, order, count, tile, matrices, is_finite })
    }

    /// The matrix for a position of the batch axes.
    pub(super) fn numbers<T: Kind>(&self, batch: usize) -> &[T] {
        let words: &[f32] = bytemuck::cast_slice(self.words.bytes());
        let each = words.len() / self.matrices;
        bytemuck::cast_slice(&words[batch.min(self.matrices - 1) * each..][..each])
    }

    fn numbers_mut<T: Kind>(&mut self, batch: usize) -> &mut [T] {
        let matrices = self.matrices;
        let words = self.all_mut();
        let each = words.len() / matrices;
        bytemuck::cast_slice_mut(&mut words[batch * each..][..each])
    }

    /// Whether all are finite, if they are floats.
    pub(super) fn is_finite(&self) -> bool {
        let words: &[f32] = bytemuck::cast_slice(self.words.bytes());
        *self.is_finite.get_or_init(|| words.iter().all(|x| x.is_finite()))
    }

    /// All matrices.
    pub(super) fn all_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(self.words.bytes_mut())
    }

    pub(super) fn len<T: Kind>(&self) -> usize {
        self.numbers::<T>(0).len()
    }

    pub(super) fn sums(&self, batch: usize) -> &[i32] {
        let each = self.sums.len() / self.matrices;
        &self.sums[batch.min(self.matrices - 1) * each..][..each]
    }

    /// The order of the groups of tiles, which have so many each, so far apart, and begin at a number of those of a matrix.
    pub(super) fn order<T: Kind>(
        &self,
        batch: usize,
        number: usize,
        groups: [usize; 2],
    ) -> Option<Ordered<'_>> {
        let each = self.len::<T>() * batch.min(self.matrices - 1);
        self.order.tiles((each + number) / (self.tile * T::GROUP), groups)
    }

    /// Whether positions from one on, so many, begin and end where tiles do.
    pub(super) fn has_tiles_of(&self, first: usize, count: usize) -> bool {
        let is_end = |at: usize| at.is_multiple_of(self.tile) || at == self.count;
        first.is_multiple_of(self.tile) && is_end(first + count)
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
                None if packed.0.len() >= MAX_KEPT_FACTORS => continue,
                None => {
                    let views: Vec<Option<View<'_>>> = constants.iter().map(|t| t.map(View::of)).collect();
                    let known = if is_rows { self.rows::<T>(&views) } else { self.columns::<T>(&views) };
                    let known = Arc::new(known?);
                    let (side, known) = (side.clone(), Arc::clone(&known));
                    packed.0.push(PrepackedEntry {
                        side,
                        known: Arc::clone(&known),
                        is_winograd: false,
                        extents,
                        of,
                    });
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
    ) -> Option<Arc<Prepacked>> {
        let side = &self.b;
        if let Some(entry) = packed.0.iter().find(|entry| entry.is(side, true, extents, of)) {
            return Some(Arc::clone(&entry.known));
        }
        let taps = self.winograd_taps().filter(|_| packed.0.len() < MAX_KEPT_FACTORS)?;
        let views: Vec<Option<View<'_>>> = constants.iter().map(|t| t.map(View::of)).collect();
        let plain = self.columns::<f32>(&views).ok()?;
        let known = Arc::new(self.winograd_weights(&plain, taps).ok()??);
        let (side, extents, of) = (side.clone(), extents.to_vec(), of.to_vec());
        packed.0.push(PrepackedEntry { side, known: Arc::clone(&known), is_winograd: true, extents, of });
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
    fn rows<T: Kind>(&self, constants: &Operands<'_>) -> Result<Prepacked, Failure> {
        let micro = self.micro::<T>();
        let _session = micro.session();
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let (rows, matrices) = (self.a.count(&extents), self.matrices(&self.a));
        let depth = count.next_multiple_of(micro.interleaved_steps());
        let mut known = Prepacked::room::<T>(matrices, rows, micro.rows, depth)?;
        let mut packer = Packer::of_rows(&self.a, &extents, &step_axes, micro);
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
    fn columns<T: Kind>(&self, constants: &Operands<'_>) -> Result<Prepacked, Failure> {
        let micro = self.micro::<T>();
        let _session = micro.session();
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let depth = count.next_multiple_of(T::GROUP);
        let (columns, matrices) = (self.b.count(&extents), self.matrices(&self.b));
        let mut known = Prepacked::room::<T>(matrices, columns, micro.columns, depth)?;
        let mut packer = Packer::of_columns(&self.b, &extents, &step_axes, micro);
        let mut at = vec![0; extents.len()];
        let (mut sums, mut order) = (Vec::new(), Order::default());
        for batch in 0..matrices {
            place(&mut at, &self.both, &extents, batch);
            for columns in blocks(columns, micro.columns) {
                let wide = columns.len().next_multiple_of(micro.columns);
                let packed = &mut known.numbers_mut(batch)[columns.start * depth..][..wide * depth];
                pack_columns(&mut packer, constants, &mut at, columns.clone(), count, packed)?;
                if self.b.bytes.is_some() {
                    sums.extend(&zeros::sums_of_columns(micro, packed, count)[..columns.len()]);
                    // To follow an order takes as long as a few rows do.
                    if self.a.count(&self.dims) > micro.rows {
                        order.put(micro, packed, count);
                    }
                }
            }
        }
        (known.sums, known.order) = (sums, order);
        Ok(known)
    }

    /// The index of the matrix for a position of the batch axes of a part.
    pub(super) fn batch(&self, at: &[usize], start: Start) -> usize {
        let position = |axis: usize| if axis == start.axis { start.position + at[axis] } else { at[axis] };
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

    /// Packs its constant factors, unless they are packed already. A convolution with non-constant weights becomes a plain product.
    pub(crate) fn pack_constants(
        &mut self,
        constants: &[Option<&Tensor>],
        packed: &mut Packed,
        precision: Precision,
    ) -> Result<(), Failure> {
        if precision == Precision::Exact {
            self.winograd = None;
        }
        if self.a.bytes.is_some() {
            return self.pack::<u8>(constants, packed);
        }
        let done = self.pack::<f32>(constants, packed);
        self.winograd.take_if(|it| it.weights.is_none());
        done
    }
}
