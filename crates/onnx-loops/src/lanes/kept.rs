//! A cache of unused registers.

use super::{LANES, SLACK};

/// The most registers of a class that are kept.
const MAX_KEPT: usize = 64;

/// Registers with at most this many lanes are not longer than necessary, so that many small ones fit into the first-level cache.
const SHORT_LANES: usize = 128;

/// Unused registers of each class.
pub(super) struct Kept {
    pub(super) single: Vec<Vec<f32>>,
    pub(super) double: Vec<Vec<f64>>,
    pub(super) int: Vec<Vec<i64>>,
}

impl Kept {
    pub(super) const NONE: Kept = Kept { single: Vec::new(), double: Vec::new(), int: Vec::new() };
}

/// `count` registers of `lanes` lanes.
pub(super) fn take<T: Copy + Default>(kept: &mut Vec<Vec<T>>, count: usize, lanes: usize) -> Vec<Vec<T>> {
    let one = |_| {
        if lanes <= SHORT_LANES {
            return vec![T::default(); lanes];
        }
        let mut register = kept.pop().unwrap_or_else(|| Vec::with_capacity(lanes.max(LANES + SLACK)));
        register.resize(lanes, T::default());
        register
    };
    (0..count).map(one).collect()
}

/// Keeps registers.
pub(super) fn give<T>(kept: &mut Vec<Vec<T>>, registers: &mut Vec<Vec<T>>) {
    let room = MAX_KEPT.saturating_sub(kept.len());
    kept.extend(registers.drain(..).filter(|register| register.capacity() > SHORT_LANES).take(room));
}
