//! Prepacked constant factors, shared by all runs and by all plans that use the same factor.

use super::kind::Kind;
use super::micro::Micro;
use super::order::{Order, Ordered};
use super::winograd::{self, Winograd};
use super::{Contraction, Packer, Side, Start, blocks, pack_columns, place, zeros};
use crate::budget::Charge;
use crate::failure::Failure;
use crate::lanes::multiversion::isa;
use crate::lanes::view::{Operands, View};
use crate::pack_cache::{Entry, Key, LISTS, MIN_STORED_BYTES, PackedStore};
use crate::parallel::parallel;
use crate::pool;
use crate::program::Program;
use crate::recycle::Block;
use crate::scratch::words_of;
use crate::tensor::Tensor;
use std::sync::{Arc, OnceLock};

/// A prepacked factor.
#[derive(Debug)]
pub(crate) struct Prepacked {
    words: Words,
    /// Of bytes, the sums over all steps.
    sums: Vec<i32>,
    /// How the groups of columns lie, if that is not as they were packed.
    order: Order,
    extent: Extent,
    /// Whether all are finite floats, once that was asked.
    is_finite: OnceLock<bool>,
}

/// Words of 32 bits, whatever numbers they are, at a multiple of a cache line. A product with few rows takes as long as it takes to read
/// them.
#[derive(Debug)]
enum Words {
    /// Those of this program: in huge pages where they are many.
    Made(Block, #[expect(dead_code, reason = "it is held as long as the words")] Charge),
    /// Those of a store, which other programs use, too. They are charged to no run, like the weights of a mapped file.
    Stored(Entry),
}

/// The size of a prepacked factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// The number of matrices: one for each position of the batch axes, or one for all.
    pub(super) matrices: usize,
    /// Rows or columns that there are, and how many of these are a tile. A tile of columns has all its steps one after the other, so
    /// that any tiles can be multiplied at once, by one thread.
    pub(super) count: usize,
    pub(super) tile: usize,
    pub(super) depth: usize,
}

impl Extent {
    /// The bytes of all matrices.
    fn bytes<T: Kind>(&self) -> usize {
        let each = words_of::<T>(self.count.next_multiple_of(self.tile).saturating_mul(self.depth));
        each.saturating_mul(self.matrices).saturating_mul(size_of::<f32>())
    }
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

/// Threads pack parts of at least so many numbers.
const MIN_PART_NUMBERS: usize = 1 << 15;

/// The prepacked factors of a node.
#[derive(Debug, Default)]
pub struct Packed {
    entries: Vec<PrepackedEntry>,
    /// Where factors are looked for before they are packed.
    store: Option<Arc<dyn PackedStore>>,
}

impl Packed {
    /// No factors yet; large ones are shared with other programs by a store, if there is one.
    pub fn new(store: Option<&Arc<dyn PackedStore>>) -> Packed {
        Packed { entries: Vec::new(), store: store.cloned() }
    }

    /// A factor that was packed before.
    fn find(
        &self,
        side: &Side,
        is_winograd: bool,
        extents: &[usize],
        of: &[Tensor],
    ) -> Option<Arc<Prepacked>> {
        let found = self.entries.iter().find(|entry| entry.is(side, is_winograd, extents, of));
        found.map(|entry| Arc::clone(&entry.known))
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= MAX_KEPT_FACTORS
    }

