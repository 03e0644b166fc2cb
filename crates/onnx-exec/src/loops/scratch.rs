//! Memory for what is packed, kept by each thread from one time to the next: new pages cost more than what is done with them.

use crate::budget::Charge;
use crate::failure::Failure;
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The most numbers of a piece that is kept.
const MOST_KEPT: usize = 1 << 24;
/// The most pieces.
const PIECES: usize = 8;

thread_local! {
    static KEPT: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Numbers to be overwritten, each of a whole part of 32 bits.
pub(super) struct Scratch<T> {
    numbers: Vec<f32>,
    count: usize,
    _charge: Charge,
    _of: PhantomData<T>,
}

/// So many numbers, of any value.
pub(super) fn scratch<T: Pod>(count: usize) -> Result<Scratch<T>, Failure> {
    let words = words_of::<T>(count);
    let charge = Charge::of(words.saturating_mul(size_of::<f32>()))?;
    // The smallest that is large enough.
    let kept = KEPT.with_borrow_mut(|kept| {
        let fits = kept.iter().enumerate().filter(|(_, piece)| piece.len() >= words);
        let best = fits.min_by_key(|(_, piece)| piece.len()).map(|(at, _)| at);
        best.map(|at| kept.swap_remove(at))
    });
    let numbers = match kept {
        Some(numbers) => numbers,
        None => {
            let mut numbers = Vec::new();
            let refused = |_| Failure::new(format!("not enough memory: {words} words are needed"));
            numbers.try_reserve_exact(words).map_err(refused)?;
            numbers.resize(words, 0.0);
            numbers
        }
    };
    Ok(Scratch { numbers, count, _charge: charge, _of: PhantomData })
}

/// The words of 32 bits that so many numbers take.
pub(super) fn words_of<T>(count: usize) -> usize {
    count.div_ceil(size_of::<f32>() / size_of::<T>())
}

impl<T: Pod> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.numbers[..words_of::<T>(self.count)])[..self.count]
    }
}

impl<T: Pod> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.numbers[..words_of::<T>(self.count)])[..self.count]
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.len() > MOST_KEPT {
            return;
        }
        KEPT.with_borrow_mut(|kept| {
            kept.push(numbers);
            if kept.len() > PIECES {
                let least = kept.iter().enumerate().min_by_key(|(_, piece)| piece.len()).map(|(at, _)| at);
                least.map(|at| kept.swap_remove(at));
            }
        });
    }
}
