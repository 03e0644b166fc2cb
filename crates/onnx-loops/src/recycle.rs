//! Memory that the runs of an executable reuse: getting new pages from the system takes longer than most kernels need to fill
//! them.
//!
//! A dropped [`Block`] returns to the [`Recycler`] that it came from, if that still exists. The free and the used bytes of a
//! recycler together never exceed the peak of the used bytes, so recycling does not raise the peak. Small blocks are kept
//! together with their reference counts, in shelves by size: a loop over small tensors allocates nothing from its third iteration
//! on.

use crate::budget::{self, Charge};
use crate::failure::{Failure, fail};
use crate::sync::lock;
use memmap2::MmapMut;
use onnx_ir::diag::counted_are;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// The alignment of blocks: a cache line, which is also the widest vector register.
pub const ALIGN: usize = 64;
const WORD: usize = size_of::<u128>();
/// Smaller blocks are kept in shelves.
pub const MIN_BLOCK_BYTES: usize = 1 << 16;
/// Each shelf holds blocks of twice the size of the previous one; the smallest are a cache line.
const SHELVES: usize = (MIN_BLOCK_BYTES / ALIGN).ilog2() as usize + 1;
/// The most bytes in one shelf.
const MAX_SHELF_BYTES: usize = 1 << 18;
/// Allocations from this size on use the fallible interface.
const LARGE: usize = 1 << 20;
/// Blocks from this size on use huge pages if the system supports them: at least two pages.
const HUGE: usize = 1 << 22;

/// Bytes aligned to [`ALIGN`].
#[derive(Debug, Default)]
pub struct Block {
    pages: Pages,
    /// The range of the bytes in the pages.
    range: Range<usize>,
    home: Weak<Recycler>,
    /// The shelf of a small block.
    shelf: Option<usize>,
}

/// Reference-counted bytes, charged to the run that uses them.
#[derive(Debug)]
pub struct Shared(Option<Arc<Charged>>);

#[derive(Debug)]
struct Charged {
    block: Block,
    charge: Charge,
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl Shared {
    /// `bytes` zeros, which are not recycled.
    pub fn zeroed(bytes: usize) -> Result<Shared, Failure> {
        let charge = charge(bytes)?;
        Ok(Shared(Some(Arc::new(Charged { block: Block::zeroed(bytes)?, charge }))))
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |charged| charged.block.bytes())
    }

    /// Whether this is the only reference.
    pub fn is_mine(&self) -> bool {
        self.0.as_ref().is_some_and(|charged| Arc::strong_count(charged) == 1)
    }

    /// The bytes for writing; fails if they are shared.
    /// Its bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        match self.0.as_mut().and_then(Arc::get_mut) {
            Some(charged) => Ok(charged.block.bytes_mut()),
            None => fail!("a buffer that is about to be written is shared"),
        }
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for Shared {
    /// The last reference returns small blocks to their recycler; the drop of larger ones returns their pages.
    fn drop(&mut self) {
        let Some(mut last) = self.0.take() else { return };
        let Some(charged) = Arc::get_mut(&mut last).filter(|charged| charged.block.shelf.is_some()) else {
            return;
        };
        charged.charge = Charge::none();
        if let Some(home) = charged.block.home.upgrade() {
            home.put_on_shelf(last);
        }
    }
}

/// The charge of a tensor with `bytes` bytes.
fn charge(bytes: usize) -> Result<Charge, Failure> {
    Charge::of(bytes.saturating_add(budget::TENSOR))
}

/// The shelf of blocks of this size.
fn shelf_of(bytes: usize) -> Option<usize> {
    let lines = bytes.div_ceil(ALIGN).max(1);
    (bytes < MIN_BLOCK_BYTES).then(|| lines.next_power_of_two().ilog2() as usize)
}

/// The free blocks.
#[derive(Debug, Default)]
pub struct Recycler {
    large: Mutex<RecyclerState>,
    small: Mutex<[Vec<Arc<Charged>>; SHELVES]>,
}

#[derive(Debug, Default)]
struct RecyclerState {
    /// Free pages, in the order in which they were freed.
    free: VecDeque<Pages>,
    /// Free bytes, used bytes, and the peak of the used bytes.
    kept: usize,
    used: usize,
    peak: usize,
}

/// An allocation.
#[derive(Debug)]
enum Pages {
    Words(Vec<u128>),
    /// Pages of a mapping, which may be huge: with small pages, a large tensor misses in the TLB.
    Huge(MmapMut),
}

impl Default for Pages {
    fn default() -> Self {
        Pages::Words(Vec::new())
    }
}