    /// A factor of the store, or a new one, which is put there; `None` if it is refused.
    fn stored<T: Kind>(
        &self,
        extent: Extent,
        form: &str,
        of: &[Tensor],
        make: impl FnOnce() -> Result<Option<Prepacked>, Failure>,
    ) -> Result<Option<Arc<Prepacked>>, Failure> {
        let store = self.store.as_deref().filter(|_| extent.bytes::<T>() >= MIN_STORED_BYTES);
        let Some(store) = store else { return Ok(make()?.map(Arc::new)) };
        let contents: Vec<&[u8]> = of.iter().map(Tensor::bytes).collect();
        let key = Key::of(form, &contents, extent.description::<T>())?;
        let lengths = [Some(extent.bytes::<T>()), None, None, None];
        if let Some(entry) = key.load(store, lengths) {
            return Ok(Some(Arc::new(Prepacked::of_entry(entry, extent))));
        }
        let Some(mut made) = make()? else { return Ok(None) };
        let [groups, narrow] = made.order.lists();
        let sums = bytemuck::cast_slice(&made.sums);
        let lists: [&[u8]; LISTS] = [made.words.bytes(), sums, groups, narrow];
        if let Some(entry) = key.store(store, lists) {
            made.words = Words::Stored(entry);
        }
        Ok(Some(Arc::new(made)))
    }
}

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

impl Words {
    fn bytes(&self) -> &[u8] {
        match self {
            Words::Made(block, _) => block.bytes(),
            Words::Stored(entry) => entry.list(0),
        }
    }
}

impl Extent {
    /// `float32 3072 x 768 in tiles of 16`, for lists of entries.
    fn description<T: Kind>(&self) -> String {
        let Extent { matrices, count, tile, depth } = self;
        let elem = if size_of::<T>() == 1 { "8-bit" } else { "float32" };
        let matrices = if *matrices == 1 { String::new() } else { format!("{matrices} x ") };
        format!("{elem} {matrices}{depth} x {count} in tiles of {tile}")
    }
}

impl Prepacked {
    /// Allocates matrices.
    pub(super) fn room<T: Kind>(extent: Extent) -> Result<Prepacked, Failure> {
        let bytes = extent.bytes::<T>();
        let charge = Charge::of(bytes)?;
        let words = Words::Made(Block::zeroed(bytes)?, charge);
        Ok(Prepacked { words, sums: Vec::new(), order: Order::default(), extent, is_finite: OnceLock::new() })
    }

    /// The factor of an entry, whose numbers have this size.
    fn of_entry(entry: Entry, extent: Extent) -> Prepacked {
        let sums = entry.list(1).as_chunks::<4>().0.iter().map(|sum| i32::from_ne_bytes(*sum)).collect();
        let order = Order::of_lists([entry.list(2), entry.list(3)]);
        Prepacked { words: Words::Stored(entry), sums, order, extent, is_finite: OnceLock::new() }
    }

    pub(crate) fn tile(&self) -> usize {
        self.extent.tile
    }

    /// The matrix for a position of the batch axes.
    pub(super) fn numbers<T: Kind>(&self, batch: usize) -> &[T] {
        let words: &[f32] = bytemuck::cast_slice(self.words.bytes());
        let matrices = self.extent.matrices;
        let each = words.len() / matrices;
        bytemuck::cast_slice(&words[batch.min(matrices - 1) * each..][..each])
    }

    fn numbers_mut<T: Kind>(&mut self, batch: usize) -> &mut [T] {
        let matrices = self.extent.matrices;
        let words = self.all_mut();
        let each = words.len() / matrices;
        bytemuck::cast_slice_mut(&mut words[batch * each..][..each])
    }

    /// Whether all are finite, if they are floats.
    pub(super) fn is_finite(&self) -> bool {
        let words: &[f32] = bytemuck::cast_slice(self.words.bytes());
        *self.is_finite.get_or_init(|| words.iter().all(|x| x.is_finite()))
    }

    /// All matrices, while they are made.
    pub(super) fn all_mut(&mut self) -> &mut [f32] {
        match &mut self.words {
            Words::Made(block, _) => bytemuck::cast_slice_mut(block.bytes_mut()),
            Words::Stored(_) => &mut [],
        }
    }

    pub(super) fn len<T: Kind>(&self) -> usize {
        self.numbers::<T>(0).len()
    }

    pub(super) fn sums(&self, batch: usize) -> &[i32] {
        let each = self.sums.len() / self.extent.matrices;
        &self.sums[batch.min(self.extent.matrices - 1) * each..][..each]
    }

