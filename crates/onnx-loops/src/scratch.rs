//! Scratch memory for packing, kept per thread: getting new pages costs more than using them.

use crate::budget::Charge;
use crate::failure::Failure;
use crate::recycle::Block;
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

/// The most bytes of a block that is kept.
const MAX_KEPT_BYTES: usize = 1 << 26;
/// The most blocks.
const MAX_BLOCKS: usize = 8;

thread_local! {
    static KEPT: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// An uninitialized buffer of numbers, in whole 32-bit words.
pub struct Scratch<T> {
    block: Block,
    count: usize,
    _charge: Charge,
    _of: PhantomData<T>,
}

/// A buffer of `count` numbers with arbitrary values.
pub fn scratch<T: Pod>(count: usize) -> Result<Scratch<T>, Failure> {
    let bytes = words_of::<T>(count).saturating_mul(size_of::<f32>());
    let charge = Charge::of(bytes)?;
    // The smallest sufficient block.
    let kept = KEPT.with_borrow_mut(|kept| {
        let fits = kept.iter().enumerate().filter(|(_, piece)| piece.bytes().len() >= bytes);
        let best = fits.min_by_key(|(_, piece)| piece.bytes().len()).map(|(at, _)| at);
        best.map(|at| kept.swap_remove(at))
    });
    let block = match kept {
        Some(block) => block,
        None => Block::zeroed(bytes)?,
    };
    Ok(Scratch { block, count, _charge: charge, _of: PhantomData })
}

/// Single floats that begin with a cache line, so that no register of them lies in two.
#[derive(Default)]
pub(super) struct AlignedFloats {
    all: Vec<f32>,
    range: Range<usize>,
}

impl AlignedFloats {
    /// Makes them so many, with arbitrary values if there were fewer.
    pub(super) fn resize(&mut self, count: usize) {
        const LINE: usize = 64;
        const MAX_OFFSET: usize = LINE / size_of::<f32>() - 1;
        if self.all.len() < count + MAX_OFFSET {
            self.all.resize(count + MAX_OFFSET, 0.0);
        }
        let before = self.all.as_ptr().align_offset(LINE).min(MAX_OFFSET);
        self.range = before..before + count;
    }
}

impl Deref for AlignedFloats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.all[self.range.clone()]
    }
}

impl DerefMut for AlignedFloats {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.all[self.range.clone()]
    }
}

/// The number of 32-bit words of `count` numbers.
pub(super) fn words_of<T>(count: usize) -> usize {
    count.div_ceil(size_of::<f32>() / size_of::<T>())
}

impl<T: Pod> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.block.bytes()[..self.count * size_of::<T>()])[..self.count]
    }
}

impl<T: Pod> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.block.bytes_mut()[..self.count * size_of::<T>()])
            [..self.count]
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        let block = std::mem::take(&mut self.block);
        if block.bytes().is_empty() || block.bytes().len() > MAX_KEPT_BYTES {
            return;
        }
        KEPT.with_borrow_mut(|kept| {
            kept.push(block);
            if kept.len() > MAX_BLOCKS {
                let least = kept.iter().enumerate().min_by_key(|(_, piece)| piece.bytes().len());
                least.map(|(at, _)| at).map(|at| kept.swap_remove(at));
            }
        });
    }
}