impl Pages {
    /// Zeros, with room for alignment.
    fn for_zeros(bytes: usize) -> Result<Pages, Failure> {
        let refused = || Failure::limit(format!("not enough memory: {} needed", counted_are(bytes, "byte")));
        if bytes >= HUGE {
            let pages = MmapMut::map_anon(bytes).map_err(|_| refused())?;
            // On failure the mapping keeps its small pages.
            #[cfg(target_os = "linux")]
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Ok(Pages::Huge(pages));
        }
        let words = bytes.div_ceil(WORD) + ALIGN / WORD - 1;
        if bytes >= LARGE {
            // The fallible allocation reports what the system refuses; it is freed and allocated again as zeros below.
            Vec::<u128>::new().try_reserve_exact(words).map_err(|_| refused())?;
        }
        // Zeroed pages come from the system, so nothing is written twice.
        Ok(Pages::Words(vec![0; words]))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Pages::Words(words) => bytemuck::cast_slice(words),
            Pages::Huge(pages) => pages,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Pages::Words(words) => bytemuck::cast_slice_mut(words),
            Pages::Huge(pages) => pages,
        }
    }

    fn len(&self) -> usize {
        self.bytes().len()
    }
}

impl Block {
    /// `bytes` zeros.
    pub fn zeroed(bytes: usize) -> Result<Block, Failure> {
        Ok(Block::of(Pages::for_zeros(bytes)?, bytes, Weak::new()))
    }

    fn of(pages: Pages, bytes: usize, home: Weak<Recycler>) -> Block {
        let first = pages.bytes().as_ptr().align_offset(ALIGN);
        // `align_offset` may fail, which only costs speed.
        let first = if first <= pages.len() - bytes { first } else { 0 };
        Block { pages, range: first..first + bytes, home, shelf: None }
    }

    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.pages.bytes()[self.range.clone()]
    }

    /// Its bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages.bytes_mut()[self.range.clone()]
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.shelf.is_none()
            && let Some(home) = self.home.upgrade()
        {
            home.give_back(std::mem::take(&mut self.pages));
        }
    }
}

/// The contents of a new block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Any bytes.
    Any,
    /// Zeros.
    Zeros,
}

impl Recycler {
    /// Bytes for a tensor.
    pub fn shared(self: &Arc<Self>, bytes: usize, contents: Contents) -> Result<Shared, Failure> {
        let charge = charge(bytes)?;
        let Some(shelf) = shelf_of(bytes) else {
            let (mut block, is_new) = self.block(bytes)?;
            if contents == Contents::Zeros && !is_new {
                block.bytes_mut().fill(0);
            }
            return Ok(Shared(Some(Arc::new(Charged { block, charge }))));
        };
        let free = self.shelves()[shelf].pop();
        if let Some(mut free) = free
            && let Some(charged) = Arc::get_mut(&mut free)
        {
            charged.charge = charge;
            let first = charged.block.range.start;
            charged.block.range = first..first + bytes;
            if contents == Contents::Zeros {
                charged.block.bytes_mut().fill(0);
            }
            return Ok(Shared(Some(free)));
        }
        let pages = Pages::for_zeros(ALIGN << shelf)?;
        let mut block = Block::of(pages, ALIGN << shelf, Arc::downgrade(self));
        block.shelf = Some(shelf);
        block.range.end = block.range.start + bytes;
        Ok(Shared(Some(Arc::new(Charged { block, charge }))))
    }

    fn put_on_shelf(&self, free: Arc<Charged>) {
        let Some(shelf) = free.block.shelf else { return };
        let mut shelves = self.shelves();
        if shelves[shelf].len() < MAX_SHELF_BYTES / (ALIGN << shelf) {
            shelves[shelf].push(free);
        }
    }

    fn shelves(&self) -> MutexGuard<'_, [Vec<Arc<Charged>>; SHELVES]> {
        lock(&self.small)
    }

    /// Bytes with arbitrary contents.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Block, Failure> {
        if bytes < MIN_BLOCK_BYTES { Block::zeroed(bytes) } else { Ok(self.block(bytes)?.0) }
    }

    /// A large block, and whether its pages are new and therefore zero.
    fn block(self: &Arc<Self>, bytes: usize) -> Result<(Block, bool), Failure> {
        let mut state = self.state();
        let fits = |pages: &Pages| pages.len() >= bytes + ALIGN && pages.len() / 2 <= bytes;
        let free = state.free.iter().enumerate().filter(|(_, pages)| fits(pages));
        let found = free.min_by_key(|(_, pages)| pages.len()).map(|(at, _)| at);
        let free = found.and_then(|at| state.free.remove(at));
        let is_new = free.is_none();
        let pages = match free {
            Some(pages) => {
                state.kept -= pages.len();
                pages
            }
            None => {
                // Free blocks are not charged to the run; release them if the run needs their room.
                if budget::room().is_some_and(|room| state.kept > room) {
                    state.free.clear();
                    state.kept = 0;
                }
                drop(state);
                let pages = Pages::for_zeros(bytes + ALIGN)?;
                state = self.state();
                pages
            }
        };
        state.use_more(pages.len());
        drop(state);
        Ok((Block::of(pages, bytes, Arc::downgrade(self)), is_new))
    }

    fn give_back(&self, pages: Pages) {
        let mut state = self.state();
        state.used = state.used.saturating_sub(pages.len());
        state.kept += pages.len();
        state.free.push_back(pages);
        state.shrink();
    }

    fn state(&self) -> MutexGuard<'_, RecyclerState> {
        lock(&self.large)
    }
}