    /// The order of the groups of tiles, which have so many each, so far apart, and begin at a number of those of a matrix.
    pub(super) fn order<T: Kind>(
        &self,
        batch: usize,
        number: usize,
        groups: [usize; 2],
    ) -> Option<Ordered<'_>> {
        let each = self.len::<T>() * batch.min(self.extent.matrices - 1);
        self.order.tiles((each + number) / (self.extent.tile * T::GROUP), groups)
    }

    /// Whether positions from one on, so many, begin and end where tiles do.
    pub(super) fn has_tiles_of(&self, first: usize, count: usize) -> bool {
        let Extent { count: all, tile, .. } = self.extent;
        let is_end = |at: usize| at.is_multiple_of(tile) || at == all;
        first.is_multiple_of(tile) && is_end(first + count)
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
            let known = match packed.find(side, false, &extents, &of) {
                Some(known) => known,
                None if packed.is_full() => continue,
                None => {
                    let extent = self.extent::<T>(is_rows);
                    let form = self.form::<T>([is_rows, false], extent, &extents, &of);
                    let known = packed.stored::<T>(extent, &form, &of, || {
                        let views: Vec<Option<View<'_>>> =
                            constants.iter().map(|t| t.map(View::of)).collect();
                        let known = if is_rows { self.rows::<T>(&views) } else { self.columns::<T>(&views) };
                        known.map(Some)
                    })?;
                    let Some(known) = known else { continue };
                    let (side, entry) = (side.clone(), Arc::clone(&known));
                    packed.entries.push(PrepackedEntry {
                        side,
                        known: entry,
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
        if let Some(known) = packed.find(side, true, extents, of) {
            return Some(known);
        }
        let taps = self.winograd_taps().filter(|_| !packed.is_full())?;
        let extent = winograd::extent(self, taps);
        let form = self.form::<f32>([false, true], extent, extents, of);
        let known = packed.stored::<f32>(extent, &form, of, || {
            let views: Vec<Option<View<'_>>> = constants.iter().map(|t| t.map(View::of)).collect();
            let plain = self.columns::<f32>(&views)?;
            self.winograd_weights(&plain, taps)
        });
        let known = known.ok()??;
        let (side, extents, of) = (side.clone(), extents.to_vec(), of.to_vec());
        let entry = PrepackedEntry { side, known: Arc::clone(&known), is_winograd: true, extents, of };
        packed.entries.push(entry);
        Some(known)
    }

    /// The size of a factor when it is packed.
    fn extent<T: Kind>(&self, is_rows: bool) -> Extent {
        let micro = self.micro::<T>();
        let (extents, _) = self.axes();
        let side = if is_rows { &self.a } else { &self.b };
        let (tile, together) = match is_rows {
            true => (micro.rows, micro.interleaved_steps()),
            false => (micro.columns, T::GROUP),
        };
        let steps: usize = self.over.iter().product();
        let (matrices, count) = (self.matrices(side), side.count(&extents));
        Extent { matrices, count, tile, depth: steps.next_multiple_of(together) }
    }

    /// Everything that a packed factor depends on, except the elements of its constants. The other factor is not in it, so that it is the
    /// same for any batch size.
    fn form<T: Kind>(
        &self,
        [is_rows, is_winograd]: [bool; 2],
        extent: Extent,
        extents: &[usize],
        of: &[Tensor],
    ) -> String {
        let (micro, side) = (self.micro::<T>(), if is_rows { &self.a } else { &self.b });
        let tile = [micro.rows, micro.columns, micro.interleaved_steps(), T::GROUP, T::STEPS];
        let Side { program, axes, is_along_steps, bytes, known: _, step_blocks: _ } = side;
        let types: Vec<(i32, &[usize])> = of.iter().map(|it| (it.elem().0, it.dims())).collect();
        let is_ordered = !is_rows && self.has_order(micro);
        format!(
            "{} {} {extent:?} {tile:?} {is_rows} {is_winograd} {is_ordered} {extents:?} {axes:?} {is_along_steps} {program:?} \
             {bytes:?} {types:?}",
            isa(),
            T::TOTAL.name().unwrap_or_default(),
        )
    }

    /// Whether narrow groups of columns are put first. To follow an order takes as long as a few rows do.
    fn has_order<T: Kind>(&self, micro: Micro<T>) -> bool {
        self.b.bytes.is_some() && micro.knows_narrow && self.a.count(&self.dims) > micro.rows
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
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let extent = self.extent::<T>(true);
        let Extent { matrices, count: rows, tile, .. } = extent;
        let whole = rows.next_multiple_of(tile);
        let mut known = Prepacked::room::<T>(extent)?;
        for batch in 0..matrices {
            let mut numbers = known.numbers_mut::<T>(batch);
            // Blocks of steps, and in each all tiles of rows.
            let mut parts = Vec::new();
            for steps in blocks(count, T::STEPS) {
                let n = steps.len().next_multiple_of(micro.interleaved_steps());
                let each = tiles_of_part(tile * n, rows.div_ceil(tile)) * tile;
                let (block, later) = numbers.split_at_mut(n * whole);
                numbers = later;
                let some = block.chunks_mut(each * n).zip(blocks(rows, each));
                parts.extend(some.map(|(out, own)| (own, steps.clone(), out)));
            }
            parallel(parts, |(own, steps, out)| {
                let mut packer = Packer::of_rows(&self.a, &extents, &step_axes, micro);
                let mut at = vec![0; extents.len()];
                place(&mut at, &self.both, &extents, batch);
                packer.pack(constants, &mut at, own, steps, out)
            })?;
            if self.a.bytes.is_some() {
                let _session = micro.session();
                known.sums.extend(zeros::sums_of_rows(micro, known.numbers(batch), rows, count));
            }
        }
        Ok(known)
    }

    /// Packs all columns.
    fn columns<T: Kind>(&self, constants: &Operands<'_>) -> Result<Prepacked, Failure> {
        let micro = self.micro::<T>();
        let (extents, step_axes) = self.axes();
        let count: usize = self.over.iter().product();
        let extent = self.extent::<T>(false);
        let Extent { matrices, count: columns, tile, depth } = extent;
        let mut known = Prepacked::room::<T>(extent)?;
        let (mut sums, mut order) = (Vec::new(), Order::default());
        let each = tiles_of_part(tile * depth, columns.div_ceil(tile)) * tile;
        let has_order = self.has_order(micro);
        for batch in 0..matrices {
            let mut found: Vec<(Vec<i32>, Order)> = Vec::new();
            found.resize_with(columns.div_ceil(each), Default::default);
            let numbers = known.numbers_mut::<T>(batch).chunks_mut((each * depth).max(1));
            let parts: Vec<_> = blocks(columns, each).zip(numbers).zip(&mut found).collect();
            parallel(parts, |((own, numbers), (sums, order))| {
                let _session = micro.session();
                let mut packer = Packer::of_columns(&self.b, &extents, &step_axes, micro);
                let mut at = vec![0; extents.len()];
                place(&mut at, &self.both, &extents, batch);
                for first in own.clone().step_by(tile) {
                    let columns = first..own.end.min(first + tile);
                    let packed = &mut numbers[(first - own.start) * depth..][..tile * depth];
                    pack_columns(&mut packer, constants, &mut at, columns.clone(), count, packed)?;
                    if self.b.bytes.is_some() {
                        sums.extend(&zeros::sums_of_columns(micro, packed, count)[..columns.len()]);
                        if has_order {
                            order.put(micro, packed, count);
                        }
                    }
                }
                Ok(())
            })?;
            for (of_part, order_of_part) in found {
                sums.extend(of_part);
                order.append(order_of_part);
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

/// The tiles of a part that a thread packs, of all tiles, which have so many numbers each: several parts for each thread, because some
/// are slower than others.
fn tiles_of_part(numbers: usize, tiles: usize) -> usize {
    let least = MIN_PART_NUMBERS.div_ceil(numbers.max(1));
    tiles.div_ceil(4 * pool::threads()).max(least).clamp(1, tiles.max(1))
}
