//! Memory for what is packed, kept by each thread from one time to the next: new pages cost more than what is done with them.

use crate::budget::{Charge, room_for};
use crate::failure::Failure;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// The most numbers of a piece that is kept.
const MOST_KEPT: usize = 1 << 24;
/// The most pieces.
const PIECES: usize = 8;

thread_local! {
    static KEPT: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Numbers to be overwritten.
pub(super) struct Scratch {
    numbers: Vec<f32>,
    count: usize,
    _charge: Charge,
}

/// So many numbers, of any value.
pub(super) fn scratch(count: usize) -> Result<Scratch, Failure> {
    let charge = Charge::of(count.saturating_mul(size_of::<f32>()))?;
    // The smallest that is large enough.
    let kept = KEPT.with_borrow_mut(|kept| {
        let fits = kept.iter().enumerate().filter(|(_, piece)| piece.len() >= count);
        let best = fits.min_by_key(|(_, piece)| piece.len()).map(|(at, _)| at);
        best.map(|at| kept.swap_remove(at))
    });
    let numbers = match kept {
        Some(numbers) => numbers,
        None => {
            let mut numbers = room_for(count)?;
            numbers.resize(count, 0.0);
            numbers
        }
    };
    Ok(Scratch { numbers, count, _charge: charge })
}

impl Deref for Scratch {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.numbers[..self.count]
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[..self.count]
    }
}

impl Drop for Scratch {
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