impl RecyclerState {
    fn use_more(&mut self, bytes: usize) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        self.shrink();
    }

    /// Returns free blocks to the system until free and used bytes together do not exceed the peak.
    fn shrink(&mut self) {
        while self.kept + self.used > self.peak {
            let Some(pages) = self.free.pop_front() else { return };
            self.kept -= pages.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_used_again() {
        let recycler = Arc::new(Recycler::default());
        let mut first = recycler.take(1 << 20).expect("there is memory");
        assert!(first.bytes().as_ptr().addr().is_multiple_of(ALIGN));
        assert_eq!(first.bytes().len(), 1 << 20);
        first.bytes_mut().fill(7);
        let at = first.bytes().as_ptr().addr();
        drop(first);
        let second = recycler.take((1 << 20) - 100).expect("there is memory");
        assert_eq!((second.bytes().as_ptr().addr(), second.bytes()[0]), (at, 7), "the same memory");
        assert!(Block::zeroed(1 << 17).expect("there is memory").bytes().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn small_blocks_are_used_again_with_what_counts_their_owners() {
        let recycler = Arc::new(Recycler::default());
        let mut first = recycler.shared(1000, Contents::Zeros).expect("there is memory");
        assert!(first.bytes().iter().all(|byte| *byte == 0) && first.bytes().len() == 1000);
        first.bytes_mut().expect("one owner").fill(7);
        let at = first.bytes().as_ptr().addr();
        assert!(at.is_multiple_of(ALIGN));
        let other = first.clone();
        assert!(first.bytes_mut().is_err(), "two owners");
        drop(first);
        assert_eq!(recycler.shelves().iter().map(Vec::len).sum::<usize>(), 0, "it is in use");
        drop(other);
        let second = recycler.shared(600, Contents::Any).expect("there is memory");
        assert_eq!((second.bytes().as_ptr().addr(), second.bytes().len()), (at, 600), "the same memory");
        drop(second);
        let third = recycler.shared(1024, Contents::Zeros).expect("there is memory");
        assert!(third.bytes().as_ptr().addr() == at && third.bytes().iter().all(|byte| *byte == 0));
        let many: Vec<Shared> =
            (0..1000).map(|_| recycler.shared(1024, Contents::Any).expect("memory")).collect();
        drop(many);
        assert_eq!(recycler.shelves()[4].len(), MAX_SHELF_BYTES / 1024);
        drop(recycler);
        assert_eq!(third.bytes().len(), 1024);
    }

    #[test]
    fn zeros_are_zeros_whatever_was_there_before() {
        let recycler = Arc::new(Recycler::default());
        for bytes in [0, 1, 63, 64, 65, MIN_BLOCK_BYTES - 1, MIN_BLOCK_BYTES, MIN_BLOCK_BYTES + 1, 5 << 20] {
            for _ in 0..2 {
                let mut shared = recycler.shared(bytes, Contents::Zeros).expect("there is memory");
                assert!(shared.bytes().len() == bytes && shared.bytes().iter().all(|byte| *byte == 0));
                shared.bytes_mut().expect("one owner").fill(9);
            }
        }
    }

    #[test]
    fn no_more_is_kept_than_was_in_use_at_one_time() {
        let recycler = Arc::new(Recycler::default());
        let held = |recycler: &Recycler| {
            let state = recycler.state();
            state.kept + state.used
        };
        for size in [1 << 20, 3 << 20, 1 << 17, 5 << 20] {
            drop(recycler.take(size).expect("there is memory"));
            assert!(held(&recycler) <= (5 << 20) + 4096, "{}", held(&recycler));
        }
        let both = [recycler.take(5 << 20), recycler.take(5 << 20)];
        drop(both);
        assert_eq!(recycler.state().free.len(), 2);
        let block = recycler.take(1 << 17).expect("there is memory");
        drop(recycler);
        drop(block);
    }
}
