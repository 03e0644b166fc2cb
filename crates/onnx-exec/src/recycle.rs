//! Memory that the runs of an executable use again: the system takes longer to hand out new pages than most kernels take to fill
//! them.
//!
//! A [`Block`] that is dropped goes back to the [`Recycler`] that it came from, if that still exists. What a recycler keeps and what
//! is in use of it are together never more than what was in use at one time, so that recycling does not raise the peak.

use crate::budget;
use crate::failure::Failure;
use memmap2::MmapMut;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Blocks begin at a multiple of this: a cache line, and the widest vector register.
pub(crate) const ALIGN: usize = 64;
const WORD: usize = size_of::<u128>();
/// Smaller blocks are not kept: the allocator has them at hand.
const LEAST: usize = 1 << 16;
/// So many bytes may not be available.
const LARGE: usize = 1 << 20;
/// Blocks of so many bytes have huge pages where the system has such: two of them at least.
const HUGE: usize = 1 << 22;

/// Bytes that begin at a multiple of [`ALIGN`].
#[derive(Debug, Default)]
pub(crate) struct Block {
    pages: Pages,
    /// The bytes of the pages before the first and up to the last.
    range: Range<usize>,
    home: Weak<Recycler>,
}

/// The blocks that are free.
#[derive(Debug, Default)]
pub(crate) struct Recycler(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The longest free first.
    free: VecDeque<Pages>,
    /// Bytes that are free, that are in use, and the most that were in use.
    kept: usize,
    used: usize,
    peak: usize,
}

/// Where bytes lie.
#[derive(Debug)]
enum Pages {
    Words(Vec<u128>),
    /// Pages of their own, which may be huge: a large tensor has more small ones than the processor can remember.
    Huge(MmapMut),
}

impl Default for Pages {
    fn default() -> Self {
        Pages::Words(Vec::new())
    }
}

impl Pages {
    /// Room for so many zeros from an aligned byte on.
    fn for_zeros(bytes: usize) -> Result<Pages, Failure> {
        let refused = || Failure::limit(format!("not enough memory: {bytes} bytes are needed"));
        if bytes >= HUGE {
            let pages = MmapMut::map_anon(bytes).map_err(|_| refused())?;
            // Where the system has no huge pages, small ones do.
            #[cfg(target_os = "linux")]
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Ok(Pages::Huge(pages));
        }
        let words = bytes.div_ceil(WORD) + ALIGN / WORD - 1;
        if bytes >= LARGE {
            // What the system refuses is an error: asked for, given back, and asked for again as zeros below.
            Vec::<u128>::new().try_reserve_exact(words).map_err(|_| refused())?;
        }
        // Zeroed pages come from the system untouched, so that nothing is written twice.
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
    /// So many zeros.
    pub(crate) fn zeroed(bytes: usize) -> Result<Block, Failure> {
        Ok(Block::of(Pages::for_zeros(bytes)?, bytes, Weak::new()))
    }

    fn of(pages: Pages, bytes: usize, home: Weak<Recycler>) -> Block {
        let first = pages.bytes().as_ptr().align_offset(ALIGN);
        // `align_offset` may give up, which only costs speed.
        let first = if first <= pages.len() - bytes { first } else { 0 };
        Block { pages, range: first..first + bytes, home }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.pages.bytes()[self.range.clone()]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.pages.bytes_mut()[self.range.clone()]
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.give_back(std::mem::take(&mut self.pages));
        }
    }
}

impl Recycler {
    /// So many bytes with any contents.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Result<Block, Failure> {
        if bytes < LEAST {
            return Block::zeroed(bytes);
        }
        let mut state = self.state();
        let fits = |pages: &Pages| pages.len() >= bytes + ALIGN && pages.len() / 2 <= bytes;
        let free = state.free.iter().enumerate().filter(|(_, pages)| fits(pages));
        let found = free.min_by_key(|(_, pages)| pages.len()).map(|(at, _)| at);
        let pages = match found.and_then(|at| state.free.remove(at)) {
            Some(pages) => {
                state.kept -= pages.len();
                pages
            }
            None => {
                // Free blocks are not charged to the run, so they go where there is no room for both.
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
        Ok(Block::of(pages, bytes, Arc::downgrade(self)))
    }

    fn give_back(&self, pages: Pages) {
        let mut state = self.state();
        state.used = state.used.saturating_sub(pages.len());
        state.kept += pages.len();
        state.free.push_back(pages);
        state.shrink();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn use_more(&mut self, bytes: usize) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        self.shrink();
    }

    /// Gives free blocks back to the system until no more is held than was in use at one time.
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
